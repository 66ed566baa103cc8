"""All heads of a model on one sequence: a small attention map each, framed by what ablating the head costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.figures.heads.leading_head import ablation_cost, cost_clause, drops_by_head
from workbench.figures.labels import whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.offered import register_public
from workbench.figures.registry import figure_of_pass
from workbench.figures.rows.conversion import of_rows
from workbench.figures.rows.frame import Frame
from workbench.figures.sequence.attention_pattern import heatmap_colours
from workbench.figures.style.design_tokens import AMOUNT, TOKENS
from workbench.figures.style.template import blank, colorbar, plotly_scale
from workbench.measure.edits.reading import HeadMaps

Costs = Mapping[tuple[int, int], Mapping[str, Any]]
"""Layer and head -> the row of :func:`ablation_costs`."""

GAP = 0.06
"""Gap between two maps, as a share of a map, one cell at least."""
FRAME = (1.5, 4.0)
"""Width of the frame of a head whose ablation costs almost nothing, and all accuracy, pixels."""
MANY_LAYERS = 8
"""Layers from which on they run to the right where they are more than the heads: a panel is wide."""
LABELS = 16
"""Most names along an axis."""
DETAILED = 40_000
"""Cells up to which each is drawn sharply; more are painted as one picture."""


@of_rows
def ablation_costs(frame: Frame, *, step: int, length: int) -> dict[tuple[int, int], dict[str, Any]]:
    """Return the accuracy drop from ablating each head at exactly this step and length, for the kind of ablation with
    the smallest drop.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        length: prefix length.

    Returns:
        layer and head -> ``value``, ``low``, ``high``, ``n``, ``mode``, ``shown`` and ``text``. ``value`` is of
        ``head_drop`` if the head was tested, else of ``accuracy_drop``. ``shown`` is whether the cost is significant in
        every mode. ``text`` is the cost in each mode in words. Empty without ablations at that length.
    """
    costs: dict[tuple[int, int], dict[str, Any]] = {}
    for place, own in drops_by_head(frame, step=step, length=length).items():
        drops, significant = ablation_cost(own)
        if not drops:
            continue
        least = min(drops, key=lambda row: float(row["value"]))
        kept = {name: least[name] for name in ("low", "high", "n", "mode")}
        text = "".join(said for said, _ in cost_clause(drops, significant))
        costs[place] = {"value": float(least["value"]), **kept, "shown": significant, "text": text}
    return costs


@register_public
def map_sides(layers: int, heads: int) -> tuple[int, int]:
    """Rows and columns of the maps: a row a layer; many layers run to the right, since panels are wide."""
    return (heads, layers) if layers > max(heads, MANY_LAYERS) else (layers, heads)


def map_rows(found: HeadMaps, costs: Costs | None = None) -> pd.DataFrame:
    """The cells of :func:`head_maps`: columns layer, head, query and key (the first of a cell), query_token, key_token,
    attention, and ``accuracy_drop`` of the head's ablation (NaN where it was not measured)."""
    places = np.argwhere(np.isfinite(found.maps))
    at = {name: places[:, i] for i, name in enumerate(("layer", "head", "query", "key"))}
    names = np.array(found.tokens, dtype=object)
    cost = {place: float(row["value"]) for place, row in (costs or {}).items()}
    at["query"], at["key"] = at["query"] * found.pool, at["key"] * found.pool
    return pd.DataFrame(
        {
            **at,
            "query_token": names[at["query"]],
            "key_token": names[at["key"]],
            "attention": found.maps[np.isfinite(found.maps)].astype(float),
            "accuracy_drop": [cost.get((int(i), int(j)), np.nan) for i, j in zip(at["layer"], at["head"], strict=True)],
        }
    )


