"""One layer: a short string z on which a limit transformer answers nearly as on a long string x.

At the last query a head averages over keys. The average depends only on each key's class (token and residue). With
hardmax attention only the keys with the best score count, the tie set. So z must have nearly the frequencies of x
*inside every head's tie set*. Overall frequencies are not enough: a class that occurs once in a million may be the only
member of its tie set. The string z contains BOS and the last tau + 1 tokens, at their residues. An integer program
finds how many keys of each class come before them, so that z is as short as possible.

Theorem 4.1 of arXiv 2510.27015 rests on such a z of epsilon^-2 tokens. Its proof was not available; this solves the
problem that it states. A chain of m tie sets that overlap needs about epsilon^-(m-1) tokens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import Bounds, LinearConstraint, milp

from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers.limit_heads import LimitHead

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Attention = Literal["hardmax", "softmax"]

TIME_LIMIT = 20.0
"""Seconds for one integer program."""


@dataclass(frozen=True, eq=False)
class Simulation:
    """A short string with nearly the same output as a long one.

    Attributes:
        tokens: ``[position]`` z, with BOS if x has it; its last position has the residue of x's.
        epsilon: the requested accuracy.
        error: largest difference, over heads and key classes, between the weight of a class in x and in z.
        optimal: whether no shorter z satisfies the constraints; False if time ran out first.
    """

    tokens: Ints
    epsilon: float
    error: float
    optimal: bool


@dataclass(frozen=True, eq=False)
class Slots:
    """Which classes may fill the free positions of a string: each residue has its own share of these positions.

    Attributes:
        residue: ``[class]``.
        spare: ``[residue]`` free positions beyond the whole periods.
    """

    residue: Ints
    spare: Ints


def simulate(
    heads: Sequence[LimitHead], tokens: Ints, epsilon: float, attention: Attention = "hardmax", tie: float = 1e-9
) -> Simulation:
    """Return the shortest string on which all heads weigh the key classes, at the last query, within epsilon.

    Args:
        heads: heads of one layer with the same period and BOS; those of a second function as well, if z is to serve
            both.
        tokens: x, ``[position]`` token ids, BOS included if the heads have it.
        epsilon: largest change of the weight of any class in any head.
        attention: ``hardmax``, or ``softmax`` of scores that no log K multiplies.
        tie: scores this close to the best one are tied with it (hardmax only).

    Raises:
        TheoryError: for heads with different periods or BOS, or that scale only their local term, and for softmax under
            log scaling. Also for a string that is too short, or if no z was found in time.
    """
    _check(heads, attention)
    start, kept = int(heads[0].bos is not None), 1 + max(head.locality for head in heads)
    period, free = heads[0].period, len(tokens) - start - kept
    if free < 1:
        raise TheoryError(
            f"a string of {len(tokens)} tokens is too short; it must be longer than the {start + kept} tokens that "
            "are kept of it"
        )
    classes, class_of = np.unique(np.stack([tokens, np.arange(len(tokens)) % period]), axis=1, return_inverse=True)
    class_of = class_of.ravel()
    weights = np.stack([_key_weights(head, tokens, attention, tie) for head in heads])
    middle = slice(start, start + free)
    counts = np.bincount(class_of[middle], minlength=classes.shape[1])
    far = np.zeros((len(heads), classes.shape[1]))
    far[:, class_of[middle]] = weights[:, middle]  # far keys of one class all have one weight
    ends = np.r_[:start, start + free : len(tokens)]
    near = np.stack([np.bincount(class_of[ends], row[ends], classes.shape[1]) for row in weights])
    spare = np.bincount(np.arange(start, start + free % period) % period, minlength=period)
    found, optimal = shorten_counts(counts, far, epsilon, near, Slots(classes[1], spare))
    body = _lay_out(classes, found, period, start)
    z = np.concatenate([tokens[:start], body, tokens[start + free :]])
    return Simulation(z, epsilon, weight_error(heads, tokens, z, attention, tie), optimal)


def shorten_counts(
    counts: ArrayLike, weights: ArrayLike, epsilon: float, near: ArrayLike | None = None, slots: Slots | None = None
) -> tuple[Ints, bool]:
    """Return the smallest counts whose weighted shares differ by at most epsilon in every head.

    Args:
        counts: ``[class]`` how often each occurs among the keys that may be dropped.
        weights: ``[head, class]`` weight of one such key, e.g. 1 in the tie set and 0 outside.
        epsilon: largest difference of any share.
        near: ``[head, class]`` weight of the keys that are kept in any case.
        slots: how the residues share the positions; None = no residues.

    Returns:
        ``[class]`` counts, and whether they are known to be the smallest.

    Raises:
        TheoryError: if epsilon is not positive, or nothing was found in time.
    """
    n, w = np.asarray(counts, dtype=np.float64), np.asarray(weights, dtype=np.float64)
    if not epsilon > 0:
        raise TheoryError(f"epsilon must be positive, not {epsilon}")
    kept = np.zeros_like(w) if near is None else np.asarray(near, dtype=np.float64)
    whole = (w * n + kept).sum(1, keepdims=True)
    shares = (w * n + kept) / whole
    rows, limits = [], []
    for head in range(len(w)):
        # |part_c - share_c total| <= epsilon total, and a total that is not 0; all linear in the counts.
        for c in np.flatnonzero(w[head] + kept[head] > 0):
            for sign in (1.0, -1.0):
                level = sign * shares[head, c] + epsilon
                rows.append(sign * np.eye(len(n))[c] * w[head] - level * w[head])
                limits.append(level * kept[head].sum() - sign * kept[head, c])
        rows.append(-w[head])
        limits.append(kept[head].sum() - min(1.0, float(np.max(w[head] + kept[head]))))
    matrix, upper = np.array(rows), np.array(limits)
    constraints = [LinearConstraint(np.pad(matrix, ((0, 0), (0, 1))), -np.inf, upper)]
    if slots is not None:
        residues = np.arange(len(slots.spare))[:, None] == slots.residue
        constraints.append(
            LinearConstraint(np.column_stack([residues, -np.ones(len(residues))]), slots.spare, slots.spare)
        )
    # One more variable counts the whole periods; it costs nothing, for the counts pay for it.
    bounds = Bounds(0, np.append(n, n.sum() if slots is not None else 0))
    solved = milp(
        np.append(np.ones(len(n)), 0.0),
        integrality=np.ones(len(n) + 1),
        bounds=bounds,
        constraints=constraints,
        options={"time_limit": TIME_LIMIT},
    )
    if solved.x is None:
        raise TheoryError(f"no short string found within {TIME_LIMIT:g} s ({solved.message}); ask for a larger epsilon")
    return np.rint(solved.x[:-1]).astype(np.int64), solved.status == 0


def weight_error(
    heads: Sequence[LimitHead], one: Ints, other: Ints, attention: Attention = "hardmax", tie: float = 1e-9
) -> float:
    """Largest difference, over heads and key classes, of the weight of a class at the last queries of two strings."""
    _check(heads, attention)
    pairs = [[_class_weights(head, tokens, attention, tie) for tokens in (one, other)] for head in heads]
    return max(float(np.abs(first - second).max()) for first, second in pairs)


def proportional_counts(counts: ArrayLike, total: int) -> Ints:
    """Counts of sum ``total`` in the proportions of ``counts``, by largest remainders; no tie set is looked at."""
    n = np.asarray(counts, dtype=np.float64)
    exact = n * total / n.sum()
    rounded = np.floor(exact).astype(np.int64)
    rounded[np.argsort(rounded - exact, kind="stable")[: total - rounded.sum()]] += 1
    return np.asarray(rounded)


def _check(heads: Sequence[LimitHead], attention: Attention) -> None:
    if len({(head.period, head.bos) for head in heads}) != 1:
        raise TheoryError("all heads of one simulation must have the same period, and either all or none a BOS token")
    if any(head.scaling == "local" for head in heads):
        raise TheoryError("with only the local term scaled by log K there is no limit for one layer to be held against")
    if attention == "softmax" and any(head.scaling != "none" for head in heads):
        raise TheoryError("under log scaling softmax weights change with the length of the string; ask for hardmax")


def _key_weights(head: LimitHead, tokens: Ints, attention: Attention, tie: float) -> Floats:
    """``[key]`` weights of the last query, the best key having 1."""
    scores = replace(head, scaling="none").scores(tokens)
    gaps = scores.max() - scores
    return np.asarray(gaps <= tie, dtype=np.float64) if attention == "hardmax" else np.exp(-gaps)


def _class_weights(head: LimitHead, tokens: Ints, attention: Attention, tie: float) -> Floats:
    """``[token, residue]`` weight of each key class; they sum to 1."""
    weights = _key_weights(head, tokens, attention, tie)
    found = np.zeros((len(head.content), head.period))
    np.add.at(found, (tokens, np.arange(len(tokens)) % head.period), weights / weights.sum())
    return found


def _lay_out(classes: Ints, counts: Ints, period: int, start: int) -> Ints:
    """A string from position ``start`` on with these counts of the classes ``[(token, residue), class]``."""
    body = np.empty(counts.sum(), dtype=np.int64)
    residues = np.arange(start, start + len(body)) % period
    for r in range(period):
        own = classes[1] == r
        body[residues == r] = np.repeat(classes[0, own], counts[own])
    return body
