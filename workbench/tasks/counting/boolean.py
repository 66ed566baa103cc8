"""Boolean expressions in prefix notation: a counter of the operands that are still missing."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Int
from pydantic import Field
from torch import Tensor

from workbench.tasks.automata.word_counts import Floats
from workbench.tasks.base import BOS
from workbench.tasks.counting.counter_language import LESS, ORDER, WORD, CounterLanguage, Trace, event_places
from workbench.tasks.sampling import integers, uniforms

__all__ = ["BooleanExpression"]

VALUES = ("0", "1")
OPERATORS = ("~", "+", ">", "*", "^")
"""Operators by their number of operands, from 1 on."""
VALUE, BINARY = 1, 4
"""Token ids of the first value and of the operator with two operands."""


class BooleanExpression(CounterLanguage):
    """Decide whether a sequence is a complete Boolean expression in prefix notation. Operators have up to n operands.

    ``n-ary`` expressions as in Bhattamishra et al. 2020 (Boolean-3 and Boolean-5): a value, 0 or 1, or an operator
    followed by its operands. There is one operator for each number of operands: ``~ + > * ^`` have 1, 2, 3, 4, 5. A
    counter recognises them. At first one operand is missing; a value supplies one, and an operator with k operands
    needs k - 1 more. The sequence is complete when none is missing, and broken if it continues after that.

    Distributions (those of :class:`CounterLanguage`): half of the sequences are complete. A sequence is x p e: e is an
    expression, x lacks exactly one operand, and p is a pair of symbols. The pair is ``+ v`` in complete sequences (v is
    0 or 1 with equal probability). Else it is ``v +``, which supplies as much but completes too early, ``+ +`` (one
    more operand is missing) or ``v v``. Expressions are drawn symbol by symbol as in that paper, given their length: an
    operator with probability ``operators`` (all equally likely), else a value. The part x is an expression without its
    last value. The position of p is uniform, under *challenge* outside the first and the last N tokens.

    Task states: ``update_summary`` is (operands missing, whether the sequence continues after it was complete).

    Example: ``+ 0 ~ 1`` is complete; after ``0`` nothing may follow.

        >>> BooleanExpression(n=3).reference([4, 1, 3, 2])
        [0, 0, 0, 1]
        >>> BooleanExpression(n=3).reference([1, 2])
        [1, 0]
    """

    name: ClassVar[str] = "boolean"
    summary: ClassVar[str] = "whether the expression is complete"

    n: int = Field(3, ge=2, le=5)
    """Largest number of operands of an operator."""
    operators: float = Field(0.5, gt=0, lt=1)
    """Probability of an operator; the paper has 0.5 for n = 3 and 0.3 for n = 5."""

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS, the values, the operators."""
        return (BOS, *VALUES, *OPERATORS[: self.n])

    @property
    def language(self) -> str:
        return f"Boolean-{self.n}"

    @property
    def following_names(self) -> tuple[str, ...]:
        """Names of the two sets of symbols that may follow: only the end, or any symbol."""
        return ("<eos>", " ".join(self.tokens_names[1:]))

    def admissible(self, length: int) -> bool:
        return length >= 3

    def _draw(
        self, kind: Int[Tensor, " batch"], length: int, clear: int | None, generator: torch.Generator
    ) -> tuple[Int[Tensor, "batch length"], Int[Tensor, " batch"]]:
        position = event_places(range(length - 2), length, clear, len(kind), generator)
        weights = ((1 - self.operators), *[self.operators / self.n] * self.n)
        around = draw_expressions(weights, position + 1, length - 1, generator)
        values = VALUE + integers(2, (len(kind), length + 1), generator)
        around = torch.where(around == 0, values[:, 2:], BINARY - 2 + around)
        # The value that x lacks makes room for the pair.
        strings = torch.cat([around, around[:, -1:]], 1)
        index = torch.arange(length, device=position.device) - position[:, None]
        strings[:, 1:] = torch.where(index[:, 1:] > 1, around, strings[:, 1:])
        opening = torch.stack([(kind != ORDER) & (kind != LESS), (kind != WORD) & (kind != LESS)], 1)
        pair = torch.where(opening, BINARY, values[:, :2])
        return strings.scatter(1, position[:, None] + torch.arange(2, device=position.device), pair), position

    def _trace(self, strings: Int[Tensor, "batch length"]) -> Trace:
        operands = (strings - BINARY + 2).clamp(min=0)
        missing = 1 + (operands - 1).cumsum(1)
        complete = (missing <= 0).long().cummax(1).values
        violated = torch.cat([torch.zeros_like(complete[:, :1]), complete[:, :-1]], 1).bool()
        return Trace(missing[..., None], violated, (missing > 0).long())

    def _ends_a_word(self, tokens: Int[Tensor, "batch window"]) -> Bool[Tensor, " batch"]:
        """Whether every operator finds its operands when the tokens are read backwards."""
        operands = (tokens - BINARY + 2).clamp(min=0).flip(1)
        expressions = (1 - operands).cumsum(1)
        return (expressions >= 1).all(1)

    def may_follow(self, symbols: Sequence[str]) -> set[str] | None:
        remaining = list(symbols)
        complete = _without_one_expression(remaining)
        if remaining:
            return None
        return {"<eos>"} if complete else set(self.tokens_names[1:])


