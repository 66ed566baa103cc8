"""Ends a run early, based only on accuracy at its training lengths."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import BaseModel, ConfigDict, Field

from workbench.core.limits import COUNT, DRAWN


class EarlyStop(BaseModel):
    """End training once the longest trained lengths have been answered right in several consecutive checks.

    Checks take place every ``every`` steps, once the length distribution no longer changes. At each check the model
    answers new sequences of the length-matched test set at the longest training lengths, up to three of them. Lengths
    beyond training are never evaluated. The sequences are a pure function of (evaluation seed, step, length). So a run
    that was killed and resumed ends at the same step.

    Attributes:
        accuracy: required accuracy at the worst of these lengths; a run with 0.95 of skill counts as solving them.
        every: steps between checks.
        patience: the number of consecutive checks that must reach it.
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
        """Steps of the consecutive passed checks, after the check at ``step``. A second call gives the same list."""
        return [*(s for s in before if s < step), step] if worst >= self.accuracy else []

    def ends(self, streak: Sequence[int]) -> bool:
        """Whether training ends here."""
        return len(streak) >= self.patience

    def reason(self, lengths: Sequence[int], streak: Sequence[int]) -> str:
        """Return why training stopped, in one clause."""
        where = f"length{'s' * (len(lengths) > 1)} {', '.join(map(str, lengths))}"
        checks = f"{len(streak)} check{'s' * (len(streak) > 1)} in a row, {self.every:,} steps apart"
        return f"accuracy was at least {self.accuracy:g} at {where} in {checks}, up to step {streak[-1]:,}"
