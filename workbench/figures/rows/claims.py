"""The pieces of a sentence, together with the rows that their numbers come from.

A sentence is a list of pieces ``(text, role)``. A piece that names a number is a :class:`Claim`. For each number it
also has the row and the column of its source, so that a test can look up every number of every page. Plain pieces have
no digits.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core import thresholds
from workbench.figures.labels import (
    Piece,
    all_counted,
    band_of,
    in_items_said,
    interval,
    layer_said,
    multiple,
    proportion,
    whole,
)
from workbench.figures.rows.frame import missing
from workbench.figures.rows.select_rows import PLACE, setting_of
from workbench.models.base.graph import head_name

RUN, THRESHOLD, SETTING, CURSOR, DIFFERENCE = "run", "threshold", "setting", "cursor", "difference"
MULTIPLE, RECOVERED = "multiple", "recovered"
"""Sources of numbers that are not the value of a row.

They are the run's configuration, a threshold of the verdict, a setting of a row, the selected step or length, the
difference of two rows, the length of a row as a multiple of N, and an accuracy of which a share of a drop is recovered.
"""
READING = "reading"
"""Of a number that comes from one sequence, which no table holds: the rows that the sequence's figure draws."""


@dataclass(frozen=True)
class Cite:
    """The row and column from which one number of a sentence comes.

    Attributes:
        text: as it stands in the sentence.
        column: column of the row; of the run its setting, of a threshold or a row's setting its name.
        row: the columns ``PLACE`` of the row, and the cited one. For a difference it has the columns of both rows,
            under ``a`` and ``b``. For a recovered accuracy it has the columns of the accuracy, the drop and the share.
            For a reading it has the row of the reading and ``part``, the pass. Empty if no row
            contains the number.
        source: ``table``, or :data:`RUN`, :data:`THRESHOLD`, :data:`SETTING`, :data:`CURSOR`, :data:`DIFFERENCE`,
            :data:`MULTIPLE`, :data:`RECOVERED` or :data:`READING`.
    """

    text: str
    column: str
    row: Mapping[str, Any]
    source: str = "table"


class Claim(tuple[str, str]):
    """A part of a sentence that contains numbers, with the rows and columns from which they come.

    Equal to the plain piece of the same text and role.

    Attributes:
        cites: one for each number, in the order of the text.
    """

    cites: tuple[Cite, ...]

    def __new__(cls, text: str, role: str, cites: Sequence[Cite]) -> Claim:
        made = super().__new__(cls, (text, role))
        made.cites = tuple(cites)
        return made


def cites(pieces: Sequence[Piece]) -> list[Cite]:
    """Return the sources of all numbers in a sentence, in the order of the text."""
    return [one for piece in pieces for one in (piece.cites if isinstance(piece, Claim) else ())]


def plain(text: str) -> Piece:
    """Return a part of a sentence without numbers."""
    return (text, "plain")


def capital(piece: Piece) -> Piece:
    """Return a part of a sentence with a capital first letter. The sources of its numbers stay."""
    text = piece[0][:1].upper() + piece[0][1:]
    if not isinstance(piece, Claim):
        return text, piece[1]
    sources = list(piece.cites)
    if text != piece[0] and sources and piece[0].startswith(sources[0].text):
        sources[0] = replace(sources[0], text=sources[0].text[1:])
    return Claim(text, piece[1], sources)


def with_items(pieces: Sequence[Piece]) -> list[Piece]:
    """Return the parts of a sentence with lengths written as numbers of items. The sources of their numbers stay."""
    said = [(in_items_said(piece[0]), piece) for piece in pieces]
    return [Claim(text, one[1], one.cites) if isinstance(one, Claim) else (text, one[1]) for text, one in said]


def cite(row: Mapping[str, Any], column: str, text: str) -> Cite:
    """Return the source of one number of a row, with the number as the sentence writes it."""
    return Cite(text, column, {name: row[name] for name in (*PLACE, column)})


def cite_difference(a: Mapping[str, Any], b: Mapping[str, Any], column: str, text: str) -> Cite:
    """Return the source of a difference of two rows, or of a limit of its interval, written without its sign."""
    both = {side: {name: row[name] for name in PLACE} for side, row in (("a", a), ("b", b))}
    return Cite(text, column, both, DIFFERENCE)


def accuracy_after_intervention(
    accuracy: Mapping[str, Any], drop: Mapping[str, Any], share: Mapping[str, Any]
) -> Claim:
    """Return an accuracy with an intervention, as a part of a sentence: accuracy + share x drop, 1 at most.

    The share is measured on half of the sequences, so that the sum is an estimate.
    """
    value = min(1.0, float(accuracy["value"]) + float(share["value"]) * float(drop["value"]))
    text = proportion(value)
    parts = {"accuracy": accuracy, "drop": drop, "share": share}
    row = {part: {name: one[name] for name in PLACE} for part, one in parts.items()}
    return Claim(text, "plain", [Cite(text, "value", row, RECOVERED)])


def number(row: Mapping[str, Any], column: str = "value", role: str = "plain", decimals: int = 2) -> Claim:
    """Return a value of a row with two decimals, as a part of a sentence."""
    text = proportion(float(row[column]), decimals)
    return Claim(text, role, [cite(row, column, text)])


