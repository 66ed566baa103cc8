"""Binary addition, written from the most significant digit on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from workbench.tasks.base import Batch, Law, TaskError
from workbench.tasks.sampling import coins, integers, sample_by_rejection
from workbench.tasks.sequences.sequence_task import SequenceTask, ids_of_all

__all__ = ["Addition"]

DIFFER = 0.95
"""For *challenge*: probability that two digits of equal significance differ, so that they propagate a carry."""

Bits = Int[Tensor, "batch _digits"]
"""Digits of one number per row, the most significant one first."""


@dataclass(frozen=True)
class Layout:
    """Numbers of digits of the two operands and of their sum, equal in a whole batch so that nothing is padded."""

    first: int
    second: int
    total: int

    @property
    def overflows(self) -> bool:
        """Whether the sum has one digit more than the longer operand."""
        return self.total > max(self.first, self.second)

    @property
    def pairs(self) -> int:
        """The number of pairs of operands with this layout, without leading zeros, as an exact integer."""
        long, short = max(self.first, self.second), min(self.first, self.second)
        every = _numbers(long) * _numbers(short)
        if long == short:
            return every if self.overflows else 0  # with two digits or more, 1.. + 1.. always overflows
        # b carries out of an operand of ``long`` digits exactly with its b largest values.
        low = 2 ** (short - 1) if short > 1 else 0
        over = sum(range(low, 2**short)) if short <= 2 else 2 ** (short - 2) * (3 * low - 1)
        return over if self.overflows else every - over

    @property
    def likeliest(self) -> int:
        """The number of pairs with the sum that most pairs have."""
        short = min(self.first, self.second)
        return 1 if short == 1 and self.overflows else _numbers(short)


def _numbers(digits: int) -> int:
    """Return how many numbers have exactly this many binary digits; 0 and 1 have one digit."""
    return 2 if digits == 1 else 2 ** (digits - 1)


class Addition(SequenceTask):
    """Add two binary numbers, the most significant digit of the sum first.

    The format of Huang et al. 2024 (2410.02140): the digits of the sum follow ``<bos> a + b =``. Numbers have no
    leading zeros, and ``=`` is the separator. Since the first digits come first, each answer depends on a carry that
    may come from the other end of both operands.

    Distributions: *training* is theirs given the length of the whole sequence. The digits of both operands are
    independent and uniform, and every length of the first operand is equally likely. One difference is that a whole
    batch has one layout (digits of both operands and of the sum). *matched* and *challenge* give both operands the same
    number n of digits, and their sum has n + 1, so that all sequences of a length have one layout. In *challenge* the
    digits of equal significance below the first differ with probability 0.95, so that carries propagate far. The length
    is 3n + 3.

    Coupled position ids: the id of every digit is its significance, from 1 for the lowest on. So digits that are added
    share an id with that of their sum (Cho et al. 2024, 2405.20671). BOS, ``+`` and ``=`` have the id 0.

    Further shortcut oracle: ``local_carry`` knows all digits, but limits the distance of carries. It takes them only
    from as many lower digits as operands have in the longest training sequences. A window hides digits (taken to be 0),
    but not the layout.

    Example: ``<bos> 1 1 + 1 0 =`` is answered ``1 0 1 <eos>``.

        >>> Addition().reference([2, 2, 3, 2, 1, 4, 2, 1, 2])
        [None, None, None, None, None, 1, 0, 1, 2]
    """

    name: ClassVar[str] = "addition"
    family: ClassVar[str] = "copying"
    question: ClassVar[str] = "Which binary digit of the sum comes next, the most significant first?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the next digit of the sum"
    separator: ClassVar[str] = "="
    suggested: ClassVar[Mapping[str, Any]] = {"lengths": "9-51", "positions": "rotary", "steps": 10_000}

    @property
    def alphabet(self) -> tuple[str, ...]:
        return ("0", "1", "+")

    @property
    def answer_alphabet(self) -> tuple[str, ...]:
        return ("0", "1")

    def input_length(self, length: int) -> int | None:
        """Return 2n + 1 for sequences of length 3n + 3 of the test sets; None for other lengths."""
        digits, remainder = divmod(length - 3, 3)
        return 2 * digits + 1 if remainder == 0 and digits >= 2 else None

    # ---- drawing -----------------------------------------------------------------------------
    def _inputs(
        self, batch: int, inputs: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch inputs"], dict[str, Tensor]]:
        """Draw inputs. In training the two operands may have different lengths, with the same total length."""
        digits = inputs // 2
        if law == "training":
            possible = layouts(3 * digits + 3)
            shares = torch.tensor(list(possible.values()), dtype=torch.float64, device=generator.device)
            a, b = _operands(list(possible)[int(shares.multinomial(1, generator=generator))], batch, generator)
        else:
            a = _number(digits, batch, generator)
            b = _number(digits, batch, generator)
            if law == "challenge":
                b = a ^ coins((batch, digits), DIFFER, generator).long()
                b[:, 0] = 1
        return torch.cat([1 + a, a.new_full((batch, 1), 3), 1 + b], 1), {}

    # ---- the sum -----------------------------------------------------------------------------
    def _outputs(self, x: Int[Tensor, "batch inputs"]) -> Int[Tensor, "batch outputs"]:
        a, b = self._split(x)
        for operand in (a, b):
            if operand.shape[1] > 1 and bool((operand[:, 0] == 0).any()):
                raise TaskError("addition takes numbers without leading zeros")
        digits = _sum(a, b)
        over = digits[:, 0] == 1
        if bool(over.any()) and not bool(over.all()):
            raise TaskError("addition needs sums with equally many digits in one batch")
        return 1 + (digits if bool(over.any()) else digits[:, 1:])

    def _split(self, x: Int[Tensor, "batch inputs"]) -> tuple[Bits, Bits]:
        """Return the digits of both operands, the most significant one first."""
        plus = x == 3
        position = int(plus[0].long().argmax())
        if not bool(plus[:, position].all()) or int(plus.sum()) != len(x) or not 0 < position < x.shape[1] - 1:
            raise TaskError("addition needs a number, one '+' at the same position in every row, and a number")
        return x[:, :position] - 1, x[:, position + 1 :] - 1

    def solve(self, x: Sequence[str]) -> list[str]:
        first, second = "".join(x).split("+")
        return list(format(int(first, 2) + int(second, 2), "b"))

    def coupled_ids(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> Int[Tensor, "batch pos"] | None:
        x = strings[:, : self._separator_place(strings)]
        first, second = (operand.shape[1] for operand in self._split(x))
        total = self._outputs(x).shape[1]
        ids = [0]
        for digits in (first, second, total):
            ids += [*range(digits, 0, -1), 0]
        return ids_of_all(ids, strings)

    # ---- baselines ---------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """Return the probability of the likeliest sum.

        It is 2^-(n-1) if digits are uniform. For *challenge* it is the probability that all digits below the first
        differ. In training, layouts with equally many digits of the sum share their likeliest sum.
        """
        digits = length // 3 - 1
        if law == "challenge":
            return DIFFER ** (digits - 1)
        if law == "matched":
            return 0.5 ** (digits - 1)
        shares: dict[int, float] = {}
        for layout, weight in layouts(length).items():
            shares[layout.total] = shares.get(layout.total, 0.0) + weight * (layout.likeliest / layout.pairs)
        return max(shares.values())

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        hits = super().shortcuts(batch, window)
        visible = self._longest_input(window)
        if batch.length > window and visible:
            assert batch.prompt is not None
            x = batch.tokens[:, 1 : batch.prompt - 1]
            right = self._outputs(x)
            guess = 1 + _sum(*self._split(x), reach=(visible - 1) // 2)[:, -right.shape[1] :]
            hits["local_carry"] = (guess == right).all(1).double()
        return hits

    def _guess(self, x: Int[Tensor, "batch inputs"], seen: int, first: bool) -> Int[Tensor, "batch outputs"]:
        position = torch.arange(x.shape[1], device=x.device)
        visible = position < seen if first else position >= x.shape[1] - seen
        a, b = self._split(torch.where(visible | (x == 3), x, 1))
        return 1 + _sum(a, b)[:, -self._outputs(x).shape[1] :]


@lru_cache(maxsize=1024)
def layouts(length: int) -> Mapping[Layout, float]:
    """Return the layouts of sequences of this length and their probabilities in training."""
    probabilities: dict[Layout, float] = {}
    for total in range(2, length - 3):
        operands = length - 2 - total
        for long in {total - 1, total}:
            short = operands - long
            if 1 <= short <= long:
                for pair in {(long, short), (short, long)}:
                    layout = Layout(*pair, total)
                    share = layout.pairs / (_numbers(long) * _numbers(short))
                    # The length of the first operand is one of 1 .. operands - 1, equally likely.
                    probabilities[layout] = share / (operands - 1)
    weight = sum(probabilities.values())
    ordered = sorted(probabilities.items(), key=lambda item: (item[0].total, item[0].first))
    return {layout: share / weight for layout, share in ordered if share}


def _number(digits: int, batch: int, generator: torch.Generator) -> Bits:
    """Draw uniform numbers with this many digits: the first digit is 1 unless it is the only one."""
    bits = integers(2, (batch, digits), generator)
    if digits > 1:
        bits[:, 0] = 1
    return bits


def _operands(layout: Layout, batch: int, generator: torch.Generator) -> tuple[Bits, Bits]:
    """Draw pairs of operands, uniform among those of the layout."""
    longer, shorter = max(layout.first, layout.second), min(layout.first, layout.second)

    def draw(rows: int) -> Bits:
        long, short = _number(longer, rows, generator), _number(shorter, rows, generator)
        if layout.overflows:  # all such pairs begin so; at least one draw in four is accepted
            long[:, : longer - shorter] = 1
        return torch.cat([long, short], 1)

    def fits(both: Bits) -> Bool[Tensor, " row"]:
        return (_sum(both[:, :longer], both[:, longer:])[:, 0] == 1) == layout.overflows

    both = sample_by_rejection(batch, draw, fits)
    long, short = both[:, :longer], both[:, longer:]
    return (long, short) if layout.first >= layout.second else (short, long)


def _sum(a: Bits, b: Bits, reach: int | None = None) -> Bits:
    """Return all digits of a + b, one more than the longer operand has.

    The carry into a digit is the value of the nearest lower pair of equal digits, 0 if there is none, because a pair of
    different digits propagates the carry it receives. ``reach`` bounds the distance to that pair.
    """
    width = max(a.shape[1], b.shape[1])
    # Least significant digit first; a 0 in front of both makes room for the last carry.
    low_a, low_b = (_padded(x, width + 1).flip(1) for x in (a, b))
    position = torch.arange(width + 1, device=a.device).expand_as(low_a)
    source = torch.where(low_a == low_b, position, -1).cummax(1).values[:, :-1]
    known = source >= 0 if reach is None else (source >= 0) & (position[:, 1:] - source <= reach)
    carry = torch.where(known, low_a.gather(1, source.clamp(min=0)), 0)
    digits = low_a ^ low_b
    digits[:, 1:] ^= carry
    return digits.flip(1)


def _padded(bits: Bits, width: int) -> Bits:
    """Return the same numbers with zeros in front."""
    return torch.cat([bits.new_zeros(len(bits), width - bits.shape[1]), bits], 1)
