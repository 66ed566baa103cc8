"""Uniform words of the shuffle of several Dyck-1 languages, by exact counts and the cycle lemma."""

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
"""Splits that are counted at a time: of a long word there are as many as the square of its length."""


@lru_cache(maxsize=32)
def log_words(types: int, pairs: int) -> Floats:
    """``[type, total]`` natural logarithm of the number of words with so many pairs, of types up to this one.

    A word of j types with r pairs, i of them of type j, is a choice of 2 i places out of 2 r, one of
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
    found: Floats = gammaln(2 * pairs + 1) - gammaln(pairs + 1) - gammaln(pairs + 2)
    return found


def _log_splits(others: Floats, totals: NDArray[np.int64]) -> Floats:
    """``[total, own]`` logarithm of the number of words with so many pairs of their own type out of given totals."""
    total = totals[:, None]
    own = np.arange(len(others))[None, :]
    rest = np.maximum(total - own, 0)
    choices = gammaln(2 * total + 1) - gammaln(2 * own + 1) - gammaln(2 * rest + 1)
    found: Floats = np.where(own <= total, choices + _log_catalan(own) + others[rest], -np.inf)
    return found


def _split_shares(counts: Floats, kind: int, totals: NDArray[np.int64]) -> Float[Tensor, "total own"]:
    """The cumulative shares of a type's own number of pairs, given the number of pairs of all types up to it.

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
    """How many pairs of each type a uniform word with so many pairs has."""
    most = 1 << max(int(pairs.max()), 1).bit_length()  # rounded up, so that a few tables serve all lengths
    counts = log_words(types, most)
    left, found = pairs.clone(), []
    for j in range(types - 1, 0, -1):
        uniform = uniforms(pairs.shape, generator)
        totals, position = left.unique(return_inverse=True)
        shares = _split_shares(counts, j, totals.cpu().numpy()).to(pairs.device)
        own = torch.searchsorted(shares[position], uniform[..., None], right=True)[..., 0]
        own = torch.minimum(own, left)  # the last share may fall short of 1 by rounding
        found.append(own)
        left = left - own
    return torch.stack([left, *reversed(found)], -1)


def shuffled_words(
    pairs: Int[Tensor, "batch word"], types: int, generator: torch.Generator
) -> Int[Tensor, "batch length"]:
    """Words side by side in each row, each uniform among those with its number of pairs.

    The rows must have equally many pairs in all. Symbols are numbers: 2 j opens and 2 j + 1 closes type j.

    Each type's part of a word is made by the cycle lemma (Dvoretzky and Motzkin 1947): of the rotations of
    a sequence of c openings and c + 1 closings, in random order, exactly one stays balanced up to the
    last closing, which is dropped. Then the parts are shuffled.
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
