"""Where the nodes of a circuit graph stand, and along which curves its edges run."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.models.base.graph import Component

POINTS = 25
"""Points of an edge: enough for a smooth curve, and for a pointer to find one anywhere along it."""
BOW = 0.42
"""How far an edge past other columns is bent out of its way for each of them, in rows."""

Place = tuple[float, float]
Curve = NDArray[np.float64]


def columns_of(layers: int, mlps: bool) -> dict[tuple[float, int], int]:
    """The column of each depth, from the embedding on the left to the unembedding on the right."""
    depths = [Component("embedding").depth]
    for layer in range(layers):
        depths += [Component("head", layer, 0).depth] + ([Component("MLP", layer).depth] if mlps else [])
    return {depth: i for i, depth in enumerate([*depths, Component("unembedding").depth])}


def places(layers: int, heads: int, mlps: bool) -> dict[Component, Place]:
    """Column and row of each component, rows from the top: heads below each other, MLPs in a row below all heads.

    Embedding and unembedding stand halfway down the heads, so that few edges run level through a node.
    """
    column = columns_of(layers, mlps)
    ends = (Component("embedding"), Component("unembedding"))
    positions = {node: (float(column[node.depth]), (heads - 1) / 2) for node in ends}
    for layer in range(layers):
        for head in range(heads):
            node = Component("head", layer, head)
            positions[node] = (float(column[node.depth]), float(head))
        if mlps:
            node = Component("MLP", layer)
            positions[node] = (float(column[node.depth]), heads + 0.15)
    return positions


def curve(start: Place, end: Place, middle: float) -> tuple[Curve, Curve]:
    """An edge that leaves and arrives level; past other columns it bends away from the middle row.

    Args:
        start, end: column and row of sender and receiver.
        middle: the row from which it bends away.

    Returns:
        columns and rows of :data:`POINTS` points.
    """
    (x0, y0), (x1, y1) = start, end
    t = np.linspace(0.0, 1.0, POINTS)
    x = x0 + (x1 - x0) * t
    y = y0 + (y1 - y0) * (3 * t**2 - 2 * t**3)
    passed = x1 - x0 - 1
    away = 1.0 if (y0 + y1) / 2 > middle else -1.0
    return x, y + away * BOW * passed**0.7 * 4 * t * (1 - t) if passed > 0 else y
