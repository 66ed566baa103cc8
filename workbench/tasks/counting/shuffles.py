"""Draws uniform words of the shuffle of several Dyck-1 languages, by exact counts and the cycle lemma."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import torch
from jaxtyping import Float, Int
from numpy.typing import NDArray
from scipy.special import gammaln, logsumexp
from torch import Tensor

from workbench.tasks.sampling import uniforms

__all__ = ["log_words", "pairs_of_each_type", "shuffled_words"]

Floats = NDArray[np.float64]
NUMBERS_AT_ONCE = 1 << 20
"""Splits to count in one call. A long word has as many of them as the square of its length."""


@lru_cache(maxsize=32)
def log_words(types: int, pairs: int) -> Floats:
    """Return natural logarithms ``[type, total]`` of the number of words with ``total`` pairs of types up to this.

    Take a word of j types with r pairs, i of them of type j. It is a choice of 2 i positions out of 2 r, with one of
    Catalan(i) words on them, and a word of the other types on the rest.

    Example: with two types, 2 words have one pair and 10 have two.

        >>> np.exp(log_words(2, 2))[1].round(6).tolist()
        [1.0, 2.0, 10.0]
    """
    counts = np.zeros((types, pairs + 1))
    counts[0] = _log_catalan(np.arange(pairs + 1))
    for j in range(1, types):
        for totals in np.array_split(np.arange(pairs + 1), -(-((pairs + 1) ** 2) // NUMBERS_AT_ONCE)):
            counts[j, totals] = logsumexp(_log_splits(counts[j - 1], totals), axis=1)
    return counts


def _log_catalan(pairs: NDArray[np.int64]) -> Floats:
    logs: Floats = gammaln(2 * pairs + 1) - gammaln(pairs + 1) - gammaln(pairs + 2)
    return logs


def _log_splits(others: Floats, totals: NDArray[np.int64]) -> Floats:
    """Return the ``[total, first]`` logarithms of numbers of words with ``first`` pairs of one type out of a total."""
    total = totals[:, None]
    first = np.arange(len(others))[None, :]
    remaining = np.maximum(total - first, 0)
    choices = gammaln(2 * total + 1) - gammaln(2 * first + 1) - gammaln(2 * remaining + 1)
    logs: Floats = np.where(first <= total, choices + _log_catalan(first) + others[remaining], -np.inf)
    return logs


def _split_shares(counts: Floats, kind: int, totals: NDArray[np.int64]) -> Float[Tensor, "total own"]:
    """Return cumulative shares of the number of pairs of one type, given the number of pairs of all types up to it.

    Args:
        counts: :func:`log_words`.
        kind: the type, from 1 on.
        totals: the numbers of pairs.
    """
    shares = np.exp(_log_splits(counts[kind - 1], totals) - counts[kind][totals, None]).cumsum(1)
    return torch.from_numpy(shares)


def pairs_of_each_type(
    pairs: Int[Tensor, "*batch"], types: int, generator: torch.Generator
) -> Int[Tensor, "*batch type"]:
    """Draw the number of pairs of each type in a uniform word with this many pairs."""
    most = 1 << max(int(pairs.max()), 1).bit_length()  # rounded up, so that a few tables serve all lengths
    counts = log_words(types, most)
    remaining, numbers = pairs.clone(), []
    for j in range(types - 1, 0, -1):
        uniform = uniforms(pairs.shape, generator)
        totals, position = remaining.unique(return_inverse=True)
        shares = _split_shares(counts, j, totals.cpu().numpy()).to(pairs.device)
        number = torch.searchsorted(shares[position], uniform[..., None], right=True)[..., 0]
        number = torch.minimum(number, remaining)  # the last share may fall short of 1 by rounding
        numbers.append(number)
        remaining = remaining - number
    return torch.stack([remaining, *reversed(numbers)], -1)


def shuffled_words(
    pairs: Int[Tensor, "batch word"], types: int, generator: torch.Generator
) -> Int[Tensor, "batch length"]:
    """Draw balanced words next to each other in each sequence, each uniform among those with its number of pairs.

    The rows must have equally many pairs in all. Symbols are numbers: 2 j opens and 2 j + 1 closes type j.

    Each type's part of a word is made by the cycle lemma (Dvoretzky and Motzkin 1947). Take c openings and c + 1
    closings in random order. Exactly one rotation of this sequence stays balanced up to the last closing, which is then
    dropped. At the end the parts are shuffled.
    """
    batch = len(pairs)
    part_pairs = pairs_of_each_type(pairs, types, generator).flatten(1)  # [batch, word * type]
    size = 2 * part_pairs + 1
    ends = size.cumsum(1)
    total = int(ends[0, -1]) if batch else 0
    part = torch.arange(size.shape[1], device=pairs.device).repeat(batch).repeat_interleave(size.flatten())
    part = part.view(batch, total)
    position = torch.arange(total, device=pairs.device)
    start, count = (ends - size).gather(1, part), part_pairs.gather(1, part)
    within = position - start
    opening = (within < count).gather(1, (uniforms((batch, total), generator) + part).argsort(1))

    # Every part adds up to -1, so its heights begin at minus its number.
    height = torch.where(opening, 1, -1).cumsum(1) + part
    lowest = torch.full_like(ends, torch.iinfo(torch.int64).max)
    lowest = lowest.scatter_reduce(1, part, height * total + position, "amin").remainder(total)
    turned = (within + lowest.gather(1, part) - start + 1) % (2 * count + 1)
    opening = opening.gather(1, start + turned)

    last = within == 2 * count
    symbol = (2 * (part % types) + (~opening).long())[~last].view(batch, -1)
    if types == 1:
        return symbol
    # A part's keys increase, as its symbols keep their order; across the parts of a word they mix.
    keys = (uniforms((batch, total), generator) + part).where(~last, part + 1.0).sort(1).values
    key = (keys - part + part // types)[~last].view(batch, -1)
    return symbol.gather(1, key.argsort(1))
