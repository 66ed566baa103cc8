"""What does it carry? Decodability of the task state (summary) and of position, over training, length and depth.

Task state: balanced accuracy of a linear probe, or R^2 if the task state is a real number. Position: R^2 for the
logarithm of the position. ``transfer`` probes are fitted at trained lengths and frozen, ``refit`` ones are fitted again
at each length. For the task state the question is whether one code serves all lengths: transfer. Positions past
training lie outside everything a frozen probe was fitted on, so for position the question is whether it can be decoded
at all: refit. R^2 is unbounded below; it is drawn clipped to 0..1, and tooltips show the value.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.names import LOG_POSITION, OUTPUT_SUMMARY
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import layer_name, over_axis, sample_size, whole
from workbench.figures.look import LIGHT, Look, Theme
from workbench.figures.registry import figure, lines
from workbench.figures.rows.frame import Frame, present
from workbench.figures.rows.select_rows import (
    axis_at,
    cells,
    highest,
    refuse_empty,
    run_name,
    select,
    sites,
    smallest_n,
    stack,
    telling,
    tidy,
)
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import Cursor, add_training, drawn_points, hovers
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import LineStyle, alt_text, series_figure
from workbench.figures.style.template import DASH, DOTS, UNIT, blank, unit_axis

#: concept -> (measurement, quantity, target, marker)
CONCEPTS: dict[str, tuple[str, str, str, str]] = {
    "summary": ("probes.summary", "summary_decodability", OUTPUT_SUMMARY, "circle"),
    "position": ("probes.position", "position_decodability", LOG_POSITION, "diamond"),
}
#: concept -> the mode that answers its question
MODE = {"summary": "transfer", "position": "refit"}
CLIP = UNIT
#: Markers further apart than this leave room for both names side by side.
_ONE_MARKER = 0.04
"""Values that differ by less are drawn a little above and below their layer: the markers would hide each other."""
_ASIDE = 0.14
"""How far, in layers."""
_NAMES_APART = 0.35
#: Layer names that fit above one another.
_MOST_LAYER_NAMES = 7


def probe_rows(frame: Frame, concept: str, **where: Any) -> Frame:
    """Return how well one quantity (``summary``, the task state, or ``position``) is decoded, in the embedding and
    after each block.

    Positions between attention and MLP of a block are left out, so that each layer has one. May be empty.
    """
    rows = frame.where(**_probe(concept), **where)
    return rows.where(~sites(rows, "hook_resid_mid"))


def _probe(concept: str) -> dict[str, str]:
    """What picks the rows of one concept's decodability."""
    measurement, quantity, target, _ = CONCEPTS[concept]
    return {"measurement": measurement, "quantity": quantity, "target": target, "law": "matched"}


def last_layer(frame: Frame) -> int:
    """The last layer the probes read.

    Raises:
        NotMeasured: without rows of either probe.
    """
    layers = probe_layers(frame)
    if not len(layers):
        raise NotMeasured("probes.summary", "No rows of probes.summary or probes.position for this run.")
    return int(layers.max())


def probe_layers(frame: Frame) -> NDArray[np.float64]:
    """The layer of every row of either probe."""
    return frame.cache(
        "probe layers", lambda: np.concatenate([cells(frame, "layer", **_probe(concept)) for concept in CONCEPTS])
    )


def decodability_rows(
    frame: Frame, *, step: int | None = None, length: int | None = None, layer: int | None = None
) -> Frame:
    """Return decodability in one layer (None = the last), over prefix length at one step or over training at one
    length.

    Series: ``summary`` (transfer), ``summary, refit``, ``position`` (refit), and ``controls``, at each
    place the highest of all controls of both concepts.
    """
    along, where = axis_at(step, length)
    where |= {"layer": last_layer(frame) if layer is None else layer}
    readings, refit, controls = [], [], []
    for concept in CONCEPTS:
        rows = probe_rows(frame, concept, **where)
        plain = rows.where(control="")
        readings.append(tidy(plain.where(mode=MODE[concept]), concept, along))
        if MODE[concept] != "refit":
            refit.append(tidy(plain.where(mode="refit"), f"{concept}, refit", along))
        controls.append(rows.where(rows["control"] != ""))
    if not any(len(part) for part in readings):
        return _missing(frame, **where)
    refuse_empty(stack(readings), "Decodability")
    return stack([*readings, *refit, tidy(highest(stack(controls), along), "controls", along)])


