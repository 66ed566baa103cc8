"""Models without attention on the road of every run: trained, stored, loaded and measured; what needs attention says so."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.measure.measuring import measured
from tests.support.measure.ssm_measured import config
from workbench.measure.registry import make_measurement
from workbench.models import HookedRNN, HookedSSM
from workbench.models.handmade import recurrent, state_space
from workbench.runs import Run
from workbench.tasks import make_task
from workbench.training.trainer import Stopped, Trainer


@pytest.mark.parametrize(
    ("machine", "title", "scans"),
    [(state_space.parity, "state-space model", True), (recurrent.parity, "recurrent network", False)],
    ids=["ssm", "rnn"],
)
def test_handmade_machines_are_scale_robust_and_their_state_is_decodable(machine, title, scans, make_run) -> None:
    table, problems = measured(make_run(machine(), make_task("parity"), trained=8), only=None, sequences=512)
    assert problems == []
    assert table.frame(quantity="verdict")["label"].item() == "scale-robust"
    refit = table.frame(quantity="summary_decodability", layer=0, mode="refit", control="")
    assert len(refit)
    assert (refit["value"] == 1).all()
    hardmax = table.frame(measurement="circuits.hardmax")
    assert set(hardmax["status"]) == {"not_applicable"}
    assert set(hardmax["quantity"]) == {q.name for q in make_measurement("circuits.hardmax").spec.quantities}
    assert hardmax["note"].str.contains(f"{title} has none").all()
    scan = table.frame(measurement="circuits.effective_attention")
    assert ("not_applicable" in set(scan["status"])) != scans
    assert (table.frame(measurement="bound")["status"] == "not_applicable").all()
    assert len(table.frame(quantity="gradient_cosine"))


RNN = {"architecture": "rnn"}


@pytest.mark.parametrize(
    ("options", "settings", "fields"),
    [
        ({"gates": "signed"}, (), {"gates": "signed"}),
        (RNN, (), {"cell": "gru"}),
        ({**RNN, "cell": "elman"}, ("model.initial_state=trained",), {"cell": "elman", "initial_state": "trained"}),
        ({**RNN, "cell": "elman"}, ("model.nonlinearity=relu", "model.residual=false"), {"nonlinearity": "relu"}),
    ],
    ids=["ssm", "gru", "elman", "relu"],
)
def test_it_is_trained_stored_and_loaded_and_goes_on_to_the_same_bits(options, settings, fields, tmp_path) -> None:
    run_config = config(settings=settings, **options)
    whole = Trainer(run_config, tmp_path / "whole").run()
    stopped = Trainer(run_config, tmp_path / "stopped")
    stopped.watcher = lambda step, scores: setattr(stopped, "stopping", stopped.stopping or step >= 5)
    with pytest.raises(Stopped):
        stopped.run()
    again = Trainer(run_config, tmp_path / "stopped").run()
    assert {s: whole.meta(s)["sha256"] for s in whole.steps} == {s: again.meta(s)["sha256"] for s in again.steps}
    model = Run.open(whole.path).load(12)
    assert isinstance(model, HookedRNN if options.get("architecture") == "rnn" else HookedSSM)
    assert {name: getattr(model.cfg, name) for name in fields} == fields
    tokens = torch.ones(1, 5, dtype=torch.long)
    assert not np.allclose(model(tokens).detach(), whole.load(0)(tokens).detach())
