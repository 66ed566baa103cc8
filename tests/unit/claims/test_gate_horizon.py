"""The remark of the gated counter on a run: for which runs there is one, and its two lengths."""

from __future__ import annotations

import math
from typing import Any

import pytest

from workbench.claims.claims_about_run import describe
from workbench.claims.gate_horizon import gate_horizon_note
from workbench.theory.training_dynamics import horizon_after_training, horizon_of_gap

MODEL = {"architecture": "ssm", "gates": "nonnegative", "dt_min": 0.01, "dt_max": 0.01}
TRAINING: dict[str, Any] = {
    "steps": 100, "learning_rate": 0.01, "rate_law": "constant", "warmup": 0, "optimizer": "adamw",
    "betas": [0.9, 0.99], "curriculum": {"law": "uniform", "low": 1, "high": 16}, "trained_length": 16,
}  # fmt: skip


def test_both_lengths_are_those_of_the_counter() -> None:
    gap = 1 - math.exp(-0.01)
    after = horizon_after_training(16, [0.01] * 100, betas=(0.9, 0.99), start_gap=gap)
    note = gate_horizon_note(MODEL, TRAINING)
    assert note is not None
    assert f"up to length {horizon_of_gap(gap):,.0f} before training" in note.text
    assert f"up to length {after:,.0f} after the steps of this run (N = 16)" in note.text
    assert after > 2 * horizon_of_gap(gap)


@pytest.mark.parametrize(
    ("model", "training"),
    [
        ({**MODEL, "gates": "signed"}, TRAINING),
        ({"n_heads": 2}, TRAINING),
        (MODEL, None),
        (MODEL, {**TRAINING, "curriculum": {"law": "uniform", "low": 8, "high": 16}}),
        (MODEL, {**TRAINING, "curriculum": None}),
        (MODEL, {**TRAINING, "steps": 1_000_000}),
    ],
)
def test_other_runs_get_no_remark(model: dict[str, Any], training: dict[str, Any] | None) -> None:
    assert gate_horizon_note(model, training) is None


def test_the_remark_stands_in_the_description_of_a_run() -> None:
    arguments: dict[str, Any] = {"task": "flip_flop", "parameters": {}, "positions": "none"}
    described = describe(**arguments, architecture="ssm-nonnegative", model=MODEL, training=TRAINING)
    assert [note["source"] for note in described["notes"]][-1].startswith("our formulas, claims DX06")
    assert not describe(**arguments, architecture="ssm-nonnegative")["notes"]
