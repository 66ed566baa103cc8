"""Id samplers that change during training, as a pure function of the step."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator

from workbench.core.limits import COUNT
from workbench.models.base.architecture import Architecture
from workbench.models.positions import id_sampler
from workbench.models.positions.id_samplers import IdSampler
from workbench.runs.evaluation_ids import check_training_ids
from workbench.tasks.base import Task
from workbench.training.errors import TrainingError


class IdSchedule(BaseModel):
    """The id samplers that assign position ids during training, one after another. The last is the model's own, which
    evaluation uses.

    Example: the model's own sampler is ``pose``, ``values`` is ``[arange]``, and ``over`` is 70 % of the steps. Then
    the last 30 % of training use PoSE, instead of all of it (cf. Golowich et al. 2025, 2502.16792). ``arange`` counts
    from 0 and ``pose`` from 1. This matters only for encodings that read absolute ids.

    Attributes:
        values: id samplers before the model's own, in order, each for an equal share of the first ``over`` steps.
        over: steps until the model's own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    values: tuple[SerializeAsAny[IdSampler], ...] = Field(min_length=1, max_length=64)
    over: int = Field(ge=1, le=COUNT)

    @field_validator("values", mode="before")
    @classmethod
    def _samplers(cls, value: Any) -> Any:
        return tuple(id_sampler(one) for one in value) if isinstance(value, list | tuple) else value

    def sampler(self, own: IdSampler, step: int) -> IdSampler:
        """The id sampler of update ``step``, where ``own`` is the model's own and last sampler."""
        return own if step >= self.over else self.values[step * len(self.values) // self.over]


def check_id_schedule(task: Task, model: Architecture, schedule: IdSchedule, longest: int) -> None:
    """Refuse a schedule that has no ids for the longest training sequences, or that needs another model.

    Raises:
        TrainingError: if the model itself predicts ids, in the schedule or at its end.
        PositionError: if a sampler has no ids for sequences of length ``longest``, or the encoding cannot read them.
    """
    for sampler in schedule.values:
        if sampler.predicted or model.ids.predicted:
            raise TrainingError(
                "training.id_schedule cannot have ids that the model predicts, as they are trained from the first "
                "step; choose ids coupled"
            )
        check_training_ids(task, model.model_copy(update={"ids": sampler}), longest)
