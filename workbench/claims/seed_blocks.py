"""The seeds of a claim as a line of blocks for the terminal: each as high as its value, next to the claimed range."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.claims.claim import Claim, Condition, Row

BLOCKS = "▁▂▃▄▅▆▇█"
MOST_LINES = 8
"""Lines of a claim: of more parts the first are shown."""


def block_lines(claim: Claim, rows: Sequence[Row]) -> list[str]:
    """A line for each item and condition whose rows are of single seeds; none where there are no such rows.

    Args:
        claim: the claim whose thresholds are shown.
        rows: its reduced rows.
    """
    lines = []
    for condition in claim.conditions:
        own = [row for row in rows if row.quantity == condition.quantity and (row.run or row.each)]
        for item in dict.fromkeys(row.item for row in own):
            of_item = [row for row in own if row.item == item]
            enter = [row for row in of_item if row.each or row.fitted or claim.exempt]
            values = [value for row in enter for value in (row.each or (row.value,))]
            lines.append(_line(condition, item, values, of_item[0].expected))
    more = len(lines) - MOST_LINES
    return [*lines[:MOST_LINES], *([f"and {more} more, in the page of its suite"] if more > 0 else [])]


def _line(condition: Condition, item: str, values: Sequence[float], expected: float | None) -> str:
    """The seeds of one item; they stand in the order of their values, a bar before those on the claim's side."""
    title = f"{condition}, {item}" if item else str(condition)
    if not values:
        return f"{title}: no fitted seed"
    on_side = sorted(v for v in values if condition.side(v, v, expected) == "holds")
    others = sorted(v for v in values if condition.side(v, v, expected) != "holds")
    low, high = min(0.0, *values), max(1.0, *values)
    drawn = ["".join(_block(value, low, high) for value in group) for group in (others, on_side)]
    least, greatest = f"{min(values):.3g}", f"{max(values):.3g}"
    span = least if least == greatest else f"{least} to {greatest}"
    return f"{title}: {drawn[0]}│{drawn[1]}  {len(on_side)} of {len(values)} seeds on its side; values {span}"


def _block(value: float, low: float, high: float) -> str:
    place = (value - low) / (high - low) * (len(BLOCKS) - 1)
    return BLOCKS[min(len(BLOCKS) - 1, max(0, round(place)))]
