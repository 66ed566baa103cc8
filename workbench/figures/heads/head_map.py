"""All heads at one step and length: layer x head, each with its value and its curve over length."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from workbench.figures.heads.head_curves import MEASUREMENT, SHARES, scale_of, title_of
from workbench.figures.labels import magnitude, proportion, sample_size, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.conversion import of_rows
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import has_value, head_names, run_name, select, smallest_n, tidy
from workbench.figures.style.design_tokens import TOKENS, cell_colours
from workbench.figures.style.marks import Cursor
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import blank

#: Cells with text beyond this many heads would be illegible.
_MOST_TEXT_CELLS = 96


@of_rows
def head_grid(frame: Frame, *, quantity: str = "hardmax_distance", step: int, length: int) -> Frame:
    """Return a quantity of all heads at one step and length, one row per head.

    Returns:
        columns layer, head, value, low, high, n, status, note, text, share, lengths and curve. ``text`` is the value as
        written in a cell. ``share`` is its share of the quantity's fixed range, 0 to 1 and NaN where undefined, for
        :func:`workbench.figures.style.design_tokens.cell_colours`. ``lengths`` and ``curve`` are the head's shares over
        prefix length at this step, for a sparkline.

    Raises:
        NotMeasured: without rows of that quantity there.
    """
    return Frame.from_rows(head_cells(frame, quantity=quantity, step=step, length=length))


def head_cells(frame: Frame, *, quantity: str = "hardmax_distance", step: int, length: int) -> list[dict[str, Any]]:
    """Return the rows of :func:`head_grid` as dicts, in the order in which they are drawn.

    Raises:
        NotMeasured: without rows of that quantity there.
    """
    rows = select(frame, MEASUREMENT, quantity=quantity, law="matched", control="", step=step, length=length)
    scale = scale_of(frame, quantity)
    along = frame.where(measurement=MEASUREMENT, quantity=quantity, law="matched", control="", step=step)
    curves = dict(tidy(along, "curve", ["layer", "head", "length"]).group("layer", "head"))
    number_format = proportion if quantity in SHARES else magnitude
    cells = []
    for row in rows.sort("layer", "head").rows():
        at = int(row["layer"]), int(row["head"])
        has_number = has_value(row)
        value = float(row["value"]) if has_number else math.nan
        curve = curves[at]
        cells.append(
            {
                "layer": at[0],
                "head": at[1],
                **{k: row[k] for k in ("low", "high", "n", "status", "note")},
                "value": value,
                "text": number_format(value),
                "share": scale.share(value) if has_number else math.nan,
                "lengths": [int(n) for n in curve["length"]],
                "curve": [math.nan if math.isnan(v) else scale.share(v) for v in curve["value"].astype(float)],
            }
        )
    return cells


def head_grid_rows(frame: Frame, *, quantity: str = "hardmax_distance", step: int, length: int) -> Frame:
    """The cells of :func:`head_grid_figure`: :func:`head_grid` without the curves."""
    return head_grid(frame, quantity=quantity, step=step, length=length).without("lengths", "curve")


@figure(rows=head_grid_rows)
def head_grid_figure(
    data: Frame,
    frame: Frame,
    *,
    quantity: str = "hardmax_distance",
    step: int,
    length: int,
    layer: int | None = None,
    head: int | None = None,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """The head grid as a figure, for notebooks and export; the named head is outlined.

    ``cursor`` is accepted for uniformity and has no effect: the figure is at one step and length already.

    Raises:
        NotMeasured: without rows of that quantity there.
    """
    n = smallest_n(data)
    texts = []
    for row, name in zip(data.rows(), head_names(data), strict=True):
        limits = f" [{proportion(row['low'], 3)}, {proportion(row['high'], 3)}]" if not missing(row["low"]) else ""
        counted = "" if missing(row["n"]) else f" · n {whole(float(row['n']))}"
        note = f"<br>{row['status']}: {row['note']}" if row["status"] != "ok" else ""
        texts.append(f"{name}<br><b>{row['text']}</b>{limits}{counted}{note}")
    meta = {
        "title": f"{title_of(quantity)} by head",
        "slice": sample_size(n),
        "alt": f"{title_of(quantity)} of every head at step {whole(step)} and length {whole(length)}: "
        + spoken_cells(data),
        "n": n,
    }
    return draw_grid(
        data,
        texts,
        lambda share: cell_colours(share, look.theme),
        meta,
        f"{run_name(frame)}/{quantity}_by_head",
        chosen=(layer, head),
        look=look,
    )


def spoken_cells(data: Frame) -> str:
    """The values of the cells in words, for screen readers."""
    return ", ".join(f"{name} {text}" for name, text in zip(head_names(data), data["text"], strict=True))


def draw_grid(
    data: Frame,
    texts: Sequence[str],
    colours: Callable[[float], tuple[str, str]],
    meta: Mapping[str, Any],
    uirevision: str,
    *,
    chosen: tuple[int | None, int | None],
    look: Look,
) -> Drawing:
    """Draw a grid of cells, layer by head, with their texts.

    Args:
        data: columns layer, head, text and share (NaN = undefined).
        texts: tooltip of each row.
        colours: share to fill and text colour.
        meta: data for the panel around the figure.
        uirevision: of the figure.
        chosen: layer and head of the outlined cell.
        look: theme and base text size.
    """
    t = TOKENS[look.theme]
    layers, heads = (np.unique(data[c].astype(int)).tolist() for c in ("layer", "head"))
    figure = blank(
        look,
        column="dumbbell",
        xaxis={
            "range": [-0.5, len(heads) - 0.5],
            "tickvals": list(range(len(heads))),
            "ticktext": [str(h) for h in heads],
            "showgrid": False,
            "ticks": "",
            "title": {"text": "head"},
        },
        yaxis={
            "range": [len(layers) - 0.5, -0.5],
            "tickvals": list(range(len(layers))),
            "ticktext": [f"layer {v}" for v in layers],
            "showgrid": False,
        },
        meta={**meta, "x": {"kind": "head", "low": -0.5, "high": len(heads) - 0.5}},
        uirevision=uirevision,
    )
    xs, ys = [], []
    for row in data.rows():
        x, y = heads.index(int(row["head"])), layers.index(int(row["layer"]))
        known = not math.isnan(row["share"])
        fill, ink = colours(row["share"]) if known else (t["sunken"], t["ink3"])
        outlined = (row["layer"], row["head"]) == chosen
        figure.add_shape(
            type="rect",
            x0=x - 0.46,
            x1=x + 0.46,
            y0=y - 0.46,
            y1=y + 0.46,
            fillcolor=fill,
            line={"color": t["ink"], "width": 2 if outlined else 0},
            name="cell",
        )
        if len(data) <= _MOST_TEXT_CELLS:
            figure.add_annotation(x=x, y=y, text=row["text"], font={"color": ink, "size": look.size, "weight": 600})
        xs.append(x)
        ys.append(y)
    figure.add_scatter(
        x=xs,
        y=ys,
        mode="markers",
        marker={"size": 28, "opacity": 0},
        hovertext=list(texts),
        hoverinfo="text",
        name="heads",
    )
    return figure
