"""The distribution of lengths at each training step, as a pure function of (seed, step)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

import torch
from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, field_validator, model_validator

from workbench.core import names
from workbench.core.construct import construct
from workbench.core.errors import quoted_value
from workbench.core.former_names import FormerName, OverridableFormerNames
from workbench.core.limits import COUNT, LONGEST
from workbench.core.suggest import nearest
from workbench.tasks.base import Task
from workbench.training.errors import TrainingError


class Curriculum(OverridableFormerNames, BaseModel):
    """A distribution of lengths over training; ``low`` and ``high`` bound every length that it draws.

    All sequences of a batch have one length, so the distribution is one over batches. With
    ``training.lengths_per_batch`` it is one over the groups of each batch.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    law: str
    low: int = Field(ge=1, le=LONGEST)
    high: int = Field(ge=1, le=LONGEST)

    @model_validator(mode="after")
    def _ordered(self) -> Curriculum:
        if self.low > self.high:
            raise ValueError(f"the shortest training length {self.low} exceeds the longest {self.high}")
        return self

    def length(self, task: Task, step: int, generator: torch.Generator) -> int:
        """The length of the batch at ``step``."""
        raise NotImplementedError

    def possible(self, task: Task, steps: int) -> list[int]:
        """Return every length that an update before ``steps`` can have, ascending. The last is N, the longest trained
        length.

        Raises:
            TaskError: if at some step the task admits no length at all.
        """
        return task.lengths(self.low, self.high)

    def constant_from(self) -> int:
        """The first step from which the length distribution no longer changes."""
        return 0

    settled: ClassVar[FormerName] = FormerName("constant_from")

    def describe(self) -> str:
        """Return the length distribution in words, as one clause."""
        raise NotImplementedError


class Uniform(Curriculum):
    """A length distribution: each batch has a length drawn uniformly from the task's lengths in ``low..high``."""

    law: Literal["uniform"] = "uniform"

    def length(self, task: Task, step: int, generator: torch.Generator) -> int:
        return _one_of(task.lengths(self.low, self.high), generator)

    def describe(self) -> str:
        return f"lengths uniform on {self.low} to {self.high}"


class Fixed(Curriculum):
    """A length distribution: every batch has the task's longest length up to ``high``. Labels at every prefix train
    shorter lengths.
    """

    law: Literal["fixed"] = "fixed"

    def length(self, task: Task, step: int, generator: torch.Generator) -> int:
        return task.lengths(self.low, self.high)[-1]

    def possible(self, task: Task, steps: int) -> list[int]:
        return task.lengths(self.low, self.high)[-1:]

    def describe(self) -> str:
        return f"every batch at length {self.high}"


class Growing(Curriculum):
    """Lengths uniform on ``low..top``, where ``top`` grows from ``start`` to ``high`` over ``over`` steps.

    With u = min(1, step / over): *linear* ``top = start + (high - start) u``, *exponential* ``top = start (high /
    start)^u``, both rounded down. From step ``over`` on, lengths are uniform on ``low..high``.
    """

    law: Literal["growing"] = "growing"
    start: int = Field(ge=1)
    over: int = Field(ge=1, le=COUNT)
    growth: Literal["linear", "exponential"] = "linear"

    @model_validator(mode="after")
    def _starts_inside(self) -> Growing:
        if not self.low <= self.start <= self.high:
            raise ValueError(
                f"its setting start must be a training length, from {self.low} to {self.high}, not {self.start}"
            )
        return self

    def top(self, step: int) -> int:
        """The longest length at ``step``."""
        if step >= self.over:
            return self.high
        done = step / self.over
        if self.growth == "linear":
            return self.start + (self.high - self.start) * step // self.over
        # The slack keeps a power that is a whole number from being rounded down below it.
        return int(self.start * (self.high / self.start) ** done + 1e-9)

    def length(self, task: Task, step: int, generator: torch.Generator) -> int:
        return _one_of(task.lengths(self.low, self.top(step)), generator)

    def possible(self, task: Task, steps: int) -> list[int]:
        task.lengths(self.low, self.start)  # refuses a start too short for the task
        return task.lengths(self.low, self.top(steps - 1))

    def constant_from(self) -> int:
        return self.over

    def describe(self) -> str:
        return (
            f"lengths uniform from {self.low} to a top that grows from {self.start} to {self.high} over the first "
            f"{self.over:,} steps ({self.growth})"
        )


class FewLong(Curriculum):
    """Mostly short sequences and a few long ones, as in priming (Jelassi et al. 2023, arXiv 2306.15400).

    A batch has a length uniform on ``low..short`` with probability 1 - ``share``, and the longest admissible length up
    to ``high`` with probability ``share``. N is the length of the few long ones. The lengths between ``short`` and N
    count as trained although no batch has them.
    """

    law: Literal["few_long"] = "few_long"
    short: int = Field(ge=1)
    share: float = Field(default=0.05, gt=0, lt=1)

    @model_validator(mode="after")
    def _short_is_shorter(self) -> FewLong:
        if not self.low <= self.short < self.high:
            raise ValueError(
                f"its setting short must be at least the shortest training length, {self.low}, and below the longest, "
                f"{self.high}, not {self.short}"
            )
        return self

    def length(self, task: Task, step: int, generator: torch.Generator) -> int:
        if float(torch.rand((), generator=generator)) < self.share:
            return task.lengths(self.low, self.high)[-1]
        return _one_of(task.lengths(self.low, self.short), generator)

    def possible(self, task: Task, steps: int) -> list[int]:
        return sorted({*task.lengths(self.low, self.short), task.lengths(self.low, self.high)[-1]})

    def describe(self) -> str:
        return (
            f"lengths uniform on {self.low} to {self.short}, and {self.share:.3g} of the batches at {self.high}, "
            "which is what N means here"
        )


