"""Tasks that write the input again, in another order: copying, reversing, duplicating, sorting."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Int
from pydantic import Field
from torch import Tensor

from workbench.tasks.base import Law, TaskError
from workbench.tasks.later_parameter import later
from workbench.tasks.sampling import coins, distinct, integers
from workbench.tasks.sequences.sequence_task import SequenceTask, ids_of_all, symbol_names

__all__ = ["NB", "NF", "STAY", "UB", "UF", "DuplicateString", "OddsFirst", "Reverse", "Sort"]

STAY = 0.9
"""For *challenge* inputs with repeats: probability that a token equals the one before it."""


class _Unique(SequenceTask):
    """Inputs whose symbols are all different."""

    family: ClassVar[str] = "copying"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    suggested: ClassVar[Mapping[str, Any]] = {"lengths": "3-51", "positions": "rotary", "steps": 6000}

    symbols: int = Field(256, ge=2, le=4096)
    """Size of the alphabet, and so the longest input."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        return symbol_names(self.symbols)

    def drawable(self, inputs: int) -> bool:
        return 1 <= inputs <= self.symbols

    def next_length(self, length: int | float) -> int:
        longest = self.symbols + 1 + self.answer_length(self.symbols)
        if length > longest:
            raise TaskError(
                f"{self.name} has sequences of up to {longest} tokens with {self.symbols} different symbols, "
                f"not of {math.ceil(length)}; give it more symbols"
            )
        return super().next_length(length)

    @property
    def challenge_is_matched(self) -> str:
        """The clause that only the complete input determines the answer, because all symbols are different."""
        return "no window and no token betrays the whole answer"

    def _inputs(
        self, batch: int, inputs: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch inputs"], dict[str, Tensor]]:
        return 1 + distinct(self.symbols, batch, inputs, generator), {}

    def chance(self, law: Law, length: int) -> float:
        """Return 1 / (V (V-1) .. (V-m+1)): all orders of m of the V symbols are equally likely answers."""
        written = self.answer_length(self.input_length(length) or 0)
        return math.exp(math.lgamma(self.symbols - written + 1) - math.lgamma(self.symbols + 1))

    def _as_seen(self, x: Int[Tensor, "batch inputs"], seen: int, first: bool) -> Int[Tensor, "batch inputs"]:
        """Return the input with hidden tokens replaced by the first symbols, in order, that are not visible."""
        visible = x[:, :seen] if first else x[:, -seen:]
        used = torch.zeros(len(x), self.symbols, dtype=torch.long, device=x.device).scatter_(1, visible - 1, 1)
        others = 1 + used.argsort(dim=1, stable=True)[:, : x.shape[1] - seen]
        return torch.cat([visible, others] if first else [others, visible], 1)


class _Repeats(SequenceTask):
    """Inputs over a small alphabet, in which symbols repeat."""

    family: ClassVar[str] = "copying"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    suggested: ClassVar[Mapping[str, Any]] = {"lengths": "3-51", "positions": "rotary", "steps": 4000}

    symbols: int = Field(5, ge=2, le=256)
    """Size of the alphabet."""

    @property
    def alphabet(self) -> tuple[str, ...]:
        return symbol_names(self.symbols)

    def _inputs(
        self, batch: int, inputs: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch inputs"], dict[str, Tensor]]:
        if law != "challenge":
            return 1 + integers(self.symbols, (batch, inputs), generator), {}
        step = 1 + integers(self.symbols - 1, (batch, inputs), generator)
        step = torch.where(coins((batch, inputs), STAY, generator), 0, step)
        step[:, 0] = integers(self.symbols, (batch,), generator)
        return 1 + step.cumsum(1) % self.symbols, {}

    def chance(self, law: Law, length: int) -> float:
        """Return the probability of the likeliest input: V^-n, for *challenge* that of one run."""
        inputs = self.input_length(length) or 0
        again = max(STAY, (1 - STAY) / (self.symbols - 1)) if law == "challenge" else 1 / self.symbols
        return again ** (inputs - 1) / self.symbols


class _Ordered(SequenceTask):
    """Answers that are the input's tokens in an order that depends only on the length.

    Coupled position ids: the input's tokens have their positions, from 1 on, and each answer token has that of the
    token it is copied from. BOS and the separator have 0.
    """

    @abstractmethod
    def order(self, inputs: int) -> list[int]:
        """Return the index (from 0) in the input that each answer token is copied from."""

    def _outputs(self, x: Int[Tensor, "batch inputs"]) -> Int[Tensor, "batch outputs"]:
        return x[:, self.order(x.shape[1])]

    def coupled_ids(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> Int[Tensor, "batch pos"] | None:
        position = self._separator_place(strings)
        ids = [0, *range(1, position + 1), 0, *(source + 1 for source in self.order(position))]
        return ids_of_all(ids, strings)


class _Forward(_Ordered):
    def order(self, inputs: int) -> list[int]:
        return list(range(inputs))

    def solve(self, x: Sequence[str]) -> list[str]:
        return list(x)


class _Backward(_Ordered):
    def order(self, inputs: int) -> list[int]:
        return list(range(inputs - 1, -1, -1))

    def solve(self, x: Sequence[str]) -> list[str]:
        reverse = list(x)
        reverse.reverse()
        return reverse


class UF(_Unique, _Forward):
    """Copy an input of different symbols.

    Unique copying, forward (UF in Jobanputra et al. 2025, "Born a Transformer - Always a Transformer?", 2505.21785;
    Huang et al. 2024, 2410.02140). The symbol to write next is the one that followed the symbol just written, which an
    induction head finds. With a ``stride`` the copy has every ``stride``-th symbol, from the first on.

    Distributions: all three draw the symbols uniformly without replacement. So no window and no single token determines
    the whole answer.

    Example: ``<bos> c a d <sep>`` is answered ``c a d <eos>``, with stride 2 ``c d <eos>``.

        >>> UF(symbols=4).reference([3, 1, 4, 5, 3, 1, 4])
        [None, None, None, 2, 0, 3, 4]
    """

    name: ClassVar[str] = "uf"
    question: ClassVar[str] = "Which symbol comes next in a copy of the input, whose symbols are all different?"
    summary: ClassVar[str] = "the next symbol of the copy"

    stride: int = later(1, ge=1, le=64)
    """Distance in the input between one written symbol and the next."""

    def answer_length(self, inputs: int) -> int:
        return -(-inputs // self.stride)

    def order(self, inputs: int) -> list[int]:
        return list(range(0, inputs, self.stride))

    def solve(self, x: Sequence[str]) -> list[str]:
        return [symbol for index, symbol in enumerate(x) if index % self.stride == 0]


class UB(_Unique, _Backward):
    """Write an input of different symbols backwards.

    Unique copying, backward (UB in Jobanputra et al. 2025, 2505.21785). The symbol to write next is the one that came
    before the symbol just written, which an anti-induction head finds.

    Distributions: all three draw the symbols uniformly without replacement. So no window and no single token determines
    the whole answer.

    Example: ``<bos> c a d <sep>`` is answered ``d a c <eos>``.

        >>> UB(symbols=4).reference([3, 1, 4, 5, 4, 1, 3])
        [None, None, None, 3, 0, 2, 4]
    """

    name: ClassVar[str] = "ub"
    question: ClassVar[str] = "Which symbol comes next in the reversed input, whose symbols are all different?"
    summary: ClassVar[str] = "the next symbol of the reversed input"


class NF(_Repeats, _Forward):
    """Copy an input in which symbols repeat.

    Non-unique copying, forward (NF in Jobanputra et al. 2025, 2505.21785; with two symbols the repeat copy of Huang et
    al. 2024, 2410.02140). The symbol just written determines the position in the input only together with the symbols
    before it.

    Distributions: *training* and *matched* draw the symbols independently and uniformly. *challenge* repeats the symbol
    before with probability 0.9, so that in long runs the last few tokens look alike everywhere.

    Example: ``<bos> a b a <sep>`` is answered ``a b a <eos>``.

        >>> NF(symbols=2).reference([1, 2, 1, 3, 1, 2, 1])
        [None, None, None, 0, 1, 0, 2]
    """

    name: ClassVar[str] = "nf"
    question: ClassVar[str] = "Which symbol comes next in a copy of the input, in which symbols repeat?"
    summary: ClassVar[str] = "the next symbol of the copy"


class NB(_Repeats, _Backward):
    """Write an input in which symbols repeat backwards.

    Non-unique copying, backward (NB in Jobanputra et al. 2025, 2505.21785).

    Distributions: *training* and *matched* draw the symbols independently and uniformly. *challenge* repeats the symbol
    before with probability 0.9, so that in long runs the last few tokens look alike everywhere.

    Example: ``<bos> a b b <sep>`` is answered ``b b a <eos>``.

        >>> NB(symbols=2).reference([1, 2, 2, 3, 2, 2, 1])
        [None, None, None, 1, 1, 0, 2]
    """

    name: ClassVar[str] = "nb"
    question: ClassVar[str] = "Which symbol comes next in the reversed input, in which symbols repeat?"
    summary: ClassVar[str] = "the next symbol of the reversed input"


class Reverse(NB):
    """Write the input backwards.

    The task ``reverse string`` of Deletang et al. 2022 ("Neural Networks and the Chomsky Hierarchy", 2207.02098), one
    token at a time. The map and the distributions are those of ``nb``; by default there are two symbols.

    Example: ``<bos> a b b <sep>`` is answered ``b b a <eos>``.

        >>> Reverse().reference([1, 2, 2, 3, 2, 2, 1])
        [None, None, None, 1, 1, 0, 2]
    """

    name: ClassVar[str] = "reverse"
    question: ClassVar[str] = "Which symbol comes next in the reversed input?"

    symbols: int = Field(2, ge=2, le=256)
    """Size of the alphabet."""


class DuplicateString(_Repeats, _Ordered):
    """Write the input twice.

    The task ``duplicate string`` of Deletang et al. 2022 (2207.02098), one token at a time.

    Distributions: *training* and *matched* draw the symbols independently and uniformly. *challenge* repeats the symbol
    before with probability 0.9.

    Example: ``<bos> a b <sep>`` is answered ``a b a b <eos>``.

        >>> DuplicateString().reference([1, 2, 3, 1, 2, 1, 2])
        [None, None, 0, 1, 0, 1, 2]
    """

    name: ClassVar[str] = "duplicate_string"
    question: ClassVar[str] = "Which symbol comes next when the input is written twice?"
    summary: ClassVar[str] = "the next symbol of the doubled input"

    symbols: int = Field(2, ge=2, le=256)
    """Size of the alphabet."""

    def answer_length(self, inputs: int) -> int:
        return 2 * inputs

    def order(self, inputs: int) -> list[int]:
        return [*range(inputs), *range(inputs)]

    def solve(self, x: Sequence[str]) -> list[str]:
        return list(x) + list(x)


class OddsFirst(_Repeats, _Ordered):
    """Write the symbols at odd positions, then those at even ones.

    The task ``odds first`` of Deletang et al. 2022 (2207.02098), one token at a time; positions count from 1.

    Distributions: *training* and *matched* draw the symbols independently and uniformly. *challenge* repeats the symbol
    before with probability 0.9.

    Example: ``<bos> a a b b a <sep>`` is answered ``a b a a b <eos>``.

        >>> OddsFirst().reference([1, 1, 2, 2, 1, 3, 1, 2, 1, 1, 2])
        [None, None, None, None, None, 0, 1, 0, 0, 1, 2]
    """

    name: ClassVar[str] = "odds_first"
    question: ClassVar[str] = "Which symbol comes next when odd positions are written before even ones?"
    summary: ClassVar[str] = "the next symbol, odd positions first"

    symbols: int = Field(2, ge=2, le=256)
    """Size of the alphabet."""

    def order(self, inputs: int) -> list[int]:
        return [*range(0, inputs, 2), *range(1, inputs, 2)]

    def solve(self, x: Sequence[str]) -> list[str]:
        odd = [symbol for position, symbol in enumerate(x, start=1) if position % 2 == 1]
        even = [symbol for position, symbol in enumerate(x, start=1) if position % 2 == 0]
        return odd + even


class Sort(_Unique):
    """Write different symbols in the order of the alphabet.

    As in Huang et al. 2024 (2410.02140): the symbol to write next is the smallest one of the input above the symbol
    just written.

    Distributions: all three draw the symbols uniformly without replacement.

    Example: ``<bos> c a d <sep>`` is answered ``a c d <eos>``.

        >>> Sort(symbols=4).reference([3, 1, 4, 5, 1, 3, 4])
        [None, None, None, 0, 2, 3, 4]
    """

    name: ClassVar[str] = "sort"
    question: ClassVar[str] = "Which symbol comes next when the input is sorted?"
    summary: ClassVar[str] = "the next symbol in sorted order"

    def _outputs(self, x: Int[Tensor, "batch inputs"]) -> Int[Tensor, "batch outputs"]:
        return x.sort(1).values

    def chance(self, law: Law, length: int) -> float:
        """Return 1 / C(V, n): all sets of n of the V symbols are equally likely."""
        return 1 / math.comb(self.symbols, self.input_length(length) or 0)

    def solve(self, x: Sequence[str]) -> list[str]:
        return [symbol for symbol in self.alphabet if symbol in x]
