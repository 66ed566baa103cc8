"""Colours and counts of the cells of a phase diagram: where the colours begin, and how many runs are scale-robust."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.core.verdicts import SCALE_ROBUST
from workbench.figures.look import Theme
from workbench.figures.rows.frame import Frame
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.plain_figure import Drawing

SAME_CHANCE = 0.02
"""Chance levels that differ by less are the same: a task's moves a little with its lengths."""
MOST_COUNTED = 8
"""Columns or lines of a diagram whose cells have room for a count."""
ROBUST_MARK = "\u2014\u2022"
"""A flat line that ends in a point, as the glyph of the verdict."""
BELOW = -14
"""Pixels from the number of a cell to its count."""


class CellScale(NamedTuple):
    """The values of the lowest and of the highest colour.

    Attributes:
        bottoms: of each cell, the value of its lowest colour.
        top: the value of the highest colour.
        shares: whether the colour bar shows shares from chance to the top, because tasks differ in chance.
    """

    bottoms: Sequence[float]
    top: float
    shares: bool

    def share(self, cell: int, value: float) -> float:
        """Return where a value lies between the lowest and the highest colour of its cell."""
        return (value - self.bottoms[cell]) / (self.top - self.bottoms[cell])

    @property
    def ends(self) -> tuple[float, float]:
        """Return the values, or shares, at both ends of the colour bar."""
        return (0.0, 1.0) if self.shares or not self.bottoms else (min(self.bottoms), self.top)


def cell_scale(data: Frame, bottom: float, top: float, chances: Mapping[str, float] | None) -> CellScale:
    """Return where the colours of each cell begin and end.

    Args:
        data: the cells.
        bottom, top: the range of the colours.
        chances: run -> chance of its task, at which the colours begin; None = they begin at ``bottom``. A run without a
            chance level begins there too.
    """
    if chances is None:
        return CellScale([bottom] * len(data), top, False)
    bottoms = [min(chances.get(run, bottom) for run in runs) for runs in data.attrs["runs"]]
    apart = max(bottoms, default=bottom) - min(bottoms, default=bottom) >= SAME_CHANCE
    same = [min(bottoms)] * len(bottoms) if bottoms and not apart else bottoms
    return CellScale(same, top, apart)


def robust_counts(
    members: Sequence[Sequence[Mapping[str, Any]]], verdicts: Mapping[str, Mapping[int, str]]
) -> dict[str, list[int]]:
    """Return, for each cell, how many of its runs are scale-robust at the step at which they are shown (``robust``),
    and how many have a verdict there (``decided``).
    """
    labels = [[verdicts.get(one["run"], {}).get(int(one["step"]), "") for one in cell] for cell in members]
    return {
        "robust": [sum(label == SCALE_ROBUST for label in cell) for cell in labels],
        "decided": [sum(label != "" for label in cell) for cell in labels],
    }


def count_text(row: Mapping[str, Any]) -> str:
    """Return a cell's count as its tooltip has it; "" without a verdict."""
    if not row.get("decided"):
        return ""
    more = "" if row["decided"] == row["runs"] else f"; {row['runs'] - row['decided']} without a verdict"
    return f"scale-robust at their step: {row['robust']} of {row['decided']}{more}"


def add_count(figure: Drawing, row: Mapping[str, Any], place: tuple[float, float], colour: str, size: int) -> bool:
    """Write below the number of a cell how many of its runs are scale-robust; False if none has a verdict."""
    if not row.get("decided"):
        return False
    figure.add_annotation(
        x=place[0],
        y=place[1],
        yshift=BELOW,
        text=f"{ROBUST_MARK} {row['robust']}/{row['decided']}",
        font={"color": colour, "size": size},
        name="count",
    )
    return True


def muted_colour(theme: Theme) -> str:
    """The colour of a count in a cell without a colour."""
    return TOKENS[theme]["ink3"]
