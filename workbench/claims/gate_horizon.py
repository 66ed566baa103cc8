"""How far a counter with a forgetting gate would count right after the steps of a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workbench.core.stored_model import StoredModel
from workbench.theory.errors import TheoryError
from workbench.theory.prediction.notes import Note

SIGMOID_GATES = "nonnegative"
"""The kind of gates exp(-A softplus(x)); they are sigmoids where the rate A is 1, as that of the slowest state is."""
MOST_STEPS = 20_000
"""Steps that are followed; for longer runs there is no remark."""
SOURCE = "our formulas, claims DX06 to DX10 and docs/dynamics.md"


def gate_horizon_note(model: Mapping[str, Any], training: Mapping[str, Any] | None) -> Note | None:
    """Return a remark on how far a counter would count right that trains with a run's steps, rates and optimizer.

    Args:
        model: the section ``model`` of the run's config.
        training: its section ``training``; None if there is no run.

    Returns:
        None for models without sigmoid gates, for runs that were not trained on uniform lengths from 1 to N, and for
        runs of more than :data:`MOST_STEPS` steps.
    """
    from workbench.theory.training_dynamics import horizon_after_training, horizon_of_gap
    from workbench.training.config import TrainingConfig
    from workbench.training.optimizer import learning_rate

    lengths = (training or {}).get("curriculum") or {}
    uniform = lengths.get("law") == "uniform" and lengths["low"] <= 1
    if training is None or not uniform or StoredModel(model).gates != SIGMOID_GATES:
        return None
    names = ("steps", "learning_rate", "rate_law", "warmup", "optimizer", "momentum", "betas")
    config = TrainingConfig(**{name: training[name] for name in names if name in training})
    if config.steps > MOST_STEPS:
        return None
    gate = math.exp(-math.sqrt(model["dt_min"] * model["dt_max"]))
    n = int(training["trained_length"])
    try:
        horizon = horizon_after_training(
            n,
            (learning_rate(config, step) for step in range(config.steps)),
            optimizer=config.optimizer,
            betas=config.betas,
            momentum=config.momentum,
            start_gap=1 - gate,
        )
    except TheoryError:
        return None
    before = _tokens(horizon_of_gap(1 - gate))
    return Note(
        f"a counter with one sigmoid gate that starts at {gate:.3g}, in the middle of this model's gates, has a "
        f"relative squared error below 0.01 up to {before} before training, and up to {_tokens(horizon)} after the "
        f"steps of this run (N = {n}); the gate of this counter does not depend on the input",
        SOURCE,
    )


def _tokens(horizon: float) -> str:
    return f"length {horizon:,.0f}" if horizon < 1e6 else "a length above a million"
