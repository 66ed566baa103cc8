"""All heads at the selection as buttons: value, colour by value, and a small curve over prefix length."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from dash import html

from workbench import figures
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.figures.heads.head_map import head_cells
from workbench.figures.labels import interval, whole
from workbench.figures.look import Theme
from workbench.figures.rows.diagnosis_rows import failure_head
from workbench.figures.rows.frame import missing
from workbench.figures.style.design_tokens import cell_colours, difference_colours
from workbench.figures.style.sparklines import spark_svg
from workbench.figures.style.template import u_length
from workbench.models.base.graph import head_name

CURVES, NUMBERS = (4, 6), (7, 8)
"""Grid sizes (layers, heads) up to which a cell has room for a number and a curve, and for only a number.

They are computed for the smallest panel. Cells of larger grids are only colours and show the rest on hover and focus.
"""
LABELS = 8
"""The largest number of names next to the rows, and above the columns, of a grid of colours."""


def cells(panel: Panel, at: PanelCursor, theme: Theme) -> tuple[list[Any], dict[str, str], str]:
    """The buttons, the grid's style, and the slice text.

    Raises:
        NotMeasured: without rows at the selection.
    """
    place = panel.place(at)
    frames = [source.frame for source in panel.sources(at)]
    where = {name: value for name, value in panel.arguments(at).items() if name not in ("layer", "head")}
    alone = len(frames) == 1
    grid = head_cells(*frames, **where) if alone else figures.head_grid_difference(*frames, **where).rows()
    site = failure_head(place.run.frame, step=place.cursor.step) if alone else None
    chosen = (place.cursor.layer, place.cursor.head)
    by_place = {(int(r["layer"]), int(r["head"])): r for r in grid}
    layers, heads = (sorted({at[axis] for at in by_place}) for axis in (0, 1))
    size = (len(layers), len(heads))
    children: list[Any] = [html.Span(className="corner")]
    children += [html.Span(_label("head", h, heads, size), className="head-name num") for h in heads]
    for layer in layers:
        children.append(html.Span(_label("layer", layer, layers, size), className="layer-name num"))
        for head in heads:
            row = by_place.get((layer, head))
            made = html.Span() if row is None else _cell(row, (layer, head) == chosen, theme, size, site)
            children.append(made)
    style = {
        "gridTemplateColumns": f"max-content repeat({len(heads)}, minmax(0, 1fr))",
        "gridTemplateRows": f"max-content repeat({len(layers)}, minmax(0, 1fr))",
        "gap": "4px" if _fits(size, CURVES) else "2px" if _fits(size, NUMBERS) else "1px",
    }
    marked = "line: length" if site is None else "line: length \u00b7 red: first goes wrong"
    return children, style, marked if alone else "same layer and head"


def _fits(size: tuple[int, int], most: tuple[int, int]) -> bool:
    """Whether a grid of so many layers and heads is at most so large."""
    return all(count <= limit for count, limit in zip(size, most, strict=True))


def _label(noun: str, index: int, every: Sequence[int], size: tuple[int, int]) -> str:
    """The name of a row or column; large grids show only numbers, and not all of them."""
    if _fits(size, CURVES):
        return f"{noun} {index}"
    return str(index) if every.index(index) % -(-len(every) // LABELS) == 0 else ""


def _cell(
    row: dict[str, Any], chosen: bool, theme: Theme, size: tuple[int, int], site: tuple[int, int, str] | None
) -> html.Button:
    name = head_name(int(row["layer"]), int(row["head"]))
    defined = not missing(row["share"])
    signed = "curve_a" in row
    colours = difference_colours if signed else cell_colours
    fill, ink = colours(float(row["share"]), theme) if defined else ("var(--sunken)", "var(--ink3)")
    description = f"{name}: hardmax distance {row['text']}" + (", A \u2212 B" if signed else _limits(row))
    broken = site is not None and site[:2] == (int(row["layer"]), int(row["head"]))
    if broken and site is not None:
        description += f"; past N it first goes wrong here: {site[2]}"
    counted = not signed and not missing(row["n"])
    return html.Button(
        [
            *([html.Span(row["text"], className="num")] if _fits(size, NUMBERS) else []),
            *([html.Span(className="curve", style=_curve(row))] if _fits(size, CURVES) and not signed else []),
        ],
        type="button",
        title=f"{description}, n {whole(row['n'])}" if counted else description,
        className=" ".join(["on"] * chosen + ["site"] * broken + ["low"] * (not _fits(size, CURVES))),
        style={"background": fill, "color": ink},
        **{
            "aria-label": description,
            "aria-pressed": "true" if chosen else "false",
            "data-pick-head": f"{int(row['layer'])}.{int(row['head'])}",
        },
    )


def _limits(row: Mapping[str, Any]) -> str:
    """The interval, and what is wrong with the value where something is."""
    note = f" {row['status']}: {row['note']}" if row["status"] != "ok" else ""
    return f" {interval(row['low'], row['high'], 3)}{note}".rstrip()


def _curve(row: dict[str, Any]) -> dict[str, str]:
    lengths, curve = [float(n) for n in row["lengths"]], [float(v) for v in row["curve"]]
    if len(lengths) < 2 or all(math.isnan(v) for v in curve):
        return {"visibility": "hidden"}
    low, high = u_length(lengths[0]), u_length(lengths[-1])
    x = [(u_length(n) - low) / (high - low) for n in lengths]
    url = f'url("{spark_svg(curve, 0, 1, 120, 22, x=x, stroke=1.4)}")'
    return {"maskImage": url, "WebkitMaskImage": url}
