"""Readers that are linear in a summary and in position, trained by gradient flow: all of it in closed form.

A reader ``f = w z + sum_n b_n 1[length = n]`` sees what it can of the summary, ``z``, and a one-hot code of the length.
Squared loss over a law of lengths makes gradient flow a linear equation, ``u' = c - C u`` with ``C`` the second moments
of the features and ``c`` their moments with the answer. A length beyond N has a code that was never moved from 0.
"""

from __future__ import annotations

import numpy as np

from workbench.claims.claim import Row

N = 16
FAR = 1e12
"""A time after which every mode has settled."""
CURRICULA = ("uniform", "growing", "few long", "fixed")
SCALES = ((0.5, 4.0), (1.0, 1.0), (1.0, 3.0), (1.0, 8.0), (2.0, 4.0))
"""Scales of summary and position code."""
NOISE = 0.5
"""Variance of what hides the summary; its own is 1."""
Array = np.ndarray


def law_of_lengths(curriculum: str, time: float = 1.0) -> Array:
    """``[length]`` odds of the lengths 1..N; ``time`` is the share of training that is over."""
    odds = np.zeros(N)
    if curriculum == "fixed":
        odds[-1] = 1
    elif curriculum == "few long":
        odds[: N // 4], odds[-1] = 0.95 / (N // 4), 0.05
    else:
        top = N if curriculum == "uniform" else max(1, round(N * min(1.0, 2 * time)))
        odds[:top] = 1 / top
    return odds


def flow(second: Array, moments: Array, start: Array, time: float, decay: float = 0.0) -> Array:
    """Where ``u' = moments - (second + decay) u`` is at a time."""
    values, modes = np.linalg.eigh(second)
    rates = np.clip(values, 0, None) + decay
    still = rates < 1e-12 * values[-1]
    begun, pull = modes.T @ start, modes.T @ moments
    settled = np.divide(pull, rates, out=np.zeros_like(pull), where=~still)
    gone = np.exp(-np.where(still, 0.0, rates) * time)
    found: Array = modes @ np.where(still, begun, settled + (begun - settled) * gone)
    return found


def noisy_reader(odds: Array, means: Array) -> tuple[Array, Array]:
    """Moments of ``(z, code)`` where the answer has variance 1 about a mean by length, and z hides it by noise."""
    second = np.zeros((N + 1, N + 1))
    second[0, 0] = odds @ (means**2 + 1) + NOISE
    second[0, 1:] = second[1:, 0] = odds * means
    second[1:, 1:] = np.diag(odds)
    return second, np.concatenate([[odds @ (means**2 + 1)], odds * means])


def position_weights() -> list[Row]:
    """Where position is read although it need not be: where the answer's mean moves with the length."""
    share = 1 / (1 + NOISE)  # of the answer's variance that z tells
    rows = []
    for name, means in (("constant mean", np.zeros(N)), ("mean that moves", np.linspace(-1, 1, N))):
        for curriculum in CURRICULA:
            odds = law_of_lengths(curriculum)
            reader = flow(*noisy_reader(odds, means), np.zeros(N + 1), FAR)
            wanted = (1 - share) * float(np.sqrt(odds @ means**2))
            weight = float(np.sqrt(odds @ reader[1:] ** 2))
            item = f"{curriculum}, {name}"
            rows.append(Row("position weight", item, weight, expected=wanted))
            beyond = float((1 - reader[0]) ** 2 * (means[-1] ** 2 + 1) + reader[0] ** 2 * NOISE)
            predicted = (1 - share) ** 2 * (float(means[-1]) ** 2 + 1) + share**2 * NOISE
            rows.append(Row("error beyond N", item, beyond, expected=predicted))
            rows += [
                Row("position weight, trained on draws", f"{item}, seed {seed}", found, expected=wanted, seed=seed)
                for seed, found in enumerate(_trained(odds, means))
            ]
    return rows


def _trained(odds: Array, means: Array, seeds: int = 3, draws: int = 400_000) -> list[float]:
    """The position weight of least squares on draws."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        length = rng.choice(N, draws, p=odds)
        answer = means[length] + rng.standard_normal(draws)
        seen = answer + np.sqrt(NOISE) * rng.standard_normal(draws)
        count = np.bincount(length, minlength=N)
        centre = np.maximum(count, 1)
        mean_seen, mean_answer = (np.bincount(length, x, N) / centre for x in (seen, answer))
        within = seen - mean_seen[length]
        slope = float(within @ answer / (within @ within))
        code = np.where(count > 0, mean_answer - slope * mean_seen, 0.0)
        found.append(float(np.sqrt(odds @ code**2)))
    return found


def either_reader(odds: Array, summary: float, code: float) -> tuple[Array, Array]:
    """Moments of ``(summary, codes)`` where the answer +-1 hangs on the length: both features suffice alone."""
    sign = np.where(np.arange(N) % 2, 1.0, -1.0)
    second = np.zeros((N + 1, N + 1))
    second[0, 0] = summary**2
    second[0, 1:] = second[1:, 0] = summary * code * odds * sign
    second[1:, 1:] = np.diag(code**2 * odds)
    return second, np.concatenate([[summary], code * odds * sign])


def which_is_learnt() -> list[Row]:
    """The share of the answer that is read off position: early, late, and as the variances of the features say."""
    odds = law_of_lengths("uniform")
    rows = []
    for summary, code in SCALES:
        wanted = code**2 / N / (summary**2 + code**2 / N)
        rate = summary**2 + code**2 / N
        for name, time in (("a tenth of the time to half", 0.1 * np.log(2) / rate), ("the end", FAR)):
            reader = flow(*either_reader(odds, summary, code), np.zeros(N + 1), time)
            read = code * float(np.abs(reader[1:]).mean())
            share = read / (read + summary * float(reader[0]))
            item = f"summary {summary:g}, code {code:g}, {name}"
            rows.append(Row("share read off position", item, share, expected=wanted))
            rows.append(Row("position wins", item, float(share > 0.5), expected=float(code**2 / N > summary**2)))
    return rows


def by_curriculum() -> list[Row]:
    """The error beyond N that each curriculum ends with: by how many lengths it has, and by nothing else."""
    rows = []
    for summary, code in SCALES:
        errors = {}
        for curriculum in CURRICULA:
            reader = np.zeros(N + 1)
            pieces = 64 if curriculum == "growing" else 1
            for piece in range(pieces):
                odds = law_of_lengths(curriculum, (piece + 1) / pieces)
                time = FAR if piece == pieces - 1 else 0.05
                reader = flow(*either_reader(odds, summary, code), reader, time)
            support = int((law_of_lengths(curriculum) > 0).sum())
            errors[curriculum] = (1 - summary * float(reader[0])) ** 2
            wanted = (code**2 / support / (summary**2 + code**2 / support)) ** 2
            item = f"summary {summary:g}, code {code:g}, {curriculum}"
            rows.append(Row("error beyond N", item, errors[curriculum], expected=wanted))
        item = f"summary {summary:g}, code {code:g}"
        rows.append(Row("fixed less few long", item, errors["fixed"] - errors["few long"]))
        rows.append(Row("few long less uniform", item, errors["few long"] - errors["uniform"]))
        rows.append(Row("growing less uniform", item, errors["growing"] - errors["uniform"], expected=0.0))
    return rows


def counting_without_dividing() -> list[Row]:
    """A reader of the count in place of the share: fitted to a range, its error grows like the square of the length."""
    rows = []
    for longest in (16, 32, 64):
        lengths = np.arange(1, longest + 1)
        rows += [
            Row("slope of log error on log n", f"N {longest}", _slope(_count_weight(lengths), longest)),
            *(
                Row("slope, trained on draws", f"N {longest}, seed {seed}", _slope(weight, longest), seed=seed)
                for seed, weight in enumerate(_counted(longest))
            ),
        ]
    return rows


def _spread(length: Array) -> Array:
    """Second moment of the count, ones less zeros, where the number of ones is uniform."""
    found: Array = length * (length + 2) / 3
    return found


def _count_weight(lengths: Array) -> float:
    """The weight of the count that fits the share count / n best, lengths uniform."""
    return float((_spread(lengths) / lengths).sum() / _spread(lengths).sum())


def _counted(longest: int, seeds: int = 3, draws: int = 200_000) -> list[float]:
    """The same by least squares on draws."""
    found = []
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        length = rng.integers(1, longest + 1, draws)
        count = 2 * rng.integers(0, length + 1) - length
        found.append(float((count * count / length).sum() / (count * count).sum()))
    return found


def _slope(weight: float, longest: int) -> float:
    """Slope of the log error on log n from 16N to 128N."""
    n = longest * np.array([16, 32, 64, 128])
    error = _spread(n) / n**2 * (weight * n - 1) ** 2
    return float(np.polyfit(np.log(n), np.log(error), 1)[0])


def decay_picks() -> list[Row]:
    """From an exact fit by position alone: without decay it stays; with decay it goes to the ridge solution."""
    odds = law_of_lengths("uniform")
    rows = []
    for summary, code in SCALES:
        second, moments = either_reader(odds, summary, code)
        start = np.concatenate([[0.0], np.where(np.arange(N) % 2, 1.0, -1.0) / code])
        before = -1.0
        for decay in (0.0, 1e-3, 1e-2, 1e-1):
            reader = flow(second, moments, start, FAR, decay)
            error = (1 - summary * float(reader[0])) ** 2
            total = decay + summary**2 + code**2 / N
            wanted = 1.0 if decay == 0 else (1 - summary**2 / total) ** 2
            item = f"summary {summary:g}, code {code:g}, decay {decay:g}"
            rows.append(Row("error beyond N", item, error, expected=wanted))
            if decay > 0:
                rows.append(Row("less than without decay", item, 1.0 - error))
                if before >= 0:
                    rows.append(Row("rise with the decay", item, error - before))
                before = error
    return rows
