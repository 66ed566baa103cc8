"""Tasks whose task state is an average over the prefix: a function of the bias, the mean over a class of positions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor

from workbench.tasks.base import BOS, ROUNDING, Batch, Law, Support, Task, TaskError
from workbench.tasks.best_constant import in_best_reach
from workbench.tasks.later_parameter import later
from workbench.tasks.listed_test_sets import sorted_strings, urn_strings
from workbench.tasks.sampling import (
    biases,
    integers,
    last_alone,
    positions,
    sorted_bits,
    urn_bits,
    urn_counts,
    urn_numbers,
)

__all__ = ["ModPMean", "SimpleTask"]


def _in_every_row(places: Int[Tensor, " place"], batch: int) -> Int[Tensor, "batch place"]:
    return places.expand(batch, -1)


class ModPMean(Task):
    """Report the share of ones among the tokens at positions k, k + p, k + 2p, ...

    Positions count from 1; with k = 0 the class is p, 2p, 3p, ... The answer is a number, and it is right if it is
    within ``tolerance`` of the share. Positions before the first one of the class are not supervised.

    Distributions: *training* and *matched* draw one bias for each residue class, uniform on [0, 1], and the tokens as
    coins with the bias of their class. So the number of ones in class k is uniform and independent of the other
    classes. *challenge* sorts the tokens inside class k; a fair coin picks the first symbol. ``prior`` replaces the
    uniform bias with a Dirichlet distribution, in all of these.

    ``meta`` contains ``counted``, the positions of the class, counted from 1.

    Task states: ``update_summary`` is (ones in the class, tokens in the class, length mod p).

    Example: p = 2, k = 1 on ``1 0 0 0`` averages positions 1 and 3.

        >>> ModPMean(p=2, k=1).reference([2, 1, 1, 1])
        [1.0, 1.0, 0.5, 0.5]
    """

    name: ClassVar[str] = "mod_p_mean"
    family: ClassVar[str] = "averages"
    question: ClassVar[str] = "What share of every p-th token is 1?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "average"
    summary: ClassVar[str] = "share of ones among every p-th token"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS, "0", "1")

    p: int = Field(3, ge=1, le=64)
    """Period of the residue classes."""
    k: int = Field(1, ge=0)
    """The class that is averaged: positions t with t = k mod p."""
    tolerance: float = Field(0.05, gt=0, lt=0.5)
    """Largest distance from the share that still counts as right."""
    prior: float = later(1.0, ge=0.05, le=1000)
    """Both parameters of the Dirichlet distribution of shares: 1 is uniform, less favours shares near 0 and 1."""

    @model_validator(mode="after")
    def _class_exists(self) -> ModPMean:
        if self.k >= self.p:
            raise TaskError(f"k must be an integer from 0 to p - 1 = {self.p - 1}, not {self.k}")
        return self

    def admissible(self, length: int) -> bool:
        return self._class_size(length) >= 1

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def _class_size(self, length: int) -> int:
        return len(range(self.k or self.p, length + 1, self.p))

    def _in_class(self, strings: Int[Tensor, "batch length"], before: int = 0) -> Bool[Tensor, " length"]:
        return (positions(strings) + before) % self.p == self.k

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        bias = biases((batch, self.p), self.prior, generator)
        coin = torch.rand((batch, length), generator=generator, device=generator.device)
        residue = torch.arange(1, length + 1, device=generator.device) % self.p
        ones = coin < bias[:, residue]
        if law == "challenge":
            number_of_first = urn_numbers((batch, 1), self._class_size(length), self.prior, generator)
            first = integers(2, (batch, 1), generator).bool()
            rank = (residue == self.k).cumsum(0)  # 1-based within the class
            ones = torch.where(residue == self.k, (rank <= number_of_first) == first, ones)
        return 1 + ones.long(), {"counted": _in_every_row(1 + (residue == self.k).nonzero()[:, 0], batch)}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        counted = self._in_class(strings)
        ones = ((strings == 2) & counted).cumsum(1)
        total = counted.cumsum(0).expand_as(ones)
        share = ones / total.clamp(min=1)
        phase = (positions(strings) % self.p).expand_as(ones)
        return share[..., None], total > 0, share, torch.stack([ones, total, phase], -1)

    def chance(self, law: Law, length: int) -> float:
        """Return the largest share of the values 0/m, 1/m, .., m/m within reach of one constant answer.

        m is the number of positions of the class up to ``length``. The values are equally likely with prior 1. The
        result is the same under every distribution.
        """
        size = self._class_size(length)
        if size == 0:
            raise TaskError(
                f"{self.name} has no supervised position up to length {length}; give a length of at least "
                f"{self.k or self.p}"
            )
        in_reach = math.floor(2 * size * (self.tolerance + ROUNDING)) + 1
        if self.prior != 1:
            return float(urn_counts(size, self.prior).unfold(0, min(in_reach, size + 1), 1).sum(1).max())
        return min(1.0, in_reach / (size + 1))

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        return self._visible_share(tokens, before=0)

    def _visible_share(self, tokens: Int[Tensor, "batch window"], before: int) -> Float[Tensor, "batch out"]:
        """Return the share over the visible tokens of the class; 1/2 if none. ``before`` tokens are hidden."""
        counted = self._in_class(tokens, before)
        if not bool(counted.any()):
            return torch.full((len(tokens), 1), 0.5, dtype=torch.float64, device=tokens.device)
        return (tokens[:, counted] == 2).double().mean(1, keepdim=True)

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Return the shortcuts of every task; the last window also knows where it starts."""
        hits = super().shortcuts(batch, window)
        if "last_window" in hits:
            guess = self._visible_share(batch.tokens[:, -window:], before=batch.length - window)
            hits["last_window"] = self._expected_correct(guess, batch.targets[:, -1])
        return hits

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        values: list[int] = []
        answers: list[float | None] = []
        for position, token in enumerate(tokens, start=1):
            if position % self.p == self.k:
                values.append(int(self.vocabulary[token]))
            answers.append(float(Fraction(sum(values), len(values))) if values else None)
        return answers


