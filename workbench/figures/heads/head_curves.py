"""Is its attention hard or soft, and at which lengths? A quantity of one head, in front of all others."""

from __future__ import annotations

import math

import numpy as np

from workbench.core.names import ALL_KEYS as ALL_KEYS
from workbench.figures.labels import join_with_dots, over_axis, sample_size
from workbench.figures.look import LIGHT, Look, Theme
from workbench.figures.registry import lines
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import (
    DRAWN,
    axis_at,
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
from workbench.figures.style.design_tokens import TOKENS, rgba
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
    values_in_words,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.scale import Scale
from workbench.figures.style.series import line_plot
from workbench.figures.style.template import run_axis

MEASUREMENT = "circuits.hardmax"
SCREENING = "accuracy_drop"
"""The quantities of ``circuits.ablation`` that ``circuits.head_effect`` measures of a few heads on more sequences."""
MOST_LINES = 32
"""Other heads that are drawn as a line each; more are a band."""
INNER = (5, 50, 95)
"""Percentiles over heads: the band's ends, and the line in it."""
#: Quantities that are shares by definition; all others get an axis from the run's own rows.
SHARES = ("hardmax_distance", "argmax_mass", "tie_uniformity")
#: Quantities that span orders of magnitude.
COUNTS = ("tie_size", "effective_support", "support_inf", "critical_length", "p_bit_length", "hardmax_length")
#: Label of an ``argmax_mass`` that is 1 by definition, for the tie set is all keys.
_HOLLOW = "hollow: the tie set is all keys, whose mass is 1 by definition"
_SUBTITLE = {"hardmax_distance": "total variation", "argmax_mass": "share of attention"}


def scale_of(frame: Frame, quantity: str) -> Scale:
    """The scale of a quantity: 0 to 1 for shares, else what all of the run's rows span, with their intervals."""
    if quantity in SHARES:
        return Scale(0.0, 1.0)
    where = {"measurement": MEASUREMENT, "quantity": quantity, "status": DRAWN}
    values = np.concatenate([cells(frame, name, **where) for name in ("value", "low", "high")])
    values = values[np.isfinite(values)]
    if quantity in COUNTS:
        return Scale.of_counts(values)
    return Scale.spanning(min(0.0, values.min()), values.max()) if len(values) else Scale(0.0, 1.0)


def title_of(quantity: str) -> str:
    """A quantity's name as a title; the accuracy drops of all heads are a screening, which is tested elsewhere."""
    title = quantity.replace("_", " ")
    return f"Screening: {title}" if quantity.startswith(SCREENING) else title.capitalize()


def head_line_rows(
    frame: Frame,
    *,
    quantity: str = "hardmax_distance",
    step: int | None = None,
    length: int | None = None,
    layer: int | None,
    head: int | None,
) -> Frame:
    """Return a quantity of all heads over prefix length at one step, or over training at one prefix length.

    A series per head, the selected one last.
    """
    along, where = axis_at(step, length)
    rows = select(frame, MEASUREMENT, quantity=quantity, law="matched", control="", **where)
    if layer is None or head is None:
        return tidy(rows, head_names(rows), ["layer", "head", along])
    mine = select(frame, MEASUREMENT, quantity=quantity, law="matched", control="", layer=layer, head=head, **where)
    other = rows.where((rows["layer"] != layer) | (rows["head"] != head))
    return in_front(mine, other, along)


@lines(rows=head_line_rows)
def head_lines(
    data: Frame,
    frame: Frame,
    *,
    quantity: str = "hardmax_distance",
    step: int | None = None,
    length: int | None = None,
    layer: int | None,
    head: int | None,
    trained: float,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """A quantity of one head {over}, in front of all other heads; None = of all heads.

    Raises:
        NotMeasured: without rows of that quantity there, or none for that head.
    """
    refuse_empty(data, title_of(quantity))
    t, (along, _) = TOKENS[look.theme], axis_at(step, length)
    scale = scale_of(frame, quantity)
    y_axis = scale.axis()
    *other_heads, (name, mine) = series_of(data)
    chosen = head is not None
    if not chosen:
        other_heads, name, mine = series_of(data), "all heads", data
    n = smallest_n(mine)
    figure = line_plot(
        along,
        run_axis(along, frame.distinct(along), trained, look.theme),
        y_axis,
        title=title_of(quantity),
        slice=join_with_dots(
            _SUBTITLE.get(quantity, "per head"),
            sample_size(n),
            _spread_said(other_heads),
            hollow_said(mine) if chosen else "",
        ),
        alt=f"{title_of(quantity)} of {name} {over_axis(step, length, trained)}",
        n=n,
        name=f"{run_name(data)}/{quantity}_over_{along}",
        look=look,
    )
    end = add_heads(figure, other_heads, mine if chosen else None, along, scale, look.theme)
    if chosen:
        labels: list[Label] = []
        ends = [last_value([scale.place(float(v)) for v in part["value"]]) for _, part in other_heads]
        known = [end for end in ends if end is not None]
        if known:
            labels.append(("others", float(np.median(known)), t["ink3"], False))
        labels.append((name, end, t["ink"], True))
        add_end_labels(figure, labels, y_axis["range"], look.size)
        add_head_cursor(figure, mine, along, scale, look.theme, cursor)
        figure.layout.meta["alt"] += f": {values_in_words(mine, along, telling(mine, along, trained))}"
    if along == "length":
        add_training(figure, trained, look, avoid=drawn_points(data, along, scale.place))
    return figure


head_over_training = head_lines.over("step")
head_over_length = head_lines.over("length")


def in_front(mine: Frame, other: Frame, along: str) -> Frame:
    """A series per head: all others, then the one in front."""
    return stack([tidy(other, head_names(other), ["layer", "head", along]), tidy(mine, head_names(mine), along)])


def add_head_cursor(
    figure: Drawing, mine: Frame, along: str, scale: Scale, theme: Theme, cursor: Cursor | None
) -> None:
    """The line at the selected step or length, with a dot on the selected head."""
    if cursor is not None:
        placed = mine.with_columns(value=[scale.place(float(v)) for v in mine["value"]])
        add_cursor(figure, cursor, along, theme, [(placed, TOKENS[theme]["ink"], "circle")])


def _spread_said(others: list[tuple[str, Frame]]) -> str:
    """What stands in place of the other heads' lines, where these are too many."""
    return f"band: nine tenths of {len(others)} others" if len(others) > MOST_LINES else ""


def hollow_said(mine: Frame) -> str:
    """Return a sentence on which points :func:`add_heads` draws hollow; "" if there are none."""
    return _HOLLOW if (mine["label"] == ALL_KEYS).any() else ""


def add_heads(
    figure: Drawing,
    others: list[tuple[str, Frame]],
    mine: Frame | None,
    along: str,
    scale: Scale,
    theme: Theme,
) -> float | None:
    """Draw the selected head (None = no head) in front of all other heads, and return the height at which its line
    ends.

    Where a mass is 1 only because the tie set is all keys, the point is hollow.
    """
    _add_others(figure, others, along, scale, theme)
    if mine is None:
        return None
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
    """Heads whose lines would form one grey area: the middle nine tenths of them at each x, and the median."""
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
