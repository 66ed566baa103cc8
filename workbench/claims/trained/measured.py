"""What can be asked of the runs of claims, by name, and asking it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from workbench.claims.trained.ambiguous_transitions import transition_rows
from workbench.claims.trained.answer_steps import step_rows, token_rows
from workbench.claims.trained.bin_accuracy import Measured, bin_rows, fit_rows, length_rows
from workbench.claims.trained.class_attention import class_rows
from workbench.claims.trained.extreme_gates import gate_rows
from workbench.claims.trained.in_text.text_losses import few_token_rows, last_byte_rows
from workbench.claims.trained.long_losses import loss_rows
from workbench.claims.trained.needed_tokens import needed_rows
from workbench.claims.trained.retrieval_copies import copy_rows
from workbench.claims.trained.run_rows import RunRow
from workbench.claims.trained.standard_rows import standard_rows
from workbench.claims.trained.trained_run import TrainedRun
from workbench.claims.trained.two_sides.zero_shot_copies import zero_shot_rows
from workbench.claims.trained_cells import Asked, PlannedRun, version_of

MEASURED: dict[str, Callable[..., Measured]] = {
    "fit": fit_rows,
    "bins": bin_rows,
    "lengths": length_rows,
    "losses": loss_rows,
    "gates": gate_rows,
    "class attention": class_rows,
    "copies": copy_rows,
    "transitions": transition_rows,
    "steps": step_rows,
    "tokens": token_rows,
    "needed tokens": needed_rows,
    "zero-shot copies": zero_shot_rows,
    "last byte": last_byte_rows,
    "few tokens": few_token_rows,
    "few tokens of two": few_token_rows,
}
"""What is asked here, beside the measurements of the workbench."""


def measure(run: TrainedRun, asked: Asked, planned: PlannedRun) -> list[RunRow]:
    """What was asked of a run, as rows; one without a number where nothing came of it, so that it is known as asked."""
    function = MEASURED.get(asked.name) or partial(standard_rows, asked.name)
    where: dict[str, Any] = {
        "recipe": planned.recipe,
        "run": run.run.id,
        "step": run.run.steps[-1],
        "cell": planned.cell.name,
        "seed": planned.seed,
        "asked": asked.key,
        "version": version_of(asked),
    }
    found = [RunRow(**where, **one) for one in function(run, **asked.settings)]
    return found or [RunRow(**where, quantity="nothing")]