@figure_of_pass(rows=map_rows)
def head_maps(
    found: HeadMaps,
    costs: Costs | None = None,
    *,
    layer: int | None = None,
    head: int | None = None,
    look: Look = LIGHT,
) -> go.Figure:
    """Small attention maps of all heads on one sequence: queries downwards, keys to the right.

    Args:
        found: the maps.
        costs: of :func:`ablation_costs`; a head whose cost is shown has a frame, the thicker the more it costs.
        layer, head: the chosen head, whose map stands in a ring; None = none.
    """
    layers, heads, cells = found.maps.shape[:3]
    rows, columns = map_sides(layers, heads)
    across = (rows, columns) != (layers, heads)
    gap = max(1, round(GAP * cells))
    side = cells + gap
    image = np.full((rows * side, columns * side), np.nan, np.float32)
    for at, one in _maps(found):
        top, left = (i * side for i in (at[::-1] if across else at))
        image[top : top + cells, left : left + cells] = one
    t, names = TOKENS[look.theme], (("layer", "head") if across else ("head", "layer"))
    fill = cells / side
    figure = blank(
        look,
        column="sequence",
        xaxis={"range": [0, columns], "showgrid": False, "side": "top"} | _ticks(columns, names[0], fill),
        yaxis={"range": [rows, 0], "showgrid": False} | _ticks(rows, names[1], fill),
        meta={
            "title": "Attention of all heads on one sequence",
            "slice": f"{layers} × {heads} heads · {whole(len(found.tokens))} positions · colour: square root"
            + ("" if found.pool == 1 else f" · max over {found.pool} × {found.pool} positions"),
            "alt": f"Attention maps of {layers} layers of {heads} heads on one sequence; each opens on its own",
            "n": 1,
            "maps": {"layers": layers, "heads": heads, "across": across, "fill": fill, "cells": cells},
        },
        uirevision="head_maps",
    )
    values, ticks = heatmap_colours(image, "attention")
    places = [(np.arange(n * side + 1)) / side for n in (columns, rows)]
    figure.add_heatmap(
        x=places[0],
        y=places[1],
        **{name: value for name, value in values.items() if name != "customdata"},
        colorscale=plotly_scale(AMOUNT[look.theme]),
        colorbar=colorbar(look, [v for v, _ in ticks], [s for _, s in ticks]),
        hoverinfo="skip",
        name="maps",
        zsmooth=False if image.size <= DETAILED else "fast",
    )
    figure.update_layout(plot_bgcolor=t["sunken"], margin={"t": 26, "b": 8})
    for place, row in (costs or {}).items():
        if row["shown"]:
            thick = FRAME[0] + (FRAME[1] - FRAME[0]) * min(1.0, max(0.0, float(row["value"])))
            figure.add_shape(**_box(place, across, fill), line={"color": t["ink"], "width": thick}, name="cost")
    if layer is not None and head is not None:
        ring = {"color": t["ink"], "width": 1.5, "dash": "2px,2px"}
        figure.add_shape(**_box((layer, head), across, fill, 0.35 * (1 - fill)), line=ring, name="chosen")
    return figure


def _maps(found: HeadMaps) -> list[tuple[tuple[int, int], NDArray[np.float32]]]:
    layers, heads = found.maps.shape[:2]
    return [((i, j), found.maps[i, j]) for i in range(layers) for j in range(heads)]


def _ticks(count: int, noun: str, fill: float) -> dict[str, Any]:
    """The names of layers or heads, at the middle of their maps; of many, numbers, and not each of them."""
    every = -(-count // LABELS)
    shown = range(0, count, every)
    text = [f"{noun} {i}" if count <= MANY_LAYERS else str(i) for i in shown]
    if count > MANY_LAYERS:
        text[0] = f"{noun} 0"
    return {"tickvals": [i + fill / 2 for i in shown], "ticktext": text, "ticks": ""}


def _box(place: tuple[int, int], across: bool, fill: float, out: float = 0.0) -> dict[str, Any]:
    """Around a map, by so much of the space between two outwards."""
    row, column = place[::-1] if across else place
    x, y = {"x0": column - out, "x1": column + fill + out}, {"y0": row - out, "y1": row + fill + out}
    return {"type": "rect", **x, **y, "fillcolor": "rgba(0,0,0,0)"}
