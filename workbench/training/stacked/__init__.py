"""Stacked training: several runs of one configuration trained as one batch of parameters.

Each run has seeds of its own, and may have its own learning rate, weight decay, initialization scale and length
distribution. The weights equal those of single training except for rounding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.lazy import face

if TYPE_CHECKING:
    from workbench.training.stacked.evaluation import stacked_correct, stacked_outputs, stacked_right_answers
    from workbench.training.stacked.loop import StackedResult, train_stacked
    from workbench.training.stacked.refusal import why_not_stacked
    from workbench.training.stacked.run_state import RunState

__all__ = [
    "RunState",
    "StackedResult",
    "stacked_correct",
    "stacked_outputs",
    "stacked_right_answers",
    "train_stacked",
    "why_not_stacked",
]

__getattr__, __dir__ = face(
    __name__,
    {
        "RunState": "run_state",
        "StackedResult": "loop",
        "stacked_correct": "evaluation",
        "stacked_outputs": "evaluation",
        "stacked_right_answers": "evaluation",
        "train_stacked": "loop",
        "why_not_stacked": "refusal",
    },
)
