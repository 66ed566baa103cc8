"""Circuit graphs at N, 2 N and 4 N side by side: which connections matter, and what cutting each of them costs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from workbench.figures.circuit.circuit_graph import (
    NODE,
    CircuitEdge,
    draw_edge,
    draw_legend,
    draw_nodes,
    drawn_edges,
    largest_change,
    name_columns,
    size_of,
    with_controls,
)
from workbench.figures.circuit.graph_layout import curve, places
from workbench.figures.labels import join_with_dots, multiple, proportion, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.connection_effects import (
    DROP,
    Effect,
    accuracy_there,
    effects_at,
    measured_connections,
    measured_lengths,
    nearest_measured,
    strongest,
)
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import rows_with_values, run_name
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import blank
from workbench.models.base.graph import Component, Connection

EffectUnit = Literal["accuracy", "loss"]
MULTIPLES = (1, 2, 4)
"""Multiples of N at which a graph is drawn."""
NEAR = 0.1
"""Largest distance of a measured length from a multiple of N, in octaves, at which it stands for it."""
LOSS = "connection_loss_rise"
NOUN: dict[EffectUnit, str] = {"accuracy": "accuracy drop", "loss": "rise of the loss in nats"}
_APART, _ALONG = 1.3, (0.5, 0.36, 0.64)
"""Columns between two graphs, and where along an edge its number stands, in turn."""


@dataclass(frozen=True)
class _Graph:
    """One of the graphs: the multiple of N, its measured length or None, and where its components are."""

    times: int
    length: int | None
    where: Mapping[Component, tuple[float, float]]


def graph_lengths(rows: Frame, trained: float) -> dict[int, int | None]:
    """Return, for each drawn multiple of N, the measured length that stands for it, or None."""
    have = measured_lengths(rows)
    found: dict[int, int | None] = {}
    for times in MULTIPLES:
        near = [n for n in have if abs(math.log2(n / (times * trained))) <= NEAR]
        found[times] = min(near, key=lambda n: abs(n - times * trained)) if near else None
    return found


def circuit_effects(rows: Frame, length: int, unit: EffectUnit) -> tuple[dict[str, Effect], dict[str, Effect]]:
    """Return the effects of cutting each connection, and each component, at a measured length.

    In the unit ``loss`` they have the value and the interval of the rise of the loss. What is significant stays what is
    significant for accuracy.
    """
    effects, nodes = effects_at(rows, length)
    if unit == "accuracy":
        return effects, nodes
    rises = {
        str(row["target"]): row for row in rows_with_values(rows.where(quantity=LOSS, control="", length=length)).rows()
    }

    def in_loss(group: Mapping[str, Effect]) -> dict[str, Effect]:
        return {name: replace(one, row=rises[name], control=None) for name, one in group.items() if name in rises}

    return in_loss(effects), in_loss(nodes)


def circuits_rows(frame: Frame, *, trained: float, step: int, effect: EffectUnit = "accuracy") -> Frame:
    """The rows of :func:`circuits_over_length`: every connection and component at the drawn lengths, with controls."""
    rows = measured_connections(frame, step=step)
    lengths = [n for n in graph_lengths(rows, trained).values() if n is not None]
    return with_controls(rows.where(quantity=DROP if effect == "accuracy" else LOSS, length=lengths))


@figure(rows=circuits_rows)
def circuits_over_length(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    length: int,
    connection: str = "",
    pins: str = "",
    effect: EffectUnit = "accuracy",
    look: Look = LIGHT,
) -> Drawing:
    """Which component reads which at N, 2 N and 4 N, one graph each. The number at an edge is the cost of cutting it.

    An edge is drawn where cutting it significantly changes accuracy at this length or at N. Width: cost at this length,
    up to 1. Colour: cost at this length minus that at N. Dashed: the cost is negative. Dotted: significant at N only.
    The number below a node is the cost of cutting all its outputs.

    Args:
        length: the selected length, whose graph has a bold title; it decides which connection costs most.
        connection: the chosen one, which stands on a wash; "" = the one that costs most.
        pins: names of pinned components, joined by commas. Edges of other components are pale.
        effect: the accuracy drop, or the rise of the loss.

    Raises:
        NotMeasured: without rows of that checkpoint.
    """
    rows = measured_connections(frame, step=step)
    lengths = graph_lengths(rows, trained)
    base = nearest_measured(rows, trained)
    effects, nodes = circuit_effects(rows, base, effect)
    layers, heads, mlps = size_of(effects_at(rows, base)[0])
    wide = places(layers, heads, mlps)[Component("unembedding")][0] + _APART
    graphs = [
        _Graph(times, lengths[times], _shifted(places(layers, heads, mlps), i * wide))
        for i, times in enumerate(MULTIPLES)
    ]
    there = {n: circuit_effects(rows, n, effect) for n in lengths.values() if n is not None}
    edges = {n: drawn_edges(there[n][0], effects, NOUN[effect]) for n in there}
    extent = largest_change([edge for one in edges.values() for edge in one])
    chosen = connection if connection in effects else strongest(effects_at(rows, nearest_measured(rows, length))[0])
    pinned = {name for name in pins.split(",") if name in nodes}
    missing = [f"{times} \u00d7 N (length {whole(times * trained)})" for times, n in lengths.items() if n is None]
    counts = (
        f"{whole(len(there[g.length][0]) - len(edges[g.length]))} of {whole(len(there[g.length][0]))} at {_times(g)}"
        for g in graphs
        if g.length is not None
    )
    reason = "accuracy does not change significantly, or no more than in the control"
    note = f"Not drawn, since {reason}: {join_with_dots(*counts)}"
    drawing = blank(
        look,
        column="sequence",
        xaxis={"range": [-0.6, len(graphs) * wide - _APART + 0.6], "visible": False},
        yaxis={"range": [heads + (0.15 if mlps else -1) + 0.94, -1.55], "visible": False},
        meta={
            "title": "Circuit graph",
            "slice": join_with_dots(NOUN[effect], f"not measured: {', '.join(missing)}" if missing else ""),
            "alt": _alt(graphs, edges, step, effect, missing),
            "n": next(iter(effects.values())).row["n"] if effects else None,
            "pick": True,
            "pins": sorted(pinned),
        },
        uirevision=f"{run_name(data)}/circuits_over_length",
    )
    drawing.update_layout(margin={"l": 8, "r": 76, "t": 6, "b": 22})
    for graph in graphs:
        _title(drawing, graph, rows, trained, length, look)
        if graph.length is None:
            continue
        pixels = NODE[1] if heads <= 4 else NODE[0]
        for i, edge in enumerate(sorted(edges[graph.length], key=lambda item: abs(item.here.value))):
            pale = bool(pinned) and not pinned & {one.name for one in _ends(edge)}
            draw_edge(drawing, edge, graph.where, (heads - 1) / 2, extent, look.theme, edge.name == chosen, pale)
            if not pale:
                _number(drawing, edge, graph.where, (heads - 1) / 2, i, look)
        of_nodes = there[graph.length][1]
        draw_nodes(drawing, graph.where, of_nodes, look, pixels, NOUN[effect], pinned)
        name_columns(drawing, graph.where, look)
        _node_numbers(drawing, graph.where, of_nodes, look, pixels)
    draw_legend(drawing, extent, look)
    drawing.add_annotation(
        x=0, xref="paper", xanchor="left", y=0, yref="paper", yanchor="top", yshift=-4, text=note,
        font={"size": look.size, "color": TOKENS[look.theme]["ink3"]}, name="not drawn",
    )  # fmt: skip
    return drawing


def _shifted(where: Mapping[Component, tuple[float, float]], by: float) -> dict[Component, tuple[float, float]]:
    return {node: (x + by, y) for node, (x, y) in where.items()}


def _ends(edge: CircuitEdge) -> tuple[Component, Component]:
    ends = Connection.from_name(edge.name)
    return ends.sender, ends.receiver


def _times(graph: _Graph) -> str:
    return "N" if graph.times == 1 else f"{graph.times} N"


def _title(drawing: Drawing, graph: _Graph, rows: Frame, trained: float, length: int, look: Look) -> None:
    """The multiple, the length and the accuracy above a graph; where it is not measured, that."""
    t = TOKENS[look.theme]
    left = graph.where[Component("embedding")][0] - 0.35
    if graph.length is None:
        text = f"{_times(graph)}: length {whole(graph.times * trained)} is not measured"
    else:
        accuracy = accuracy_there(rows, graph.length)
        times = multiple(graph.length / trained)
        exact = "" if times == multiple(graph.times) else f" ({times} \u00d7 N)"
        text = join_with_dots(
            f"{_times(graph)}: length {whole(graph.length)}{exact}",
            "" if accuracy is None else f"accuracy {proportion(accuracy)}",
        )
    selected = graph.length == nearest_measured(rows, length)
    drawing.add_annotation(
        x=left, y=-1.5, xanchor="left", yanchor="top", text=text,
        font={"size": look.size, "color": t["ink"] if selected else t["ink2"], "weight": 650 if selected else 500},
        name="graph",
    )  # fmt: skip


def _number(
    drawing: Drawing, edge: CircuitEdge, where: Mapping[Component, tuple[float, float]], middle: float, index: int,
    look: Look,
) -> None:  # fmt: skip
    """What cutting an edge costs, on the edge."""
    sender, receiver = _ends(edge)
    x, y = curve(where[sender], where[receiver], middle)
    at = round(_ALONG[index % len(_ALONG)] * (len(x) - 1))
    t = TOKENS[look.theme]
    drawing.add_annotation(
        x=float(x[at]), y=float(y[at]), text=proportion(edge.here.value), bgcolor=t["surface"], borderpad=1,
        font={"size": look.size, "color": t["ink"] if edge.here.shown else t["ink3"]}, name="edge",
    )  # fmt: skip


def _node_numbers(
    drawing: Drawing, where: Mapping[Component, tuple[float, float]], nodes: Mapping[str, Effect], look: Look,
    pixels: int,
) -> None:  # fmt: skip
    """What cutting all outputs of a component costs, below it, where that is significant."""
    for node, (x, y) in where.items():
        one = nodes.get(node.name)
        if one is None or not one.shown:
            continue
        drawing.add_annotation(
            x=x, y=y, yshift=-(pixels / 2 + 9), text=proportion(one.value), name="node",
            font={"size": look.size, "color": TOKENS[look.theme]["ink2"]},
        )  # fmt: skip


def _alt(
    graphs: Sequence[_Graph], edges: Mapping[int, Sequence[CircuitEdge]], step: int, effect: EffectUnit,
    missing: Sequence[str],
) -> str:  # fmt: skip
    told = []
    for graph in graphs:
        if graph.length is None:
            continue
        drawn = sorted(edges[graph.length], key=lambda edge: -abs(edge.here.value))[:8]
        listed = ", ".join(f"{edge.name} {proportion(edge.here.value)}" for edge in drawn)
        told.append(f"at length {whole(graph.length)}: {listed or 'no connection'}")
    gone = f" Not measured: {', '.join(missing)}." if missing else ""
    return f"Cost of cutting each connection ({NOUN[effect]}), step {whole(step)}: {'; '.join(told)}.{gone}"
