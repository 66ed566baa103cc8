"""Tasks that count modulo a number: counting modulo m, walking around a cycle."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.base import BOS, Law, Support, Task, TaskError
from workbench.tasks.listed_test_sets import composed_strings, sorted_compositions
from workbench.tasks.sampling import flat_shares

__all__ = ["CycleNavigation", "ModCount"]


class ModSum(Task):
    """Base class: the answer is the sum, modulo a number, of the increments of the symbols.

    Distributions: *training* and *matched* draw the probabilities of the symbols uniformly on the simplex, once for
    each sequence, and then its tokens independently. So all counts of symbols that add up to the length are equally
    likely, and at every length the remainders are about equally likely. *challenge* sorts the tokens of such a
    sequence, with the symbols in a random order.

    Task states: ``output_summary`` and ``update_summary`` are the remainder.
    """

    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    family: ClassVar[str] = "automata"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    @property
    @abstractmethod
    def modulus(self) -> int:
        """The number of remainders."""

    @property
    @abstractmethod
    def steps(self) -> tuple[int, ...]:
        """The increment of each symbol."""

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS and the increment of each symbol."""
        return (BOS, *(f"{step:+d}" if step else "0" for step in self.steps))

    @property
    def output_names(self) -> tuple[str, ...]:
        """The remainders."""
        return tuple(map(str, range(self.modulus)))

    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        """The symbols whose increment is a multiple of the modulus."""
        return tuple(1 + i for i, step in enumerate(self.steps) if step % self.modulus == 0)

    def automaton(self) -> Automaton:
        step = dict(zip(self.tokens_names[1:], self.steps, strict=True))
        return Automaton.explore(
            self.tokens_names[1:],
            0,
            lambda total, token: (total + step[token]) % self.modulus,
            accepts=lambda _: False,
            name=str,
            answer=lambda total: total,
        )

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        symbols = len(self.steps)
        share = flat_shares((batch, symbols), generator).cumsum(1)
        coin = torch.rand((batch, length, 1), generator=generator, device=generator.device)
        strings = (coin >= share[:, None, :-1]).sum(-1)
        if law == "challenge":
            order = torch.rand((batch, symbols), generator=generator, device=generator.device).argsort(1)
            strings = order.gather(1, order.argsort(1).gather(1, strings).sort(1).values)
        return 1 + strings, {}

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        listing = sorted_compositions if law == "challenge" else composed_strings
        return self._support(listing(len(self.steps), length), law)

    def _sums(self, tokens: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
        steps = torch.tensor(self.steps, device=tokens.device)
        return steps[tokens - 1].cumsum(1) % self.modulus

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        sums = self._sums(strings)
        return sums, torch.ones_like(strings, dtype=torch.bool), sums, sums

    def chance(self, law: Law, length: int) -> float:
        """Return the largest share of a remainder over all symbol counts; equal under every distribution."""
        ways = np.zeros((length + 1, self.modulus))  # [symbols used, remainder]
        ways[0, 0] = 1
        for step in self.steps:
            for used in range(1, length + 1):
                ways[used] += np.roll(ways[used - 1], step)
        return float(ways[length].max() / ways[length].sum())

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        return F.one_hot(self._sums(tokens)[:, -1], self.modulus).double()

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        total = 0
        answers: list[int] = []
        for token in tokens:
            total += int(self.tokens_names[token])
            answers.append(total - self.modulus * (total // self.modulus))
        return answers


class ModCount(ModSum):
    """Report the count modulo m.

    Every symbol adds its increment; with increments 0 and 1 the ones are counted. For m = 2 the map is parity, with
    another distribution. Linear recurrences need eigenvalues beyond the positive reals to compute it (Grazzi et al.
    2024, 2411.12537).

    Distributions (those of :class:`ModSum`): all counts of symbols that add up to the length are equally likely, and
    tokens are shuffled. Under *challenge* tokens are sorted, with the symbols in a random order.

    Example: m = 3 on ``+1 +1 0 +1``.

        >>> ModCount(m=3).reference([2, 2, 1, 2])
        [1, 2, 2, 0]
    """

    name: ClassVar[str] = "mod_count"
    question: ClassVar[str] = "What is the count modulo m?"
    summary: ClassVar[str] = "the count modulo m"

    m: int = Field(3, ge=2, le=64)
    """The modulus."""
    increments: tuple[int, ...] = Field((0, 1), min_length=2, max_length=16)
    """The increment of each symbol, in the order of their ids."""

    @model_validator(mode="after")
    def _symbols_differ(self) -> ModCount:
        if len(set(self.increments)) < len(self.increments) or len({i % self.m for i in self.increments}) < 2:
            raise TaskError(
                f"increments must be different integers, not all equal modulo m = {self.m}, "
                f"which {', '.join(map(str, self.increments))} are not"
            )
        return self

    @property
    def modulus(self) -> int:
        return self.m

    @property
    def steps(self) -> tuple[int, ...]:
        return self.increments


class CycleNavigation(ModSum):
    """Report the position on a cycle that the steps lead to.

    The symbols step back, stay and step forward; the walk starts at position 0. From Deletang et al. 2022 ("Neural
    Networks and the Chomsky Hierarchy", 2207.02098), where the cycle has five positions.

    Distributions (those of :class:`ModSum`): all counts of symbols that add up to the length are equally likely, and
    tokens are shuffled. Under *challenge* tokens are sorted, with the symbols in a random order.

    Example: back from 0 leads to 4.

        >>> CycleNavigation().reference([1, 2, 3, 3])
        [4, 4, 0, 1]
    """

    name: ClassVar[str] = "cycle_navigation"
    question: ClassVar[str] = "Where on the cycle do the steps lead?"
    summary: ClassVar[str] = "the place on the cycle"

    places: int = Field(5, ge=2, le=64)
    """Number of positions on the cycle."""

    @property
    def modulus(self) -> int:
        return self.places

    @property
    def steps(self) -> tuple[int, ...]:
        return (-1, 0, 1)
