"""Where does it break? Failure lengths, observed (filled) and computed from attention (hollow)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workbench.figures.labels import beyond, head_name, whole
from workbench.figures.panels.accuracy import MEASUREMENT
from workbench.figures.registry import data_of, figure
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.picking import COLUMNS, cells, nearest, run_name, select, smallest_n, stack
from workbench.figures.style.design_tokens import TOKENS, Theme
from workbench.figures.style.marks import Cursor, add_cursor, add_training, add_zone, span_meta
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import blank, length_axis, u_length

#: The axis reaches this many times past the longest measured length, and starts this far below N.
_PAST, _BEFORE = 5.0, 3.5
NOT_FITTED = "not fitted"


@figure
def failure_length(
    frame: Frame,
    *,
    trained: float,
    step: int,
    layer: int | None = None,
    head: int | None = None,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """Failure length per law at one step; where a head is named, also its critical length.

    A filled dot is observed: skill has fallen at that length and the next, and the line reaches back to the
    last length up to which all are shown to be kept. An arrow says that no judged length failed. A hollow dot is a
    length computed, not observed: the first position id never seen in training, or the length at which
    the head's attention would be split evenly between its argmax set and the rest, which is counted in keys, `<bos>`
    among them, and says so; one past the axis is told at its end.

    Raises:
        NotMeasured: without failure lengths at that step.
    """
    t = TOKENS[theme]
    data = failure_length_data(frame, trained=trained, step=step, layer=layer, head=head)
    lengths = cells(frame, "length", measurement=MEASUREMENT, quantity="accuracy")
    longest = float(max(lengths, default=trained))
    x_axis = length_axis(lengths, trained, theme, 200, span=(trained / _BEFORE, longest * _PAST))
    names = list(data["series"])
    figure = blank(
        theme,
        size,
        column="failure",
        xaxis=x_axis,
        yaxis={
            "range": [len(names) - 0.05, -0.75],  # below the last row stands what the grey zone is
            "tickvals": list(range(len(names))),
            "ticktext": [name[:1].upper() + name[1:] for name in names],
            "showgrid": False,
            "tickfont": {"color": t["ink2"], "size": size},
        },
        meta={
            "title": "Failure length",
            "slice": "observed, computed" if (data["mode"] == "computed").any() else "observed",
            "alt": f"Failure length at step {whole(step)}: " + "; ".join(_spoken(row) for row in data.rows()),
            "x": span_meta("length", x_axis),
            "n": smallest_n(data),
        },
        uirevision=f"{run_name(data)}/failure_length",
    )
    _unmeasured_zone(figure, longest, theme, size)
    add_training(figure, trained, theme, size, label=False)
    for place, row in enumerate(data.rows()):
        _draw(figure, row, place, trained, theme, size)
    add_cursor(figure, cursor, "length", theme)
    return figure


@data_of(failure_length)
def failure_length_data(
    frame: Frame, *, trained: float, step: int, layer: int | None = None, head: int | None = None
) -> Frame:
    """The rows of :func:`failure_length`; column ``mode`` says ``observed`` or ``computed``.

    At a step that does not fit, failure lengths are undefined: there is no skill yet that could be lost.
    """
    observed = select(frame, MEASUREMENT, quantity="failure_length", step=step)
    verdict = frame.where(measurement=MEASUREMENT, quantity="verdict", step=step)
    if (verdict["label"] == NOT_FITTED).any():
        observed = observed.with_columns(value=None, low=None, high=None, status="undefined", note=NOT_FITTED)
    parts = [
        observed.where(law=law).with_columns(series=f"{law} law", mode="observed") for law in ("matched", "challenge")
    ]
    unseen = frame.where(measurement=MEASUREMENT, quantity="accuracy", step=step, status="unseen_position")
    if len(unseen):
        first = unseen.sort("length").take([0])
        first = first.with_columns(value=first["length"].astype(float), low=None, high=None, label="")
        parts.append(first.with_columns(series="unseen position", mode="computed", status="ok"))
    if layer is not None and head is not None:
        parts.append(_critical(frame, trained, step, layer, head))
    data = stack(parts).only(COLUMNS)
    return data.with_columns(**{name: data[name].astype(float) for name in ("value", "low", "high")})


def _critical(frame: Frame, trained: float, step: int, layer: int, head: int) -> Frame:
    rows = frame.where(
        measurement="circuits.hardmax",
        quantity="critical_length",
        law="matched",
        step=step,
        layer=layer,
        head=head,
    )
    return read_at_trained(rows, trained).with_columns(series=f"{head_name(layer, head)} critical", mode="computed")


def read_at_trained(rows: Frame, trained: float) -> Frame:
    """Of rows at several prefix lengths those at N, from where a head's critical length is told; else next below it."""
    return rows.where(length=nearest([int(n) for n in rows["length"]], trained)) if len(rows) else rows


