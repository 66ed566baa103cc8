"""The prefix lengths at which a run is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.core.errors import shown
from workbench.core.thresholds import FITTED_AT
from workbench.measure.measurement import Grid
from workbench.models.base.architecture import Architecture
from workbench.models.errors import PositionError
from workbench.runs.evaluation_ids import evaluation_ids
from workbench.tasks.base import Task, TaskError, refuse_endless

_BESIDE = (1 / 8, 3 / 2, 3, 6)
_OUTSIDE = (2, 4, 8)


def make_grid(task: Task, trained: int, lengths: Sequence[int] | None = None, shortest: int = 1) -> Grid:
    """The grid of a run with longest training length ``trained``.

    Lengths inside lie in the trained range: where N/4 or N/2 is shorter than ``shortest``, the length of the shortest
    trained strings, that stands in its place, and N/4 or N/2 is measured beside.

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
    near = set() if fixed else {n for n in at(FITTED_AT) if n <= trained}
    inside = sorted({n if n >= shortest else task.next_length(min(shortest, trained)) for n in near})
    if lengths is None and fixed:
        chosen = {*fixed}
    elif lengths is None:
        chosen = at(_OUTSIDE) | at(_BESIDE)
    else:
        chosen = set(named_lengths(task, lengths))
    every = sorted(chosen | near | set(inside))
    if fixed:
        inside = [n for n in every if n <= trained]
    named = () if lengths is None else tuple(sorted(chosen))
    return Grid(trained, tuple(every), tuple(inside), tuple(n for n in every if n > trained), named, shortest)


def named_lengths(task: Task | None, lengths: Sequence[Any]) -> list[int]:
    """The lengths that a caller names, each once and ascending.

    Args:
        task: whose sequences are drawn; None = a task that is not known.
        lengths: whole numbers from 1 on.

    Raises:
        TaskError: for any other number, or a length that the task does not have.
    """
    for n in lengths:
        if isinstance(n, bool) or not isinstance(n, int | float | np.integer) or n != n or n < 1 or n % 1:
            raise TaskError(f"a prefix length is a whole number of tokens from 1 on, not {shown(n)}")
        refuse_endless(int(n))
        if task is not None and not task.admissible(int(n)):
            following = task.next_length(int(n))
            raise TaskError(f"{task.name} has no sequences of length {n}; the next length it has is {following}")
    return sorted({int(n) for n in lengths})


def lengths_for(grid: Grid, factors: Sequence[float], *, beyond: bool = False) -> list[int]:
    """The lengths of a grid at which a measurement of a few lengths is made, ascending.

    Args:
        grid: of the checkpoint.
        factors: multiples of N: the measured length nearest to each; but where the caller named lengths, these.
        beyond: only lengths past N.
    """
    pool = grid.outside if beyond else grid.lengths
    return [n for n in grid.named if n in pool] if grid.named else near_multiples(pool, grid.trained, factors)


def exact_multiples(grid: Grid, task: Task, factors: Sequence[float]) -> list[int]:
    """The lengths of a grid that are multiples of N, rounded up to admissible lengths, and those named; ascending.

    Args:
        grid: of the checkpoint.
        task: whose lengths are admissible.
        factors: multiples of N; one whose length the grid lacks is left out.
    """
    multiples = {task.next_length(grid.trained * factor) for factor in factors}
    return [n for n in grid.lengths if n in multiples or n in grid.named]


def within_training(grid: Grid, measurement: str, does: str) -> str:
    """Why a measurement of lengths past N refuses named lengths up to N, except the longest; "" where none is named."""
    home = max(grid.inside, default=None)
    short = [n for n in grid.named if n <= grid.trained and n != home]
    if not short:
        return ""
    said = ", ".join(str(n) for n in short)
    return f"{measurement} {does}, so it measures no length below {grid.trained}; leave out {said}"


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
    lengths, inside, outside, named = (
        tuple(n for n in part if n in kept) for part in (grid.lengths, grid.inside, grid.outside, grid.named)
    )
    return Grid(grid.trained, lengths, inside, outside, named, grid.shortest), why
