"""The two sliders of the Sweep page: they select training step and prefix length of all runs at once.

This module writes the label of each stop. ``assets/js/sweep.js`` shows it while a slider moves and sends the final
position to the server. Each slider has two scales, and the page contains both. A change of unit needs no answer of the
server, so the next key already acts on the new scale.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Annotated, Any, Literal

import dash_mantine_components as dmc
from dash import dcc, html
from pydantic import Field

from workbench.dashboard.components.cursorbar import slider_at
from workbench.dashboard.components.slider_curves import ends, marks
from workbench.dashboard.state.request_values import Name, Whole, declare
from workbench.dashboard.state.sweep_query import StepStop, Stop, parse_stop, stop_text
from workbench.figures.labels import short, span_of_steps, whole
from workbench.figures.rows.multiples import times_text
from workbench.figures.style.template import u_length, u_step

Multiple = Annotated[str, Field(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6})?x\z")]
"""A multiple of the trained length, ``4x``."""
Share = Annotated[str, Field(pattern=r"^[1-9][0-9]?/[1-9][0-9]?\z")]
"""A share of training, ``1/4``."""

declare(
    {
        "sweep-unit.value": Name,
        "sweep-pace.value": Literal["share", "step"],
        "sweep-step-at.data": Whole | Share | None,
        "sweep-length-at.data": Whole | Multiple | None,
    }
)

END = math.inf
"""The stop of the step slider at which each run is at its own last measured step."""
APART = 0.07
"""How far that stop stands behind the others, as a share of their span."""
WIDTH = 350
"""Pixels of a slider on the narrowest window, for which its labels are chosen."""
UNTINTED = {"display": "none"}
"""Style of the tint where no run was trained."""


def bar(
    steps: Mapping[str, Mapping[str, Any]],
    step: StepStop,
    lengths: Mapping[str, Mapping[str, Any]],
    stop: Stop,
) -> html.Section:
    """Return both sliders.

    Args:
        steps: the scales of the step slider by unit, ``share`` and ``step``.
        lengths: the scales of the length slider by unit, ``times`` and ``tokens``.
        step: the step that the slider selects; None = each run's last.
        stop: the length that the slider selects; None = the quantity has none.
    """
    pace = "share" if isinstance(step, str) else "step"
    unit = "tokens" if isinstance(stop, int) else "times"
    return html.Section(
        [
            html.Div(
                [
                    dcc.Store(id="sweep-step-scales", data=steps),
                    dcc.Store(id="sweep-step-scale", data={**steps[pace], "at": step}),
                    dcc.Store(id="sweep-step-at", data=step),
                    html.Div([_head("sweep-step", "Training step"), _pace(pace)], className="head-and-unit"),
                    html.Div(_track("sweep-step", "Training step", steps[pace], step), className="track"),
                ],
                className="cell",
            ),
            html.Div(
                [
                    dcc.Store(id="sweep-length-scales", data=lengths),
                    dcc.Store(id="sweep-length-scale", data={**lengths[unit], "at": stop}),
                    dcc.Store(id="sweep-length-at", data=stop),
                    html.Div([_head("sweep-length", "Prefix length"), _unit(unit)], className="head-and-unit"),
                    html.Div(_track("sweep-length", "Prefix length", lengths[unit], stop), className="track"),
                ],
                className="cell",
            ),
        ],
        className="cursorbar sweepbar",
        role="region",
        **{"aria-label": "Step and length"},
    )


def _unit(unit: str) -> dmc.SegmentedControl:
    """What the length slider counts in."""
    return dmc.SegmentedControl(
        id="sweep-unit",
        data=[{"value": "times", "label": "\u00d7 trained"}, {"value": "tokens", "label": "tokens"}],
        value=unit,
        size="xs",
        **{"aria-label": "Length in"},
    )


def _pace(pace: str) -> dmc.SegmentedControl:
    """What the step slider counts in; at its end is each run's last, whichever."""
    return dmc.SegmentedControl(
        id="sweep-pace",
        data=[{"value": "share", "label": "share"}, {"value": "step", "label": "step"}],
        value=pace,
        size="xs",
        **{"aria-label": "Step in"},
    )


def _track(ident: str, label: str, scale: Mapping[str, Any], value: StepStop | Stop) -> list[Any]:
    """A slider with its background, where the lengths that every run was trained on are tinted."""
    values = scale["values"]
    place = scale["places"][values.index(value) if value in values else -1]
    tinted = [html.Div(id=f"{ident}-trained", className="trained", style=scale["tint"])] if "tint" in scale else []
    return [*tinted, html.Div(className="ribbon bare"), slider_at(ident, label, scale["slider"], place)]


