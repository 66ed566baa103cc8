"""Rows of behaviour from answers that are known."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from workbench.measure.behaviour.baselines import Floor
from workbench.measure.behaviour.measurement import Behaviour
from workbench.measure.behaviour.observed import Observed
from workbench.measure.behaviour.rows import floor_rows
from workbench.measure.intervals import wilson

WHERE = {"law": "matched", "length": 9, "mode": "teacher_forced"}


@pytest.mark.asserts("exact_match", "loss", "token_accuracy", "coupling_accuracy")
def test_rows_of_the_first_look() -> None:
    study: Any = SimpleNamespace(
        task=SimpleNamespace(one_string_per_length=False), rng=lambda *parts: np.random.default_rng(0)
    )
    seen = Observed(
        correct=np.arange(40) < 30.0,
        exact=(np.arange(40) < 10).astype(float),
        tokens=np.arange(40) / 40,
        loss=np.arange(40) / 10.0,
        parts={"tokens": np.arange(40) < 20, "ids": np.arange(40) < 5},
    )
    rows = {(r["quantity"], r["target"]): r for r in Behaviour(resamples=50)._rows(study, seen, WHERE)}
    assert {row["n"] for row in rows.values()} == {40}
    for name, count in (("exact_match", 10), ("coupling_accuracy", 20), ("coupling_accuracy", 5)):
        target = "" if name == "exact_match" else "tokens" if count == 20 else "ids"
        row = rows[name, target]
        assert (row["value"], row["low"], row["high"]) == (count / 40, *wilson(count, 40))
    for name, mean in (("loss", 1.95), ("token_accuracy", 0.4875)):
        row = rows[name, ""]
        assert row["value"] == pytest.approx(mean)
        assert row["low"] < mean < row["high"]


@pytest.mark.asserts("chance", "shortcut")
def test_rows_of_a_floor() -> None:
    rows = floor_rows(Floor(0.8, 0.5, {"first_window": 0.8, "last_token": 0.6}), WHERE)
    found = {(r["quantity"], r["target"]): r["value"] for r in rows}
    assert found == {("chance", ""): 0.5, ("shortcut", "first_window"): 0.8, ("shortcut", "last_token"): 0.6}