class SimpleTask(Task):
    """Report sin(omega m), where m is the share of zeros minus that of ones.

    SimpleTask of Izzo, Nichani and Lee 2025 (arXiv 2510.27015): a function of an average, which is steeper for a larger
    omega. The answer is a number, and it is right if it is within ``tolerance``.

    Distributions: *training* and *matched* draw the number of ones uniformly on 0..L and shuffle. So m has the same
    distribution at every length; under independent fair bits it would approach 0. *challenge* sorts the tokens; a fair
    coin picks the first symbol. ``prior`` replaces the uniform bias of the coins with a Dirichlet distribution, in all
    of these.

    ``meta`` contains ``counted``, the positions that are averaged, counted from 1: all of them.

    Task states: ``output_summary`` is m; ``update_summary`` is (zeros, ones).

    Example: after ``0 0 1`` m is 1/3.

        >>> [round(answer, 4) for answer in SimpleTask(omega=3.0).reference([1, 1, 2])]
        [0.1411, 0.1411, 0.8415]
    """

    name: ClassVar[str] = "simple"
    family: ClassVar[str] = "averages"
    question: ClassVar[str] = "What is the sine of omega times the share of zeros minus that of ones?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "average"
    summary: ClassVar[str] = "share of zeros minus that of ones"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS, "0", "1")

    omega: float = Field(2.0, gt=0, le=64)
    """Frequency of the sine."""
    tolerance: float = Field(0.1, gt=0, lt=1)
    """Largest distance from the answer that still counts as right."""
    prior: float = later(1.0, ge=0.05, le=1000)
    """Both parameters of the Dirichlet distribution of shares: 1 is uniform, less favours shares near 0 and 1."""

    queries: Literal["every", "last"] = later("every")
    """Whether every prefix is supervised, or only the whole sequence."""

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge" and self.queries == "every"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        draw = sorted_bits if law == "challenge" else urn_bits
        strings = 1 + draw(batch, length, generator, self.prior).long()
        return strings, {"counted": _in_every_row(positions(strings), batch)}

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        listed = (sorted_strings if law == "challenge" else urn_strings)(length, self.prior)
        if listed is None:
            return None
        return self._support(listed, law, {"counted": _in_every_row(positions(listed[0]), len(listed[0]))})

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        counts = torch.stack([strings == 1, strings == 2], 2).cumsum(1)
        mean = (counts[..., 0] - counts[..., 1]) / positions(strings)
        mask = torch.ones_like(strings, dtype=torch.bool)
        mask = mask if self.queries == "every" else last_alone(mask)
        return (self.omega * mean).sin()[..., None], mask, mean, counts

    def chance(self, law: Law, length: int) -> float:
        """Return the largest share of the answers to 0, 1, .., L ones that are near one constant answer.

        With prior 1 these numbers of ones are equally likely.
        """
        ones = torch.arange(length + 1, dtype=torch.float64)
        answers = (self.omega * (length - 2 * ones) / length).sin()[:, None]
        if self.prior == 1:
            return float(in_best_reach(answers, self.tolerance_, self._within).double().mean())
        law_of_ones = urn_counts(length, self.prior)
        return float(law_of_ones[in_best_reach(answers, self.tolerance_, self._within, law_of_ones)].sum())

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        return (self.omega * (3 - 2 * tokens).double().mean(1, keepdim=True)).sin()

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        values = [int(self.vocabulary[token]) for token in tokens]
        answers = [math.sin(self.omega * (1 - 2 * sum(values[:n]) / n)) for n in range(1, len(values) + 1)]
        return answers if self.queries == "every" else [None] * (len(values) - 1) + answers[-1:]
