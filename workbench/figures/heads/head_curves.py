"""Is its attention hard or soft, and at which lengths? A quantity of one head, in front of all others."""

from __future__ import annotations

import math

import numpy as np

from workbench.figures.labels import dotted, over_length, over_training, sample_size
from workbench.figures.registry import data_of, figure
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.picking import (
    DRAWN,
    cells,
    head_names,
    refuse_empty,
    run_name,
    select,
    series_of,
    smallest_n,
    stack,
    telling,
    tidy,
)
from workbench.figures.style.design_tokens import TOKENS, Theme, rgba
from workbench.figures.style.marks import (
    Cursor,
    Label,
    add_band,
    add_cursor,
    add_end_labels,
    add_line,
    add_training,
    drawn_points,
    hovers,
    last_value,
    places,
    said,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.scale import Scale
from workbench.figures.style.series import line_plot
from workbench.figures.style.template import run_axis

MEASUREMENT = "circuits.hardmax"
MOST_LINES = 32
"""Other heads that are drawn as a line each; more are a band."""
INNER = (5, 50, 95)
"""Percentiles over heads: the band's ends, and the line in it."""
#: Quantities that are shares by definition; all others get an axis from the run's own rows.
SHARES = ("hardmax_distance", "argmax_mass", "tie_uniformity")
#: Quantities that span orders of magnitude.
COUNTS = ("tie_size", "effective_support", "support_inf", "critical_length", "p_bit_length", "hardmax_length")
#: Label of an ``argmax_mass`` that is 1 by definition, for the tie set is all keys.
ALL_KEYS = "all keys"
_HOLLOW = "hollow: the tie set is all keys, whose mass is 1 by definition"
_SUBTITLE = {"hardmax_distance": "total variation", "argmax_mass": "share of attention"}


def scale_of(frame: Frame, quantity: str) -> Scale:
    """The scale of a quantity: 0 to 1 for shares, else what all of the run's rows span."""
    if quantity in SHARES:
        return Scale(0.0, 1.0)
    values = cells(frame, "value", measurement=MEASUREMENT, quantity=quantity, status=DRAWN)
    values = values[np.isfinite(values)]
    if quantity in COUNTS:
        return Scale.of_counts(values)
    return Scale.spanning(min(0.0, values.min()), values.max()) if len(values) else Scale(0.0, 1.0)


def title_of(quantity: str) -> str:
    """A quantity's name as a title."""
    return quantity.replace("_", " ").capitalize()


@figure
def head_over_training(
    frame: Frame,
    *,
    quantity: str = "hardmax_distance",
    length: int,
    layer: int,
    head: int,
    trained: float,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """A quantity of one head over training at one prefix length, in front of all other heads.

    Raises:
        NotMeasured: without rows of that quantity at that length, or none for that head.
    """
    data = head_over_training_data(frame, quantity=quantity, length=length, layer=layer, head=head)
    return _lines(frame, data, "step", over_training(length, trained), quantity, trained, theme, size, cursor)


@data_of(head_over_training)
def head_over_training_data(
    frame: Frame, *, quantity: str = "hardmax_distance", length: int, layer: int, head: int
) -> Frame:
    """The rows of :func:`head_over_training`: a series per head, the selected one last."""
    return _lines_data(frame, "step", quantity, layer, head, length=length)


@figure
def head_over_length(
    frame: Frame,
    *,
    quantity: str = "hardmax_distance",
    step: int,
    layer: int,
    head: int,
    trained: float,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """A quantity of one head over prefix length at one step, in front of all other heads.

    Raises:
        NotMeasured: without rows of that quantity at that step, or none for that head.
    """
    data = head_over_length_data(frame, quantity=quantity, step=step, layer=layer, head=head)
    figure = _lines(frame, data, "length", over_length(step), quantity, trained, theme, size, cursor)
    scale = scale_of(frame, quantity)
    avoid = drawn_points(data, "length", scale.place)
    add_training(figure, trained, theme, size, avoid=avoid)
    return figure


@data_of(head_over_length)
def head_over_length_data(
    frame: Frame, *, quantity: str = "hardmax_distance", step: int, layer: int, head: int
) -> Frame:
    """The rows of :func:`head_over_length`: a series per head, the selected one last."""
    return _lines_data(frame, "length", quantity, layer, head, step=step)


def _lines_data(frame: Frame, along: str, quantity: str, layer: int, head: int, **where: int) -> Frame:
    rows = select(frame, MEASUREMENT, quantity=quantity, law="matched", control="", **where)
    mine = select(frame, MEASUREMENT, quantity=quantity, law="matched", control="", layer=layer, head=head, **where)
    other = rows.where((rows["layer"] != layer) | (rows["head"] != head))
    return in_front(mine, other, along)


def in_front(mine: Frame, other: Frame, along: str) -> Frame:
    """A series per head: all others, then the one in front."""
    return stack([tidy(other, head_names(other), ["layer", "head", along]), tidy(mine, head_names(mine), along)])


def _lines(
    frame: Frame,
    data: Frame,
    along: str,
    where: str,
    quantity: str,
    trained: float,
    theme: Theme,
    size: int,
    cursor: Cursor | None,
) -> Drawing:
    refuse_empty(data, title_of(quantity))
    t = TOKENS[theme]
    scale = scale_of(frame, quantity)
    y_axis = scale.axis()
    *others, (name, mine) = series_of(data)
    n = smallest_n(mine)
    figure = line_plot(
        along,
        run_axis(along, frame.distinct(along), trained, theme),
        y_axis,
        title=title_of(quantity),
        slice=dotted(_SUBTITLE.get(quantity, "per head"), sample_size(n), _spread_said(others), hollow_said(mine)),
        n=n,
        name=f"{run_name(data)}/{quantity}_over_{along}",
        theme=theme,
        size=size,
    )
    end = add_heads(figure, others, mine, along, scale, theme)
    labels: list[Label] = []
    ends = [last_value([scale.place(float(v)) for v in part["value"]]) for _, part in others]
    known = [end for end in ends if end is not None]
    if known:
        labels.append(("others", float(np.median(known)), t["ink3"], False))
    labels.append((name, end, t["ink"], True))
    add_end_labels(figure, labels, y_axis["range"], size)
    add_head_cursor(figure, mine, along, scale, theme, cursor)
    told = said(mine, along, telling(mine, along, trained))
    figure.layout.meta["alt"] = f"{title_of(quantity)} of {name} {where}: {told}"
    return figure


def add_head_cursor(
    figure: Drawing, mine: Frame, along: str, scale: Scale, theme: Theme, cursor: Cursor | None
) -> None:
    """The cursor line, with a dot on the head in front."""
    if cursor is not None:
        placed = mine.with_columns(value=[scale.place(float(v)) for v in mine["value"]])
        add_cursor(figure, cursor, along, theme, [(placed, TOKENS[theme]["ink"], "circle")])


def _spread_said(others: list[tuple[str, Frame]]) -> str:
    """What stands in place of the other heads' lines, where these are too many."""
    return f"band: nine tenths of {len(others)} others" if len(others) > MOST_LINES else ""


def hollow_said(mine: Frame) -> str:
    """What :func:`add_heads` draws hollow, where it does."""
    return _HOLLOW if (mine["label"] == ALL_KEYS).any() else ""


def add_heads(
    figure: Drawing,
    others: list[tuple[str, Frame]],
    mine: Frame,
    along: str,
    scale: Scale,
    theme: Theme,
) -> float | None:
    """One head in ink in front of all others; returns the height at which it ends.

    Where a mass is 1 only because the tie set is all keys, the point is hollow.
    """
    _add_others(figure, others, along, scale, theme)
    end = add_line(figure, mine, along, TOKENS[theme]["ink"], place=scale.place)
    hollow = mine.where(label=ALL_KEYS)
    if len(hollow):
        figure.add_scatter(
            x=places(hollow, along),
            y=[scale.place(float(v)) for v in hollow["value"]],
            mode="markers",
            marker={
                "symbol": "circle",
                "size": 7,
                "color": TOKENS[theme]["surface"],
                "line": {"color": TOKENS[theme]["ink"], "width": 1.5},
            },
            hovertext=[f"{text}<br>{_HOLLOW.partition(': ')[2]}" for text in hovers(hollow)],
            hoverinfo="text",
            name=ALL_KEYS,
        )
    return end


def _add_others(figure: Drawing, parts: list[tuple[str, Frame]], along: str, scale: Scale, theme: Theme) -> None:
    """All other heads as one trace, broken between heads, for hundreds of traces would be slow; or as a band."""
    if len(parts) > MOST_LINES:
        _add_spread(figure, parts, along, scale, theme)
        return
    xs: list[float | None] = []
    ys: list[float | None] = []
    texts: list[str] = []
    for _, part in parts:
        xs += [*places(part, along), None]
        ys += [*(scale.place(float(v)) for v in part["value"]), None]
        texts += [*hovers(part), ""]
    if xs:
        figure.add_scatter(
            x=xs,
            y=[None if v is None or math.isnan(v) else v for v in ys],
            mode="lines",
            line={"color": rgba(TOKENS[theme]["line2"], 0.65), "width": 1},
            connectgaps=False,
            hovertext=texts,
            hoverinfo="text",
            name="others",
        )


def _add_spread(figure: Drawing, parts: list[tuple[str, Frame]], along: str, scale: Scale, theme: Theme) -> None:
    """Heads whose lines would be one grey: the middle nine tenths of them at each place, and the median."""
    at: dict[float, list[float]] = {}
    for _, part in parts:
        for x, value in zip(places(part, along), part["value"], strict=True):
            placed = scale.place(float(value))
            if placed is not None and math.isfinite(placed):
                at.setdefault(float(x), []).append(placed)
    if not at:
        return
    xs = np.array(sorted(at))
    low, middle, high = np.array([np.percentile(at[x], INNER) for x in xs.tolist()]).T
    add_band(figure, xs, low, high, TOKENS[theme]["line2"])
    figure.add_scatter(
        x=xs,
        y=middle,
        mode="lines",
        line={"color": TOKENS[theme]["line2"], "width": 1},
        hovertext=[f"median of {len(at[x])} other heads; band: nine tenths of them" for x in xs.tolist()],
        hoverinfo="text",
        name="others",
    )
