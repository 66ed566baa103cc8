"""Strips of dots inside the cells of a diagram: every run of a cell at its own value, on one scale in all cells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from workbench.figures.style.design_tokens import rgba
from workbench.figures.style.plain_figure import Drawing

WIDTH, HEIGHT = 684, 484
"""Plot area that strips are laid out for, pixels."""
DOT = 6
"""Diameter, pixels."""
MOST_DOTS, MOST_LINES, MOST_COLUMNS = 1500, 16, 24
"""Beyond so many dots a browser draws slowly; in more lines or columns the dots of a cell have no room."""
SIDE, FOOT = 0.42, -0.34
"""Half of a strip's length and its height in its cell, whose centre is 0 and whose sides are 1 long."""
FAINT = 0.35
"""Opacity of the line that dots stand on."""
LIFT = 0.17
"""How far the number of a cell stands above the centre, where dots stand below it."""


@dataclass(frozen=True)
class Dot:
    """One run in its cell.

    Attributes:
        run: its name, which a click is answered by.
        column: the column of its cell.
        line: the line of its cell.
        share: where its value lies between the lowest and the highest colour, 0 to 1.
        colour: ``#RRGGBB``.
        hollow: whether it is an open circle.
        text: on hover.
    """

    run: str
    column: int
    line: int
    share: float
    colour: str
    hollow: bool
    text: str


def have_room(dots: int, lines: int, columns: int) -> bool:
    """Whether strips of so many dots can be drawn in so many cells."""
    return 0 < dots <= MOST_DOTS and lines <= MOST_LINES and columns <= MOST_COLUMNS


def add_strips(figure: Drawing, dots: Sequence[Dot], lines: int, columns: int) -> None:
    """Draw the dots as one trace; dots that would hide each other are stacked as far as the cell allows."""
    _add_scales(figure, dots)
    gap, step = DOT * columns / WIDTH, DOT * lines / HEIGHT
    levels = max(1, int(-FOOT / step) + 1)
    last: dict[tuple[int, int, int], float] = {}
    xs, ys = [], []
    ordered = sorted(dots, key=lambda dot: (dot.line, dot.column, dot.share, dot.run))
    for dot in ordered:
        x = dot.column - SIDE + 2 * SIDE * min(1.0, max(0.0, dot.share))
        free = (k for k in range(levels) if x - last.get((dot.line, dot.column, k), -1.0) >= gap)
        level = next(free, 0)
        last[dot.line, dot.column, level] = x
        xs.append(x)
        ys.append(dot.line + FOOT + level * step)
    figure.add_scatter(
        x=xs,
        y=ys,
        mode="markers",
        marker={
            "size": DOT,
            "color": [dot.colour for dot in ordered],
            "symbol": ["circle-open" if dot.hollow else "circle" for dot in ordered],
            "line": {"width": [1.4 if dot.hollow else 0 for dot in ordered]},
        },
        customdata=[dot.run for dot in ordered],
        hovertext=[dot.text for dot in ordered],
        hoverinfo="text",
        name="runs",
    )


def _add_scales(figure: Drawing, dots: Sequence[Dot]) -> None:
    """Under the dots of each cell a faint line from the lowest to the highest value."""
    for colour in sorted({dot.colour for dot in dots}):
        xs: list[float | None] = []
        ys: list[float | None] = []
        for column, line in sorted({(dot.column, dot.line) for dot in dots if dot.colour == colour}):
            xs += [column - SIDE, column + SIDE, None]
            ys += [line + FOOT, line + FOOT, None]
        line_of = {"color": rgba(colour, FAINT), "width": 1}
        figure.add_scatter(x=xs, y=ys, mode="lines", line=line_of, hoverinfo="skip", name="scale")
