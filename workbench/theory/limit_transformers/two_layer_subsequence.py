"""Two layers: a short subsequence that preserves averages of local contexts and running frequencies.

The first layer's output at a position is a function of the last tokens and of the running token frequencies. A second
layer averages such functions. Lemma 5.3 of arXiv 2510.27015 is about a subsequence z of about n positions of x. It
preserves the average of any Lipschitz function of this kind within about (tau + 1) / n^(1/3).

A Markov chain of two states includes or drops positions. So z consists of long segments of x, inside which the last
tokens are right. The paper does not state the transition probabilities. Runs of mean length n^(1/3) balance the two
errors: (tau + 1) / run at the seams, and sqrt(run / n) of sampling.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.theory.errors import TheoryError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Function = Callable[[Ints], Floats]
"""A function of one string ``[position]`` of tokens, e.g. a model's last output."""


def markov_subset(length: int, size: int, rng: np.random.Generator, run: float | None = None) -> NDArray[np.bool_]:
    """Return a mask ``[position]`` of kept positions, drawn from a stationary two-state Markov chain.

    Args:
        length: T, positions to choose from.
        size: n, expected number of positions kept, below T.
        rng: the only source of randomness.
        run: mean length of a kept run; None = n^(1/3).

    Raises:
        TheoryError: unless 0 < n < T and runs are at least 1 long and can be so far apart.
    """
    if not 0 < size < length:
        raise TheoryError(f"a subsequence of a sequence of {length} tokens has between 1 and {length - 1}, not {size}")
    mean = size ** (1 / 3) if run is None else run
    share = size / length
    leave = 1 / mean
    enter = leave * share / (1 - share)
    if not (mean >= 1 and enter <= 1):
        raise TheoryError(
            f"runs of mean length {mean:g} cannot cover the share {share:.3g} of the positions; choose longer runs"
        )
    # Alternate geometric runs: far fewer draws than positions, and the same law.
    first = bool(rng.random() < share)
    chances = [leave, enter] if first else [enter, leave]
    turns = np.zeros(0, dtype=bool)
    while len(turns) < length:
        runs = rng.geometric(chances, size=(1 + length // 64, 2))
        turns = np.append(turns, np.repeat(np.tile([first, not first], len(runs)), runs.ravel()))
    return turns[:length]


@dataclass(frozen=True)
class SubsetErrors:
    """How well short subsequences of one length can replace a sequence.

    Attributes:
        size: requested expected length, without the positions that are always included.
        length: mean length of the strings z, with all positions.
        median: median error over the draws.
        best: smallest error. The lemma claims that a good subset exists, so it is about this number.
        draws: number of subsets drawn.
        best_tokens: the z of the smallest error.
    """

    size: int
    length: float
    median: float
    best: float
    draws: int
    best_tokens: Ints


def subset_errors(
    function: Function,
    tokens: Ints,
    sizes: Sequence[int],
    rng: np.random.Generator,
    *,
    draws: int = 20,
    keep_first: int = 1,
    keep_last: int = 1,
    run: float | None = None,
) -> list[SubsetErrors]:
    """Return the error of random Markov subsequences by their length, for any function of a sequence.

    Args:
        function: e.g. :func:`last_output` of a model.
        tokens: x, ``[position]``.
        sizes: expected numbers of positions kept between what is always kept.
        rng: the only source of randomness.
        draws: subsets per size.
        keep_first: positions kept at the start (1 for BOS).
        keep_last: positions kept at the end (tau + 1).
        run: mean length of kept runs; None = size^(1/3).

    Returns:
        one entry per size; the error is the largest difference of any component of the function.
    """
    middle = len(tokens) - keep_first - keep_last
    wanted = function(tokens)
    found = []
    for size in sizes:
        strings = []
        for _ in range(draws):
            kept = np.ones(len(tokens), dtype=bool)
            kept[keep_first : keep_first + middle] = markov_subset(middle, size, rng, run)
            strings.append(tokens[kept])
        errors = [float(np.max(np.abs(function(z) - wanted))) for z in strings]
        best = int(np.argmin(errors))
        length = float(np.mean([len(z) for z in strings]))
        found.append(SubsetErrors(size, length, float(np.median(errors)), errors[best], draws, strings[best]))
    return found


def error_slope(errors: Sequence[SubsetErrors]) -> float:
    """Slope of log median error on log length; about -1/3 or steeper by lemma 5.3.

    Raises:
        TheoryError: for fewer than two sizes, or an error that is exactly 0, which has no log.
    """
    x, y = np.array([e.length for e in errors]), np.array([e.median for e in errors])
    if len(x) < 2 or not (y > 0).all():
        raise TheoryError("a slope needs two sizes or more, each with a positive median error")
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])


def last_output(model: Callable[..., object]) -> Function:
    """Return a model's answer at the last position of a string, as a function of only its tokens."""
    import torch

    def function(tokens: Ints) -> Floats:
        with torch.no_grad():
            outputs: torch.Tensor = model(torch.as_tensor(tokens)[None])  # type: ignore[assignment]
        return np.asarray(outputs[0, -1].double().numpy())

    return function
