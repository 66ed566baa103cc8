"""The circuit graph: components as nodes, and between them the connections whose cutting is shown to cost accuracy."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from workbench.figures.circuit.graph_layout import curve, places
from workbench.figures.labels import join_with_dots, multiple, proportion, signed_number, whole
from workbench.figures.look import LIGHT, Look, Theme
from workbench.figures.registry import figure
from workbench.figures.rows.connection_effects import (
    DROP,
    RANDOM,
    Effect,
    accuracy_there,
    effects_at,
    measured_connections,
    measured_lengths,
    nearest_measured,
    strongest,
)
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import run_name, stack, tidy
from workbench.figures.style.design_tokens import DIFFERENCE, TOKENS, ColourMap, cell_colours, colour_at, rgba
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import blank, colorbar, plotly_scale
from workbench.models.base.graph import Component, Connection, head_name

WIDTH = (1.2, 11.0)
"""Pixels of an edge that costs almost nothing, and of one that costs all accuracy."""
LEAST_RANGE = 0.2
"""Smallest change that has the end of the colours: less would make much of little."""
NODE = (16, 26)
"""Pixels of a node of a large graph, and of a small one."""
FADED, HELPING = "1px,3px", "6px,3px"
"""Dashes: shown at N and not here; accuracy rises without it."""


@dataclass(frozen=True)
class CircuitEdge:
    """A connection that is drawn.

    Attributes:
        name: the name of the connection.
        here, trained: what cutting it costs at this length, and at N.
        noun: what the cost is.
    """

    name: str
    here: Effect
    trained: Effect
    noun: str = "accuracy drop"

    @property
    def change(self) -> float:
        """What it costs here, less what it costs at N."""
        return self.here.value - self.trained.value


def circuit_rows(frame: Frame, *, trained: float, step: int, length: int) -> Frame:
    """The rows of :func:`circuit_graph`: of every connection and component, drawn or not, here and at N; controls."""
    rows = measured_connections(frame, step=step)
    shown = {nearest_measured(rows, length), nearest_measured(rows, trained)}
    return with_controls(rows.where(quantity=DROP, length=sorted(shown)))


def with_controls(drops: Frame) -> Frame:
    """Return the drops of connections and components over length, then those of their random controls."""
    parts = (drops.where(control=control) for control in ("", RANDOM))
    return stack(tidy(part, list(map(str, part["target"])), "length") for part in parts)


@figure(rows=circuit_rows)
def circuit_graph(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    length: int,
    connection: str = "",
    look: Look = LIGHT,
) -> Drawing:
    """Which component reads which: an edge for each connection whose cutting significantly costs accuracy, at this
    length or at N.

    Width of an edge: the accuracy drop without it at the nearest measured length. Dashed: accuracy rises without it.
    Dotted: the drop is significant at N but not at this length. Colour of an edge: its accuracy drop at this length
    minus that at N. The colour of a node is stronger if accuracy drops more without all connections out of it.
    Layers run to the right.

    Args:
        connection: the chosen one, which stands on a wash; "" = the one that costs most.

    Raises:
        NotMeasured: without rows of that checkpoint.
    """
    rows = measured_connections(frame, step=step)
    at, base = nearest_measured(rows, length), nearest_measured(rows, trained)
    effects, nodes = effects_at(rows, at)
    edges = _edges(rows, at, base)
    chosen = connection if connection in effects else strongest(effects)
    extent = _extent(rows, base)
    layers, heads, mlps = size_of(effects)
    where = places(layers, heads, mlps)
    bottom = heads + (0.15 if mlps else -1) + 0.85
    accuracy, significant = accuracy_there(rows, at), sum(item.here.shown for item in edges)
    alt = join_with_dots(_silent(effects, edges), _left_to_lose(nodes, effects_at(rows, base)[1], at == base))
    drawing = blank(
        look,
        column="sequence",
        xaxis={"range": [-0.7, where[Component("unembedding")][0] + 0.7], "visible": False},
        yaxis={"range": [bottom, -1.1], "visible": False},
        meta={
            "title": "Circuit graph",
            "slice": join_with_dots(
                f"length {whole(at)} ({multiple(at / trained)} \u00d7 N)",
                "" if accuracy is None else f"accuracy {proportion(accuracy)}",
                f"{significant} of {len(effects)} connections shown",
            ),
            "alt": _alt(edges, at, step, alt),
            "n": next(iter(effects.values())).row["n"],
            "pick": True,
        },
        uirevision=f"{run_name(data)}/circuit_graph",
    )
    drawing.update_layout(margin={"l": 8, "r": 76, "t": 10, "b": 22})
    middle = (heads - 1) / 2
    for edge in sorted(edges, key=lambda item: abs(item.here.value)):
        draw_edge(drawing, edge, where, middle, extent, look.theme, edge.name == chosen)
    draw_nodes(drawing, where, nodes, look, NODE[1] if heads <= 4 else NODE[0])
    name_columns(drawing, where, look)
    draw_legend(drawing, extent, look)
    drawing.add_annotation(
        x=0, xref="paper", xanchor="left", y=0, yref="paper", yanchor="top", yshift=-4,
        text=alt,
        font={"size": look.size, "color": TOKENS[look.theme]["ink3"]}, name="not drawn",
    )  # fmt: skip
    return drawing


def _edges(rows: Frame, at: int, base: int) -> list[CircuitEdge]:
    """The connections that are drawn: shown at this length, or at N."""
    return drawn_edges(effects_at(rows, at)[0], effects_at(rows, base)[0])


def drawn_edges(
    here: Mapping[str, Effect], trained: Mapping[str, Effect], noun: str = "accuracy drop"
) -> list[CircuitEdge]:
    """Return the connections that are significant here or at N."""
    return [
        CircuitEdge(name, one, trained[name], noun)
        for name, one in here.items()
        if name in trained and (one.shown or trained[name].shown)
    ]


def _extent(rows: Frame, base: int) -> float:
    """The largest change at any length, so that colours do not change with the selected length."""
    return largest_change([edge for n in measured_lengths(rows) for edge in _edges(rows, n, base)])


def largest_change(edges: Sequence[CircuitEdge]) -> float:
    """Return the change since N at which the colours end."""
    return max([LEAST_RANGE, *(abs(edge.change) for edge in edges)])


def size_of(effects: Mapping[str, Effect]) -> tuple[int, int, bool]:
    """Layers, heads of each, and whether there are MLPs."""
    nodes = [Connection.from_name(name).receiver for name in effects]
    heads = [(one.layer, one.head) for one in nodes if one.layer is not None and one.head is not None]
    mlps = any(one.kind == "MLP" for one in nodes)
    return max(layer for layer, _ in heads) + 1, max(head for _, head in heads) + 1, mlps


def change_colours(theme: Theme) -> ColourMap:
    """The ends of the difference map about a grey that a thin line can be seen in."""
    colours = DIFFERENCE[theme]
    return ((0.0, colours[0][1]), (0.5, TOKENS[theme]["line2"]), (1.0, colours[-1][1]))


def draw_edge(
    made: Drawing,
    edge: CircuitEdge,
    where: Mapping[Component, tuple[float, float]],
    middle: float,
    extent: float,
    theme: Theme,
    chosen: bool,
    pale: bool = False,
) -> None:
    """Draw a connection; ``pale``: faint, because none of its ends is pinned."""
    ends = Connection.from_name(edge.name)
    x, y = curve(where[ends.sender], where[ends.receiver], middle)
    width = WIDTH[0] + (WIDTH[1] - WIDTH[0]) * min(1.0, abs(edge.here.value)) if edge.here.shown else WIDTH[0]
    dash = FADED if not edge.here.shown else HELPING if edge.here.value < 0 else "solid"
    if chosen:
        wash = {"color": rgba(TOKENS[theme]["ink"], 0.16), "width": width + 9}
        made.add_scatter(x=x, y=y, mode="lines", line=wash, hoverinfo="skip", name="chosen")
    made.add_scatter(
        x=x,
        y=y,
        mode="lines",
        line={
            "color": colour_at(change_colours(theme), 0.5 + edge.change / (2 * extent)),
            "width": width,
            "dash": dash,
        },
        opacity=0.18 if pale else 1,
        hovertext=[_hover(edge)] * len(x),
        hoverinfo="text",
        customdata=[edge.name] * len(x),
        name=edge.name,
    )


def _hover(edge: CircuitEdge) -> str:
    ends = Connection.from_name(edge.name)
    lines = [f"{_long(ends.sender)} \u2192 {_long(ends.receiver)}", f"{edge.noun} without it <b>{edge.here.text}</b>"]
    if edge.here.row["length"] != edge.trained.row["length"]:
        lines.append(f"at N {proportion(edge.trained.value, 3)}, change {signed_number(edge.change, 3)}")
    if not edge.here.shown:
        why = "no more than its control" if edge.here.costs else "not significant"
        lines.append(f"shown at N; here {why}")
    return "<br>".join(lines)


def _long(one: Component) -> str:
    if one.kind == "head":
        return head_name(int(one.layer or 0), int(one.head or 0))
    return f"MLP {one.layer}" if one.kind == "MLP" else one.kind


def draw_nodes(
    made: Drawing,
    where: Mapping[Component, tuple[float, float]],
    nodes: Mapping[str, Effect],
    look: Look,
    pixels: int,
    noun: str = "accuracy drop",
    pinned: Collection[str] = (),
) -> None:
    """Draw the components; those that are pinned have a thick edge."""
    t, mlp = TOKENS[look.theme], "MLP" if pixels >= NODE[1] else "M"
    fills, inks, texts, hovers = [], [], [], []
    for node in where:
        effect = nodes.get(node.name)
        costs = effect is not None and effect.shown and effect.value > 0
        fill, ink = (
            cell_colours(effect.value, look.theme) if costs and effect is not None else (t["surface"], t["ink2"])
        )
        fills.append(fill)
        inks.append(ink)
        texts.append(f"H{node.head}" if node.kind == "head" else mlp if node.kind == "MLP" else "")
        lost = "" if effect is None else f"<br>{noun} without it <b>{effect.text}</b>"
        hovers.append(f"{_long(node)}{lost}")
    made.add_scatter(
        x=[x for x, _ in where.values()],
        y=[y for _, y in where.values()],
        mode="markers+text",
        marker={
            "size": [pixels if node.kind == "head" else round(1.15 * pixels) for node in where],
            "symbol": ["circle" if node.kind == "head" else "square" for node in where],
            "color": fills,
            "line": {
                "color": [t["ink"] if node.name in pinned else t["line2"] for node in where],
                "width": [3 if node.name in pinned else 1.2 for node in where],
            },
            "opacity": 1,
        },
        customdata=[f"pin:{node.name}" for node in where],
        text=texts,
        textfont={"size": look.size, "color": inks},
        textposition="middle center",
        hovertext=hovers,
        hoverinfo="text",
        name="components",
    )


def name_columns(made: Drawing, where: Mapping[Component, tuple[float, float]], look: Look) -> None:
    """Layers above their heads, and the two ends above their nodes."""
    font = {"size": look.size, "color": TOKENS[look.theme]["ink3"]}
    tops = {one.layer: x for one, (x, _) in where.items() if one.kind == "head"}
    for layer, x in tops.items():
        made.add_annotation(x=x, y=-1.05, yanchor="top", text=f"layer {layer}", font=font, name="layer")
    for one, text in ((Component("embedding"), "embed"), (Component("unembedding"), "unembed")):
        x, y = where[one]  # above, for edges come from the side and from MLPs below
        made.add_annotation(x=x, y=y, yshift=24, yanchor="middle", text=text, font=font, name="end")


def draw_legend(made: Drawing, extent: float, look: Look) -> None:
    """A bar of the colours; plotly hangs it on a trace, which shows nothing."""
    made.add_scatter(
        x=[None],
        y=[None],
        mode="markers",
        marker={
            "color": [0],
            "cmin": -extent,
            "cmax": extent,
            "colorscale": plotly_scale(change_colours(look.theme)),
            "showscale": True,
            "colorbar": colorbar(
                look, [-extent, 0, extent], [f"{signed_number(-extent)}", "as at N", f"{signed_number(extent)}"]
            ),
        },
        hoverinfo="skip",
        name="legend",
    )


def _silent(effects: Mapping[str, Effect], edges: list[CircuitEdge]) -> str:
    """How many connections are not drawn, and why."""
    drawn = {one.name for one in edges}
    left = [one for name, one in effects.items() if name not in drawn]
    control = sum(one.costs for one in left)
    why = [f"{whole(len(left) - control)} do not lower accuracy significantly"] if len(left) > control else []
    why += [f"{whole(control)} lower accuracy no more than their control"] if control else []
    return f"Not drawn: {', '.join(why)}" if why else "All connections are drawn"


def _left_to_lose(here: Mapping[str, Effect], trained: Mapping[str, Effect], same: bool) -> str:
    """What is lost without any input, with which every edge is to be compared: past N there may be less to lose."""
    name = Component("embedding").name
    if name not in here or name not in trained:
        return ""
    before = "" if same else f" (at N {proportion(trained[name].value)})"
    return f"all input cut costs {proportion(here[name].value)}{before}"


def _alt(edges: list[CircuitEdge], at: int, step: int, told: str) -> str:
    shown = sorted((one for one in edges if one.here.shown), key=lambda one: -abs(one.here.value))
    listing = "; ".join(
        f"{one.name} {proportion(one.here.value)} ({signed_number(one.change)} against N)" for one in shown[:12]
    )
    lost = [one.name for one in edges if not one.here.shown]
    gone = f". Shown at N, not here: {', '.join(lost)}" if lost else ""
    return (
        f"Accuracy drop without each connection at length {whole(at)}, step {whole(step)}: "
        f"{listing or 'none is shown'}{gone}. {told}"
    )
