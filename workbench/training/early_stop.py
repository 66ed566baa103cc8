"""Ending a run early, on what it does inside its training lengths and on nothing else."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from workbench.core.limits import COUNT, DRAWN


class EarlyStop(BaseModel):
    """End training once the longest trained lengths have been answered right several checks in a row.

    Every ``every`` steps, from the step on at which the curriculum has reached its last law, the model
    answers fresh sequences of the matched law at the (up to three) longest training lengths. Lengths
    beyond training are never looked at. The sequences are a pure function of (evaluation seed, step,
    length), so the decision is one of the run: a run that was killed ends at the same step.

    Attributes:
        accuracy: what the worst of these lengths must reach; 0.95 of skill is what counts as fitted.
        every: steps between checks.
        patience: how many checks in a row must reach it.
        sequences: sequences per length and check.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    accuracy: float = Field(default=0.99, gt=0, le=1)
    every: int = Field(default=100, ge=1, le=COUNT)
    patience: int = Field(default=3, ge=1, le=COUNT)
    sequences: int = Field(default=128, ge=1, le=DRAWN)

    def due(self, step: int, settled: int) -> bool:
        """Whether there is a check at ``step``."""
        return step > 0 and step >= settled and step % self.every == 0

    def streak(self, before: Sequence[int], step: int, worst: float) -> list[int]:
        """Steps of the checks in a row that were passed, after the one at ``step``; doing it twice changes nothing."""
        return [*(s for s in before if s < step), step] if worst >= self.accuracy else []

    def ends(self, streak: Sequence[int]) -> bool:
        """Whether training ends here."""
        return len(streak) >= self.patience

    def reason(self, lengths: Sequence[int], streak: Sequence[int]) -> str:
        """Why training ended, in one clause."""
        where = f"length{'s' * (len(lengths) > 1)} {', '.join(map(str, lengths))}"
        checks = f"{len(streak)} check{'s' * (len(streak) > 1)} in a row, {self.every:,} steps apart"
        return f"accuracy was at least {self.accuracy:g} at {where} in {checks}, up to step {streak[-1]:,}"
