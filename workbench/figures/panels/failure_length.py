"""Where does it break? Failure lengths, observed (filled) and computed from attention (hollow)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from workbench.core.names import CHALLENGE
from workbench.core.verdicts import NOT_FITTED, UNSEEN_POSITION
from workbench.figures.labels import beyond, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.panels.accuracy import MEASUREMENT
from workbench.figures.registry import figure
from workbench.figures.rows.baselines import first_judged
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import COLUMNS, cells, nearest, run_name, select, smallest_n, stack
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import Cursor, add_cursor, add_hatching, add_training, add_zone, span_meta
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import blank, length_axis, u_length
from workbench.models.base.graph import head_name

#: The axis reaches this many times past the longest measured length, and starts this far below N.
_PAST, _BEFORE = 5.0, 3.5


def failure_length_rows(
    frame: Frame,
    *,
    trained: float,
    step: int,
    layer: int | None = None,
    head: int | None = None,
    length: int | None = None,
) -> Frame:
    """The rows of :func:`failure_length`; column ``mode`` is ``observed`` or ``computed``.

    At a step that does not solve the trained lengths, failure lengths are undefined: there is no skill yet that could
    drop.
    """
    observed = select(frame, MEASUREMENT, quantity="failure_length", step=step)
    verdict = frame.where(measurement=MEASUREMENT, quantity="verdict", step=step)
    if (verdict["label"] == NOT_FITTED).any():
        observed = observed.with_columns(value=None, low=None, high=None, status="undefined", note=NOT_FITTED)
    parts = [
        observed.where(law=law).with_columns(series=f"{law} set", mode="observed") for law in ("matched", "challenge")
    ]
    unseen = frame.where(measurement=MEASUREMENT, quantity="accuracy", step=step, status="unseen_position")
    if len(unseen):
        first = unseen.sort("length").take([0])
        first = first.with_columns(value=first["length"].astype(float), low=None, high=None, label="")
        parts.append(first.with_columns(series=UNSEEN_POSITION, mode="computed", status="ok"))
    if layer is not None and head is not None:
        parts.append(_critical(frame, trained if length is None else length, step, layer, head))
    data = stack(parts).only(COLUMNS)
    return data.with_columns(**{name: data[name].astype(float) for name in ("value", "low", "high")})


@figure(rows=failure_length_rows)
def failure_length(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    layer: int | None = None,
    head: int | None = None,
    length: int | None = None,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Failure length of each test set at one step; for a given head also its critical length.

    A filled dot is observed: skill has fallen at that length and the next. The line reaches back to the last length up
    to which skill significantly holds. An arrow means that no tested length failed. Hatched: lengths at which the
    challenge test set is not tested. A hollow dot is a computed length, for example the first position id never seen in
    training. For a head it is the number of keys, with `<bos>`, at which its attention would be split evenly between
    its argmax set and the rest. That number is computed from attention at one length, which the label shows with the
    interval. A value past the axis is a hollow arrow at its end.

    Args:
        layer: the layer of the head, or None for no head.
        length: from attention at which length the critical length is computed, or at the next shorter measured one;
            None = N.

    Raises:
        NotMeasured: without failure lengths at that step.
    """
    t = TOKENS[look.theme]
    lengths = cells(frame, "length", measurement=MEASUREMENT, quantity="accuracy")
    longest = float(max(lengths, default=trained))
    x_axis = length_axis(lengths, trained, look.theme, 200, span=(trained / _BEFORE, longest * _PAST))
    names, rows = list(data["series"]), data.rows()
    first_tested = first_judged(frame, CHALLENGE, trained, step)
    figure = blank(
        look,
        column="failure",
        xaxis=x_axis,
        yaxis={
            "range": [len(names) - 0.05, -0.75],  # below the last row stands what the grey zone is
            "tickvals": list(range(len(names))),
            "ticktext": [f"{name[:1].upper()}{name[1:]}{_read_at(row)}" for name, row in zip(names, rows, strict=True)],
            "showgrid": False,
            "tickfont": {"color": t["ink2"], "size": look.size},
        },
        meta={
            "title": "Failure length",
            "slice": "observed, computed" if (data["mode"] == "computed").any() else "observed",
            "alt": f"Failure length at step {whole(step)}: " + "; ".join(_alt(row, first_tested) for row in rows),
            "x": span_meta("length", x_axis),
            "n": smallest_n(data),
        },
        uirevision=f"{run_name(data)}/failure_length",
    )
    _unmeasured_zone(figure, longest, look)
    add_training(figure, trained, look, label=False)
    for place, row in enumerate(rows):
        if _of_challenge(row) and first_tested is not None and row["status"] in ("ok", "censored"):
            add_hatching(figure, u_length(trained), u_length(first_tested), (place - 0.28, place + 0.28), look.theme)
        _draw(figure, row, place, trained, look, first_tested)
    add_cursor(figure, cursor, "length", look.theme)
    return figure