def limits(row: Mapping[str, Any], role: str = "muted", before: str = " ") -> list[Piece]:
    """Return the interval of a row, ``[0.91, 0.95]``, as parts of a sentence. Without an interval, state that all
    sequences were evaluated, or nothing.
    """
    if missing(row["low"]) or missing(row["high"]):
        every = all_counted(row.get("note"))
        return [Claim(f"{before}({every})", role, [cite(row, "note", every)])] if every else []
    ends = [cite(row, end, proportion(float(row[end]))) for end in ("low", "high")]
    return [Claim(before + interval(float(row["low"]), float(row["high"])), role, ends)]


def estimate(row: Mapping[str, Any]) -> list[Piece]:
    """Return the value of a row with its interval, as parts of a sentence."""
    return [number(row), *limits(row)]


def count(row: Mapping[str, Any], column: str, before: str = "", after: str = "") -> Claim:
    """Return a step, a length or a number of sequences of a row, with the words before and after it, as a part of a
    sentence.

    Where a row is of several lengths, all of them: ``at lengths 3 to 4``.
    """
    band = band_of(row.get("note")) if column == "length" else ""
    if band:
        return Claim(f"{re.sub(r'length $', 'lengths ', before)}{band}{after}", "plain", [cite(row, "note", band)])
    text = whole(float(row[column]))
    return Claim(f"{before}{text}{after}", "plain", [cite(row, column, text)])


def at_length(
    row: Mapping[str, Any], trained: float, before: str = " at length ", *, law: bool = False, number_of: bool = False
) -> Claim:
    """Return the length of a row as a part of a sentence: `` at length 48 (1.5 N, matched test set, n = 512)``.

    The text marks the longest trained length. A row that covers several lengths gives them all, without a multiple.

    Args:
        row: a row with a length.
        trained: N, the longest trained length.
        before: the words before the length.
        law: name the test set of the row.
        number_of: give the number of sequences, where they are a sample.
    """
    length = count(row, "length", before)
    facts, sources = [], list(length.cites)
    if not band_of(row.get("note")) and trained > 0:
        if row["length"] == trained:
            facts.append("the longest trained")
        else:
            times = multiple(float(row["length"]) / trained)
            facts.append(f"{times} N")
            sources.append(Cite(times, "length", {name: row[name] for name in (*PLACE, "length")}, MULTIPLE))
    if law:
        facts.append(f"{row['law']} test set")
    if number_of and not missing(row.get("n")) and not missing(row["low"]):
        size = whole(float(row["n"]))
        facts.append(f"n = {size}")
        sources.append(cite(row, "n", size))
    return Claim(f"{length[0]} ({', '.join(facts)})" if facts else length[0], "plain", sources)


def head(row: Mapping[str, Any]) -> Claim:
    """Return the attention head of a row, ``L0H3``, as a part of a sentence."""
    text = head_name(int(row["layer"]), int(row["head"]))
    names = [cite(row, "layer", str(int(row["layer"]))), cite(row, "head", str(int(row["head"])))]
    return Claim(text, "plain", names)


def layer(row: Mapping[str, Any], before: str = "") -> Claim:
    """Return the layer of a row as a part of a sentence: in the embedding, or after a block."""
    at = int(row["layer"])
    return Claim(f"{before}{layer_said(at)}", "plain", [] if at < 0 else [cite(row, "layer", str(at))])


def note(row: Mapping[str, Any], before: str = "", after: str = "", tail: bool = False) -> Claim:
    """Return the note of a row word for word as a part of a sentence, or only the text after its last semicolon."""
    text = str(row["note"]).rstrip(".")
    text = text.rpartition("; ")[2] if tail else text
    return Claim(f"{before}{text}{after}", "plain", [cite(row, "note", text)])


def trained_length_clause(length: float) -> Claim:
    """Return N, the longest trained prefix length, as a part of a sentence."""
    text = whole(length)
    return Claim(text, "plain", [Cite(text, "trained_length", {"trained_length": length}, RUN)])


def bar(row: Mapping[str, Any], name: str) -> float:
    """A threshold of the verdict, ``fitted`` or ``robust``, that a row was made with; today's if the row has none."""
    told = setting_of(row, name)
    return float(getattr(thresholds, name.upper())) if told is None else told


def threshold(row: Mapping[str, Any], name: str) -> Claim:
    """The :func:`bar` of a row, in words."""
    text = f"{bar(row, name):g}"
    if setting_of(row, name) is None:
        return Claim(text, "plain", [Cite(text, name, {name: bar(row, name)}, THRESHOLD)])
    return Claim(text, "plain", [Cite(text, name, {key: row[key] for key in (*PLACE, "setting")}, SETTING)])


def constant(name: str, value: float, before: str = "", after: str = "") -> Claim:
    """Return a threshold that no row states, with the words before and after it, as a part of a sentence."""
    text = f"{value:g}"
    return Claim(f"{before}{text}{after}", "plain", [Cite(text, name, {name: value}, THRESHOLD)])


def selection_without_row(name: str, place: float, before: str = "", after: str = "") -> Claim:
    """The selected step or length, if there is no row for it."""
    text = whole(place)
    return Claim(f"{before}{text}{after}", "plain", [Cite(text, name, {name: place}, CURSOR)])
