"""Errors of recurrences after words that lead back to the same state: kept by affine maps, shrunk by ReLU networks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
import torch

from workbench.claims.claim import Row
from workbench.claims.exact import parity_networks
from workbench.claims.exact.side_by_side import one_thread, round_to_digits

EXTRA, SHRINKING = 2, 0.5
"""Dimensions outside the span of the codes, and the factor by which they shrink a letter."""
WORDS, LONGEST = 100, 40
RELU_SEEDS, RELU_STEPS = 3, 1_200
ERROR = 0.05
"""Size of an error as a share of the difference of two codes."""
Table = np.ndarray


def cyclic(order: int) -> Table:
    """Return the multiplication table ``[element, element]`` of a cyclic group; element 0 is neutral."""
    places = np.arange(order)
    return (places[:, None] + places) % order


def symmetric(points: int) -> Table:
    """Return the multiplication table of the permutations of a few points; element 0 is neutral."""
    elements = list(permutations(range(points)))
    return np.array([[elements.index(tuple(a[b[at]] for at in range(points))) for b in elements] for a in elements])


GROUPS = {"C3": cyclic(3), "C6": cyclic(6), "S3": symmetric(3)}


@dataclass(frozen=True)
class AffineTracker:
    """A recurrence ``h' = A_g (h - c) + c`` that keeps one code for each element of a group.

    Attributes:
        matrices: ``[letter, unit, unit]``; letter g multiplies the state from the left.
        codes: ``[element, unit]``.
        centre: ``[unit]`` c.
        outside: ``[unit, direction]`` directions that shrink.
    """

    matrices: np.ndarray
    codes: np.ndarray
    centre: np.ndarray
    outside: np.ndarray

    def after(self, state: np.ndarray, word: Sequence[int]) -> np.ndarray:
        """Return the state after a word."""
        for letter in word:
            state = self.matrices[letter] @ (state - self.centre) + self.centre
        return state


def tracker(table: Table, rng: np.random.Generator, shrinking: float = SHRINKING, leak: float = 1.0) -> AffineTracker:
    """Return an affine recurrence for a group, in random coordinates.

    Args:
        table: of the group.
        rng: draws the coordinates.
        shrinking: factor of the dimensions outside the span.
        leak: factor of the dimensions of the codes at each letter; with 1 return words fix the codes.
    """
    order = len(table)
    size = order + EXTRA
    basis = np.linalg.qr(rng.standard_normal((size, size)))[0] * rng.uniform(0.5, 2.0, size)
    inverse, matrices = np.linalg.inv(basis), []
    for letter in range(order):
        block = np.zeros((size, size))
        block[table[letter], np.arange(order)] = leak
        block[order:, order:] = shrinking * np.eye(EXTRA)
        matrices.append(basis @ block @ inverse)
    centre = rng.standard_normal(size)
    return AffineTracker(np.stack(matrices), basis[:, :order].T + centre, centre, basis[:, order:])


def return_word(table: Table, rng: np.random.Generator, longest: int = LONGEST) -> list[int]:
    """Return a random word whose product is the neutral element."""
    word = rng.integers(0, len(table), int(rng.integers(1, longest))).tolist()
    product = 0
    for letter in word:
        product = int(table[letter, product])
    return [*word, int(np.flatnonzero(table[:, product] == 0)[0])]


def affine_rows(words: int = WORDS, leak: float = 1.0) -> list[Row]:
    """Return how affine recurrences change errors inside and outside the span of the differences of codes.

    Args:
        words: return words for each group.
        leak: see :func:`tracker`.
    """
    rows = []
    for name, table in GROUPS.items():
        rng = np.random.default_rng([14, len(name), len(table)])
        own = tracker(table, rng, leak=leak)
        inside: list[float] = []
        outside: list[float] = []
        for _ in range(words):
            word = return_word(table, rng)
            code = own.codes[rng.integers(len(table))]
            weights = rng.standard_normal(len(table))
            for kept, error in (
                (inside, (weights - weights.mean()) @ own.codes),
                (outside, own.outside @ rng.standard_normal(EXTRA)),
            ):
                change = own.after(code + ERROR * error, word) - own.after(code, word)
                kept.append(float(np.linalg.norm(change) / np.linalg.norm(ERROR * error)))
        for quantity, values in (("error in the span, affine", inside), ("error outside the span, affine", outside)):
            for end, value in (("smallest", min(values)), ("largest", max(values))):
                rows.append(Row(quantity, f"{name}, {end}", round_to_digits(value), n=words))
    return rows


@one_thread
def relu_rows(networks: parity_networks.Networks | None = None) -> list[Row]:
    """Return how ReLU networks on parity change an error along the difference of their two mean states.

    Args:
        networks: trained ones; None = train three.
    """
    if networks is None:
        seeds = range(14_000, 14_000 + RELU_SEEDS)
        start = parity_networks.start([1.0] * RELU_SEEDS, seeds)
        networks, _ = parity_networks.train(start, [1.0] * RELU_SEEDS, seeds, RELU_STEPS)
    states, parities = parity_networks.tree(networks)
    difference = states[:, parities == 1].mean(1) - states[:, parities == 0].mean(1)
    words = [torch.tensor([index >> at & 1 for at in range(4)]) for index in range(16)]
    words = [word for word in words if int(word.sum()) % 2 == 0]
    late = states[:, -(2 ** (parity_networks.LONGEST - 1)) :]
    error = ERROR * difference[:, None]
    changes = []
    for word in words:
        before, after = late, late + error
        for letter in word:
            before = networks.after(before, letter.expand(before.shape[1]))
            after = networks.after(after, letter.expand(after.shape[1]))
        along = ((after - before) * difference[:, None]).sum(2) / difference.square().sum(1)[:, None]
        changes.append((along / ERROR).abs().mean(1))
    medians = torch.stack(changes).median(0).values
    return [
        Row("error along the difference, ReLU", f"run {run}", round_to_digits(float(value)), n=len(words))
        for run, value in enumerate(medians)
    ]


def neutrality_rows() -> list[Row]:
    """Return how much of an error is left after return words, of affine recurrences and of ReLU networks."""
    return [*affine_rows(), *relu_rows()]