class Mixture(Curriculum):
    """A mixture of length distributions: each batch follows one of them, drawn with the given weights.

    Components may leave out ``low`` and ``high``: they then have those of the mixture, which bound them.
    """

    law: Literal["mixture"] = "mixture"
    weights: tuple[float, ...] = Field(min_length=1)
    components: tuple[SerializeAsAny[Curriculum], ...] = Field(min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _bounded(cls, data: Any) -> Any:
        bounds = {k: data[k] for k in ("low", "high") if k in data}
        given = data.get("components", ())
        if not isinstance(given, list | tuple):
            return data  # which says what components are
        return {**data, "components": [curriculum({**bounds, **c} if isinstance(c, dict) else c) for c in given]}

    @field_validator("weights")
    @classmethod
    def _positive(cls, weights: tuple[float, ...]) -> tuple[float, ...]:
        if min(weights) <= 0:
            raise ValueError(f"every weight must be above 0, not {min(weights):g}")
        return weights

    @model_validator(mode="after")
    def _fits(self) -> Mixture:
        if len(self.weights) != len(self.components):
            raise ValueError(
                f"{len(self.weights)} weights were given for {len(self.components)} components; give one weight each"
            )
        for one in self.components:
            if one.low < self.low or one.high > self.high:
                raise ValueError(
                    f"the component with {one.describe()} exceeds the bounds of the mixture, {self.low} to {self.high}"
                )
        return self

    def length(self, task: Task, step: int, generator: torch.Generator) -> int:
        weights = torch.tensor(self.weights, dtype=torch.float64)
        chosen = self.components[int(torch.multinomial(weights, 1, generator=generator))]
        return chosen.length(task, step, generator)

    def possible(self, task: Task, steps: int) -> list[int]:
        return sorted({n for one in self.components for n in one.possible(task, steps)})

    def constant_from(self) -> int:
        return max(one.constant_from() for one in self.components)

    def describe(self) -> str:
        total = sum(self.weights)
        parts = zip(self.weights, self.components, strict=True)
        return "; ".join(f"{weight / total:.3g} of the batches with {one.describe()}" for weight, one in parts)


class Switched(Curriculum):
    """One length distribution before a step, and another one from that step on.

    The lengths before the step are those that the first distribution draws on its own, so a run with this curriculum is
    bit-identical up to there. ``low`` and ``high`` bound both distributions. If they are left out, they are the
    smallest and the largest bound of the two.
    """

    law: Literal["switched"] = "switched"
    at: int = Field(ge=1, le=COUNT)
    before: SerializeAsAny[Curriculum]
    after: SerializeAsAny[Curriculum]

    @model_validator(mode="before")
    @classmethod
    def _with_bounds(cls, data: Any) -> Any:
        if not isinstance(data, Mapping) or not {"before", "after"} <= data.keys():
            return data
        parts = [curriculum(data[name]) for name in ("before", "after")]
        bounds = {"low": min(part.low for part in parts), "high": max(part.high for part in parts)}
        return {**bounds, **data, "before": parts[0], "after": parts[1]}

    @model_validator(mode="after")
    def _within_bounds(self) -> Switched:
        for part in (self.before, self.after):
            if part.low < self.low or part.high > self.high:
                raise ValueError(
                    f"the part with {part.describe()} exceeds the bounds {self.low} to {self.high}; leave out low and "
                    "high"
                )
        return self

    def length(self, task: Task, step: int, generator: torch.Generator) -> int:
        return (self.before if step < self.at else self.after).length(task, step, generator)

    def possible(self, task: Task, steps: int) -> list[int]:
        first = self.before.possible(task, min(steps, self.at))
        return sorted({*first, *(self.after.possible(task, steps) if steps > self.at else ())})

    def constant_from(self) -> int:
        return max(self.at, self.after.constant_from())

    def describe(self) -> str:
        return f"{self.before.describe()} before step {self.at:,}, and {self.after.describe()} from then on"


CURRICULA: dict[str, type[Curriculum]] = {name: globals()[class_name] for name, class_name in names.CURRICULA.items()}


def curriculum(value: object) -> Curriculum:
    """Return a length distribution from its fields; the field ``law`` names its kind.

    Raises:
        TrainingError: for an unknown kind (with the nearest names) or a field that does not fit.
    """
    if isinstance(value, Curriculum):
        return value
    if not isinstance(value, Mapping):
        raise TrainingError(f"a curriculum is a mapping with 'law' and its settings, not {quoted_value(value)}")
    law = value.get("law", "uniform")
    if not isinstance(law, str) or law not in CURRICULA:
        raise TrainingError(f"unknown curriculum {quoted_value(law)}; {nearest(law, CURRICULA)}")
    return construct(CURRICULA[law], value, f"curriculum {law}", TrainingError)


def _one_of(lengths: list[int], generator: torch.Generator) -> int:
    return lengths[int(torch.randint(len(lengths), (), generator=generator))]
