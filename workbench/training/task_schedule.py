"""Parameters of the task that change during training, as a pure function of the step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from workbench.core.construct import construct
from workbench.core.errors import quoted_value
from workbench.core.limits import COUNT
from workbench.core.suggest import nearest
from workbench.tasks.base import Task
from workbench.training.errors import TrainingError

VISITED = 1000
"""The most values of an integer parameter during a linear change: each is tried before training."""


class TaskSchedule(BaseModel):
    """The values of one task parameter during training. The last value is that of the run's own task, which evaluation
    uses.

    Attributes:
        parameter: the task's parameter.
        values: its values before its own value, in order.
        over: steps until it has its own value.
        change: *switch*: each of ``values`` holds for an equal share of the first ``over`` steps. *linear*:
            interpolated from each value to the next, and from the last to the parameter's own value, in equal shares of
            the first ``over`` steps; integers are rounded.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    parameter: str
    values: tuple[Any, ...] = Field(min_length=1)
    over: int = Field(ge=1, le=COUNT)
    change: Literal["switch", "linear"] = "switch"

    def value(self, own: Any, step: int) -> Any:
        """Return the parameter at ``step``, where ``own`` is its last value."""
        if step >= self.over:
            return own
        place, inside = divmod(step * len(self.values), self.over)
        if self.change == "switch":
            return self.values[place]
        knots = (*self.values, own)
        found = knots[place] + (knots[place + 1] - knots[place]) * inside / self.over
        return round(found) if all(isinstance(k, int) for k in knots) else found


def task_at(task: Task, schedules: Sequence[TaskSchedule], step: int) -> Task:
    """Return the task with the parameters of ``step``; ``task`` itself once every schedule has ended."""
    if all(step >= s.over for s in schedules):
        return task
    return _changed(task, {s.parameter: s.value(getattr(task, s.parameter), step) for s in schedules})


def check_schedules(task: Task, schedules: Sequence[TaskSchedule], low: int, high: int) -> None:
    """Refuse a schedule under which the model or the lengths would have to change with the task.

    Raises:
        TrainingError: for an unknown parameter, a value that the task refuses, or a linear change of a parameter that
            is not a number. Also for a value that changes the task's vocabulary, its answers or its admissible lengths
            in ``low..high``.
    """
    for schedule in schedules:
        name = schedule.parameter
        if name not in type(task).model_fields:
            raise TrainingError(
                f"{task.name} has no parameter {quoted_value(name)}; {nearest(name, type(task).model_fields)}"
            )
        own_value = getattr(task, name)
        if schedule.change == "linear" and not all(_is_number(v) for v in (*schedule.values, own_value)):
            raise TrainingError(
                f"the task schedule of {name} cannot be linear, as some of its values are not numbers; leave out linear"
            )
        for value in _visited(schedule, own_value):
            _check_fits(task, _changed(task, {name: value}), f"{name} = {quoted_value(value)}", low, high)


def _visited(schedule: TaskSchedule, own: Any) -> list[Any]:
    """The values to check: all of them, or only the given ones if real numbers are interpolated."""
    if schedule.change == "linear" and all(isinstance(v, int) for v in (*schedule.values, own)):
        knots = (*schedule.values, own)
        if max(knots) - min(knots) > VISITED:
            raise TrainingError(
                f"the task schedule of {schedule.parameter} visits more than {VISITED:,} values; choose closer values"
            )
        return list(range(min(knots), max(knots) + 1))
    return list(schedule.values)


def _check_fits(task: Task, other: Task, what: str, low: int, high: int) -> None:
    if not other.speaks_as(task):
        raise TrainingError(
            f"the task schedule changes the vocabulary or the answers of {task.name} at {what}; schedule a parameter "
            "that keeps both"
        )
    if other.lengths(low, high) != task.lengths(low, high):
        raise TrainingError(
            f"the task schedule changes the possible lengths of {task.name} at {what}; choose training lengths in "
            f"{low} to {high} that are possible at all of its values"
        )


def _changed(task: Task, values: dict[str, Any]) -> Task:
    return construct(type(task), {**dict(task), **values}, f"the task schedule of {task.name}", TrainingError)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