def _without_one_expression(symbols: list[str]) -> bool:
    """Remove one expression from the front of the list; return whether it was complete."""
    waiting = [1]
    while waiting and symbols:
        symbol = symbols.pop(0)
        waiting[-1] -= 1
        if symbol not in VALUES:
            waiting.append(OPERATORS.index(symbol) + 1)
        while waiting and waiting[-1] == 0:
            waiting.pop()
    return not waiting


@lru_cache(maxsize=4)
def _shares(weights: tuple[float, ...], length: int) -> Floats:
    """``[left, missing, operands]`` cumulative shares of the next symbol, by its number of operands.

    The shares are those among sequences of exactly ``left`` symbols that supply ``missing`` operands, and not earlier.
    Each sequence is weighted by the product of the weights of its symbols. The last share, 1, is left out. More than 16
    sqrt(length) operands are never missing: with steps of variance up to 6 that would happen once in 1e30 sequences.
    """
    most = len(weights) - 1
    missing = np.arange(min(length, math.ceil(16 * math.sqrt(length))) + 1)
    chance = np.zeros(len(missing) + most)  # of supplying this many operands in exactly this many symbols
    chance[0] = 1.0
    shares = np.zeros((length + 1, len(missing), most))
    for left in range(1, length + 1):
        parts = np.stack([w * chance[missing[1:] - 1 + operands] for operands, w in enumerate(weights)], 1)
        total = parts.sum(1)
        possible = total > 0
        shares[left, 1:][possible] = (parts[possible].cumsum(1) / total[possible, None])[:, :-1]
        # Only shares are read, so the scale is free, and long sequences do not underflow.
        chance[1 : len(missing)] = total / total.max()
        chance[0] = 0.0
    return shares


def draw_expressions(
    weights: tuple[float, ...], first: Int[Tensor, " batch"], length: int, generator: torch.Generator
) -> Int[Tensor, "batch length"]:
    """Draw two expressions side by side in each row, as the number of operands of each symbol.

    Args:
        weights: the weights of the symbols with 0, 1, 2, ... operands.
        first: length of the first expression; the second has the rest.
        length: the length of both together.
        generator: the source of randomness.
    """
    shares = _shares(weights, 1 << (length - 1).bit_length())
    table, levels = shares.reshape(-1, shares.shape[2]), shares.shape[1]
    position, ends = np.arange(length)[:, None], first.cpu().numpy()
    remaining = np.where(position < ends, ends - position, length - position) * levels
    uniform = uniforms((length, len(first), 1), generator).cpu().numpy()
    operands = np.empty((length, len(first)), dtype=np.int64)
    missing = np.ones_like(ends)
    for t in range(length):
        operands[t] = (uniform[t] >= table.take(remaining[t] + missing, axis=0)).sum(1)
        missing = np.maximum(missing - 1 + operands[t], 1)  # the next expression begins where one ends
    return torch.from_numpy(operands.T).to(first.device)
