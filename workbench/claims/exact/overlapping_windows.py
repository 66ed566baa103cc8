"""Two inequalities behind theorem 4.3: values of overlapping windows bound the value of the whole, and of a chain.

A local functional of a string in blocks is h = sum of n over sum of d, with (n, d) of each block and its predecessor.
Local sparse functional attention has this form. There d >= 0 is the weight of the sets that end in a block, and n is
that weight times their values. We did not have the paper's wording of Lemmas C.1 and C.2, so we test the inequalities
that give the constants of its theorem.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

BLOCKS = 20
SHORT = 3
"""Blocks after the first one in training strings: four blocks in all, as L >= 4 L_local requires."""
ROUNDING = 1e-12


def distance_of_blocks(
    weights: NDArray[np.float64], off: NDArray[np.float64], blocks: list[int]
) -> NDArray[np.float64]:
    """Return the distance of the mean over some blocks from a point."""
    shares = weights[:, blocks] / weights[:, blocks].sum(1, keepdims=True)
    return np.asarray(np.linalg.norm((shares[:, :, None] * off[:, blocks]).sum(1), axis=1))


@dataclass(frozen=True)
class Chain:
    """A local functional and a distribution of strings: a first block that the answer depends on, then independent
    ones."""

    first: NDArray[np.int64]
    blocks: NDArray[np.float64]
    step: NDArray[np.int64]

    def errors(self, longest: int) -> NDArray[np.float64]:
        """Return the expected distance of the functional from the answer on strings of 0, 1, .., ``longest`` further
        blocks.

        Exact up to rounding: computed from the distribution of (last block, sum of n, sum of d), which are integers.
        """
        kinds, starts = len(self.step), len(self.first)
        size = int(self.first.max() + longest * self.step.max()) + 1
        n, d = np.meshgrid(np.arange(size), np.arange(size), indexing="ij")
        errors = np.zeros(longest + 1)
        for answer in range(starts):
            away = np.abs(np.divide(n, d, out=np.zeros((size, size)), where=d > 0) - answer)
            law = np.zeros((kinds, size, size))
            law[answer, self.first[answer, 0], self.first[answer, 1]] = 1 / starts
            for i in range(longest + 1):
                errors[i] += (law.sum(0) * away).sum()
                law = self._longer(law) if i < longest else law
        return errors

    def _longer(self, law: NDArray[np.float64]) -> NDArray[np.float64]:
        after = np.zeros_like(law)
        size = law.shape[1]
        for last, block in np.argwhere(np.ones(self.step.shape[:2])).tolist():
            more, weight = self.step[last, block].tolist()
            part = law[last, : size - more, : size - weight]
            after[len(self.first) + block, more:, weight:] += self.blocks[block] * part
        return after

    def ratios(self) -> NDArray[np.float64]:
        """Return the error at i further blocks divided by 3 i epsilon, for i up to :data:`BLOCKS`; 0 at i = 0."""
        errors = self.errors(BLOCKS)
        epsilon = errors[: SHORT + 1].max()
        if epsilon < ROUNDING:
            # Without an error on short strings there is none on long ones either, or the ratio has no bound.
            return np.where(errors < ROUNDING, 0.0, np.inf)
        further = np.arange(BLOCKS + 1)
        return np.where(further > 0, errors / (3 * np.maximum(further, 1) * epsilon), 0.0)


def largest_beyond(ratios: NDArray[np.float64]) -> float:
    """Return the largest ratio for strings longer than those that define epsilon."""
    return float(ratios[SHORT + 1 :].max())


def random_chain(rng: np.random.Generator) -> Chain:
    """Return a chain with two first blocks, a common block and two rare ones."""
    first = rng.choice((1, 3, 10), size=2)
    rare = float(rng.choice((0.1, 0.03, 0.01)))
    step = np.stack([np.stack([_entry(rng) for _ in range(3)]) for _ in range(5)])
    step[:3, 0] = 0  # common blocks, and those behind the first one, say nothing
    return Chain(np.array([[0, first[0]], [first[1], first[1]]]), np.array([1 - 2 * rare, rare, rare]), step)


def _entry(rng: np.random.Generator) -> NDArray[np.int64]:
    """n and d of a step: most weigh nothing."""
    weight = int(rng.choice((0, 0, 0, 1, 5)))
    return np.array([weight * int(rng.integers(0, 2)), weight])


def changed_chain(chain: Chain, rng: np.random.Generator) -> Chain:
    """Return the chain with one step changed."""
    step = chain.step.copy()
    step[tuple(rng.integers(0, step.shape[:2]))] = _entry(rng)
    return replace(chain, step=step)
