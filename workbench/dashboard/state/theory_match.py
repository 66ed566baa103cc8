"""What theory predicts for a run, compared with what it does."""

from __future__ import annotations

from typing import Any, NamedTuple

from workbench.core.verdicts import LENGTH_COUPLED, SCALE_ROBUST
from workbench.dashboard.state.run_view import RunView


class PredictionKind(NamedTuple):
    """The meaning of one kind of prediction of theory.

    Attributes:
        meaning: in a sentence without its full stop.
        expected: the verdict that one would observe at best; "" = none. Anything else is a finding, not an error.
    """

    meaning: str
    expected: str = ""


GUARANTEED = "guaranteed"
PREDICTIONS: dict[str, PredictionKind] = {
    GUARANTEED: PredictionKind(
        "Theory guarantees that this task can generalise in length with this position encoding", SCALE_ROBUST
    ),
    "expressible": PredictionKind(
        "Theory: such models can express this task, but whether they learn it is not predicted"
    ),
    "not expressible": PredictionKind("Theory: no program for such models computes this task", LENGTH_COUPLED),
    "open": PredictionKind("Theory makes no claim about this task with this position encoding"),
    "not decided": PredictionKind("Theory makes no claim: the decision procedure ended without an answer"),
}
"""Every verdict of :func:`workbench.theory.prediction.predict.predict`."""


def subject(run: RunView) -> dict[str, Any]:
    """The subject of a prediction: task, its parameters, and the position encoding."""
    model, task = run.model, run.config["task"]
    about = {
        "task": run.task,
        "parameters": task.get("parameters", {}),
        "positions": model.part["positions"],
        "ids": model.ids,
        "architecture": model.kind,
    }
    return {**about, "source": task["source"]} if task.get("source") else about


def is_trained(run: RunView) -> bool:
    """Whether the weights of a run were trained, not compiled from a program."""
    return "compiled" not in run.config["training"]


def compare_with_observed(expected: str, observed: str, trained: bool = True) -> str:
    """A prediction compared with an observation: ``as observed``, ``\u2260 observed``, ``no claim``; or ``no
    evidence``.

    A run that is not fitted or undecided is evidence neither for nor against a prediction. A guarantee is about what
    training finds, and compiled weights do not show that.

    Args:
        expected: the prediction.
        observed: the verdict.
        trained: whether the weights were trained, not compiled.
    """
    kind = PREDICTIONS.get(expected)
    if kind is None or not kind.expected:
        return "no claim"
    if not trained and expected == GUARANTEED:
        return "no evidence"
    if observed not in (one.expected for one in PREDICTIONS.values() if one.expected):
        return "no evidence"
    return "as observed" if kind.expected == observed else "\u2260 observed"
