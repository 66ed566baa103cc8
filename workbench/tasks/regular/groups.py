"""Word problems of permutation groups: the answer is the product so far."""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from itertools import permutations
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.automata.word_counts import state_shares
from workbench.tasks.base import BOS, Law, Support, Task
from workbench.tasks.listed_test_sets import uniform_strings
from workbench.tasks.sampling import integers, outer_margin, positions

__all__ = ["AlternatingGroup", "SymmetricGroup"]

Permutation = tuple[int, ...]


class PermutationGroup(Task):
    """Base class of the word problems: the answer is the product of the permutations so far.

    The product is taken from left to right: the first token acts first. Permutations are written in cycles; ``e`` is
    the identity. ``tokens`` selects the alphabet: all elements of the group, or the identity and two generators (one,
    if one suffices).

    Distributions: *training* and *matched* draw tokens independently and uniformly. With all elements, the product is
    uniform at every length, given any proper part of the string; with generators it is nearly uniform after a few
    tokens. *challenge* is the same, except that the first and the last N tokens (N = the longest training length; none
    up to length 2N) are the identity.

    Task states: ``output_summary`` and ``update_summary`` are the product. The word problem of a group that is not
    solvable is complete for NC^1 (Barrington 1989). No transformer of fixed depth computes it unless TC^0 = NC^1 (Liu
    et al. 2022, "Transformers Learn Shortcuts to Automata", 2210.10749).
    """

    question: ClassVar[str] = "Which permutation is the product so far?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    summary: ClassVar[str] = "the product of the permutations so far"
    family: ClassVar[str] = "automata"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    tokens: Literal["elements", "generators"] = "elements"
    """The alphabet: all elements, or generators."""

    @property
    @abstractmethod
    def points(self) -> int:
        """Number of points that are permuted."""

    @property
    @abstractmethod
    def elements(self) -> list[Permutation]:
        """The group, the identity first; a permutation is the tuple of the images of 0, 1, ..."""

    @property
    @abstractmethod
    def generators(self) -> list[Permutation]:
        """Permutations that generate the group."""

    @cached_property
    def multiplication(self) -> Automaton:
        """The automaton whose states are the elements of the group; a symbol multiplies from the right."""
        number = {element: i for i, element in enumerate(self.elements)}
        symbols = self.elements if self.tokens == "elements" else [self.elements[0], *self.generators]
        table = np.array([[number[tuple(s[i] for i in g)] for s in symbols] for g in number], dtype=np.int64)
        names = tuple(map(_cycles, number))
        return Automaton(table, 0, frozenset(), tuple(map(_cycles, symbols)), names, np.arange(len(number)))

    def automaton(self) -> Automaton:
        return self.multiplication

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS, the identity, and the other elements or the generators."""
        return (BOS, *self.multiplication.alphabet)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The elements of the group."""
        return self.multiplication.names

    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        """The identity."""
        return tuple(1 + symbol for symbol in self.multiplication.neutral)

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        strings = 1 + integers(len(self.multiplication.alphabet), (batch, length), generator)
        if law == "challenge":
            margin, position = outer_margin(length, window), positions(strings)
            strings = torch.where((position <= margin) | (position > length - margin), 1, strings)
        return strings, {}

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        margin = outer_margin(length, window) if law == "challenge" else 0
        listed = uniform_strings(len(self.multiplication.alphabet), length - 2 * margin)
        if listed is None:
            return None
        return self._support((F.pad(listed[0], (margin, margin)), listed[1]), law)

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        products = self._products(strings)
        return products, torch.ones_like(strings, dtype=torch.bool), products, products

    def _products(self, tokens: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
        return torch.from_numpy(self.multiplication.run(tokens.cpu().numpy() - 1)).to(tokens.device)

    def chance(self, law: Law, length: int) -> float:
        """Return the largest share of a product, exactly; for *challenge* with generators that of N = length // 8."""
        if self.tokens == "elements":
            return 1 / len(self.elements)
        free = length - 2 * outer_margin(length, None) if law == "challenge" else length
        symbols = len(self.multiplication.alphabet)
        return float(state_shares(self.multiplication.table, 0, np.full((free, symbols), 1 / symbols)).max())

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        return F.one_hot(self._products(tokens)[:, -1], self.d_vocab_out).double()

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        images = list(range(self.points))
        answers: list[int] = []
        for token in tokens:
            cycles = re.findall(r"\((\d+)\)", self.tokens_names[token])
            moves = {
                int(a) - 1: int(b) - 1 for cycle in cycles for a, b in zip(cycle, cycle[1:] + cycle[0], strict=True)
            }
            images = [moves.get(point, point) for point in images]
            answers.append(self.output_names.index(_cycles(images)))
        return answers


class SymmetricGroup(PermutationGroup):
    """Report which permutation of a few things is the product so far (S_3 by default).

    Distributions (those of :class:`PermutationGroup`): tokens are independent and uniform; under *challenge* the first
    and the last N are the identity. The generators are the swap of the first two and the cycle of all.

    Example: a swap undoes itself.

        >>> group = SymmetricGroup()
        >>> group.tokens_names
        ('<bos>', 'e', '(23)', '(12)', '(123)', '(132)', '(13)')
        >>> [group.output_names[i] for i in group.reference([3, 3, 3, 4])]
        ['(12)', 'e', '(12)', '(13)']
    """

    name: ClassVar[str] = "symmetric_group"

    degree: int = Field(3, ge=3, le=5)
    """Number of things that are permuted."""

    @property
    def points(self) -> int:
        return self.degree

    @property
    def elements(self) -> list[Permutation]:
        return list(permutations(range(self.degree)))

    @property
    def generators(self) -> list[Permutation]:
        return [_cycle([0, 1], self.degree), _cycle(list(range(self.degree)), self.degree)]


class AlternatingGroup(PermutationGroup):
    """Report which even permutation of a few things is the product so far (A_5 by default).

    A_5, of 60 elements, is the smallest group that is not solvable.

    Distributions (those of :class:`PermutationGroup`): tokens are independent and uniform; under *challenge* the first
    and the last N are the identity. The generators are the cycle of the first three and the longest cycle that is even.
    That cycle moves all points, or all except the first.

    Example: three turns by a third of a circle lead back.

        >>> group = AlternatingGroup(tokens="generators")
        >>> group.tokens_names
        ('<bos>', 'e', '(123)', '(12345)')
        >>> [group.output_names[i] for i in group.reference([2, 2, 2, 3])]
        ['(123)', '(132)', 'e', '(12345)']
    """

    name: ClassVar[str] = "alternating_group"

    degree: int = Field(5, ge=3, le=5)
    """Number of things that are permuted."""

    @property
    def points(self) -> int:
        return self.degree

    @property
    def elements(self) -> list[Permutation]:
        return [p for p in permutations(range(self.degree)) if _even(p)]

    @property
    def generators(self) -> list[Permutation]:
        longest = list(range(1 - self.degree % 2, self.degree))
        return list(dict.fromkeys([_cycle([0, 1, 2], self.degree), _cycle(longest, self.degree)]))


def _cycle(places: Sequence[int], degree: int) -> Permutation:
    images = list(range(degree))
    for position, following in zip(places, [*places[1:], places[0]], strict=True):
        images[position] = following
    return tuple(images)


def _even(images: Permutation) -> bool:
    return sum(a > b for i, a in enumerate(images) for b in images[i + 1 :]) % 2 == 0


def _cycles(images: Sequence[int]) -> str:
    """Write a permutation in cycles, as ``(12)(345)``; points count from 1, and ``e`` is the identity."""
    text, met = "", set[int]()
    for first in range(len(images)):
        cycle = [first]
        while images[cycle[-1]] != first:
            cycle.append(images[cycle[-1]])
        if len(cycle) > 1 and first not in met:
            text += f"({''.join(str(point + 1) for point in cycle)})"
        met.update(cycle)
    return text or "e"
