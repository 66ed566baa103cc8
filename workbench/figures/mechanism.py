"""Does its attention keep its shape? A quantity of one head, in front of all others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.figures.behaviour import nearest
from workbench.figures.labels import head_name, magnitude, sample_size, whole
from workbench.figures.marks import (
    Cursor,
    add_cursor,
    add_end_labels,
    add_line,
    add_training,
    drawn_points,
    hovers,
    last_value,
    places,
    said,
    span_meta,
)
from workbench.figures.rows import DRAWN, cells, distinct, run_name, select, series_of, smallest_n, stack, tidy
from workbench.figures.template import blank, run_axis
from workbench.figures.tokens import TOKENS, Theme, rgba

MEASUREMENT = "circuits.hardmax"
#: Quantities that are shares by definition; all others get an axis from the run's own rows.
SHARES = ("hardmax_distance", "argmax_mass", "tie_uniformity")
#: Quantities that span orders of magnitude.
COUNTS = ("tie_size", "effective_support", "support_inf", "critical_length", "p_bit_length", "hardmax_length")
_SUBTITLE = {"hardmax_distance": "total variation", "argmax_mass": "share of attention"}


@dataclass(frozen=True)
class Scale:
    """The fixed axis and colour range of a quantity.

    Attributes:
        low: lower end, in axis units.
        high: upper end, in axis units.
        log: whether axis units are log2 of the value.
    """

    low: float
    high: float
    log: bool = False

    def place(self, value: float) -> float:
        """Value to axis units; NaN where it has no place (infinite, or not positive on a log axis)."""
        if not math.isfinite(value) or (self.log and value <= 0):
            return math.nan
        return math.log2(value) if self.log else value

    def share(self, value: float) -> float:
        """Value as a share of the range, clipped to 0..1; infinity is 1."""
        if value == math.inf:
            return 1.0
        return min(1.0, max(0.0, (self.place(value) - self.low) / (self.high - self.low)))

    def axis(self) -> dict[str, Any]:
        """The plotly axis."""
        pad = 0.05 * (self.high - self.low)
        if self.log:
            octaves = range(math.ceil(self.low), math.floor(self.high) + 1)
            every = max(1, -(-len(octaves) // 4))
            ticks = [float(k) for k in octaves if k % every == 0]
            texts = [whole(2.0**k) for k in ticks]
        else:
            ticks = [self.low, (self.low + self.high) / 2, self.high]
            texts = [f"{v:.1f}" if (self.low, self.high) == (0.0, 1.0) else magnitude(v) for v in ticks]
        return {"range": [self.low - pad, self.high + pad], "tickvals": ticks, "ticktext": texts}


def scale_of(frame: pd.DataFrame, quantity: str) -> Scale:
    """The scale of a quantity: 0 to 1 for shares, else what all of the run's rows span."""
    if quantity in SHARES:
        return Scale(0.0, 1.0)
    values = cells(frame, "value", measurement=MEASUREMENT, quantity=quantity, status=DRAWN)
    values = values[np.isfinite(values)]
    if quantity in COUNTS:
        values = values[values > 0]
        low, high = (math.log2(values.min()), math.log2(values.max())) if len(values) else (0.0, 1.0)
        return Scale(math.floor(low), max(math.ceil(high), math.floor(low) + 1), log=True)
    low, high = (min(0.0, values.min()), values.max()) if len(values) else (0.0, 1.0)
    return Scale(float(low), float(high) if high > low else float(low) + 1.0)


def title_of(quantity: str) -> str:
    """A quantity's name as a title."""
    return quantity.replace("_", " ").capitalize()


