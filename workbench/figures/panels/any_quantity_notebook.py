"""A quantity of any measurement over what it varies with: prefix length, layer and site, or heads."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go

from workbench.figures.errors import NotMeasured
from workbench.figures.export.titled_figure import TitledFigure
from workbench.figures.look import Look, with_look
from workbench.figures.offered import register_public
from workbench.figures.rows.frame import Frame, Rows, missing, unique
from workbench.figures.rows.select_rows import rows_with_values
from workbench.figures.style.design_tokens import TOKENS
from workbench.models.base.graph import head_name
from workbench.table.schema import IDENTIFYING, WHOLE

_GREY = ("random donor", "output summary")


@register_public
def causes(
    frame: Rows,
    measurement: str,
    quantity: str,
    *,
    trained: float | None = None,
    **where: Any,
) -> go.Figure:
    """The rows of one quantity, drawn over locations if they name any, else over length, else over heads.

    Args:
        frame: rows of the table.
        measurement, quantity: which ones.
        trained: longest training length, drawn as a line where the axis is length.
        where: column values that rows must have; ``theme``, ``size`` or ``look`` set how the figure looks.

    Raises:
        NotMeasured: without a row that has a value there.
    """
    where = with_look(where)
    look: Look = where.pop("look")
    rows = Frame.of(frame).where(measurement=measurement, quantity=quantity, **where)
    rows = rows_with_values(rows)
    if not len(rows):
        raise NotMeasured(measurement, f"{measurement} has no value of {quantity} in these rows.")
    along = _axis(rows)
    t = TOKENS[look.theme]
    figure = TitledFigure()
    # A category that appears late in one line would otherwise be put at the end of the axis.
    order = list(dict.fromkeys(_places(rows, along)))
    for name, part in _series(rows, along):
        grey = any(word in name for word in _GREY)
        part = part.sort(along) if along in ("length", "step") else part
        figure.add_scatter(
            x=_places(part, along),
            y=part["value"].astype(float),
            error_y=_bars(part, t["line2"] if grey else None),
            mode="lines+markers",
            name=name,
            line={"color": t["line2"]} if grey else {},
            hovertext=part["note"].tolist(),
        )
    if along == "length" and trained is not None:
        figure.add_vline(x=trained, line={"color": t["train"], "dash": "dot"})
    figure.update_layout(
        font={"size": look.size, "color": t["ink"]},
        paper_bgcolor=t["surface"],
        plot_bgcolor=t["surface"],
        title={"text": f"{quantity.replace('_', ' ')} ({measurement})"},
        xaxis={"title": {"text": along}, "gridcolor": t["grid"]},
        yaxis={"title": {"text": quantity.replace("_", " ")}, "gridcolor": t["grid"]},
        showlegend=len(figure.data) > 1,
    )
    if along == "length":
        figure.update_xaxes(type="log")
    elif along in ("site", "head"):
        figure.update_xaxes(type="category", categoryorder="array", categoryarray=order)
    return figure


def _axis(rows: Frame) -> str:
    if len(unique(rows["site"])) > 1:
        return "site"
    for column in ("step", "length"):
        if len(unique(rows[column])) > 1:
            return column
    return "head"


def _places(rows: Frame, along: str) -> list[Any]:
    if along == "site":
        return [str(site).removeprefix("blocks.").replace("hook_", "") for site in rows["site"]]
    if along == "head":
        return [_head(row) for row in rows.rows()]
    return [float(v) for v in rows[along]]


def _head(row: Mapping[str, Any]) -> str:
    if missing(row["layer"]):
        return str(row["target"] or "all")
    return f"layer {int(row['layer'])}" if missing(row["head"]) else head_name(int(row["layer"]), int(row["head"]))


def _series(rows: Frame, along: str) -> list[tuple[str, Frame]]:
    """Lines: rows that differ in nothing but what the axis shows."""
    taken = {"site": ("site", "layer"), "head": ("layer", "head")}.get(along, (along,))
    by = [c for c in IDENTIFYING if c in rows and c not in taken and len(unique(rows[c])) > 1]
    if not by:
        return [("", rows)]
    return [(_name(by, key), part) for key, part in rows.group(*by)]


def _name(by: list[str], key: tuple[Any, ...]) -> str:
    values = dict(zip(by, key, strict=True))
    parts = []
    for column, value in values.items():
        if column == "head" and not missing(value):
            layer = values.get("layer")
            parts.append(f"h{int(value)}" if layer is None or missing(layer) else head_name(int(layer), int(value)))
        elif column == "layer" and ("head" not in values or missing(values["head"])):
            parts.append("all layers" if missing(value) else f"layer {int(value)}")
        elif column == "length":
            parts.append(f"at {int(value)}" if not missing(value) else "")
        elif column != "layer" and not missing(value):
            parts.append(f"{column} {int(value)}" if column in WHOLE and column != "head" else str(value))
    return ", ".join(part for part in parts if part) or "measured"


def _bars(part: Frame, colour: str | None) -> dict[str, Any]:
    low, value, high = (part[name].astype(float) for name in ("low", "value", "high"))
    above, below = np.nan_to_num(high - value), np.nan_to_num(value - low)
    bars: dict[str, Any] = {"type": "data", "array": above, "arrayminus": below, "symmetric": False, "thickness": 1}
    return bars | ({"color": colour} if colour else {})
