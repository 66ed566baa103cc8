"""``behaviour.asymmetry``: does a model find the right neighbour of a word more often than the left one?

Both tasks use the same prompts except for the query. For the left neighbour, the query is one position later. So each
pair has the same possible answers, and the difference is a paired one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from torch import Tensor

from workbench.measure.in_context.measurement import LAW, AnswerShares
from workbench.measure.measurement import Measurement, Quantity
from workbench.measure.rows import difference_rows, missing_row, p_quantity
from workbench.measure.settings import MeasurementError
from workbench.measure.study import Evaluation, Shown, show_pass
from workbench.table.schema import Row
from workbench.tasks.registry import task_of

if TYPE_CHECKING:
    from workbench.measure.measurement import Study
    from workbench.models.base.architecture import Architecture
    from workbench.tasks.batch import Batch

SIDES = ("ur", "ul")
"""Tasks whose answer is the right neighbour, and the left one."""
OF = {"neighbour_asymmetry": "answer_accuracy", "candidate_asymmetry": "candidate_accuracy"}
"""Quantity -> the score per sequence whose difference it is."""


class NeighbourAsymmetry(Measurement):
    """Measure the accuracy on right minus left neighbours.

    Both tasks are evaluated here, on the sequences of ``behaviour.in_context`` of either run.
    """

    name = "behaviour.asymmetry"
    title = "Right against left neighbour"
    quantities = (
        Quantity(
            "neighbour_asymmetry",
            "Accuracy when the prompt requests the right neighbour of a word, minus accuracy when it requests the "
            "left neighbour. The model chooses from its whole vocabulary. Both use the same sequences, except that "
            "the query moves by one position. Positive values mean that the right neighbour is found more often.",
            "share", -1, 1,
            formula="⟨1[ŷ_{r} = y_{r}] − 1[ŷ_{l} = y_{l}]⟩",
            where="r, l: the right and the left neighbour is requested",
        ),
        p_quantity("neighbour_asymmetry", "correct for the right neighbour, against correct for the left one"),
        Quantity(
            "candidate_asymmetry",
            "As `neighbour_asymmetry`, but the model chooses only among the symbols of the task.",
            "share", -1, 1,
            formula="⟨1[ŷ_{r} = y_{r}] − 1[ŷ_{l} = y_{l}]⟩",
            where="r, l: the right and the left neighbour is requested",
        ),
        p_quantity("candidate_asymmetry", "correct for the right neighbour, against correct for the left one"),
    )  # fmt: skip
    sequences = 128
    laws = ()
    presented = "only"
    on_request = True

    def hooks(self, cfg: Architecture) -> list[str]:
        return []

    def observe(self, law: str, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> None:
        """Raise an error: both tasks are evaluated in ``finish``."""
        raise MeasurementError(f"{self.name} evaluates both tasks in finish(); do not call observe()")

    def finish(self, study: Study) -> list[Row]:
        task: Any = study.task
        if task.inner.name not in SIDES:
            why = f"it asks for the right and the left neighbour (ur, ul), and this task is {task.inner.name}"
            return [missing_row("not_applicable", why, quantity=one.name, law=LAW) for one in self.quantities]
        rows: list[Row] = []
        for length in study.grid.lengths:
            count = len(study.batch(LAW, length))
            found = [self._shares(study, side, length, count) for side in SIDES]
            where = {"law": LAW, "length": length, "mode": "teacher_forced", "target": task.presentation.title}
            for quantity, of in OF.items():
                right, left = (shares[of] for shares in found)
                rows += difference_rows(right, left, "no string of this length", quantity=quantity, **where)
        return rows

    def _shares(self, study: Study, side: str, length: int, count: int) -> Mapping[str, Any]:
        """Return the scores of each sequence for one of the two tasks."""
        own: Any = study.task
        task = own.model_copy(update={"inner": task_of({"name": side, "parameters": own.inner.parameters})})
        evaluation = Evaluation(task, study.grid, study.seed, count)
        seen = AnswerShares(study, evaluation.batch(LAW, length).rows(0, count))
        show_pass(study.model, seen.batch, [Shown(seen)])
        return seen.shares()
