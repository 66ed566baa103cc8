"""Sentences of the Run page in place of attention, for a model that has none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.names import EFFECTIVE_ATTENTION
from workbench.figures.heads.head_curves import MEASUREMENT as HARDMAX
from workbench.figures.labels import Piece, magnitude
from workbench.figures.rows.claims import Claim, cite, count, plain
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import nearest, rows_with_values

SCAN = EFFECTIVE_ATTENTION
Row = Mapping[str, Any]


def without_attention(frame: Frame) -> bool:
    """Whether the model has no attention: the rows of that measurement exist and do not apply."""
    rows = frame.where(measurement=HARDMAX)
    return len(rows) > 0 and bool((rows["status"] == "not_applicable").all())


def scan_text(frame: Frame, step: int, trained: float | None) -> list[Piece]:
    """How far the scan looks back, as the median over its channels, at N and at the longest length measured.

    The median is taken at each length separately, so the two values may belong to different channels.

    Args:
        frame: rows of one run, of a model without attention.
        step: the selected training step.
        trained: N; without it the shortest measured length stands in its place.

    Returns:
        sentences; only that there is no attention, where the scan is not measured.
    """
    none = plain("This model has no attention.")
    rows = rows_with_values(frame.where(measurement=SCAN, quantity="scan_locality", step=step)).rows()
    lengths = sorted({int(row["length"]) for row in rows})
    if not lengths:
        return [none]
    ends = (min(lengths) if trained is None else nearest(lengths, trained), lengths[-1])
    near, far = (_median([row for row in rows if row["length"] == length]) for length in ends)
    told: list[Piece] = [_tokens(near), count(near, "length", " tokens at length ")]
    if ends[0] != ends[1]:
        told += [plain(" and "), _tokens(far), count(far, "length", " at length ")]
    return [none, plain(" The scan looks back, as the median over its channels, "), *told, plain(".")]


def _median(rows: Sequence[Row]) -> Row:
    """The row of the median channel; of an even number the lower one."""
    return sorted(rows, key=lambda row: float(row["value"]))[(len(rows) - 1) // 2]


def _tokens(row: Row) -> Claim:
    text = magnitude(float(row["value"]))
    return Claim(text, "plain", [cite(row, "value", text)])
