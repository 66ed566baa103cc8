"""The failure strip of a run: its accuracy at each multiple of N on both test sets, as a few hundred characters.

A strip has a line for each test set and a cell for each of :data:`STRIP_TIMES`. ``assets/js/grid.js`` draws it. A cell
is its length, the accuracy, its interval and the number of sequences: ``48|0.84|0.81 0.87|512``. It is empty where
nothing was measured. A cell of several runs has their median, the lowest and the highest, and their number.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.core.names import CHALLENGE, MATCHED
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import all_counted, band_of, interval, proportion, whole
from workbench.figures.panels.phase_colours import SAME_CHANCE
from workbench.figures.rows.baselines import counts_for_verdict
from workbench.figures.rows.multiples import MULTIPLES, length_at

STRIP_TIMES = (*MULTIPLES, 12.0, 16.0, 24.0, 32.0, 48.0, 64.0, 96.0, 128.0)
"""The multiples of N that a strip may have a cell for. Those beyond the usual ones are shown where a run has them."""
TEST_SETS = (MATCHED, CHALLENGE)
"""The lines of a strip, from above."""
UNTESTED = "~"
"""Begins a cell at which the verdict does not test the challenge test set."""

Point = Mapping[str, Any]


def run_strip(run: RunView) -> dict[str, Any]:
    """The strip of one run, as fields of its line on the Runs page.

    A model that was evaluated in a prompt has one line, with a cell for each number of items.
    """
    if not run.brief.accuracy:
        return {}
    if not run.kind.has_trained_length:
        cells = [_cell(point) for point in run.brief.accuracy]
        return {"strip": [";".join(cells)], "stripItems": True, "stripChance": _chance([run])}
    lines = [
        _line([UNTESTED * _untested(point, law, run) + _cell(point) for point in points])
        for law, points in _by_multiple(run).items()
    ]
    return {"strip": lines, "stripChance": _chance([run])}


def group_strip(runs: Sequence[RunView], members: str) -> dict[str, Any]:
    """The strip of several runs: medians with the lowest and the highest run, at multiples of each run's own N.

    Args:
        runs: of one kind.
        members: what the runs are called, "seeds" or "runs".

    Returns:
        no strip where the runs have none, or where their tasks differ in chance. The field ``apart`` then gives the
        reason.
    """
    measured = [run for run in runs if run.brief.accuracy]
    if not measured:
        return {}
    if not may_pool(measured):
        return {"apart": why_not_pooled(measured)}
    fields = {"stripChance": _chance(measured), "stripMembers": members}
    if not measured[0].kind.has_trained_length:
        curves = [{int(point["length"]): point for point in run.brief.accuracy} for run in measured]
        lengths = sorted({length for curve in curves for length in curve})
        cells = [_median([curve.get(length) for curve in curves]) for length in lengths]
        return fields | {"strip": [";".join(cells)], "stripItems": True}
    strips = [_by_multiple(run) for run in measured]
    lines = []
    for law in TEST_SETS:
        cells = []
        for place in range(len(STRIP_TIMES)):
            points = [strip[law][place] for strip in strips]
            untested = any(_untested(point, law, run) for point, run in zip(points, measured, strict=True))
            cells.append(UNTESTED * untested + _median(points))
        lines.append(_line(cells))
    return fields | {"strip": lines}


def multiples_of(rows: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return the indices of :data:`STRIP_TIMES` that a page shows: the usual multiples, and those that any line has."""
    strips = [row["strip"] for row in rows if "strip" in row and not row.get("stripItems")]
    most = max((len(line.split(";")) for strip in strips for line in strip), default=0)
    extra = (place for place in range(len(MULTIPLES), most) if any(_has(line, place) for s in strips for line in s))
    return [*range(len(MULTIPLES)), *extra]


def may_pool(runs: Sequence[RunView]) -> bool:
    """Whether accuracies of runs may be pooled: their tasks have the same chance."""
    levels = [run.brief.chance for run in runs]
    return max(levels) - min(levels) < SAME_CHANCE


def why_not_pooled(runs: Sequence[RunView]) -> str:
    """Why accuracies of runs are not pooled."""
    levels = [run.brief.chance for run in runs]
    return f"not pooled: chance is {proportion(min(levels))} to {proportion(max(levels))}"


def at_multiples(points: Sequence[Point], trained: int) -> list[Point | None]:
    """The points of a curve that stand for :data:`STRIP_TIMES`."""
    by_length = {int(point["length"]): point for point in points}
    found = (length_at(by_length, trained, times) for times in STRIP_TIMES)
    return [None if length is None else by_length[length] for length in found]


def _by_multiple(run: RunView) -> dict[str, list[Point | None]]:
    points = {MATCHED: run.brief.accuracy, CHALLENGE: run.brief.challenge}
    return {law: at_multiples(points[law], run.trained) for law in TEST_SETS}


def _untested(point: Point | None, law: str, run: RunView) -> bool:
    """Whether the verdict leaves out a length beyond training."""
    return (
        point is not None
        and point["length"] > run.trained
        and not counts_for_verdict(law, point["length"], run.trained)
    )


def _cell(point: Point | None) -> str:
    """The cell of one run; where all sequences were counted, this in place of the interval."""
    if point is None:
        return ""
    length = band_of(point["note"]) or whole(point["length"])
    limits = interval(point["low"], point["high"]).strip("[]").replace(", ", " ")
    return "|".join((length, proportion(point["value"]), limits or all_counted(point["note"]), str(point["n"] or "")))


def _median(points: Sequence[Point | None]) -> str:
    """The cell of those of several runs that were measured there."""
    own = [point for point in points if point is not None]
    if not own:
        return ""
    values = [float(point["value"]) for point in own]
    lengths = sorted({int(point["length"]) for point in own})
    length = whole(lengths[0]) if len(lengths) == 1 else f"{whole(lengths[0])} to {whole(lengths[-1])}"
    limits = f"{proportion(min(values))} {proportion(max(values))}"
    return "|".join((length, proportion(float(np.median(values))), limits, str(len(own))))


def _line(cells: Sequence[str]) -> str:
    return ";".join(cells).rstrip(";")


def _has(line: str, place: int) -> bool:
    cells = line.split(";")
    return place < len(cells) and bool(cells[place])


def _chance(runs: Sequence[RunView]) -> float:
    return round(min(run.brief.chance for run in runs), 3)
