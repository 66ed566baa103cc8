"""The parts of the sliders: stops, labels, the accuracy curve behind and the verdicts below; without Dash."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from workbench.core.verdicts import NOT_MEASURED, VERDICTS
from workbench.dashboard.state.cursor import nearest_earlier
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import multiple, whole
from workbench.figures.rows.frame import present
from workbench.figures.rows.multiples import LengthAxis
from workbench.figures.style.sparklines import spark_svg
from workbench.figures.style.template import choose_ticks, u_length, u_step

SCENT = (600, 20)
"""Size in which scent curves are drawn; they stretch to the slider."""
PLACES: dict[str, Callable[[float], float]] = {"step": u_step, "length": u_length}


def verdict_at(run: RunView, step: int) -> str:
    """Return the verdict at a step, or ``not measured``."""
    return run.brief.verdicts.get(step, NOT_MEASURED)


def ends(values: Sequence[float], where: Callable[[float], float]) -> tuple[float, float]:
    """Return both ends of a slider, as positions on its axis; with a single stop, the ends are one apart."""
    low, high = where(values[0]), where(values[-1])
    return low, high if high > low else low + 1


def marks(
    values: Sequence[float],
    where: Callable[[float], float],
    width: int,
    first: Iterable[float],
    text: Callable[[float], str],
) -> list[dict[str, Any]]:
    """Return the stops of a slider: the ``value``, its position on the axis, and a ``label`` if there is room for it.

    Args:
        values: the values at which the slider stops, ascending.
        where: maps a value to its position on the axis.
        width: pixels that it has on the smallest page.
        first: values that are labelled before all others.
        text: a value as a label.
    """
    kept = _labelled(values, where, width, first, text)
    return [{"value": where(v)} | ({"label": text(v)} if i in kept else {}) for i, v in enumerate(values)]


def length_text(run: RunView, axis: LengthAxis) -> Callable[[float], str]:
    """Return a function that formats a length below its slider: as a number, or as a multiple of N."""
    return whole if axis == "length" else lambda length: multiple(length / run.trained)


def _labelled(
    values: Sequence[float],
    where: Callable[[float], float],
    width: int,
    first: Iterable[float],
    text: Callable[[float], str],
) -> set[int]:
    """Indices of the marks that get a label: the required ones, both ends, then the roundest that fit."""
    low, high = ends(values, where)
    wanted = [v for v in first if v in values]
    rest = sorted(values, key=lambda v: (-_roundness(v), -v))
    order = list(dict.fromkeys([*wanted, values[-1], values[0], *rest]))
    kept = choose_ticks([(where(v), text(v)) for v in order], low, high, width)
    return {values.index(order[i]) for i in kept}


def _roundness(value: float) -> int:
    """How round a number reads: powers of ten and of two first."""
    if value <= 0 or math.isinf(value):
        return 9
    number = int(value)
    text = str(number).rstrip("0")
    return 5 if text == "1" else 3 if number & (number - 1) == 0 else 2 if text in ("2", "5") else 0


def scent_over_steps(run: RunView, length: int, other: RunView | None = None) -> dict[str, str]:
    """Return the curve of accuracy over training at one length, drawn behind the step slider; a second run is
    dashed.
    """
    near = {} if other is None else {"length": nearest_earlier(other.lengths, length)}
    return _mask([_scent(run, "step", run.steps, length=length), _beside(run.steps, other, "step", near)])


def scent_over_lengths(run: RunView, step: int, other: RunView | None = None) -> dict[str, str]:
    """Return the curve of accuracy over prefix length at one step, drawn behind the length slider; a second run is
    dashed.
    """
    near = {} if other is None else {"step": nearest_earlier(other.measured_steps, step)}
    return _mask([_scent(run, "length", run.lengths, step=step), _beside(run.lengths, other, "length", near)])


def _beside(values: Sequence[int], other: RunView | None, along: str, at: Mapping[str, int]) -> str:
    return "" if other is None else _scent(other, along, values, dash="3 3", **at)


def _mask(images: Sequence[str]) -> dict[str, str]:
    urls = ", ".join(f'url("{image}")' for image in images if image)
    return {"maskImage": urls, "WebkitMaskImage": urls} if urls else {"visibility": "hidden"}


def _scent(run: RunView, along: str, values: Sequence[int], dash: str = "", **at: int) -> str:
    """A small picture of accuracy over the values of a slider, or nothing where there are no two of them."""
    names = run.kind.behaviour
    asked = {"measurement": names.measurement, "quantity": names.accuracy}
    rows = run.frame.where(**asked, law="matched", mode="teacher_forced", **at)
    rows = rows.where(present(rows["value"])).sort(along)
    if len(rows) < 2 or len(values) < 2:
        return ""
    where = PLACES[along]
    low, high = ends(values, where)
    x = np.array([(where(float(v)) - low) / (high - low) for v in rows[along]])
    return spark_svg(list(rows["value"]), run.brief.chance - 0.05, 1.02, *SCENT, x=list(x), stroke=1.5, dash=dash)


def ribbons(run: RunView, other: RunView | None, low: float, high: float) -> dict[str, str]:
    """Return the coloured band of a run's verdicts over training and, below it at half the height, that of a second
    run.
    """
    if other is None:
        return {"background": ribbon(run, low, high)}
    both = [ribbon(one, low, high) for one in (run, other)]
    return {"background": f"{both[0]} 0 0 / 100% 2px no-repeat, {both[1]} 0 100% / 100% 2px no-repeat"}


def ribbon(run: RunView, low: float, high: float) -> str:
    """Return the verdict at each checkpoint as a coloured band that changes at midpoints between checkpoints.

    A checkpoint without a verdict has a sunken stretch of its own, never the colour of its neighbours.
    """
    verdicts = run.brief.verdicts
    if not verdicts:
        return "linear-gradient(var(--line), var(--line))"
    steps = sorted({*verdicts, *run.steps})
    places = [min(1.0, max(0.0, (u_step(step) - low) / (high - low))) for step in steps]
    edges = [0.0, *((a + b) / 2 for a, b in pairwise(places)), 1.0]
    stops = []
    for step, left, right in zip(steps, edges, edges[1:], strict=False):
        token = VERDICTS[verdicts[step]].ribbon if step in verdicts else "sunken"
        colour = f"var(--{token.replace('_', '-')})"
        stops.append(f"{colour} {100 * left:.2f}% {100 * right:.2f}%")
    return f"linear-gradient(90deg, {', '.join(stops)})"