@lines(rows=decodability_rows)
def decodability_lines(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int | None = None,
    length: int | None = None,
    layer: int | None = None,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Task state and position {over} and layer (None = the last).

    The line of each concept's mode is solid, the refitted task state is dotted, and the highest control is dashed.

    Args:
        layer: the layer of the residual stream; None = the last.

    Raises:
        NotMeasured: without probe rows there.
    """
    t, (along, _) = TOKENS[look.theme], axis_at(step, length)
    layer_index = int(data["layer"][0])
    looks = {"controls": LineStyle(t["control"], 1, DASH, band=False, written=t["ink3"], symbol="")}
    for concept in CONCEPTS:
        looks[f"{concept}, refit"] = LineStyle(t[concept], 1.2, DOTS, band=False, written=None, symbol="")
    for concept, (_, _, _, symbol) in CONCEPTS.items():
        looks[concept] = LineStyle(t[concept], strong=True, symbol=symbol)
    alt = alt_text(data, along, telling(data, along, trained), list(CONCEPTS))
    figure = series_figure(
        frame,
        data,
        along,
        trained=trained,
        looks=looks,
        title="Decodability",
        alt=f"Decodability {over_axis(step, length, trained)}: {alt}",
        place="last layer" if layer_index == last_layer(frame) else layer_name(layer_index),
        look=look,
        cursor=cursor,
    )
    if along == "length":
        avoid = drawn_points(data, along, lambda v: float(np.clip(v, *CLIP)))
        add_training(figure, trained, look, avoid=avoid)
    return figure


decodability_over_training = decodability_lines.over("step")
decodability_over_length = decodability_lines.over("length")


def layer_decodability_rows(frame: Frame, *, step: int, length: int) -> Frame:
    """The rows of :func:`decodability_by_layer`: series ``summary`` (transfer), ``position`` (refit), controls
    (highest)."""
    readings, controls = [], []
    for concept in CONCEPTS:
        rows = probe_rows(frame, concept, step=step, length=length)
        readings.append(tidy(rows.where(mode=MODE[concept], control=""), concept, "layer"))
        controls.append(rows.where(rows["control"] != ""))
    if not any(len(part) for part in readings):
        return _missing(frame, step=step, length=length)
    refuse_empty(stack(readings), "Decodability")
    return stack([*readings, tidy(highest(stack(controls), "layer"), "controls", "layer")])


@figure(rows=layer_decodability_rows)
def decodability_by_layer(
    data: Frame,
    frame: Frame,
    *,
    step: int,
    length: int,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Task state (circle) and position (diamond) after each layer of the residual stream, with whiskers.

    A dashed grey tick marks the highest control of each layer. ``cursor`` is accepted for uniformity and has no effect:
    the figure is at one step and length already.

    Raises:
        NotMeasured: without probe rows at that step and length.
    """
    t = TOKENS[look.theme]
    layers = np.unique(data["layer"].astype(int)).tolist()
    every = -(-len(layers) // _MOST_LAYER_NAMES)
    labelled = [i for i in range(len(layers)) if (len(layers) - 1 - i) % every == 0]
    x_axis = unit_axis() | {"title": {"text": "decodability"}}
    y_axis = {
        "range": [len(layers) - 0.4, -0.6],
        "tickvals": labelled,
        "ticktext": [layer_name(layers[i]) for i in labelled],
        "showgrid": False,
    }
    figure = blank(
        look,
        column="dumbbell",
        xaxis=x_axis,
        yaxis=y_axis,
        meta={
            "title": "By layer",
            "slice": f"residual stream · {sample_size(smallest_n(data))}",
            "alt": f"Decodability by layer at step {whole(step)} and length {whole(length)}, after the last "
            "block: "
            + "; ".join(f"{c} {_at_layer(data, c, layers[-1])}" for c in CONCEPTS if (data["series"] == c).any()),
            "x": {"kind": "value", "low": float(x_axis["range"][0]), "high": float(x_axis["range"][1])},
            "n": smallest_n(data),
        },
        uirevision=f"{run_name(data)}/decodability_by_layer",
    )
    row_of = {layer: i for i, layer in enumerate(layers)}
    _dumbbell_bars(figure, data, row_of, look.theme)
    hidden, aside = _hidden(data), dict(zip(CONCEPTS, (_ASIDE, -_ASIDE), strict=True))
    for concept, (_, _, _, symbol) in CONCEPTS.items():
        rows = data.where(present(data["value"]), series=concept)
        if not len(rows):
            continue
        v, low, high = (np.clip(rows[c].astype(float), *CLIP) for c in ("value", "low", "high"))
        figure.add_scatter(
            x=v,
            y=[row_of[int(k)] + aside[concept] * (int(k) in hidden) for k in rows["layer"]],
            mode="markers",
            marker={"size": 9, "symbol": symbol, "color": t[concept]},
            error_x={
                "type": "data",
                "symmetric": False,
                "array": high - v,
                "arrayminus": v - low,
                "thickness": 1.2,
                "width": 0,
                "color": t[concept],
            },
            hovertext=hovers(rows),
            hoverinfo="text",
            name=concept,
        )
    _dumbbell_names(figure, data, row_of, look)
    return figure


def _missing(frame: Frame, **where: int | None) -> Frame:
    """Raise the error that names what is missing of both probes."""
    last_layer(frame)  # which says it where neither has any row
    measurement, quantity, target, _ = CONCEPTS["summary"]
    return select(frame, measurement, quantity=quantity, target=target, mode="transfer", **where)


def _at_layer(data: Frame, concept: str, layer: int) -> str:
    rows = data.where(present(data["value"]), series=concept, layer=layer)
    return f"{float(rows['value'][0]):.2f}" if len(rows) else "undefined"


def _hidden(data: Frame) -> set[int]:
    """Layers at which one concept's marker would cover the other's."""
    values: dict[int, list[float]] = {}
    for row in data.where(present(data["value"]), series=list(CONCEPTS)).rows():
        values.setdefault(int(row["layer"]), []).append(float(np.clip(row["value"], *CLIP)))
    return {layer for layer, ends in values.items() if len(ends) > 1 and max(ends) - min(ends) < _ONE_MARKER}


def _dumbbell_bars(figure: Drawing, data: Frame, row_of: dict[int, int], theme: Theme) -> None:
    """The bar between both concepts, and the tick of the highest control, per layer."""
    t = TOKENS[theme]
    for layer, y in row_of.items():
        rows = data.where(present(data["value"]), layer=layer, series=list(CONCEPTS))
        ends = np.clip(rows["value"].astype(float), *CLIP)
        if len(ends) == 2:
            figure.add_shape(
                type="line",
                x0=float(ends.min()),
                x1=float(ends.max()),
                y0=y,
                y1=y,
                line={"color": t["line2"], "width": 1.5},
                opacity=0.65,
                layer="below",
            )
    control = data.where(series="controls")
    xs: list[float | None] = []
    ys: list[float | None] = []
    texts: list[str] = []
    for row, text in zip(control.rows(), hovers(control), strict=True):
        x, y = min(max(float(row["value"]), CLIP[0]), CLIP[1]), row_of[int(row["layer"])]
        xs += [x, x, None]
        ys += [y - 0.26, y + 0.26, None]
        texts += [text, text, ""]
    if xs:
        figure.add_scatter(
            x=xs,
            y=ys,
            mode="lines",
            line={"color": t["control"], "width": 1.2, "dash": "3px,2px"},
            hovertext=texts,
            hoverinfo="text",
            name="controls",
        )


def _dumbbell_names(figure: Drawing, data: Frame, row_of: dict[int, int], look: Look) -> None:
    """Names at the markers of the layer where the two concepts are furthest apart (the last such layer).

    Far apart, both stand above their marker; close together, the right one stands below.
    """
    at: dict[int, dict[str, float]] = {}
    for concept in CONCEPTS:
        rows = data.where(present(data["value"]), series=concept)
        for layer, value in zip(rows["layer"], np.clip(rows["value"].astype(float), *CLIP), strict=True):
            at.setdefault(int(layer), {})[concept] = float(value)
    if not at:
        return
    gap = {layer: round(max(values.values()) - min(values.values()), 2) for layer, values in at.items()}
    layer = max(sorted(at), key=lambda one: (gap[one], one))
    for place, (name, x) in enumerate(sorted(at[layer].items(), key=lambda pair: pair[1])):
        below = place == 1 and gap[layer] < _NAMES_APART
        anchor = "left" if x < 0.15 else "right" if x > 0.85 else "center"
        figure.add_annotation(
            x=float(x),
            y=row_of[layer],
            yshift=-14 if below else 14,
            xanchor=anchor,
            xshift={"left": -6, "right": 6, "center": 0}[anchor],
            text=str(name),
            font={"color": TOKENS[look.theme][str(name)], "size": look.size, "weight": 600},
            name="concept",
        )
