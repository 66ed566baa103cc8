"""Tie sets of all sequences at short lengths are carried to longer ones also where one pass serves all lengths."""

from __future__ import annotations

import pytest

from circuits.hardmax.measurement import Hardmax
from workbench.measure.measurement import Grid
from workbench.measure.model_study import ModelStudy, observe
from workbench.measure.running.engine import Isolation, ObservedMeasurement, observe_all
from workbench.measure.study import Evaluation
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks.counting.majority import Majority

GRID = Grid(9, (5, 9, 15, 37), (5, 9), (15, 37))
STRINGS = 100


def test_what_is_carried_is_that_of_a_pass_for_each_length() -> None:
    sharp = ModelConfig(
        d_vocab=3, d_vocab_out=2, n_layers=2, d_model=16, n_heads=2, n_ctx=64, positions="learned",
        initializer_range=1.0,
    )  # fmt: skip
    model, task = HookedTransformer(sharp, seed=3).eval(), Majority()
    study = ModelStudy(model, task, GRID, STRINGS, 0)
    shared, apart, found = Hardmax(resamples=10), Hardmax(resamples=10), Isolation()
    passes = observe_all(
        model, Evaluation(task, GRID, 0, STRINGS), [ObservedMeasurement(shared, study, "shared")], found
    )
    assert found.failures == {}
    assert passes == 2, "one for all lengths, and one for what is carried"

    class Alone(Majority):
        """Its prefixes are not used: each length has a pass of its own, over the same strings."""

        def prefix_closed(self, law: str) -> bool:
            return False

    own = ModelStudy(model, task, GRID, STRINGS, 0)
    own.task = Alone()
    observe(apart, own)
    rows = [measurement.finish(one) for measurement, one in ((shared, study), (apart, own))]
    carried = 0
    for a, b in zip(*rows, strict=True):
        assert (a["quantity"], a["length"], a["status"]) == (b["quantity"], b["length"], b["status"])
        if a["value"] is not None:
            assert a["value"] == pytest.approx(b["value"], rel=1e-3, abs=1e-4)
            carried += "as at prefix length" in (a["note"] or "")
    assert carried > 4, "some heads have sets to carry"
