"""The cursor bar: which run, which step, which prefix length, which head; two sliders steer every panel."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html

from workbench.dashboard.components.icons import chevron, glyph, icon
from workbench.dashboard.state.cursor import Cursor, nearest_earlier
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import head_name, multiple, short, whole
from workbench.figures.rows.frame import present
from workbench.figures.rows.multiples import LengthAxis
from workbench.figures.style.sparklines import spark_svg
from workbench.figures.style.template import choose_ticks, u_length, u_step
from workbench.figures.style.verdict_styles import VERDICTS

SCENT = (600, 20)
"""Size in which scent curves are drawn; they stretch to the slider."""
PLACES: dict[str, Callable[[float], float]] = {"step": u_step, "length": u_length}


def bar(
    run: RunView,
    cursor: Cursor,
    names: Sequence[str],
    pick: html.Div | None = None,
    other: RunView | None = None,
    axis: LengthAxis = "times",
) -> list[Any]:
    """Children of the cursor bar.

    Args:
        run: whose steps and lengths the sliders have.
        cursor: where they stand.
        names: of all runs.
        pick: the first cell; None = a select of runs.
        other: a run beside it, whose curves and verdicts stand behind the sliders too.
        axis: what lengths are told in.
    """
    lengths = run.lengths or (run.trained,)
    steps = run.steps or (0,)
    scale = {
        "run": run.name,
        "steps": list(steps),
        "lengths": list(lengths),
        "trained": run.trained,
        "axis": axis,
        "layers": run.n_layers,
        "heads": run.n_heads,
        "at": {"step": cursor.step, "length": cursor.length, "head": f"{cursor.layer}.{cursor.head}"},
    }
    return [
        dcc.Store(id="scale", data=scale),
        pick
        or html.Div(
            [html.Label("Run", htmlFor="run-select", className="caption"), run_select(run, cursor, names)],
            className="cell pick",
        ),
        html.Div([_step_head(), _step_slider(run, cursor, steps, other)], className="cell"),
        html.Div([_length_head(axis), _length_slider(run, cursor, lengths, other, axis)], className="cell"),
        html.Div(
            [
                html.Label("Head", htmlFor="head-select", className="caption"),
                dmc.Select(
                    id="head-select",
                    data=[
                        {"value": f"{layer}.{head}", "label": head_name(layer, head).replace(" ", " \u00b7 ")}
                        for layer in range(run.n_layers)
                        for head in range(run.n_heads)
                    ]
                    or [{"value": f"{cursor.layer}.{cursor.head}", "label": "no heads"}],
                    value=f"{cursor.layer}.{cursor.head}",
                    allowDeselect=False,
                    rightSection=chevron(),
                    size="sm",
                    maxDropdownHeight=360,
                ),
            ],
            className="cell pick",
        ),
    ]


def run_select(
    run: RunView, cursor: Cursor, names: Sequence[str], ident: str = "run-select", label: str = ""
) -> dmc.Select:
    """The select of a run, with the glyph of its verdict."""
    return dmc.Select(
        id=ident,
        data=[{"value": name, "label": name} for name in names],
        value=run.name,
        allowDeselect=False,
        rightSection=chevron(),
        searchable=True,
        size="sm",
        leftSection=glyph(verdict_at(run, cursor.step)),
        leftSectionPointerEvents="none",
        maxDropdownHeight=360,
        nothingFoundMessage="No run of that name",
        **({"attributes": {"input": {"aria-label": label}}} if label else {}),
    )


def verdict_at(run: RunView, step: int) -> str:
    """The verdict at a step, or ``not measured``."""
    return run.brief.verdicts.get(step, "not measured")


def _step_head() -> html.Div:
    return html.Div(
        [
            html.Button(
                icon("play"),
                id="play",
                className="ib play",
                type="button",
                title="Play through training",
                **{"aria-label": "Play through training"},
            ),
            html.Span("Training step", className="caption"),
            html.Span(id="step-value", className="value num"),
            html.Span(id="step-where", className="where soft num"),
            html.Span(id="step-note", className="note num"),
        ],
        className="slider-head",
    )


def _length_head(axis: LengthAxis) -> html.Div:
    pressed = {"aria-pressed": "true" if axis == "times" else "false", "aria-label": "Lengths as multiples of N"}
    return html.Div(
        [
            html.Span("Prefix length", className="caption"),
            html.Button(
                "\u00d7 N",
                id="axis-toggle",
                type="button",
                className="unit",
                title="Lengths as multiples of the longest trained one, or in tokens (X)",
                **pressed,
            ),
            html.Span(id="length-value", className="value num"),
            html.Span(id="length-where", className="where num"),
            html.Span(id="length-note", className="note num"),
        ],
        className="slider-head",
    )


def _step_slider(run: RunView, cursor: Cursor, steps: Sequence[int], other: RunView | None) -> html.Div:
    low, high = _ends(steps, u_step)
    return html.Div(
        [
            html.Div(id="step-scent", className="scent", style=scent_over_steps(run, cursor.length, other)),
            html.Div(className="ribbon", style=ribbons(run, other, low, high), title="Verdict at each checkpoint"),
            slider("step-slider", "Training step", steps, u_step, cursor.step, 440, steps[-1:], short),
        ],
        className="track",
    )


def _length_slider(
    run: RunView, cursor: Cursor, lengths: Sequence[int], other: RunView | None, axis: LengthAxis
) -> html.Div:
    def text(length: float) -> str:
        return whole(length) if axis == "length" else multiple(length / run.trained)

    low, high = _ends(lengths, u_length)
    trained = min(1.0, max(0.0, (u_length(run.trained) - low) / (high - low)))
    return html.Div(
        [
            html.Div(className="trained", style={"width": f"{100 * trained:.3f}%"}),
            html.Div(id="length-scent", className="scent", style=scent_over_lengths(run, cursor.step, other)),
            html.Div(className="ribbon bare"),
            slider("length-slider", "Prefix length", lengths, u_length, cursor.length, 340, [run.trained], text),
        ],
        className="track",
    )


def slider(
    ident: str,
    label: str,
    values: Sequence[float],
    where: Callable[[float], float],
    value: float,
    width: int,
    first: Iterable[float],
    text: Callable[[float], str],
    disabled: bool = False,
) -> dmc.Slider:
    """A slider that stops at given values only, arrow keys jumping from one to the next.

    Args:
        ident: of the component, whose ``value`` is a place on the axis.
        label: its accessible name.
        values: where it stops, ascending.
        where: a value's place on the axis.
        value: where it stands.
        width: pixels that it has on the smallest page, for choosing labels that fit.
        first: values that are labelled before all others.
        text: a value as a label.
        disabled: whether there is nothing to choose.
    """
    low, high = _ends(values, where)
    labelled = _labelled(values, where, low, high, width, first, text)
    marks = [
        {"value": where(v), "label": text(v)} if i in labelled else {"value": where(v)} for i, v in enumerate(values)
    ]
    return dmc.Slider(
        id=ident,
        min=low,
        max=high,
        step=1e-4,
        restrictToMarks=True,
        marks=marks,
        value=where(value),
        label=None,
        size=2,
        thumbSize=14,
        updatemode="drag",
        thumbLabel=label,
        className="cursor-slider",
        disabled=disabled,
    )


def _ends(values: Sequence[float], where: Callable[[float], float]) -> tuple[float, float]:
    low, high = where(values[0]), where(values[-1])
    return low, high if high > low else low + 1


def _labelled(
    values: Sequence[float],
    where: Callable[[float], float],
    low: float,
    high: float,
    width: int,
    first: Iterable[float],
    text: Callable[[float], str],
) -> set[int]:
    """Indices of the marks that get a label: the wanted ones, both ends, then the roundest that fit."""
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
    """Accuracy over training at one length, as the mask behind the step slider; of a run beside it dashed."""
    near = {} if other is None else {"length": nearest_earlier(other.lengths, length)}
    return _mask([_scent(run, "step", run.steps, length=length), _beside(run.steps, other, "step", near)])


def scent_over_lengths(run: RunView, step: int, other: RunView | None = None) -> dict[str, str]:
    """Accuracy over prefix length at one step, as the mask behind the length slider; of a run beside it dashed."""
    near = {} if other is None else {"step": nearest_earlier(other.measured_steps, step)}
    return _mask([_scent(run, "length", run.lengths, step=step), _beside(run.lengths, other, "length", near)])


def _beside(values: Sequence[int], other: RunView | None, along: str, at: Mapping[str, int]) -> str:
    return "" if other is None else _scent(other, along, values, dash="3 3", **at)


def _mask(images: Sequence[str]) -> dict[str, str]:
    urls = ", ".join(f'url("{image}")' for image in images if image)
    return {"maskImage": urls, "WebkitMaskImage": urls} if urls else {"visibility": "hidden"}


def _scent(run: RunView, along: str, values: Sequence[int], dash: str = "", **at: int) -> str:
    """A small picture of accuracy over the values of a slider, or nothing where there are no two of them."""
    rows = run.frame.where(measurement="behaviour", quantity="accuracy", law="matched", mode="teacher_forced", **at)
    rows = rows.where(present(rows["value"])).sort(along)
    if len(rows) < 2 or len(values) < 2:
        return ""
    where = PLACES[along]
    low, high = _ends(values, where)
    x = np.array([(where(float(v)) - low) / (high - low) for v in rows[along]])
    return spark_svg(list(rows["value"]), run.brief.chance - 0.05, 1.02, *SCENT, x=list(x), stroke=1.5, dash=dash)


def ribbons(run: RunView, other: RunView | None, low: float, high: float) -> dict[str, str]:
    """The verdicts of a run, and below them in half the height those of a run beside it."""
    if other is None:
        return {"background": ribbon(run, low, high)}
    both = [ribbon(one, low, high) for one in (run, other)]
    return {"background": f"{both[0]} 0 0 / 100% 2px no-repeat, {both[1]} 0 100% / 100% 2px no-repeat"}


def ribbon(run: RunView, low: float, high: float) -> str:
    """The verdict at each checkpoint as a gradient with hard stops, at midpoints between checkpoints.

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