def _unmeasured_zone(figure: Drawing, longest: float, theme: Theme, size: int) -> None:
    t = TOKENS[theme]
    high = float(figure.layout.xaxis.range[1])
    add_zone(figure, u_length(longest), high, t["sunken"], opacity=0.7)
    figure.add_annotation(
        x=high,
        y=0,
        yref="paper",
        xanchor="right",
        yanchor="bottom",
        xshift=-3,
        yshift=1,
        text="not measured",
        font={"color": t["ink3"], "size": size},
    )


def _tested(row: Mapping[str, Any]) -> float:
    """The longest length that was judged; rows that do not say, or are computed, end where they are censored."""
    return float(row["low"] if row["mode"] != "observed" or missing(row["length"]) else row["length"])


def _spoken(row: Mapping[str, Any]) -> str:
    value = float(row["value"])
    if row["status"] == "censored":
        return f"{row['series']} none up to {_counted(row, whole(_tested(row)))}"
    return f"{row['series']} {'undefined' if math.isnan(value) else _counted(row, whole(value))}"


def _counted(row: Mapping[str, Any], number: str) -> str:
    """A length with what it counts, where that is not tokens."""
    return f"{number} keys" if row["quantity"] == "critical_length" else number


def _draw(figure: Drawing, row: Mapping[str, Any], place: int, trained: float, theme: Theme, size: int) -> None:
    """One row: dot, reach and number; an arrow where censored; words where undefined."""
    t = TOKENS[theme]
    low, high = (float(v) for v in figure.layout.xaxis.range)
    observed = row["mode"] == "observed"
    value = float(row["value"])
    if row["status"] == "censored":
        end = u_length(_tested(row))
        _reach(figure, u_length(trained), end + 0.35, place, t["ink"], 2)
        _dot(figure, end + 0.35, place, row, t["ink"], "triangle-right", filled=True, theme=theme)
        _number(figure, end, place, _counted(row, beyond(_tested(row))), t["ink"], size, side="above")
        return
    if math.isnan(value) or math.isinf(value):
        text = "no bound" if math.isinf(value) else NOT_FITTED if row["note"] == NOT_FITTED else "undefined"
        _number(figure, u_length(trained), place, text, t["ink3"], size, side="right", strong=False)
        return
    u = u_length(value)
    if u > high:
        _number(
            figure, high, place, f"{_counted(row, whole(value))} \u2192", t["ink2"], size, side="left", strong=False
        )
        return
    colour = t["ink"] if observed else t["ink2"]
    for a, b in ((row["low"], row["high"]),):
        if not (math.isnan(a) or math.isnan(b)) and a > 0:
            _reach(figure, max(low, u_length(a)), min(high, u_length(b)), place, colour, 1.5)
    _dot(figure, u, place, row, colour, "circle" if observed else "circle-open", filled=observed, theme=theme)
    side = "left" if u > high - 1.6 else "right"
    _number(figure, u, place, _counted(row, whole(value)), colour, size, side=side, strong=observed)


def _reach(figure: Drawing, x0: float, x1: float, y: float, colour: str, width: float) -> None:
    figure.add_shape(type="line", x0=x0, x1=x1, y0=y, y1=y, line={"color": colour, "width": width})


def _dot(
    figure: Drawing,
    x: float,
    y: float,
    row: Mapping[str, Any],
    colour: str,
    symbol: str,
    *,
    filled: bool,
    theme: Theme,
) -> None:
    censored = row["status"] == "censored"
    value = _counted(row, beyond(_tested(row)) if censored else whole(float(row["value"])))
    between = ""
    if filled and not math.isnan(row["low"]) and not (censored and _tested(row) == row["low"]):
        between = f" (shown to be kept up to {whole(float(row['low']))})"
    counted = "" if missing(row["n"]) else f" · n {whole(float(row['n']))}"
    note = f"<br>{row['note']}" if row["note"] else ""
    figure.add_scatter(
        x=[x],
        y=[y],
        mode="markers",
        marker={
            "size": 10 if filled else 9,
            "symbol": symbol,
            "color": colour,
            "line": {"width": 0 if filled else 2, "color": colour},
        },
        hovertext=[f"{row['series']}, {row['mode']}<br><b>{value}</b>{between}{counted}{note}"],
        hoverinfo="text",
        name=str(row["series"]),
    )


def _number(
    figure: Drawing,
    x: float,
    y: float,
    text: str,
    colour: str,
    size: int,
    *,
    side: str,
    strong: bool = True,
) -> None:
    anchors = {"right": ("left", 9, 0), "left": ("right", -9, 0), "above": ("right", 6, 11)}
    anchor, across, up = anchors[side]
    figure.add_annotation(
        x=x,
        y=y,
        xanchor=anchor,
        yanchor="middle",
        xshift=across,
        yshift=up,
        text=text,
        font={"color": colour, "size": size, "weight": 600 if strong else 400},
        name="number",
    )
