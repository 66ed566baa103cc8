"""Short strings in place of long ones: margins by brute force, tie sets, and what a short string must keep."""

from __future__ import annotations

from itertools import product

import numpy as np
from numpy.typing import NDArray

from workbench.claims.claim import Row
from workbench.theory.limit_transformers.limit_heads import LimitHead, margins
from workbench.theory.limit_transformers.one_layer_simulation import (
    proportional_counts,
    shorten_counts,
    simulate,
    weight_error,
)

HEADS = 200
LONGEST = 8
LETTERS = 2
PAIRS = 100
EPSILONS = (0.2, 0.1, 0.05, 0.025)
LONG = 10_000
CHAIN_EPSILONS = (1 / 8, 1 / 16, 1 / 32, 1 / 64)
FINE_EPSILONS = (1 / 64, 1 / 128, 1 / 256, 1 / 512)
RARE = (1, 10**6, 10**12, 10**18)
"""Counts of token types that are each far rarer than the next."""
RARE_LENGTH = 1_000_000
RESAMPLES = 2_000


def brute_margins() -> list[Row]:
    """Margins of random heads by enumerating what a query can see, beside every string of up to 8 letters."""
    rng = np.random.default_rng(0)
    apart = {"gamma_top": 0.0, "gamma_pair": 0.0}
    finite = dict.fromkeys(apart, 0)
    strings = [np.array(word) for n in range(1, LONGEST + 1) for word in product(range(LETTERS), repeat=n)]
    for _ in range(HEADS):
        period, locality = int(rng.integers(1, 4)), int(rng.integers(0, 3))
        content = rng.integers(-3, 4, (LETTERS, period, LETTERS, period)) / 2 + 0.1 * rng.integers(0, 2)
        head = LimitHead(content, rng.integers(-2, 3, locality + 1) / 4)
        said = margins(head)
        top, pair = _seen_margins(head, strings)
        for name, one, other in (("gamma_top", said.top, top), ("gamma_pair", said.pair, pair)):
            apart[name] = max(apart[name], 0.0 if one == other else abs(one - other))
            finite[name] += bool(np.isfinite(one))
    return [Row("largest difference of margins", name, apart[name], n=finite[name]) for name in apart]


def _seen_margins(head: LimitHead, strings: list[NDArray[np.int64]]) -> tuple[float, float]:
    """The same margins from the scores that really occur."""
    seen: dict[tuple[int, int], set[float]] = {}
    for string in strings:
        place = (int(string[-1]), (len(string) - 1) % head.period)
        seen.setdefault(place, set()).update(np.round(head.scores(string), 9).tolist())
    top, pair = np.inf, np.inf
    for values in seen.values():
        ordered = np.array(sorted(values))
        if len(ordered) > 1:
            top = min(top, ordered[-1] - ordered[-2])
            pair = min(pair, float(np.diff(ordered).min()))
    return float(top), float(pair)


def simulated_lengths() -> list[Row]:
    """The shortest string that serves two random heads at once, against epsilon; and its error."""
    rng = np.random.default_rng(1)
    lengths = np.zeros((PAIRS, len(EPSILONS)))
    worst = 0.0
    for pair in range(PAIRS):
        heads = [LimitHead(rng.integers(-2, 3, (4, 1, 4, 1)).astype(float), np.zeros(1), bos=0) for _ in range(2)]
        x = np.concatenate([[0], rng.choice([1, 2, 3], p=rng.dirichlet(np.ones(3)), size=LONG)])
        for at, epsilon in enumerate(EPSILONS):
            found = simulate(heads, x, epsilon)
            worst = max(worst, found.error / epsilon)
            lengths[pair, at] = len(found.tokens)
    slope, low, high = _slope(np.log(1 / np.array(EPSILONS)), np.log(lengths), rng)
    middle = np.median(lengths, 0)
    return [
        Row("slope of log length on log 1/epsilon", "", slope, low, high, n=PAIRS),
        Row("error over epsilon", "largest", worst, n=lengths.size),
        *(Row("median length", f"epsilon {e:g}", float(m), n=PAIRS) for e, m in zip(EPSILONS, middle, strict=True)),
    ]


def chain_slopes() -> list[Row]:
    """The shortest string for chains of m tie sets, each sharing one token type with the next, against epsilon."""
    rows = []
    for links in (2, 3, 4):
        weights = np.zeros((links, links))
        weights[0, 0] = 1.0
        for at in range(1, links):
            weights[at, at - 1 : at + 1] = 1.0
        fine = [_chain_length(links, epsilon) for epsilon in FINE_EPSILONS]
        slope = float(np.polyfit(np.log(1 / np.array(FINE_EPSILONS)), np.log(fine), 1)[0])
        rows.append(Row("slope of log length on log 1/epsilon", f"{links} tie sets", slope, expected=float(links - 1)))
        for epsilon in CHAIN_EPSILONS[: 4 if links < 4 else 2]:
            counts, optimal = shorten_counts(RARE[:links], weights, epsilon)
            assert optimal, f"{links} tie sets at {epsilon}"
            item, closed = f"{links} tie sets, epsilon {epsilon:g}", float(_chain_length(links, epsilon))
            rows.append(Row("length of z", item, float(counts.sum()), expected=closed))
    return rows


def _chain_length(links: int, epsilon: float) -> int:
    """Tokens that a chain needs: each type 1/epsilon - 1 times as often as the one before."""
    return int(sum(round(1 / epsilon - 1) ** link for link in range(links)))


def rare_token() -> list[Row]:
    """Output error of two ways to shorten a string whose one top token occurs once in a million."""
    rng = np.random.default_rng(1)
    x = np.concatenate([[0], rng.integers(2, 4, RARE_LENGTH)])
    x[RARE_LENGTH // 2] = 1
    scores = np.array([0.0, 2.0, 1.0, 1.0])
    head = LimitHead(scores.reshape(1, 1, 4, 1).repeat(4, 0), np.zeros(1), bos=0)
    plain = np.repeat(np.arange(4), proportional_counts(np.bincount(x[1:], minlength=4), 1_000))
    return [
        Row(
            "error, overall frequencies kept",
            "1,000 tokens",
            weight_error([head], x, np.concatenate([[0], plain, x[-1:]])),
        ),
        Row("error, tie sets kept", "", simulate([head], x, 0.05).error),
    ]


def larger_alphabet() -> list[Row]:
    """Two functions that are equal on two letters and differ once a third one comes: their gap at every length."""
    rows = []
    same, other = np.array([1.0, 0.0, 0.0]), np.array([1.0, 0.0, 1.0])
    for n in (1, 2, 4, 8):
        gaps = {"short support": 0.0, "its complement": 0.0}
        for word in product(range(3), repeat=n):
            gap = abs(float(np.mean(same[list(word)]) - np.mean(other[list(word)])))
            name = "its complement" if 2 in word else "short support"
            gaps[name] = max(gaps[name], gap)
        rows.append(Row("gap on the short support", f"length {n}", gaps["short support"]))
        rows.append(Row("gap on the complement", f"length {n}", gaps["its complement"]))
    return rows


def _slope(x: NDArray[np.float64], y: NDArray[np.float64], rng: np.random.Generator) -> tuple[float, float, float]:
    """Slope of the mean of ``y [case, x]`` on x, with its 95 % bootstrap interval over cases."""
    own = np.polyfit(x, y.T, 1)[0]
    means = own[rng.integers(0, len(own), (RESAMPLES, len(own)))].mean(1)
    low, high = np.percentile(means, [2.5, 97.5])
    return float(own.mean()), float(low), float(high)
