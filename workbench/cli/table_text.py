"""Plain text in columns, for output that is piped or read line by line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def align_columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return one line of text per row, with cells padded to the width of their column and two spaces between
    columns.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, in the plural unless the number is 1.

    Example:

        >>> count_of(1, "run"), count_of(2000, "run"), count_of(3, "pass")
        ('1 run', '2,000 runs', '3 passes')
    """
    plural = f"{noun}es" if noun.endswith("s") else f"{noun}s"
    return f"{number:,} {noun if number == 1 else plural}"


def on_one_line(console: Console, line: str, style: str = "") -> None:
    """Print a line without breaking it, so that it can be copied."""
    console.print(line, style=style, highlight=False, markup=False, soft_wrap=True)
