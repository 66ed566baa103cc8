"""The task of the positive control of docs/small_model.md: random tokens that repeat themselves, and nothing else.

A model that learns it has to copy, so it is where an induction head is sure to be wanted, and where its score must
find one: ``lengthlens train docs/small_model_control.py:RepeatedTokens``.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from pydantic import Field, model_validator
from torch import Tensor

from workbench.tasks.base import BOS, Law
from workbench.tasks.text.next_symbol import NextSymbol


class RepeatedTokens(NextSymbol):
    """Which symbol comes next, in a random string that repeats itself?

    Each string has a period of its own, uniform over ``shortest`` to ``longest``, or to half the string where that is
    less; its first period is independent uniform symbols. All laws are this one: nothing near the end betrays the
    symbol, and a window as long as the period does. Every symbol but the last is asked, as in text, and so is the last
    where what follows is known; those of the first period cannot be foretold.
    """

    name: ClassVar[str] = "repeated_tokens"
    question: ClassVar[str] = "Which symbol comes next?"
    summary: ClassVar[str] = "the next symbol"
    following: ClassVar[str] = "next_symbol"

    symbols: int = Field(64, ge=2, le=1024)
    """Size of the alphabet."""
    shortest: int = Field(8, ge=1, le=1024)
    """Least period."""
    longest: int = Field(32, ge=1, le=1024)
    """Largest period."""

    @model_validator(mode="after")
    def _ordered(self) -> RepeatedTokens:
        if self.shortest > self.longest:
            raise ValueError(f"shortest {self.shortest} exceeds longest {self.longest}; exchange them")
        return self

    @property
    def tokens_names(self) -> tuple[str, ...]:
        return (BOS, *self.output_names)

    @property
    def output_names(self) -> tuple[str, ...]:
        return tuple(f"s{i}" for i in range(self.symbols))

    @property
    def challenge_is_matched(self) -> str:
        return "no law of such strings is harder than this one"

    def prefix_closed(self, law: Law) -> bool:
        return True

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        most = max(self.shortest, min(self.longest, length // 2))
        period = torch.randint(self.shortest, most + 1, (batch, 1), generator=generator)
        once = torch.randint(1, 1 + self.symbols, (batch, max(length + 1, most)), generator=generator)
        whole = once.gather(1, torch.arange(length + 1) % period)
        return whole[:, :length], {self.following: whole[:, length] - 1}

    def chance(self, law: Law, length: int) -> float:
        return 1 / self.symbols
