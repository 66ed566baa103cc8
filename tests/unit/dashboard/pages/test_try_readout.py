"""What probes read along one sequence, on models whose residual stream is known."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
import torch

from probes import one_sequence as readout
from probes.fitting.decode import Decoder
from probes.fitting.probe_rows import halves
from probes.one_sequence import fit_summary, read_sequence
from probes.summary import Summary
from workbench.measure.edits.one_sequence import one_sequence
from workbench.measure.grid import make_grid
from workbench.measure.study import CheckpointStudy, Evaluation
from workbench.models.handmade.transformers import majority
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.tasks import make_task

TEXT = "110100011"


@pytest.fixture
def counter(make_run: Callable[..., Any]) -> str:
    """A run of the exact counter, trained (as it says) on lengths up to 9."""
    return str(make_run(majority(256), make_task("majority"), 9).path)


def leader(text: str, n: int) -> int:
    return int(2 * text[:n].count("1") > n)


def test_the_summary_is_read_at_every_prefix_past_training_too(counter: str) -> None:
    text = TEXT * 4
    found = read_sequence(counter, 100, {"text": text})
    asked = np.array(found.asked)
    wanted = np.array([0, *(leader(text, n) for n in range(1, len(text) + 1))])
    assert found.sites == [-1, 0, 1]
    assert found.summary.classes == ["0", "1"]
    assert found.summary.strings == 256
    np.testing.assert_array_equal(found.summary.true[asked], wanted[asked])
    np.testing.assert_array_equal(found.summary.clean[2][asked], wanted[asked])
    assert (found.summary.clean[0][asked] != wanted[asked]).any()  # one token does not know who leads
    assert found.summary.edited is None


def test_an_ablated_counter_is_read_as_knowing_nothing(counter: str) -> None:
    found = read_sequence(counter, 100, {"text": TEXT}, "zero.0.0")
    asked = np.array(found.asked)
    clean, edited = found.summary.clean, found.summary.edited
    np.testing.assert_array_equal(clean[0], edited[0])  # the embedding lies before the edit
    assert len(np.unique(edited[2][asked])) == 1
    assert len(np.unique(clean[2][asked])) == 2


def test_a_patched_state_is_read_as_the_donors(counter: str) -> None:
    clean = read_sequence(counter, 100, {"text": TEXT}).summary.clean
    edited = read_sequence(counter, 100, {"text": TEXT}, "patch.0.5").summary.edited
    np.testing.assert_array_equal(edited[1:, -1], clean[1:, 5])
    np.testing.assert_array_equal(edited[:, :-1], clean[:, :-1])


def test_the_probe_is_the_frozen_one_of_the_measurement(counter: str) -> None:
    one = one_sequence(counter, 100, {"text": TEXT})
    grid = make_grid(one.task, 9)
    study = CheckpointStudy(one.run, 100, one.model, Evaluation(one.task, grid, 0, 512), 512)
    measurement = Summary()
    sites = ["blocks.0.hook_resid_pre", "blocks.0.hook_resid_post", "blocks.1.hook_resid_post"]
    for n in grid.inside:
        measurement.observe("matched", n, study.batch("matched", n), study.cache("matched", n, sites) or {})
    rng = partial(study.rng, measurement.name)
    decoder = Decoder(measurement.rows, grid.inside, halves(512, rng("split")), rng)
    frozen, mine = decoder.frozen["output_summary"], fit_summary(one).probe
    assert mine is not None
    torch.testing.assert_close(mine.directions.weight, frozen.directions.weight)
    x = torch.randn(3, 20, 10, generator=torch.Generator().manual_seed(0))
    assert torch.equal(mine(x), frozen(x))


def test_the_position_is_read_where_it_is_written(make_run: Callable[..., Any]) -> None:
    cfg = ModelConfig(
        d_vocab=3,
        n_layers=1,
        d_model=8,
        n_heads=1,
        n_ctx=64,
        d_vocab_out=2,
        positions="learned",
        normalization_type=None,
    )
    model = HookedTransformer(cfg)
    with torch.no_grad():
        model.pos_embed.W_pos.zero_()
        model.pos_embed.W_pos[:, 0] = torch.arange(64.0)
    run = make_run(model, make_task("parity"), 16)
    found = read_sequence(str(run.path), 100, {"law": "matched", "length": 40, "seed": 1}).position
    np.testing.assert_allclose(found.clean[0, 1:], found.true[1:], atol=1e-2)
    assert found.rmse[0] < 1e-2
    assert found.problem == ""


def test_a_probe_is_fitted_once_per_checkpoint(counter: str, monkeypatch: pytest.MonkeyPatch) -> None:
    read_sequence(counter, 100, {"text": TEXT})

    def again(*_: Any) -> None:
        raise AssertionError("fitted twice")

    monkeypatch.setattr(readout, "fit_summary", again)
    monkeypatch.setattr(readout, "fit_position", again)
    read_sequence(counter, 100, {"text": TEXT[::-1]}, "zero.0.0")


def test_a_summary_that_does_not_vary_is_said_so_and_not_read(make_run: Callable[..., Any]) -> None:
    cfg = ModelConfig(d_vocab=2, n_layers=1, d_model=8, n_heads=1, n_ctx=64, d_vocab_out=2)
    run = make_run(HookedTransformer(cfg), make_task("aa_star"), 1)  # of length 1 there is one string
    found = read_sequence(str(run.path), 100, {"text": "aaa"}).summary
    assert found.problem == "output_summary has one class only"
    assert found.clean is None
