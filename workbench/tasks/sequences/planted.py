"""Answers that hang on a few tokens among many: sparse parity and planted correlations.

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
from workbench.tasks.sequences.sequence_task import SEP, numbered

__all__ = ["PlantedCorrelation", "SparseParity"]


_SparseState = tuple[int, int, str]
"""Small numbers so far, the parity of their bits, and what came last: a small number, the query, or neither."""
_BEGIN: _SparseState = (0, 0, "")


class SparseParity(Task):
    """What is the parity of the bits that follow a small number?

    Sparse parity of Golowich et al. 2025 ("The Role of Sparsity for Length Generalization in
    Transformers", 2502.16792, equation 20): ``<bos> J_1 t_1 .. J_l t_l <sep>``, numbers J of
    1 .. ``values``, each followed by a bit token ``t0`` or ``t1``; the answer, asked at ``<sep>``, is the
    exclusive or of the bits whose number is at most ``values`` / 2.

    Laws: *training* and *matched* draw how many numbers are small uniformly from ``least`` .. ``k``, their
    places uniformly among all choices, small and large numbers uniformly, and fair bits. *challenge* puts
    all small numbers and their bits outside the first and the last N tokens (N = the longest training
    length; up to length 2N, and where fewer than 2k pairs fit there, anywhere).

    With ``k_at`` the largest number of small numbers grows with the string: k pairs at that length, and in
    proportion at others, but at least ``least``.

    ``meta`` gives ``planted [batch, k]``, the positions of the small numbers in increasing order,
    counted from 1, with zeros behind them where there are fewer than k.

    What can be carried on token by token is the parity so far, plus 2 right after a small number.

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
    """Largest number of small numbers."""
    least: int = Field(1, ge=1)
    """Smallest number of small numbers; with least = k there are always k."""
    values: int = Field(20, ge=2, le=256)
    """Numbers run from 1 to ``values``; the lower half is small."""
    k_at: int = later(0, ge=0, le=4096)
    """Length at which up to k numbers are small, and in proportion at others; 0: up to k at every length."""

    @model_validator(mode="after")
    def _possible(self) -> SparseParity:
        if self.least > self.k:
            raise TaskError(f"least must be an integer from 1 to k = {self.k}, not {self.least}")
        if self.values % 2:
            raise TaskError(f"values must be even, so that half of the numbers are small, not {self.values}")
        return self

    @property
    def tokens_names(self) -> tuple[str, ...]:
        return (BOS, *numbered("", self.values + 1)[1:], "t0", "t1", SEP)

    def admissible(self, length: int) -> bool:
        """Pairs and ``<sep>``, with at least one large number."""
        return length % 2 == 1 and length // 2 > self.most(length)

    def most(self, length: int) -> int:
        """Largest number of small numbers in strings of a length."""
        return max(self.least, self.k * length // self.k_at) if self.k_at else self.k

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        pairs, half, most = length // 2, self.values // 2, self.most(length)
        low, high = 0, pairs - 1
        if law == "challenge":
            margin = outer_margin(length, window)
            inner = (margin + 1) // 2, (length - margin) // 2 - 1
            if inner[1] - inner[0] + 1 >= 2 * most:  # fewer would all but say where they are
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
        """As the task answers on strings of at most ``k`` small numbers; there are no others, and none is answered.

        Where their number grows with the string, they are not counted.
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
        """1/2: the bits are fair, and at least one counts."""
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
    """What is the sum of the planted tokens, modulo m?

    A k-sparse planted correlation (Golowich et al. 2025, 2502.16792, Definition 3.2): tokens Z at a random
    set S* of k places decide the answer g(Z), all other tokens are independent filler. Here Z are numbers
    of 1 .. modulus - 1, which the filler has none of, and g is their sum modulo ``modulus``; leaving any
    one planted token out changes the answer, leaving out filler never does. S* is k places, uniform among
    the ``span`` ones that follow a uniform start, so that it is local and its law shifts with the string; or,
    with ``gap``, k places of which each lies so far behind the one before.

    Laws: *training* and *matched* as above, with uniform numbers and filler. *challenge* draws the start
    so that the whole span lies outside the first and the last N tokens (N = the longest training length;
    up to length 2N, and where the span does not fit there, anywhere). It is asked at the end only.

    ``meta`` gives ``planted [batch, k]``, the positions of S* in increasing order, counted from 1.

    What can be carried on token by token is the sum so far.

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
    """Planted tokens lie among so many consecutive ones."""
    gap: int = later(0, ge=0, le=4096)
    """How far each planted token lies behind the one before; 0: as it comes, among those of the span."""

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
        return (BOS, *numbered("p", self.modulus)[1:], *numbered("f", self.fillers))

    @property
    def output_names(self) -> tuple[str, ...]:
        return numbered("", self.modulus)

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
        """The sum after every prefix of at most ``k`` planted numbers; there are no others, and none is answered."""
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
        """Share of the likeliest sum of k uniform numbers of 1 .. m - 1, modulo m.

        By the discrete Fourier transform P(0) = (1 + (m-1) c) / m and every other sum has (1 - c) / m, with
        c = (-1 / (m-1))^k.
        """
        c = (-1 / (self.modulus - 1)) ** self.k
        return max(1 + (self.modulus - 1) * c, 1 - c) / self.modulus

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """The likeliest answers given the visible planted numbers, of which there are k in all.

        An even number of hidden ones most likely sums to 0, an odd one to anything else.
        """
        planted = tokens < self.modulus
        total = F.one_hot(torch.where(planted, tokens, 0).sum(1) % self.modulus, self.modulus).double()
        hidden = (self.k - planted.sum(1, keepdim=True)).clamp(min=0)
        return torch.where(hidden % 2 == 0, total, 1 - total)

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        total = sum(int(name[1:]) for name in (self.tokens_names[token] for token in tokens) if name.startswith("p"))
        return [None] * (len(tokens) - 1) + [total % self.modulus]
