"""The prefix lengths at which a run is measured."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.core.errors import quoted_value
from workbench.core.thresholds import FITTED_AT
from workbench.measure.measurement import Grid
from workbench.models.base.architecture import Architecture
from workbench.models.errors import PositionError
from workbench.runs.evaluation_ids import evaluation_ids
from workbench.tasks.base import Task, TaskError, refuse_endless

_BESIDE = (1 / 8, 3 / 2, 3, 6)
_OUTSIDE = (2, 4, 8)


def make_grid(task: Task, trained: int, lengths: Sequence[int] | None = None, shortest: int = 1) -> Grid:
    """Return the prefix lengths at which a run with longest training length ``trained`` is measured.

    The lengths inside are N/4, N/2 and N. The lengths outside are 2N, 4N and 8N. N/8, 3N/2, 3N and 6N are added for a
    smoother curve. Each is rounded up to the next length that the task has.

    Where N/4 or N/2 is below ``shortest``, the length ``shortest`` takes its place inside, and N/4 or N/2 is measured
    in addition. ``lengths`` replaces all lengths except those inside, because skill at trained lengths is the reference
    for everything else. A task with fixed lengths is used on models that were not trained on it. There N is the longest
    length that the model's window holds.

    Args:
        task: the task.
        trained: N, the longest training length.
        lengths: lengths that the caller names; None = the default ones.
        shortest: length of the shortest training sequences.

    Raises:
        TaskError: for a length that the task does not have.
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
    """Return the lengths that a caller names, each once, in ascending order.

    Args:
        task: the task whose sequences are drawn; None = unknown.
        lengths: whole numbers, at least 1.

    Raises:
        TaskError: for any other number, or a length that the task does not have.
    """
    for n in lengths:
        if isinstance(n, bool) or not isinstance(n, int | float | np.integer) or n != n or n < 1 or n % 1:
            raise TaskError(f"a prefix length is a whole number of tokens from 1 on, not {quoted_value(n)}")
        refuse_endless(int(n))
        if task is not None and not task.admissible(int(n)):
            following = task.next_length(int(n))
            raise TaskError(f"{task.name} has no sequences of length {n}; the next length it has is {following}")
    return sorted({int(n) for n in lengths})


def lengths_for(grid: Grid, factors: Sequence[float], *, beyond: bool = False) -> list[int]:
    """Return the lengths, ascending, for a measurement that uses only a few lengths of the grid.

    Args:
        grid: the grid of the checkpoint.
        factors: multiples of N; the nearest measured length to each is taken. Where the caller named lengths, the named
            lengths are taken instead.
        beyond: whether to return only lengths past N.
    """
    pool = grid.outside if beyond else grid.lengths
    return [n for n in grid.named if n in pool] if grid.named else near_multiples(pool, grid.trained, factors)


def exact_multiples(grid: Grid, task: Task, factors: Sequence[float]) -> list[int]:
    """Return the lengths of a grid that are multiples of N or were named by the caller, ascending.

    Args:
        grid: the grid of the checkpoint.
        task: the task; multiples are rounded up to lengths that it has.
        factors: multiples of N. A multiple that the grid lacks is left out.
    """
    multiples = {task.next_length(grid.trained * factor) for factor in factors}
    return [n for n in grid.lengths if n in multiples or n in grid.named]


def within_training(grid: Grid, measurement: str, does: str) -> str:
    """Return why a measurement that needs lengths beyond N refuses named lengths below N; "" if no such length is
    named.

    Args:
        grid: the grid of the checkpoint.
        measurement: the measurement's name.
        does: what the measurement does, as a clause of the message.
    """
    home = max(grid.inside, default=None)
    short = [n for n in grid.named if n <= grid.trained and n != home]
    if not short:
        return ""
    said = ", ".join(str(n) for n in short)
    return f"{measurement} {does}, so it measures no length below {grid.trained}; leave out {said}"


def near_multiples(lengths: Sequence[int], trained: int, factors: Sequence[float]) -> list[int]:
    """Return the length nearest to each multiple of ``trained`` on a logarithmic scale, ascending."""
    if not lengths:
        return []
    return sorted({min(lengths, key=lambda n: abs(math.log(n / (trained * factor)))) for factor in factors})


def readable(grid: Grid, task: Task, cfg: Architecture, *, strict: bool) -> tuple[Grid, str]:
    """Return the part of a grid that the position encoding can read, and a sentence about the rest ("" if none).

    Raises:
        PositionError: with ``strict``, if the encoding cannot read a length.
    """
    readable_lengths, why = [], ""
    for n in grid.lengths:
        try:
            evaluation_ids(task, cfg, n)
            readable_lengths.append(n)
        except PositionError as error:
            if strict:
                raise PositionError(f"length {n}: {error}") from None
            why = why or f"lengths from {n} on are not measured: {error}"
    lengths, inside, outside, named = (
        tuple(n for n in part if n in readable_lengths)
        for part in (grid.lengths, grid.inside, grid.outside, grid.named)
    )
    return Grid(grid.trained, lengths, inside, outside, named, grid.shortest), why
