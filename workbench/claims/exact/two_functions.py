"""Pairs of functions that nearly agree on short strings, and their gaps on longer ones."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.theory.limit_transformers.limit_heads import LimitHead

LETTERS = 2
SHORT = (4, 5, 6, 7, 8)
BITS = 8
PERTURBATIONS = (0.03, 0.1, 0.3, 1.0)

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class OneHead:
    """A limit transformer of one layer and one head: a token's value, averaged by attention at p bits.

    Attributes:
        head: its scores.
        values: ``[token]`` what a key of each token adds to the output.
    """

    head: LimitHead
    values: Floats

    def on_all(self, length: int) -> Floats:
        """Return the outputs at the last token of all strings of a length, in the order of :func:`all_strings`."""
        strings = all_strings(length)
        ids = np.arange(length)
        period, near = self.head.period, min(self.head.locality, length - 1)
        last = strings[:, -1:]
        scores = self.head.content[last, (length - 1) % period, strings, ids % period]
        scores[:, length - 1 - near :] += self.head.phi[: near + 1][::-1]
        gaps = scores.max(1, keepdims=True) - scores
        # Weights up to 2^-p of the best one are rounded to 0, see precision.p_bit_weights.
        weights = np.where(gaps * np.log2(length) < BITS, length**-gaps, 0.0)
        outputs: Floats = (weights * self.values[strings]).sum(1) / weights.sum(1)
        return outputs


def all_strings(length: int) -> NDArray[np.int64]:
    """Return all strings of a length ``[string, position]``."""
    return (np.arange(LETTERS**length)[:, None] >> np.arange(length)) & 1


def gap_ratios(f: OneHead, g: OneHead) -> list[float]:
    """Return the largest gap on lengths n+1 to 2n divided by the largest gap up to n, for each n of :data:`SHORT`."""
    gaps = [float(np.abs(f.on_all(n) - g.on_all(n)).max()) for n in range(1, 2 * SHORT[-1] + 1)]
    return [max(gaps[n : 2 * n]) / max(gaps[:n]) for n in SHORT]


def nearly_equal_pair(rng: np.random.Generator) -> tuple[OneHead, OneHead]:
    """Return a random function, and a copy whose weights are all changed a little."""
    period, locality = int(rng.integers(1, 3)), int(rng.integers(0, 3))
    size = float(rng.choice(PERTURBATIONS))
    content = rng.normal(size=(LETTERS, period, LETTERS, period))
    phi, values = rng.normal(size=locality + 1), rng.normal(size=LETTERS)

    def perturbed(weights: Floats) -> Floats:
        return weights + size * rng.normal(size=weights.shape)

    f = OneHead(LimitHead(content, phi, scaling="all"), values)
    return f, OneHead(LimitHead(perturbed(content), perturbed(phi), scaling="all"), perturbed(values))
