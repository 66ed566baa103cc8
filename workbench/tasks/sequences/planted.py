"""Answers that depend on a few tokens among many: sparse parity and planted correlations.

Both are from Golowich et al. 2025, "The Role of Sparsity for Length Generalization in Transformers" (2502.16792).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.automata.dfa import LARGEST_AUTOMATON, Automaton
from workbench.tasks.base import BOS, Law, Task, TaskError
from workbench.tasks.later_parameter import later
from workbench.tasks.sampling import distinct, integers, outer_margin, outer_places
from workbench.tasks.sequences.sequence_task import SEP, numbered_names

__all__ = ["PlantedCorrelation", "SparseParity"]


_SparseState = tuple[int, int, str]
"""Count of small numbers so far, parity of their bits, and the last token: a small number, the query, or other."""
_BEGIN: _SparseState = (0, 0, "")


class SparseParity(Task):
    """Report the parity of the bits that follow small numbers.

    Sparse parity of Golowich et al. 2025 ("The Role of Sparsity for Length Generalization in Transformers", 2502.16792,
    equation 20). A sequence is ``<bos> J_1 t_1 .. J_l t_l <sep>``: numbers J from 1 to ``values``, each followed by a
    bit token ``t0`` or ``t1``. Only ``<sep>`` is supervised. The answer is the exclusive or of the bits whose number is
    at most ``values`` / 2.

    Distributions: *training* and *matched* draw the count of small numbers uniformly from ``least`` .. ``k``. The
    positions of these are uniform among all choices, the small and large numbers are uniform, and bits are fair.
    *challenge* puts all small numbers and their bits outside the first and the last N tokens (N = the longest training
    length). They may be anywhere up to length 2N, and if fewer than 2k pairs fit there.

    With ``k_at`` the largest count of small numbers is proportional to the length, but at least ``least``: it is k at
    that length.

    ``meta`` contains ``planted [batch, k]``, the positions of the small numbers in increasing order, counted from 1.
    Zeros follow them if there are fewer than k.

    Task states: ``update_summary`` is the parity so far, plus 2 directly after a small number.

    Example: with values = 4, ``1 t1 3 t1 2 t1 <sep>`` has two small numbers, 1 and 2: 1 xor 1 = 0.

        >>> SparseParity(values=4, k=2).reference([1, 6, 3, 6, 2, 6, 7])
        [None, None, None, None, None, None, 0]
    """

    name: ClassVar[str] = "sparse_parity"
    family: ClassVar[str] = "planted"
    question: ClassVar[str] = "What is the parity of the bits that follow small numbers?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    summary: ClassVar[str] = "the parity of the bits behind small numbers so far"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)
    outputs: ClassVar[tuple[str, ...] | None] = ("0", "1")
    suggested: ClassVar[Mapping[str, Any]] = {"lengths": "21-51", "positions": "rotary", "steps": 10_000}

    k: int = Field(4, ge=1, le=32)
    """Largest count of small numbers."""
    least: int = Field(1, ge=1)
    """Smallest count of small numbers; with least = k there are always k."""
    values: int = Field(20, ge=2, le=256)
    """Numbers run from 1 to ``values``; the lower half is small."""
    k_at: int = later(0, ge=0, le=4096)
    """Length at which up to k numbers are small; at other lengths in proportion. 0 = up to k at every length."""

    @model_validator(mode="after")
    def _possible(self) -> SparseParity:
        if self.least > self.k:
            raise TaskError(f"least must be an integer from 1 to k = {self.k}, not {self.least}")
        if self.values % 2:
            raise TaskError(f"values must be even, so that half of the numbers are small, not {self.values}")
        return self

    @property
    def tokens_names(self) -> tuple[str, ...]:
        return (BOS, *numbered_names("", self.values + 1)[1:], "t0", "t1", SEP)

    def admissible(self, length: int) -> bool:
        """Whether the length is that of pairs and ``<sep>``, with at least one large number."""
        return length % 2 == 1 and length // 2 > self.largest_count(length)

    def largest_count(self, length: int) -> int:
        """Return the largest count of small numbers in sequences of a length."""
        return max(self.least, self.k * length // self.k_at) if self.k_at else self.k

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        pairs, half, most = length // 2, self.values // 2, self.largest_count(length)
        low, high = 0, pairs - 1
        if law == "challenge":
            margin = outer_margin(length, window)
            inner = (margin + 1) // 2, (length - margin) // 2 - 1
            if inner[1] - inner[0] + 1 >= 2 * most:  # fewer would nearly determine the positions
                low, high = inner
        chosen = low + distinct(high - low + 1, batch, most, generator)
        number = self.least + integers(most - self.least + 1, (batch, 1), generator)
        counts = torch.arange(most, device=chosen.device) < number
        small = torch.zeros(batch, pairs, dtype=torch.bool, device=chosen.device).scatter_(1, chosen, counts)
        numbers = 1 + integers(half, (batch, pairs), generator) + torch.where(small, 0, half)
        bits = self.values + 1 + integers(2, (batch, pairs), generator)
        separator = torch.full_like(number, self.values + 3)
        strings = torch.cat([torch.stack([numbers, bits], 2).flatten(1), separator], 1)
        positions = (2 * chosen + 1).masked_fill(~counts, length + 1).sort(1).values
        return strings, {"planted": positions.masked_fill(positions > length, 0)}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        small = strings <= self.values // 2
        behind = F.pad(small[:, :-1], (1, 0))
        parity = ((strings == self.values + 2) & behind).cumsum(1) % 2
        return parity, strings == self.values + 3, parity, parity + 2 * small

    def automaton(self) -> Automaton:
        """Return an automaton that answers as the task does on sequences with at most ``k`` small numbers.

        It answers no other sequence, and the task draws none. With ``k_at``, small numbers are not counted.
        """
        first_bit, one, separator = self.values + 1, self.values + 2, self.values + 3

        def step(state: _SparseState, symbol: str) -> _SparseState:
            small, parity, last = state
            token = self.tokens_names.index(symbol)
            if token < first_bit and 2 * token <= self.values:
                now = (small if self.k_at else small + 1, parity, "small")
            else:
                flips = token == one and last == "small"
                now = (small, parity ^ int(flips), "asked" if token == separator else "")
            return now if now[0] <= self.k else (self.k + 1, 0, "")

        return Automaton.explore(
            self.tokens_names[1:],
            _BEGIN,
            step,
            accepts=lambda _: False,
            name=lambda state: " ".join(map(str, state)).rstrip(),
            answer=lambda state: state[1] if state[2] == "asked" and state[0] <= self.k else -1,
        )

    def chance(self, law: Law, length: int) -> float:
        """Return 1/2, because the bits are fair and the parity includes at least one bit."""
        return 0.5

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        return F.one_hot(self.label_strings(tokens, {})[0][:, -1], 2).double()

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        names = [self.tokens_names[token] for token in tokens]
        answers: list[int | None] = []
        odd = False
        for before, name in zip(["", *names], names, strict=False):
            if name == "t1" and before.isdigit() and 2 * int(before) <= self.values:
                odd = not odd
            answers.append(int(odd) if name == SEP else None)
        return answers


class PlantedCorrelation(Task):
    """Report the sum of the planted tokens modulo m.

    A k-sparse planted correlation (Golowich et al. 2025, 2502.16792, Definition 3.2). Tokens Z at a random set S* of k
    positions determine the answer g(Z); all other tokens are independent filler. Here Z are numbers from 1 to modulus -
    1, which the filler does not contain, and g is their sum modulo ``modulus``. Leaving out one planted token changes
    the answer; leaving out filler never does. S* is k positions, uniform among the ``span`` ones that follow a uniform
    start. So S* is local, and its distribution shifts with the length. With ``gap`` the k positions have this distance
    from each other.

    Distributions: *training* and *matched* as above, with uniform numbers and filler. *challenge* draws the start so
    that the whole span is outside the first and the last N tokens (N = the longest training length). The start may be
    anywhere up to length 2N, and if the span does not fit there. Only the end is supervised.

    ``meta`` contains ``planted [batch, k]``, the positions of S* in increasing order, counted from 1.

    Task states: ``update_summary`` is the sum so far.

    Example: with modulus 5, ``f1 p3 f0 f1 p4`` sums to 7, which is 2.

        >>> PlantedCorrelation(k=2, modulus=5, fillers=2, span=4).reference([6, 3, 5, 6, 4])
        [None, None, None, None, 2]
    """

    name: ClassVar[str] = "planted"
    family: ClassVar[str] = "planted"
    question: ClassVar[str] = "What is the sum of the planted numbers, modulo m?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    summary: ClassVar[str] = "the sum of the planted numbers so far, modulo m"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    k: int = Field(3, ge=1, le=32)
    """Number of planted tokens."""
    modulus: int = Field(5, ge=3, le=64)
    """The answer is the sum of the planted numbers modulo this."""
    fillers: int = Field(8, ge=1, le=256)
    """Number of filler tokens to draw from."""
    span: int = Field(8, ge=1, le=4096)
    """Number of consecutive tokens that contain all planted ones."""
    gap: int = later(0, ge=0, le=4096)
    """Distance from each planted token to the next; 0 = random within the span."""

    @model_validator(mode="after")
    def _span_holds_them(self) -> PlantedCorrelation:
        if self.k > self.span:
            raise TaskError(f"k must be an integer from 1 to span = {self.span}, not {self.k}")
        if (self.k - 1) * self.gap >= self.span:
            widest = (self.span - 1) // (self.k - 1)
            raise TaskError(
                f"gap must be an integer from 0 to {widest}, so that {self.k} planted tokens fit into span = "
                f"{self.span}, not {self.gap}"
            )
        return self

    @property
    def tokens_names(self) -> tuple[str, ...]:
        return (BOS, *numbered_names("p", self.modulus)[1:], *numbered_names("f", self.fillers))

    @property
    def output_names(self) -> tuple[str, ...]:
        return numbered_names("", self.modulus)

    def admissible(self, length: int) -> bool:
        return length >= self.span

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        low, high = 0, length - self.span
        if law == "challenge":
            low, high = outer_places(low, high, length, window, (0, self.span - 1))
        start = low + integers(high - low + 1, (batch, 1), generator)
        if self.gap:
            first = integers(self.span - (self.k - 1) * self.gap, (batch, 1), generator)
            positions = start + first + self.gap * torch.arange(self.k, device=generator.device)
        else:
            positions = start + distinct(self.span, batch, self.k, generator)
        strings = self.modulus + integers(self.fillers, (batch, length), generator)
        strings.scatter_(1, positions, 1 + integers(self.modulus - 1, (batch, self.k), generator))
        return strings, {"planted": 1 + positions.sort(1).values}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        total = torch.where(strings < self.modulus, strings, 0).cumsum(1) % self.modulus
        mask = torch.zeros_like(strings, dtype=torch.bool)
        mask[:, -1] = True
        return total, mask, total, total

    def automaton(self) -> Automaton | None:
        """Return an automaton for the sum on sequences with at most ``k`` planted numbers; the task draws no others."""
        if (self.k + 1) * self.modulus + 1 > LARGEST_AUTOMATON:
            return None

        def step(state: tuple[int, int], symbol: str) -> tuple[int, int]:
            planted, total = state
            if symbol.startswith("p"):
                planted, total = planted + 1, (total + int(symbol[1:])) % self.modulus
            return (planted, total) if planted <= self.k else (self.k + 1, 0)

        return Automaton.explore(
            self.tokens_names[1:],
            (0, 0),
            step,
            accepts=lambda _: False,
            name=lambda state: f"{state[0]} planted, sum {state[1]}",
            answer=lambda state: state[1] if state[0] <= self.k else -1,
        )

    def chance(self, law: Law, length: int) -> float:
        """Return the share of the likeliest sum of k uniform numbers from 1 to m - 1, modulo m.

        By the discrete Fourier transform P(0) = (1 + (m-1) c) / m and every other sum has (1 - c) / m, with c = (-1 /
        (m-1))^k.
        """
        c = (-1 / (self.modulus - 1)) ** self.k
        return max(1 + (self.modulus - 1) * c, 1 - c) / self.modulus

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return the likeliest answers given the visible planted numbers; there are k in all.

        An even number of hidden planted numbers most likely sums to 0, an odd number to any other value.
        """
        planted = tokens < self.modulus
        total = F.one_hot(torch.where(planted, tokens, 0).sum(1) % self.modulus, self.modulus).double()
        hidden = (self.k - planted.sum(1, keepdim=True)).clamp(min=0)
        return torch.where(hidden % 2 == 0, total, 1 - total)

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        total = sum(int(name[1:]) for name in (self.tokens_names[token] for token in tokens) if name.startswith("p"))
        return [None] * (len(tokens) - 1) + [total % self.modulus]
