"""Do margins predict where a model fails? The relation of critical length and failure length, over many runs.

At the critical length K* of a head, its keys have half of the mass. Answers do not necessarily fail there. If the other
keys contribute random values, they outvote the answer only at about K ~ e^(2m); if they share a bias, at once. So the
two lengths are related by a fit, never equated (log-normal survival regression):

    log y = a_task + c log K* + sigma noise

Here y is the failure length, known to be between two grid lengths or beyond the longest one. A slope c near 1 indicates
biased other keys, and near 2 random ones. c = 0 would refute that margins matter.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_ndtr

Floats = NDArray[np.float64]
COLUMNS = ("task", "critical", "low", "high")
LEAST_RUNS = 5


@dataclass(frozen=True)
class Relation:
    """The fitted relation between the length at which attention softens and the length at which accuracy fails.

    Attributes:
        slope: c, with ``low`` and ``high`` (95 %, bootstrap over runs).
        intercepts: a per task.
        sigma: standard deviation of log y around the line.
        concordance: Harrell's C of only log K*: share of comparable pairs of runs in which the one with the larger K*
            fails later; 1/2 = no relation.
        runs: number of runs.
        censored: number of runs that never failed.
    """

    slope: float
    low: float
    high: float
    intercepts: dict[str, float]
    sigma: float
    concordance: float
    runs: int
    censored: int


def failure_relation(runs: pd.DataFrame, resamples: int = 200, seed: int = 0) -> Relation:
    """Fit failure length on critical length.

    Args:
        runs: one row per run with the columns ``task``, ``critical`` (K* in keys), ``low`` and ``high``. The run fails
            between ``low``, the last grid length that passes, and ``high``, the first that fails (infinite or NaN if
            none).
        resamples: number of bootstrap resamples over runs.
        seed: seed of the bootstrap.

    Raises:
        ValueError: for missing columns, lengths that are not positive and ascending, fewer than 5 runs, or critical
            lengths that are all equal within every task.
    """
    task, x, low, high = _checked(runs)
    estimates = _fit(task, x, low, high)
    rng = np.random.default_rng(seed)
    slopes = []
    for _ in range(resamples):
        chosen = rng.integers(0, len(x), len(x))
        if _varies(task[chosen], x[chosen]):
            slopes.append(_fit(task[chosen], x[chosen], low[chosen], high[chosen])[0])
    ends = np.quantile(slopes, [0.025, 0.975]) if slopes else (np.nan, np.nan)
    names, counts = np.unique(task, return_inverse=True)
    return Relation(
        slope=estimates[0],
        low=float(ends[0]),
        high=float(ends[1]),
        intercepts={str(name): float(a) for name, a in zip(names, estimates[2:], strict=True)},
        sigma=float(np.exp(estimates[1])),
        concordance=concordance(x, low, high),
        runs=len(counts),
        censored=int(np.isinf(high).sum()),
    )


def concordance(x: Floats, low: Floats, high: Floats) -> float:
    """Return Harrell's C for failure in (low, high], over pairs whose order is certain; ties of x count half."""
    later = low[:, None] >= high[None, :]
    pairs = later.sum()
    if not pairs:
        return float("nan")
    right = (later & (x[:, None] > x[None, :])).sum() + 0.5 * (later & (x[:, None] == x[None, :])).sum()
    return float(right / pairs)


def runs_from_table(
    frame: pd.DataFrame,
    tasks: Mapping[str, str],
    trained: Mapping[str, int],
    heads: Mapping[str, Sequence[tuple[int, int]]],
) -> pd.DataFrame:
    """Return the input of :func:`failure_relation` from the table: matched test set, last step.

    Args:
        frame: rows of ``behaviour`` and ``circuits.hardmax``.
        tasks: run -> task.
        trained: run -> its longest trained length, at which K* is taken.
        heads: run -> the heads that carry its answer, by ablation; K* is the median over them.
    """
    records = []
    for run, task in tasks.items():
        rows = frame[(frame["run"] == run) & (frame["law"] == "matched")]
        rows = rows[rows["step"] == rows["step"].max()]
        failure = rows[rows["quantity"] == "failure_length"]
        critical = rows[(rows["quantity"] == "critical_length") & (rows["length"] == trained[run])]
        of_heads = [critical[(critical["layer"] == layer) & (critical["head"] == head)] for layer, head in heads[run]]
        values = [float(part["value"].iloc[0]) for part in of_heads if len(part) and pd.notna(part["value"].iloc[0])]
        if failure.empty or not values:
            continue
        end = failure.iloc[0]
        high = float(end["value"]) if pd.notna(end["value"]) and end["status"] != "censored" else float("inf")
        records.append({"task": task, "critical": float(np.median(values)), "low": float(end["low"]), "high": high})
    return pd.DataFrame(records, columns=list(COLUMNS))


def _checked(runs: pd.DataFrame) -> tuple[NDArray[Any], Floats, Floats, Floats]:
    missing = [name for name in COLUMNS if name not in runs]
    if missing:
        raise ValueError(f"runs need the columns {', '.join(COLUMNS)}; {missing[0]} is missing")
    task = runs["task"].to_numpy(dtype=str)
    critical, low, high = (runs[name].to_numpy(dtype=float) for name in COLUMNS[1:])
    high = np.where(np.isnan(high), np.inf, high)
    if not ((critical > 0) & (low > 0) & (high > low)).all() or np.isinf(critical).any():
        raise ValueError("critical lengths must be positive and finite, and 0 < low < high for every run")
    if len(task) < LEAST_RUNS:
        raise ValueError(f"a relation needs at least {LEAST_RUNS} runs, not {len(task)}")
    x = np.log(critical)
    if not _varies(task, x):
        raise ValueError("critical lengths do not differ within any task, so no slope can be fitted")
    return task, x, np.log(low), np.log(high)


def _varies(task: NDArray[Any], x: Floats) -> bool:
    return any(np.ptp(x[task == name]) > 1e-9 for name in np.unique(task))


def _fit(task: NDArray[Any], x: Floats, low: Floats, high: Floats) -> Floats:
    """Return the maximum-likelihood estimates of c, log sigma and the intercepts."""
    names, place = np.unique(task, return_inverse=True)
    middle = np.where(np.isinf(high), low + 0.5, (low + np.where(np.isinf(high), low, high)) / 2)
    centre = np.array([middle[place == i].mean() for i in range(len(names))])

    def loss(parameters: Floats) -> float:
        slope, log_sigma, intercepts = parameters[0], parameters[1], parameters[2:]
        mean, sigma = intercepts[place] + slope * x, np.exp(np.clip(log_sigma, -4, 4))
        # Compute both tails on the side where they are not 1; a difference of numbers near 1 loses all digits.
        a, b = (low - mean) / sigma, (high - mean) / sigma
        flip = a > 0
        a, b = np.where(flip, -b, a), np.where(flip, -a, b)
        above, below = log_ndtr(b), log_ndtr(a)
        likelihood = above + np.log1p(-np.exp(np.minimum(below - above, -1e-12)))
        # A weak penalty keeps sigma away from 0 if the line passes through every interval.
        return float(-likelihood.sum() + 0.5 * (log_sigma / 3) ** 2)

    start = np.concatenate([[0.0, 0.0], centre])
    found = minimize(loss, start, method="L-BFGS-B")
    return np.asarray(found.x, dtype=np.float64)
