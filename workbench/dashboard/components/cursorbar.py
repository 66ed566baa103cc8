"""The selection bar: it selects the run, step, prefix length and head; its two sliders update every panel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NotRequired

import dash_mantine_components as dmc
from dash import dcc, html
from typing_extensions import TypedDict

from workbench.dashboard.components.icons import chevron, glyph, icon
from workbench.dashboard.components.slider_curves import (
    ends,
    length_text,
    marks,
    ribbons,
    scent_over_lengths,
    scent_over_steps,
    verdict_at,
)
from workbench.dashboard.state.cursor import ALL_HEADS, Cursor
from workbench.dashboard.state.request_values import Head, Name, Whole, declare
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import short
from workbench.figures.rows.multiples import LengthAxis
from workbench.figures.style.template import u_length, u_step
from workbench.models.base.graph import head_name


class ScaleChoice(TypedDict):
    """Which scales of a run the server reads again."""

    run: NotRequired[Name]
    steps: NotRequired[list[Whole]]
    lengths: NotRequired[list[Whole]]
    layers: Whole


declare(
    {
        "step.data": Whole | None,
        "length.data": Whole | None,
        "head.data": Head | None,
        "axis.data": Literal["times", "length"] | None,
        "scale.data": ScaleChoice,
        "run-select.leftSection": Any,
        "step-scent.style": Any,
        "length-scent.style": Any,
    }
)


NAME_END = 8
"""Characters at the end of a run's name that are always shown."""


def bar(
    run: RunView,
    cursor: Cursor,
    names: Sequence[str],
    pick: html.Div | None = None,
    other: RunView | None = None,
    axis: LengthAxis = "times",
) -> list[Any]:
    """Return the children of the selection bar.

    Args:
        run: the run whose steps and lengths the sliders have.
        cursor: the selected step, length, layer and head.
        names: the names of all runs.
        pick: the first cell; None = a select of runs.
        other: a second run, whose curves and verdicts the sliders show too.
        axis: the unit of lengths.
    """
    lengths = run.lengths or (run.trained,)
    steps = run.steps or (0,)
    scale = {
        "run": run.name,
        "steps": list(steps),
        "lengths": list(lengths),
        "trained": run.trained,
        "axis": axis,
        "items": run.kind.items,
        "tokens": run.prompt_tokens(cursor.step),
        "layers": run.n_layers,
        "heads": run.n_heads,
        "at": {"step": cursor.step, "length": cursor.length, "head": cursor.head_key},
    }
    return [
        dcc.Store(id="scale", data=scale),
        pick
        or html.Div(
            [html.Label("Run", htmlFor="run-select", className="caption"), run_select(run, cursor, names)],
            className="cell pick",
        ),
        html.Div([_step_head(), _step_slider(run, cursor, steps, other)], className="cell"),
        html.Div([_length_head(run, axis), _length_slider(run, cursor, lengths, other, axis)], className="cell"),
        html.Div(
            [
                html.Label("Head", htmlFor="head-select", className="caption"),
                dmc.Select(
                    id="head-select",
                    data=[
                        *([{"value": ALL_HEADS, "label": "all heads"}] if run.kind.all_heads and run.n_heads else []),
                        *(
                            {"value": f"{layer}.{head}", "label": head_name(layer, head)}
                            for layer in range(run.n_layers)
                            for head in range(run.n_heads)
                        ),
                    ]
                    or [{"value": cursor.head_key, "label": "no heads"}],
                    value=cursor.head_key,
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
) -> html.Div:
    """Return the select box for a run, with the glyph of its verdict.

    A name that does not fit has an ellipsis in its middle, because runs often differ in the end of their names. While
    the box has the focus, the name can be edited and has no ellipsis.
    """
    select = dmc.Select(
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
    parts = [html.Span(part) for part in (run.name[:-NAME_END], run.name[-NAME_END:])]
    return html.Div([select, html.Div(parts, className="whole-name", **{"aria-hidden": "true"})], className="run-pick")


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


def _length_head(run: RunView, axis: LengthAxis) -> html.Div:
    pressed = {"aria-pressed": "true" if axis == "times" else "false", "aria-label": "Lengths as multiples of N"}
    return html.Div(
        [
            html.Span(run.kind.length_noun, className="caption"),
            html.Button(
                "\u00d7 N",
                id="axis-toggle",
                type="button",
                className="unit",
                hidden=len(run.kind.axes) == 1,
                title="Lengths as multiples of N, the longest trained length, or in tokens (key X)",
                **pressed,
            ),
            html.Span(id="length-value", className="value num"),
            html.Span(id="length-where", className="where num"),
            html.Span(id="length-note", className="note num"),
        ],
        className="slider-head",
    )


def _step_slider(run: RunView, cursor: Cursor, steps: Sequence[int], other: RunView | None) -> html.Div:
    low, high = ends(steps, u_step)
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
    low, high = ends(lengths, u_length)
    trained = min(1.0, max(0.0, (u_length(run.trained) - low) / (high - low)))
    return html.Div(
        [
            html.Div(className="trained", style={"width": f"{100 * trained:.3f}%"}),
            html.Div(id="length-scent", className="scent", style=scent_over_lengths(run, cursor.step, other)),
            html.Div(className="ribbon bare"),
            slider(
                "length-slider",
                run.kind.length_noun,
                lengths,
                u_length,
                cursor.length,
                340,
                [run.trained],
                length_text(run, axis),
            ),
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
) -> dmc.Slider:
    """Return a slider that stops only at given values; an arrow key moves it to the next value.

    Args:
        ident: the id of the component, whose ``value`` is a position on the axis.
        label: its accessible name.
        values: the values at which the slider stops, ascending.
        where: maps a value to its position on the axis.
        value: the value that the slider selects.
        width: pixels that it has on the smallest page, for choosing labels that fit.
        first: values that are labelled before all others.
        text: a value as a label.
    """
    low, high = ends(values, where)
    stops = {"min": low, "max": high, "marks": marks(values, where, width, first, text)}
    return slider_at(ident, label, stops, where(value))


def slider_at(ident: str, label: str, stops: Mapping[str, Any], place: float) -> dmc.Slider:
    """Return a slider at a position.

    Args:
        ident: the id of the component, whose ``value`` is a position on the axis.
        label: its accessible name.
        stops: the properties of the slider that depend on its stops: ``min``, ``max``, ``marks``.
        place: the position that the slider selects.
    """
    return dmc.Slider(
        id=ident,
        **stops,
        step=1e-4,
        restrictToMarks=True,
        value=place,
        label=None,
        size=2,
        thumbSize=14,
        updatemode="drag",
        thumbLabel=label,
        className="cursor-slider",
    )