def _critical(frame: Frame, length: float, step: int, layer: int, head: int) -> Frame:
    rows = frame.where(
        measurement="circuits.hardmax",
        quantity="critical_length",
        law="matched",
        step=step,
        layer=layer,
        head=head,
    )
    return read_at(rows, length).with_columns(series=f"{head_name(layer, head)} critical", mode="computed")


def read_at(rows: Frame, length: float) -> Frame:
    """Of rows at several prefix lengths those at one of them, or else at the next shorter one."""
    return rows.where(length=nearest([int(n) for n in rows["length"]], length)) if len(rows) else rows


def _of_challenge(row: Mapping[str, Any]) -> bool:
    return bool(row["mode"] == "observed" and row["law"] == CHALLENGE)


def _unmeasured_zone(figure: Drawing, longest: float, look: Look) -> None:
    t = TOKENS[look.theme]
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
        font={"color": t["ink3"], "size": look.size},
    )


def _tested(row: Mapping[str, Any]) -> float:
    """The longest tested length; a row that does not give it, or is computed, ends at its censoring length."""
    return float(row["low"] if row["mode"] != "observed" or missing(row["length"]) else row["length"])


def _alt(row: Mapping[str, Any], judged: float | None = None) -> str:
    value, at = float(row["value"]), _read_at(row, " at ")
    since = f" (tested from {whole(judged)})" if _of_challenge(row) and judged is not None else ""
    if row["status"] == "censored":
        return f"{row['series']} none up to {_counted(row, whole(_tested(row)))}{at}{since}"
    return f"{row['series']} {'undefined' if math.isnan(value) else _counted(row, whole(value))}{at}{since}"


def _is_critical(row: Mapping[str, Any]) -> bool:
    return bool(row["quantity"] == "critical_length")


def _counted(row: Mapping[str, Any], number: str) -> str:
    """A length with what it counts, where that is not tokens: keys, with the interval."""
    if not _is_critical(row):
        return number
    ends = [float(row[end]) for end in ("low", "high")]
    limits = "" if any(math.isnan(end) for end in ends) else f" [{whole(ends[0])}, {whole(ends[1])}]"
    return f"{number}{limits} keys"


def _read_at(row: Mapping[str, Any], before: str = "<br>at length ") -> str:
    """From attention at which length a critical length is computed; nothing of other rows."""
    return f"{before}{whole(float(row['length']))}" if _is_critical(row) and not missing(row["length"]) else ""


def _draw(
    figure: Drawing,
    row: Mapping[str, Any],
    place: int,
    trained: float,
    look: Look,
    judged: float | None = None,
) -> None:
    """One row: dot, reach and number; an arrow where censored; words where undefined."""
    t = TOKENS[look.theme]
    low, high = (float(v) for v in figure.layout.xaxis.range)
    observed = row["mode"] == "observed"
    value = float(row["value"])
    if row["status"] == "censored":
        end = u_length(_tested(row))
        _reach(figure, u_length(trained), end + 0.35, place, t["ink"], 2)
        _dot(figure, end + 0.35, place, row, t["ink"], "triangle-right", filled=True, judged=judged)
        _number(figure, end, place, _counted(row, beyond(_tested(row))), t["ink"], look.size, side="above")
        return
    if math.isnan(value) or math.isinf(value):
        text = "no bound" if math.isinf(value) else NOT_FITTED if row["note"] == NOT_FITTED else "undefined"
        _number(figure, u_length(trained), place, text, t["ink3"], look.size, side="right", strong=False)
        return
    u = u_length(value)
    if u > high:
        edge = high - 0.03 * (high - low)
        _dot(figure, edge, place, row, t["ink2"], "triangle-right-open", filled=False, judged=judged)
        _number(figure, edge, place, _counted(row, whole(value)), t["ink2"], look.size, side="left", strong=False)
        return
    colour = t["ink"] if observed else t["ink2"]
    for a, b in ((row["low"], row["high"]),):
        if not (math.isnan(a) or math.isnan(b)) and a > 0:
            _reach(figure, max(low, u_length(a)), min(high, u_length(b)), place, colour, 1.5)
    _dot(figure, u, place, row, colour, "circle" if observed else "circle-open", filled=observed, judged=judged)
    side = "left" if u > (low + high) / 2 and (_is_critical(row) or u > high - 1.6) else "right"
    _number(figure, u, place, _counted(row, whole(value)), colour, look.size, side=side, strong=observed)


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
    judged: float | None = None,
) -> None:
    censored = row["status"] == "censored"
    value = _counted(row, beyond(_tested(row)) if censored else whole(float(row["value"])))
    between = ""
    if filled and not math.isnan(row["low"]) and not (censored and _tested(row) == row["low"]):
        between = f" (shown to hold up to {whole(float(row['low']))})"
    counted = "" if missing(row["n"]) else f" · n {whole(float(row['n']))}"
    note = f"<br>{row['note']}" if row["note"] else ""
    note += f"<br>tested from length {whole(judged)} on" if _of_challenge(row) and judged is not None else ""
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
        hovertext=[
            f"{row['series']}, {row['mode']}{_read_at(row, ' at length ')}<br><b>{value}</b>{between}{counted}{note}"
        ],
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
