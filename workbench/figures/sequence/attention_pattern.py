"""The attention pattern of one head on one sequence: query x key."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from numpy.typing import NDArray

from workbench.core.names import BOS
from workbench.figures.labels import whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure_of_pass
from workbench.figures.style.design_tokens import AMOUNT, TOKENS
from workbench.figures.style.heatmap import Pooling, pool, pooled_edges
from workbench.figures.style.template import DASH, blank, colorbar, plotly_scale
from workbench.models.base.graph import head_name

View = Literal["attention", "times_length", "score"]

#: view -> (colour-bar ticks in plain values, top of the range). Colour is the square root of the value.
ROOT_TICKS: dict[str, tuple[tuple[tuple[float, str], ...], float]] = {
    "attention": (((0.0, "0"), (0.01, "0.01"), (0.05, "0.05"), (0.1, "0.10"), (0.25, "0.25")), 0.25),
    "times_length": (((0.0, "0"), (0.25, "0.25"), (1.0, "1"), (2.0, "2"), (4.0, "4")), 4.0),
}
#: Scores are shown relative to the top key of their row, down to this many nats below it.
SCORE_FLOOR = -8.0
TITLES = {"attention": "Attention pattern", "times_length": "Attention × length", "score": "Attention score"}
UNITS = {
    "attention": "colour: square root",
    "times_length": "1 = uniform over the keys seen",
    "score": "nats below the row's top key",
}


def pattern_rows(
    pattern: NDArray[np.floating], tokens: list[str], *, view: View = "attention", how: Pooling = "max"
) -> pd.DataFrame:
    """The cells of :func:`attention_pattern`, pooled as drawn: columns query, key (first of the cell),
    query_token, key_token, value; keys after the query are left out."""
    pooled, block, _ = pool(_cells(pattern, tokens, view), how=how)
    q, k = np.nonzero(np.isfinite(pooled))
    names = np.array(tokens, dtype=object)
    return pd.DataFrame(
        {
            "query": q * block,
            "key": k * block,
            "query_token": names[q * block],
            "key_token": names[k * block],
            "value": pooled[q, k].astype(float),
        }
    )


@figure_of_pass(rows=pattern_rows)
def attention_pattern(
    pattern: NDArray[np.floating],
    tokens: list[str],
    *,
    trained: float,
    query: int | None = None,
    layer: int,
    head: int,
    view: View = "attention",
    how: Pooling = "max",
    look: Look = LIGHT,
) -> go.Figure:
    """Attention of one head on one sequence, queries downwards, keys to the right.

    Args:
        pattern: ``[query, key]``, square; attention weights, or scores for ``view="score"`` (scaled,
            before softmax; -inf above the diagonal is fine).
        tokens: one name per position, ``<bos>`` first where there is one.
        query: index of a query to outline.
        layer: for the title.
        head: for the title.
        view: ``attention`` (weights), ``times_length`` (weights times the number of keys that the query sees, 1 =
            uniform), or ``score``. Scores are shown minus the row's highest, because they are defined only up to a
            constant per query.
        how: how cells are pooled beyond 512 positions.

    Raises:
        ValueError: for a pattern that is not square, or another number of tokens, or an unknown view.
    """
    t = TOKENS[look.theme]
    cells = _cells(pattern, tokens, view)
    count = len(tokens)
    # index of the first position past training: prefix length = index with BOS in front, else index + 1
    edge = trained + (0.5 if tokens and tokens[0] == BOS else -0.5)
    pooled, block, _ = pool(cells, how=how)
    edges = pooled_edges(np.arange(count + 1) - 0.5, block)
    axis = {"range": [-0.5, count - 0.5], "showgrid": False, "tickvals": position_ticks(count)}
    axis["ticktext"] = [whole(v) for v in position_ticks(count)]
    figure = blank(
        look,
        column="sequence",
        xaxis=axis | {"title": {"text": "key position"}, "fixedrange": block == 1},
        yaxis=axis | {"range": [count - 0.5, -0.5], "title": {"text": "query position"}, "fixedrange": block == 1},
        meta={
            "title": TITLES[view],
            "slice": f"{head_name(layer, head)} · {UNITS[view]}"
            + ("" if block == 1 else f" · {how} over {block} × {block} positions"),
            "alt": f"{TITLES[view]} of {head_name(layer, head)} on one sequence of {whole(count)} positions"
            + ("" if query is None else f"; query {whole(query)} attends most to {_top(cells, query, tokens)}"),
            "x": {"kind": "position", "low": -0.5, "high": count - 0.5},
            "n": 1,
        },
        uirevision=f"attention/{layer}/{head}/{view}",
    )
    if block > 1:
        figure.update_layout(dragmode="zoom")
    _ground(figure, count, look)
    _heat(figure, pooled, edges, view, block, tokens, look)
    _lines(figure, count, edge, query, t)
    return figure


def _cells(pattern: NDArray[np.floating], tokens: list[str], view: View) -> NDArray[np.float64]:
    """The values of a view, NaN at keys after the query."""
    values = np.asarray(pattern, dtype=float)
    count = len(tokens)
    if view not in TITLES:
        raise ValueError(f"unknown view {view!r}; the views are {', '.join(TITLES)}")
    if values.shape != (count, count):
        raise ValueError(
            f"the pattern is {' x '.join(map(str, values.shape))}, but there are {count} tokens; "
            "pass one square pattern [query, key] with a name per position"
        )
    seen = np.tril(np.ones((count, count), dtype=bool))
    cells: NDArray[np.float64] = np.where(seen, values, np.nan)
    if view == "times_length":
        cells = cells * np.arange(1, count + 1)[:, None]
    if view == "score":
        cells = cells - np.nanmax(cells, axis=1, keepdims=True)
    return cells


def _top(cells: NDArray[np.float64], query: int, tokens: list[str]) -> str:
    key = int(np.nanargmax(cells[query]))
    return f"key {whole(key)} ({tokens[key]})"


def position_ticks(count: int, start: int = 0) -> list[int]:
    """Return every 1st, 2nd, 5th, 10th, ... position from ``start`` up to ``count``, at most eight positions."""
    for unit in (m * 10**k for k in range(6) for m in (1, 2, 5)):
        if (count - start) / unit <= 8:
            return list(range(-(-start // unit) * unit, count, unit))
    return [start, count - 1]


def _ground(figure: go.Figure, count: int, look: Look) -> None:
    t = TOKENS[look.theme]
    figure.add_shape(
        type="rect",
        x0=-0.5,
        x1=count - 0.5,
        y0=-0.5,
        y1=count - 0.5,
        fillcolor=t["sunken"],
        line_width=0,
        layer="below",
    )
    if count >= 12:
        figure.add_annotation(
            x=0.98,
            xref="paper",
            xanchor="right",
            y=0.96,
            yref="paper",
            yanchor="top",
            text="no key after the query",
            font={"color": t["ink3"], "size": look.size},
        )


def _heat(
    figure: go.Figure,
    shown: NDArray[np.float32],
    edges: NDArray[np.floating],
    view: View,
    block: int,
    tokens: list[str],
    look: Look,
) -> None:
    hover: dict[str, Any] = {"hovertemplate": "query %{y} · key %{x}<br><b>%{customdata:.3f}</b><extra></extra>"}
    if block == 1 and len(tokens) <= 128:
        hover = {"text": pair_names(tokens), "hovertemplate": "%{text}<br><b>%{customdata:.3f}</b><extra></extra>"}
    values, ticks = heatmap_colours(shown, view)
    figure.add_heatmap(
        x=edges,
        y=edges,
        **values,
        colorscale=plotly_scale(AMOUNT[look.theme]),
        colorbar=colorbar(look, [v for v, _ in ticks], [s for _, s in ticks]),
        hoverongaps=False,
        name="cells",
        **hover,
    )


def pair_names(tokens: list[str], queries: range | None = None, keys: range | None = None) -> list[list[str]]:
    """Return the query and the key of each cell, ``[query][key]``, in words, for all tokens or for some."""
    across, down = keys or range(len(tokens)), queries or range(len(tokens))
    return [[f"query {q} “{tokens[q]}” · key {k} “{tokens[k]}”" for k in across] for q in down]


def heatmap_colours(shown: NDArray[np.floating], view: View) -> tuple[dict[str, Any], list[tuple[float, str]]]:
    """Return the colours of a view of attention: a heatmap's ``z``, ``customdata`` and range, and the ticks of its
    colour bar.
    """
    if view == "score":
        z, low, high = shown, SCORE_FLOOR, 0.0
        ticks = [(SCORE_FLOOR, f"≤ \u2212{-SCORE_FLOOR:.0f}"), (-4.0, "\u22124"), (0.0, "0")]
    else:
        values, top = ROOT_TICKS[view]
        z, low, high = np.sqrt(shown), 0.0, math.sqrt(top)
        ticks = [(math.sqrt(v), ("≥ " if v == top else "") + text) for v, text in values]
    layout = {
        "z": np.ascontiguousarray(z, dtype=np.float32),
        "customdata": np.ascontiguousarray(shown, dtype=np.float32),
        "zmin": low,
        "zmax": high,
    }
    return layout, ticks


def _lines(figure: go.Figure, count: int, edge: float, query: int | None, t: dict[str, str]) -> None:
    """The training length on both axes, and the outline of the chosen query's row."""
    if edge < count - 0.5:
        line = {"color": t["train"], "width": 1.5, "dash": DASH}
        figure.add_shape(type="line", x0=edge, x1=edge, y0=0, y1=1, yref="paper", line=line, name="training length")
        figure.add_shape(type="line", x0=0, x1=1, xref="paper", y0=edge, y1=edge, line=line, name="training length")
    if query is not None:
        figure.add_shape(
            type="rect",
            x0=-0.5,
            x1=query + 0.5,
            y0=query - 0.5,
            y1=query + 0.5,
            line={"color": t["ink"], "width": 1.5},
            name="query",
        )
