"""The law of lengths at each training step, as a pure function of (seed, step)."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, model_validator

from workbench.tasks.base import Task, TaskError


class Curriculum(BaseModel):
    """A law of lengths over training; ``low`` and ``high`` bound every length it ever gives."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    law: str
    low: int = Field(ge=1)
    high: int = Field(ge=1)

    @model_validator(mode="after")
    def _ordered(self) -> Curriculum:
        if self.low > self.high:
            raise ValueError(f"the shortest training length {self.low} exceeds the longest {self.high}")
        return self

    def length(self, task: Task, step: int, generator: torch.Generator) -> int:
        """The length of the batch at ``step``."""
        raise NotImplementedError


class Uniform(Curriculum):
    """Each batch's length uniform over the admissible lengths in ``low..high``."""

    law: Literal["uniform"] = "uniform"

    def length(self, task: Task, step: int, generator: torch.Generator) -> int:
        admissible = task.lengths(self.low, self.high)
        return admissible[int(torch.randint(len(admissible), (), generator=generator))]


class Fixed(Curriculum):
    """Every batch at the longest admissible length up to ``high``; per-prefix labels train the shorter ones."""

    law: Literal["fixed"] = "fixed"

    def length(self, task: Task, step: int, generator: torch.Generator) -> int:
        return task.lengths(self.low, self.high)[-1]


CURRICULA: dict[str, type[Curriculum]] = {"uniform": Uniform, "fixed": Fixed}


def curriculum(value: dict[str, Any] | Curriculum) -> Curriculum:
    """A curriculum from its fields.

    Raises:
        TaskError: for an unknown law, with the nearest names.
    """
    if isinstance(value, Curriculum):
        return value
    law = str(value.get("law", "uniform"))
    if law not in CURRICULA:
        near = get_close_matches(law, CURRICULA, n=2, cutoff=0.4)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        raise TaskError(f"unknown curriculum {law!r}; {hint}known: {', '.join(CURRICULA)}")
    return CURRICULA[law](**value)
