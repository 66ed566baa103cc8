"""``--architecture`` and ``--gates``: which options belong to which machine."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from workbench.cli.errors import UsageError
from workbench.cli.options import assignments
from workbench.cli.run_config import build
from workbench.cli.sweeping.shipped_sweeps import find_sweep
from workbench.cli.sweeping.sweep_cells import config_of
from workbench.cli.sweeping.sweep_file import read_sweep
from workbench.cli.train_request import TrainRequest
from workbench.models import RNNConfig, SSMConfig
from workbench.training.errors import TrainingError


def test_options_shape_a_state_space_model() -> None:
    settings = assignments(["model.d_state=4", "model.time_invariant=true"])
    cfg = build(
        TrainRequest("flip_flop", {"architecture": "ssm", "gates": "signed", "layers": 3, "d_model": 16}, settings)
    ).model
    assert isinstance(cfg, SSMConfig)
    assert (cfg.gates, cfg.n_layers, cfg.d_model, cfg.d_inner, cfg.d_state) == ("signed", 3, 16, 32, 4)
    assert cfg.time_invariant


def test_options_shape_a_recurrent_network() -> None:
    settings = assignments(["model.nonlinearity=relu", "model.initial_state=ones", "model.residual=false"])
    cfg = build(TrainRequest("parity", {"architecture": "rnn", "cell": "elman", "d_model": 16}, settings)).model
    assert isinstance(cfg, RNNConfig)
    assert (cfg.cell, cfg.nonlinearity, cfg.initial_state, cfg.residual) == ("elman", "relu", "ones", False)
    assert (cfg.n_layers, cfg.d_model, cfg.d_hidden) == (1, 16, 16)


@pytest.mark.parametrize(("options", "sentence"), [
    ({"architecture": "ssm", "positions": "rotary"}, "--positions is an option of architecture transformer, not of ssm"),
    ({"architecture": "ssm", "heads": 2}, "--heads is an option of architecture transformer"),
    ({"gates": "signed"}, "--gates is an option of architecture ssm, not of transformer; leave it out, or add "
                          "--architecture ssm"),
    ({"cell": "elman"}, "--cell is an option of architecture rnn, not of transformer; leave it out, or add "
                        "--architecture rnn"),
    ({"architecture": "rnn", "gates": "signed"}, "--gates is an option of architecture ssm, not of rnn"),
    ({"architecture": "smm"}, "unknown architecture 'smm'; did you mean ssm"),
])  # fmt: skip
def test_what_belongs_to_another_machine_is_told(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(UsageError) as refused:
        build(TrainRequest("flip_flop", options))
    assert sentence in str(refused.value)


@pytest.mark.parametrize(("options", "setting", "sentence"), [
    ({"gates": "complex"}, "seeds.init=1", "unknown gates 'complex'; known: nonnegative, signed"),
    ({}, "model.d_sate=4", "model has no setting 'd_sate'; did you mean d_state"),
    ({}, "training.regularizers.positional=1", "needs position vectors"),
])  # fmt: skip
def test_what_does_not_fit_is_one_sentence(options: dict[str, Any], setting: str, sentence: str) -> None:
    with pytest.raises(TrainingError) as refused:
        build(TrainRequest("flip_flop", {"architecture": "ssm", **options}, assignments([setting])))
    assert sentence in str(refused.value)


def test_every_cell_of_the_sweep_of_other_machines_can_be_built() -> None:
    cells = read_sweep(find_sweep(Path("other_machines"))).cells
    configs = {cell.name: config_of(cell) for cell in cells}
    assert {c.model.gates for c in configs.values() if isinstance(c.model, SSMConfig)} == {"nonnegative", "signed"}
    laws = {c.model.ids.name for c in configs.values() if c.task.name == "parity_scratchpad"}
    assert laws == {"predicted", "random_offset", "pose"}
