"""What tests of several tiers share. Brackets of several types to a bounded depth: labels, the folded walk, and both laws by enumeration."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction


def reflected(length: int, bound: int) -> dict[tuple[int, ...], Fraction]:
    """Probability of every sequence of heights of the walk that goes up at 0, down at the bound, else evenly."""
    paths = {(0,): Fraction(1)}
    for _ in range(length):
        longer: dict[tuple[int, ...], Fraction] = defaultdict(Fraction)
        for path, share in paths.items():
            here = path[-1]
            steps = [1] if here == 0 else [-1] if here == bound else [1, -1]
            for step in steps:
                longer[(*path, here + step)] += share / len(steps)
        paths = longer
    return {path[1:]: share for path, share in paths.items()}
