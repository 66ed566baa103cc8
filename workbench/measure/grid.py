"""The prefix lengths at which a run is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence

from workbench.measure.measurement import Grid
from workbench.models.base.architecture import Architecture
from workbench.models.errors import PositionError
from workbench.runs.evaluation_ids import evaluation_ids
from workbench.tasks.base import Task, TaskError, refuse_endless

_INSIDE = (1 / 4, 1 / 2, 1)
_BESIDE = (1 / 8, 3 / 2, 3, 6)
_OUTSIDE = (2, 4, 8)


def make_grid(task: Task, trained: int, lengths: Sequence[int] | None = None) -> Grid:
    """The grid of a run with longest training length ``trained``.

    By default N/4, N/2, N inside and 2N, 4N, 8N outside, each rounded up to the next admissible length,
    with N/8, 3N/2, 3N and 6N between for a smoother curve. ``lengths`` replaces the lengths outside and
    between; those inside always stay, for skill in training is what everything is compared with. A task that is put to
    a model which was never trained on it has lengths of its own, and N is the longest that fits into its window.

    Raises:
        TaskError: for a length that the task does not admit, or that no string is drawn at.
    """

    def at(factors: Sequence[float]) -> set[int]:
        return {task.next_length(trained * f) for f in factors}

    fixed = task.fixed_lengths
    inside = [] if fixed else sorted(n for n in at(_INSIDE) if n <= trained)
    if lengths is None and fixed:
        chosen = {*fixed}
    elif lengths is None:
        chosen = at(_OUTSIDE) | at(_BESIDE)
    else:
        for n in lengths:
            refuse_endless(n)
            if not task.admissible(n):
                raise TaskError(
                    f"{task.name} has no strings of length {n}; the next admissible length is {task.next_length(n)}"
                )
        chosen = set(lengths)
    every = sorted(chosen | set(inside))
    if fixed:
        inside = [n for n in every if n <= trained]
    return Grid(trained, tuple(every), tuple(inside), tuple(n for n in every if n > trained))


def near_multiples(lengths: Sequence[int], trained: int, factors: Sequence[float]) -> list[int]:
    """The length nearest to each multiple of the trained one, on a logarithmic scale, ascending; none of none."""
    if not lengths:
        return []
    return sorted({min(lengths, key=lambda n: abs(math.log(n / (trained * factor)))) for factor in factors})


def readable(grid: Grid, task: Task, cfg: Architecture, *, strict: bool) -> tuple[Grid, str]:
    """The part of a grid that the position scheme can read, and a sentence about the rest ("" if none).

    Raises:
        PositionError: with ``strict``, if any length cannot be read.
    """
    kept, why = [], ""
    for n in grid.lengths:
        try:
            evaluation_ids(task, cfg, n)
            kept.append(n)
        except PositionError as error:
            if strict:
                raise PositionError(f"length {n}: {error}") from None
            why = why or f"lengths from {n} on are not measured: {error}"
    cut = [tuple(n for n in part if n in kept) for part in (grid.lengths, grid.inside, grid.outside)]
    return Grid(grid.trained, *cut), why
