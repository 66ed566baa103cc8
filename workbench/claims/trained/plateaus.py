"""Statistics of claims about the loss that a run reaches on long sequences, its plateau."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from itertools import pairwise

import numpy as np

from workbench.claims.claim import Claim, Row
from workbench.claims.resampling import RESAMPLES, cell_means, kendall, over_seeds
from workbench.claims.trained.claim_runs import about_several, correlation_row, rng_of, runs_of
from workbench.claims.trained.run_rows import RunRow, RunTable
from workbench.claims.trained_cells import TrainedCell

PLATEAU = "loss at 32 N"


def plateau_ratio(claim: Claim, table: RunTable) -> list[Row]:
    """Return, for each run, the loss at 32N divided by the loss at 16N, with the interval of the log of two independent
    means.
    """
    rows = []
    for cell in claim.cells:
        for run in runs_of(cell, table):
            far, near = run.row(PLATEAU), run.row("loss at 16 N")
            ratio = (far.value or 0.0) / max(near.value or 0.0, 1e-30)
            half = 1.96 * math.hypot(_relative_error(far), _relative_error(near))
            low, high = ratio * math.exp(-half), ratio * math.exp(half)
            rows.append(run.new_row("loss at 32N over 16N", cell.name, ratio, low, high, far.n))
    return rows


def _relative_error(row: RunRow) -> float:
    """Standard error of a mean over the mean."""
    return (row.spread or 0.0) / math.sqrt(row.n or 1) / max(row.value or 0.0, 1e-30)


def plateau_steps(
    claim: Claim, table: RunTable, quantity: str, groups: Sequence[Sequence[int]], sign: int
) -> list[Row]:
    """Return ``sign`` times the difference of the log loss between each configuration of a group and the one before."""
    rows = []
    for group in groups:
        for i, j in pairwise(group):
            name = f"{claim.cells[j].name} after {claim.cells[i].name}"
            runs = _Plateaus([claim.cells[i], claim.cells[j]], table, rng_of(claim, name))
            found = over_seeds(runs.place, partial(_rise, runs, sign), runs.rng, partial(_drawn_rises, runs, sign))
            assert found is not None
            seeds = min(len(claim.cells[i].seeds), len(claim.cells[j].seeds))
            rows.append(about_several(quantity, name, found, seeds, seeds))
    return rows


def _rise(runs: _Plateaus, sign: int, chosen: np.ndarray) -> np.ndarray:
    """``[draw]`` ``sign`` times the log of the second cell's plateau less that of the first."""
    one, other = runs.logs(chosen)
    rise: np.ndarray = sign * (other - one)
    return rise


def _drawn_rises(runs: _Plateaus, sign: int) -> np.ndarray:
    """``[draw]`` the same of all runs, with their sequences resampled."""
    one, other = runs.drawn_logs()
    found: np.ndarray = sign * (other - one)
    return found


class _Plateaus:
    """The plateaus of the runs of some cells.

    Attributes:
        place: ``[run]`` index of the cell of each run.
        rng: what strings are drawn with.
    """

    def __init__(self, cells: Sequence[TrainedCell], table: RunTable, rng: np.random.Generator) -> None:
        rows = [(at, run.row(PLATEAU)) for at, cell in enumerate(cells) for run in runs_of(cell, table)]
        self.place = [at for at, _ in rows]
        self.rng = rng
        self._cells = np.array(self.place)
        self._mean = np.array([row.value or 0.0 for _, row in rows])
        self._error = np.array([_relative_error(row) for _, row in rows])

    def logs(self, chosen: np.ndarray) -> np.ndarray:
        """Return the log of the mean plateau ``[cell, draw]`` over the runs ``chosen [draw, run]``."""
        of, mean = self._cells[chosen[0]], self._mean[chosen]
        found: np.ndarray = np.log([cell_means(mean, of == at) for at in range(max(self.place) + 1)])
        return found

    def drawn_logs(self) -> np.ndarray:
        """Return the log of the mean plateau ``[cell, draw]`` over all runs, with resampled sequences in each run."""
        noise = self.rng.standard_normal((len(self._mean), RESAMPLES))
        drawn = self._mean[:, None] * np.exp(self._error[:, None] * noise)
        found: np.ndarray = np.log([drawn[self._cells == at].mean(0) for at in range(max(self.place) + 1)])
        return found


def needed_lengths(claim: Claim, table: RunTable, knobs: Sequence[float], lengths: Sequence[int]) -> list[Row]:
    """Return the increase of log2 N* from one setting of the task to the next harder one. N* is the trained length at
    which the plateau, interpolated in log-log, reaches a common level.

    The level is half way, in logs, between the highest plateau at the longest and the lowest at the shortest length.
    """
    shape = (len(knobs), len(lengths))
    x = np.log2(np.array(lengths, dtype=float))
    runs = _Plateaus(claim.cells, table, rng_of(claim))
    observed = runs.logs(np.arange(len(runs.place))[None]).reshape(shape)
    level = (observed[:, -1].max() + observed[:, 0].min()) / 2
    rows = []
    for k in range(1, len(knobs)):

        def rise(chosen: np.ndarray, k: int = k) -> np.ndarray:
            needed = _crossing(x, runs.logs(chosen).reshape(*shape, -1), level)
            risen: np.ndarray = needed[k] - needed[k - 1]
            return risen

        def strings(k: int = k) -> np.ndarray:
            needed = _crossing(x, runs.drawn_logs().reshape(*shape, RESAMPLES), level)
            drawn: np.ndarray = needed[k] - needed[k - 1]
            return drawn

        found = over_seeds(runs.place, rise, runs.rng, strings)
        assert found is not None
        seeds = len(claim.cells[0].seeds)
        rows.append(about_several("rise of log2 N*", f"{knobs[k]:g} after {knobs[k - 1]:g}", found, seeds, seeds))
    return rows


def _crossing(x: np.ndarray, y: np.ndarray, level: float) -> np.ndarray:
    """``[knob, draw]`` where the least-squares line through ``y [knob, length, draw]`` has the level; falls only."""
    centred = x - x.mean()
    slope = np.minimum(np.einsum("l,kld->kd", centred, y) / (centred @ centred), -1e-6)
    found: np.ndarray = x.mean() + (level - y.mean(1)) / slope
    return found


def bound_tau(claim: Claim, table: RunTable, quantity: str, target: str) -> list[Row]:
    """Return Kendall's tau, over runs, of the plateau and a part of the bound; gamma enters as 1/gamma."""
    label = f"{quantity}, {target}"
    runs = [run for cell in claim.cells for run in runs_of(cell, table)]
    if runs and not any(label in run.rows for run in runs):
        raise LookupError(f"no run of {claim.id} has the row {label} that the claim needs")
    whole = [run for run in runs if label in run.rows and run.rows[label].value]
    parts = np.array([run.row(label).value or 0.0 for run in whole])
    x = -parts if target == "gamma" else parts
    y = np.array([run.row(PLATEAU).value or 0.0 for run in whole])
    return [correlation_row(claim, "tau", x, y, whole, kendall, len(runs))]