def head_over_training(
    frame: pd.DataFrame,
    *,
    quantity: str = "hardmax_distance",
    length: int,
    layer: int,
    head: int,
    trained: float,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> go.Figure:
    """A quantity of one head over training at one prefix length, in front of all other heads.

    Raises:
        NotMeasured: without rows of that quantity at that length, or none for that head.
    """
    data = head_over_training_data(frame, quantity=quantity, length=length, layer=layer, head=head)
    figure = _lines(frame, data, "step", quantity, trained, theme, size, cursor)
    mine = data[data["series"] == head_name(layer, head)]
    side = "inside training" if length <= trained else "past training"
    figure.layout.meta["alt"] = (
        f"{title_of(quantity)} of {head_name(layer, head)} over training at length {whole(length)}, {side}: "
        + said(mine, "step", [float(mine["step"].min()), float(mine["step"].max())])
    )
    return figure


def head_over_training_data(
    frame: pd.DataFrame, *, quantity: str = "hardmax_distance", length: int, layer: int, head: int
) -> pd.DataFrame:
    """The rows of :func:`head_over_training`: a series per head, the selected one last."""
    return _lines_data(frame, "step", quantity, layer, head, length=length)


def head_over_length(
    frame: pd.DataFrame,
    *,
    quantity: str = "hardmax_distance",
    step: int,
    layer: int,
    head: int,
    trained: float,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> go.Figure:
    """A quantity of one head over prefix length at one step, in front of all other heads.

    Raises:
        NotMeasured: without rows of that quantity at that step, or none for that head.
    """
    data = head_over_length_data(frame, quantity=quantity, step=step, layer=layer, head=head)
    figure = _lines(frame, data, "length", quantity, trained, theme, size, cursor)
    mine = data[data["series"] == head_name(layer, head)]
    lengths = [int(n) for n in mine["length"]]
    figure.layout.meta["alt"] = (
        f"{title_of(quantity)} of {head_name(layer, head)} over prefix length at step {whole(step)}: "
        + said(mine, "length", [nearest(lengths, trained), max(lengths)])
    )
    scale = scale_of(frame, quantity)
    avoid = drawn_points(data, "length", scale.place)
    add_training(figure, trained, theme, size, avoid=avoid)
    return figure


def head_over_length_data(
    frame: pd.DataFrame, *, quantity: str = "hardmax_distance", step: int, layer: int, head: int
) -> pd.DataFrame:
    """The rows of :func:`head_over_length`: a series per head, the selected one last."""
    return _lines_data(frame, "length", quantity, layer, head, step=step)


def _lines_data(frame: pd.DataFrame, along: str, quantity: str, layer: int, head: int, **where: int) -> pd.DataFrame:
    rows = select(frame, MEASUREMENT, quantity=quantity, law="matched", control="", **where)
    mine = select(frame, MEASUREMENT, quantity=quantity, law="matched", control="", layer=layer, head=head, **where)
    other = rows[(rows["layer"] != layer) | (rows["head"] != head)]
    names = [head_name(int(at), int(h)) for at, h in zip(other["layer"], other["head"], strict=True)]
    others = tidy(other, names, ["layer", "head", along])
    return stack([others, tidy(mine, head_name(layer, head), along)])


def _lines(
    frame: pd.DataFrame,
    data: pd.DataFrame,
    along: str,
    quantity: str,
    trained: float,
    theme: Theme,
    size: int,
    cursor: Cursor | None,
) -> go.Figure:
    t = TOKENS[theme]
    scale = scale_of(frame, quantity)
    x_axis = run_axis(along, distinct(frame, along), trained, theme)
    y_axis = scale.axis()
    *others, (name, mine) = series_of(data)
    n = smallest_n(mine)
    subtitle = _SUBTITLE.get(quantity, "per head")
    figure = blank(
        theme,
        size,
        column=along,
        xaxis=x_axis,
        yaxis=y_axis,
        meta={
            "title": title_of(quantity),
            "slice": " · ".join(s for s in (subtitle, sample_size(n)) if s),
            "x": span_meta(along, x_axis),
            "n": n,
        },
        uirevision=f"{run_name(data)}/{quantity}_over_{along}",
    )
    add_others(figure, others, along, scale, theme)
    add_line(figure, mine, along, t["ink"], place=scale.place)
    labels: list[tuple[str, float, str, bool]] = []
    ends = [last_value([scale.place(float(v)) for v in part["value"]]) for _, part in others]
    known = [end for end in ends if end is not None]
    if known:
        labels.append(("others", float(np.median(known)), t["ink3"], False))
    placed = mine.assign(value=[scale.place(float(v)) for v in mine["value"]])
    end = last_value(placed["value"].to_numpy(dtype=float))
    if end is not None:
        labels.append((name, end, t["ink"], True))
    add_end_labels(figure, labels, y_axis["range"], size)
    add_cursor(figure, cursor, along, theme, [(placed, t["ink"], "circle")])
    return figure


def add_others(
    figure: go.Figure, parts: list[tuple[str, pd.DataFrame]], along: str, scale: Scale, theme: Theme
) -> None:
    """All other heads as one trace, broken between heads: hundreds of traces would be slow."""
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
