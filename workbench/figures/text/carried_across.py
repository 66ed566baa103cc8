"""Why a run keeps working past its training length: the code of the task state that longer prefixes still read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.core.thresholds import NAMING_SHARE
from workbench.figures.labels import Piece
from workbench.figures.rows.claims import at_length, count, estimate, layer, note, plain, trained_length_clause
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import rows_with_values

MEASUREMENT, QUANTITY, CONTROL = "circuits.interchange", "subspace_interchange_accuracy", "random subspace"
Row = Mapping[str, Any]


class CarriedAcross(NamedTuple):
    """What the code of the task state does when it is copied from a prefix of length N into a longer one.

    Attributes:
        result: what follows, as a sentence.
        evidence: how often the copied code gives the copied answer, as a sentence.
        share: the row of that share.
        control: the row of the same edit with a random subspace of equal rank.
    """

    result: list[Piece]
    evidence: list[Piece]
    share: Row
    control: Row


def carried_across(frame: Frame, *, step: int, longest: float) -> CarriedAcross | None:
    """Return what copying the code of the task state shows, at the longest measured length; None where it shows
    nothing.

    It is the first block whose code gives the copied answer more often than not, and more often than its control.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        longest: N, the longest trained length.
    """
    at = {"measurement": MEASUREMENT, "quantity": QUANTITY, "law": "matched", "step": step, "mode": f"from {longest:g}"}
    rows = rows_with_values(frame.where(**at)).sort("layer").rows()
    lengths = [row["length"] for row in rows if row["length"] > longest]
    here = [row for row in rows if lengths and row["length"] == max(lengths)]
    controls = {row["layer"]: row for row in here if row["control"] == CONTROL}
    for row in here:
        control = controls.get(row["layer"])
        if row["control"] or control is None:
            continue
        if row["low"] >= NAMING_SHARE and row["low"] > control["high"]:
            return CarriedAcross(*_sentences(row, control, longest), row, control)
    return None


def _sentences(row: Row, control: Row, longest: float) -> tuple[list[Piece], list[Piece]]:
    result = [
        at_length(row, longest, "At length "),
        plain(", the model reads the task state in the code of length "),
        trained_length_clause(longest),
        plain("."),
    ]
    edit = [
        plain("If only this code "),
        layer(row),
        note(row, " (", ")"),
        plain(" is copied from a sequence of length "),
        trained_length_clause(longest),
        count(row, "length", " into one of length ", ", the copied answer follows in "),
    ]
    share = [*estimate(row), count(row, "n", " of ", " pairs")]
    return result, [*edit, *share, plain("; with a random subspace in "), *estimate(control), plain(".")]
