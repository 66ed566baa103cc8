"""Small curves as SVG, for use as CSS masks: they take the theme's colour without being redrawn."""

from __future__ import annotations

import math
from collections.abc import Sequence
from urllib.parse import quote

from workbench.figures.offered import register_public


@register_public
def spark_path(
    values: Sequence[float | None],
    low: float,
    high: float,
    width: float,
    height: float,
    x: Sequence[float] | None = None,
    inset: float = 1.0,
) -> str:
    """Return the ``d`` attribute of an SVG path through ``values``, broken at missing values.

    Args:
        values: one per point; None or NaN leaves a gap.
        low: value at the bottom edge.
        high: value at the top edge; values outside are clipped.
        width: the width of the drawing.
        height: the height of the drawing.
        x: positions of the points, 0 to 1 (evenly spaced if None).
        inset: margin at top and bottom for the line's own width.

    Raises:
        ValueError: for an empty range, or if ``x`` and ``values`` differ in number.
    """
    if not high > low:
        raise ValueError(f"a sparkline needs low < high, not {low} and {high}")
    if x is not None and len(x) != len(values):
        raise ValueError(f"{len(values)} values but {len(x)} x positions")
    count = len(values)
    parts: list[str] = []
    drawing = False
    for i, value in enumerate(values):
        if value is None or math.isnan(value):
            drawing = False
            continue
        across = x[i] if x is not None else (i / (count - 1) if count > 1 else 0.5)
        up = (min(high, max(low, value)) - low) / (high - low)
        point = f"{across * width:.2f} {inset + (1 - up) * (height - 2 * inset):.2f}"
        last = i + 1 == count or values[i + 1] is None or math.isnan(values[i + 1] or 0.0)
        # a lone point becomes a zero-length line, which a round cap turns into a dot
        parts.append(f"L{point}" if drawing else f"M{point}" + (f"L{point}" if last else ""))
        drawing = True
    return "".join(parts)


@register_public
def spark_svg(
    values: Sequence[float | None],
    low: float,
    high: float,
    width: float,
    height: float,
    x: Sequence[float] | None = None,
    stroke: float = 1.5,
    dash: str = "",
) -> str:
    """Return a curve as a ``data:image/svg+xml`` address. It stretches to its box with an even line width.

    Args:
        values, low, high, width, height, x: as in :func:`spark_path`.
        stroke: line width, pixels.
        dash: SVG ``stroke-dasharray``, empty for a solid line.
    """
    path = spark_path(values, low, high, width, height, x, inset=stroke / 2)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:g}" height="{height:g}" '
        f'viewBox="0 0 {width:g} {height:g}" preserveAspectRatio="none">'
        f'<path d="{path}" fill="none" stroke="#000" stroke-width="{stroke:g}" stroke-linecap="round" '
        f'stroke-linejoin="round" vector-effect="non-scaling-stroke"{dashed}/></svg>'
    )
    return "data:image/svg+xml," + quote(svg, safe="/:=, ")
