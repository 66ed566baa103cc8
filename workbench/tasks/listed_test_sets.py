"""Test sets listed: every string of a law at a length with its probability, where there are few."""

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
"""Strings of symbols counted from 0, and their probabilities; a string may come more than once."""
CANDIDATES = 8 * MOST_LISTED
"""Strings that are tried, at most, to find those of positive probability."""


def every_string(symbols: int, length: int) -> Int[Tensor, "string length"] | None:
    """All strings over so many symbols; None where they are more than CANDIDATES."""
    if symbols**length > CANDIDATES:
        return None
    return torch.tensor(list(product(range(symbols), repeat=length)), dtype=torch.long).reshape(-1, length)


def uniform_strings(symbols: int, length: int) -> Listed | None:
    """All strings over so many symbols, each as likely."""
    strings = every_string(symbols, length)
    if strings is None:
        return None
    return strings, torch.full((len(strings),), 1 / len(strings), dtype=torch.float64)


def urn_strings(length: int, prior: float = 1.0) -> Listed | None:
    """The law of :func:`workbench.tasks.sampling.urn_bits`: given the number of ones, all orders are as likely."""
    strings = every_string(2, length)
    if strings is None:
        return None
    orders = torch.tensor([math.comb(length, ones) for ones in range(length + 1)], dtype=torch.float64)
    return strings, (urn_counts(length, prior) / orders)[strings.sum(1)]


def sorted_strings(length: int, prior: float = 1.0) -> Listed | None:
    """The law of :func:`workbench.tasks.sampling.sorted_bits`: a number of ones, in front or at the end."""
    if length > MOST_LISTED // 2:
        return None
    first, number = torch.meshgrid(torch.arange(2), torch.arange(length + 1), indexing="ij")
    leading = torch.arange(length) < number.reshape(-1, 1)
    strings = (leading == first.reshape(-1, 1).bool()).long()
    return strings, urn_counts(length, prior).repeat(2) / 2


def composed_strings(symbols: int, length: int) -> Listed | None:
    """Every composition of the length into numbers of each symbol as likely, and given it every order."""
    strings = every_string(symbols, length)
    if strings is None:
        return None
    numbers = (strings[:, :, None] == torch.arange(symbols)).sum(1)
    orders = torch.tensor([_orders(row) for row in numbers.tolist()], dtype=torch.float64)
    return strings, 1 / (orders * math.comb(length + symbols - 1, symbols - 1))


def sorted_compositions(symbols: int, length: int) -> Listed | None:
    """Every composition of the length as likely; equal symbols stand together, in a random order of the symbols."""
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
    """In how many orders so many of each symbol can stand."""
    orders, rest = 1, sum(numbers)
    for number in numbers:
        orders, rest = orders * math.comb(rest, number), rest - number
    return orders


def _compositions(parts: int, total: int) -> list[tuple[int, ...]]:
    """All ways to write a total as a sum of so many numbers, in order."""
    if parts == 1:
        return [(total,)]
    return [(first, *rest) for first in range(total + 1) for rest in _compositions(parts - 1, total - first)]
