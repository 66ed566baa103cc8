"""Lists test sets: every sequence of a distribution at a length with its probability, if there are few."""

from __future__ import annotations

import math
from itertools import permutations, product
from typing import TYPE_CHECKING

import torch
from jaxtyping import Float, Int
from torch import Tensor

from workbench.tasks.batch import MOST_LISTED
from workbench.tasks.sampling import urn_counts

if TYPE_CHECKING:
    from collections.abc import Sequence

Listed = tuple[Int[Tensor, "string length"], Float[Tensor, " string"]]
"""Sequences of symbols counted from 0, and their probabilities; a sequence may occur more than once."""
CANDIDATES = 8 * MOST_LISTED
"""Largest number of sequences to try in search of those with positive probability."""


def every_string(symbols: int, length: int) -> Int[Tensor, "string length"] | None:
    """Return all sequences over an alphabet of ``symbols`` symbols; None if there are more than CANDIDATES."""
    if symbols**length > CANDIDATES:
        return None
    return torch.tensor(list(product(range(symbols), repeat=length)), dtype=torch.long).reshape(-1, length)


def uniform_strings(symbols: int, length: int) -> Listed | None:
    """Return all sequences over an alphabet of ``symbols`` symbols, all with the same probability."""
    strings = every_string(symbols, length)
    if strings is None:
        return None
    return strings, torch.full((len(strings),), 1 / len(strings), dtype=torch.float64)


def urn_strings(length: int, prior: float = 1.0) -> Listed | None:
    """List :func:`workbench.tasks.sampling.urn_bits`: given the number of ones, all orders are equally likely."""
    strings = every_string(2, length)
    if strings is None:
        return None
    orders = torch.tensor([math.comb(length, ones) for ones in range(length + 1)], dtype=torch.float64)
    return strings, (urn_counts(length, prior) / orders)[strings.sum(1)]


def sorted_strings(length: int, prior: float = 1.0) -> Listed | None:
    """List :func:`workbench.tasks.sampling.sorted_bits`: all ones stand at the start or at the end."""
    if length > MOST_LISTED // 2:
        return None
    first, number = torch.meshgrid(torch.arange(2), torch.arange(length + 1), indexing="ij")
    leading = torch.arange(length) < number.reshape(-1, 1)
    strings = (leading == first.reshape(-1, 1).bool()).long()
    return strings, urn_counts(length, prior).repeat(2) / 2


def composed_strings(symbols: int, length: int) -> Listed | None:
    """List sequences for which all symbol counts of this total are equally likely, and all orders given the counts."""
    strings = every_string(symbols, length)
    if strings is None:
        return None
    numbers = (strings[:, :, None] == torch.arange(symbols)).sum(1)
    orders = torch.tensor([_orders(row) for row in numbers.tolist()], dtype=torch.float64)
    return strings, 1 / (orders * math.comb(length + symbols - 1, symbols - 1))


def sorted_compositions(symbols: int, length: int) -> Listed | None:
    """List sequences for which all symbol counts are equally likely; equal symbols are adjacent, in a random order."""
    compositions = math.comb(length + symbols - 1, symbols - 1)
    if compositions * math.factorial(symbols) > CANDIDATES:
        return None
    strings = [
        [symbol for symbol in order for _ in range(numbers[symbol])]
        for numbers in _compositions(symbols, length)
        for order in permutations(range(symbols))
    ]
    return torch.tensor(strings), torch.full((len(strings),), 1 / len(strings), dtype=torch.float64)


def _orders(numbers: Sequence[int]) -> int:
    """Return the number of orders of a sequence with these counts of each symbol."""
    orders, rest = 1, sum(numbers)
    for number in numbers:
        orders, rest = orders * math.comb(rest, number), rest - number
    return orders


def _compositions(parts: int, total: int) -> list[tuple[int, ...]]:
    """Return all ways to write a total as an ordered sum of ``parts`` numbers."""
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in _compositions(parts - 1, total - first)]