def step_scale(steps: Sequence[StepStop], last: tuple[int, int]) -> dict[str, Any]:
    """Return the stops of the step slider, each with its position and its label.

    Args:
        steps: every step that any run is measured at, or shares of training.
        last: the earliest and the latest of the runs' last steps.
    """
    numbers = _numbers(steps)
    many = f"{len(steps):,}"
    where = [
        "of each run\u2019s own steps" if isinstance(stop, str) else f"measured step {i + 1:,} of {many}"
        for i, stop in enumerate(steps)
    ]
    texts = {number: one if isinstance(one, str) else short(number) for number, one in zip(numbers, steps, strict=True)}
    return {
        "values": [*steps, None],
        "places": [_step_place(numbers, value) for value in [*numbers, END]],
        "texts": [*(stop if isinstance(stop, str) else whole(stop) for stop in steps), "each run\u2019s last"],
        "where": [*where, span_of_steps(*last)],
        "kinds": ["where soft num"] * (len(steps) + 1),
        "slider": _slider(
            [*numbers, END],
            lambda value: _step_place(numbers, value),
            [END],
            lambda value: "last" if math.isinf(value) else texts[value],
        ),
    }


def _slider(
    values: Sequence[float], where: Callable[[float], float], first: Sequence[float], text: Callable[[float], str]
) -> dict[str, Any]:
    """The properties of a slider that differ between its two scales."""
    low, high = ends(values, where)
    return {"min": low, "max": high, "marks": marks(values, where, WIDTH, first, text), "disabled": False}


def _numbers(steps: Sequence[StepStop]) -> list[float]:
    """Steps, or shares of training, which lie between 0 and 1."""
    return [float(Fraction(one)) for one in steps if one is not None]


def length_scale(stops: Sequence[Stop], trained: tuple[int, int]) -> dict[str, Any]:
    """Return the stops of the length slider, each with its position and its label.

    Args:
        stops: prefix lengths that the quantity is measured at, or multiples of N; empty = it has none.
        trained: the shortest and the longest of the runs' longest training lengths.
    """
    if not stops:
        return {
            "values": [None],
            "places": [0.0],
            "texts": ["none"],
            "where": ["this quantity has no length"],
            "kinds": ["where soft num"],
            "slider": {**_slider([1.0], u_length, [], lambda _: ""), "disabled": True},
            "tint": UNTINTED,
        }
    relative = isinstance(stops[0], str)
    numbers = [float(one[:-1]) if isinstance(one, str) else float(one or 1) for one in stops]
    place = math.log2 if relative else u_length
    least = 1.0 if relative else float(trained[0])
    low, high = place(numbers[0]), place(numbers[-1])
    tinted = min(1.0, max(0.0, (place(least) - low) / ((high - low) or 1.0)))
    return {
        "values": list(stops),
        "places": [_length_place(one) for one in stops],
        "texts": [stop_text(one) for one in stops],
        "where": [_where(one, trained) for one in stops],
        "kinds": ["where train num" if _past(one, trained) else "where soft num" for one in stops],
        "slider": _slider(numbers, place, [least], _mark if relative else whole),
        "tint": {"width": f"{100 * tinted:.3f}%"} if tinted else UNTINTED,
    }


def _length_place(stop: Stop) -> float:
    """Logarithmic, in tokens or in multiples."""
    length, times = parse_stop(stop)
    return u_length(length or 1) if times is None else math.log2(times)


def _past(stop: Stop, trained: tuple[int, int]) -> bool:
    length, times = parse_stop(stop)
    return times > 1 if times is not None else (length or 0) > trained[1]


def _where(stop: Stop, trained: tuple[int, int]) -> str:
    length, times = parse_stop(stop)
    if times is None:
        return beyond(length or 0, trained)
    span = whole(trained[0]) if trained[0] == trained[1] else f"{whole(trained[0])} to {whole(trained[1])}"
    return f"N is {span}"


def beyond(length: int, trained: tuple[int, int]) -> str:
    """Return in words how far a length is beyond the trained lengths of the runs, as a range."""
    least, most = trained
    if length <= most:
        return "inside training" if length <= least else "inside training of some"
    low, high = _times(length / most), _times(length / least)
    return f"{low} \u00d7 trained" if low == high else f"{low} to {high} \u00d7 trained"


def _times(ratio: float) -> str:
    return whole(ratio) if ratio >= 10 else f"{ratio:.1f}".removesuffix(".0")


def _head(ident: str, name: str) -> html.Div:
    return html.Div(
        [
            html.Span(name, className="caption"),
            html.Span(id=f"{ident}-value", className="value num"),
            html.Span(id=f"{ident}-where", className="where num"),
        ],
        className="slider-head",
    )


def _step_place(numbers: Sequence[float], value: float) -> float:
    """Logarithmic position of a step or share. The stop "last step" is set apart because it is not a number."""
    relative = bool(numbers) and 0 < numbers[-1] < 1
    place = math.log2 if relative else u_step
    if not math.isinf(value):
        return place(value)
    if not numbers or relative:
        return 0.0
    low, high = u_step(numbers[0]), u_step(numbers[-1])
    return high + APART * ((high - low) or 1.0)


def _mark(times: float) -> str:
    return times_text(times).removesuffix(" \u00d7 N")
