"""Clauses on what the residual stream carries. A probe that reads no more than its controls claims nothing."""

from __future__ import annotations

from collections.abc import Sequence

from workbench.figures.labels import Piece
from workbench.figures.rows.claims import count, estimate, layer, number, plain, trained_length_clause
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.text.decodability_rows import CarriedReading, Row, at_longest, by_layer, readings

LITTLE, READABLE = 0.25, 0.5
"""Position decodability (R^2) below the first is "little", from the second on "readable"."""
MOVED = 0.1
"""If a refitted probe is this much better than the frozen one, the code has moved."""

Pieces = list[Piece]


def carried_clause(frame: Frame, step: int, longest_trained: float) -> Pieces:
    """Return what can be decoded after the last block at the longest measured length, without the full stop."""
    readings_found = at_longest(frame, step)
    pieces: Pieces = []
    if "summary" in readings_found:
        pieces += _summary(readings(frame, "summary", step=step), longest_trained)
    if "position" in readings_found:
        own = readings_found["position"]
        before = by_layer(frame, "position", step=step, length=int(own.row["length"]))
        pieces += [plain("; "), *_position(own, before, "position")] if pieces else _position(own, before, "Position")
    return pieces


def rail_carried(frame: Frame, step: int, length: int) -> Pieces:
    """Return both decoded quantities after the last block at one length, each with its control; empty if none was
    measured.
    """
    pieces: Pieces = []
    for concept in ("summary", "position"):
        found = [reading for reading in readings(frame, concept, step=step) if int(reading.row["length"]) == length]
        if not found:
            continue
        reading = found[0]
        words = "task state" if concept == "summary" else concept
        name = words if pieces else words.capitalize()
        pieces += [*([plain("; ")] if pieces else []), (name, concept), plain(" "), *estimate(reading.row)]
        pieces += [layer(reading.row, " "), count(reading.row, "length", " at length ")]
        pieces += _against(reading)
        pieces += (
            _code(reading)
            if concept == "summary"
            else _earlier(reading, by_layer(frame, concept, step=step, length=length))
        )
    return pieces


def _against(one: CarriedReading) -> Pieces:
    """Whether a reading is above its controls, and what these read."""
    if one.control is None:
        return [plain(", no control measured")]
    return [
        plain(", above its controls (" if one.above else ", not above its controls ("),
        *estimate(one.control),
        plain(")"),
    ]


def _code(one: CarriedReading) -> Pieces:
    """Whether the task state is in the code of trained lengths, if the probe decodes more than its controls."""
    if one.refit is not None and one.refit_above and _gain(one) >= MOVED:
        return [plain(", refitted "), number(one.refit)]
    return [plain(", in the code of trained lengths")] if one.above and one.refit is not None else []


def _earlier(one: CarriedReading, layers: Sequence[CarriedReading]) -> Pieces:
    """Where else in the stream position reads better, by more than a little."""
    best = max(layers, key=lambda other: float(other.row["value"]))
    if float(best.row["value"]) - float(one.row["value"]) < MOVED:
        return []
    return [plain(", "), number(best.row), layer(best.row, " ")]


def _gain(one: CarriedReading) -> float:
    """By how much the refitted probe is better than the frozen one."""
    return 0.0 if one.refit is None else float(one.refit["value"]) - float(one.row["value"])


def _controls(control: Row | None) -> Pieces:
    return [plain(", controls "), *estimate(control)] if control is not None else []


def _summary(found: Sequence[CarriedReading], longest_trained: float) -> Pieces:
    last = found[-1]
    where: Pieces = [layer(last.row, " ")]
    at: Pieces = [*estimate(last.row), count(last.row, "length", " at ")]
    if last.control is None:
        return [plain("The "), _SUMMARY, plain(" reads "), *at, *where, plain("; no control was measured")]
    numbers = [*at, *_controls(last.control)]
    past = [one for one in found if one.row["length"] > longest_trained]
    below = next((one for one in past if not one.above), None)
    moved = next((one for one in past if _gain(one) >= MOVED), None)
    if last.refit_above and _gain(last) >= MOVED:
        refitted: Pieces = [plain(", refitted "), number(_of(last.refit)), *_controls(last.control)]
        return [
            plain("The residual stream carries the "),
            _SUMMARY,
            *where,
            plain(" in a code that moves ("),
            *at,
            *refitted,
            plain(")"),
        ]
    if not last.above:
        if not last.refit_above:
            return [
                plain("The "),
                _SUMMARY,
                plain(" is not above its controls"),
                *where,
                plain(" ("),
                *numbers,
                plain(")"),
            ]
        only: Pieces = [plain(" is above its controls"), *where, plain(" only when refitted (")]
        return [plain("The "), _SUMMARY, *only, number(_of(last.refit)), plain("; frozen "), *numbers, plain(")")]
    pieces: Pieces = [plain("The residual stream carries the "), _SUMMARY, *where]
    if below is not None:
        pieces += [count(last.row, "length", " at "), plain(" ("), *numbers, plain("), but is not above its controls")]
        return [
            *pieces,
            count(below.row, "length", " at "),
            plain(" ("),
            *estimate(below.row),
            *_controls(below.control),
            plain(")"),
        ]
    if moved is not None:
        pieces += [plain(" in a code that moves on the way (refitted "), number(_of(moved.refit)), plain(" against ")]
        return [*pieces, number(moved.row), count(moved.row, "length", " at "), plain("; "), *numbers, plain(")")]
    if not past:
        return [*pieces, plain(" ("), *numbers, plain(")")]
    pieces += [plain(" in one code at every measured length past "), trained_length_clause(longest_trained)]
    return [*pieces, plain(" ("), *numbers, plain(")")]


_SUMMARY: Piece = ("task state", "summary")


def _nothing(row: Row) -> bool:
    """Whether a reading is not shown to beat a constant."""
    return float(row["value"] if missing(row["low"]) else row["low"]) <= 0


def _of(row: Row | None) -> Row:
    assert row is not None
    return row


def _position(one: CarriedReading, layers: Sequence[CarriedReading], word: str) -> Pieces:
    """How much of position is readable after the last block, and where it was before that."""
    name: Piece = (word, "position")
    value = float(one.row["value"])
    where: Pieces = [layer(one.row, " ")]
    numbers: Pieces = [plain(" ("), *estimate(one.row), *_controls(one.control)]
    numbers += [count(one.row, "length", " at "), plain(")")]
    if one.control is None:
        at = count(one.row, "length", " at ")
        return [name, plain(" reads "), *estimate(one.row), at, *where, plain("; no control was measured")]
    best = max(layers, key=lambda other: float(other.row["value"]))
    if value < LITTLE and float(best.row["value"]) >= READABLE:
        before: Pieces = [name, plain(" "), number(best.row), layer(best.row, " ")]
        before += (
            [] if best.above or best.control is None else [plain(" (controls "), *estimate(best.control), plain(")")]
        )
        return [*before, plain(", gone" if _nothing(one.row) else ", little left"), *where, *numbers]
    if not one.above:
        return [name, plain(" is not above its controls"), *where, *numbers]
    if value < LITTLE:
        return [
            plain("little " if word.islower() else "Little "),
            (word.lower(), "position"),
            plain(" is readable"),
            *where,
            *numbers,
        ]
    return [name, plain(" is readable" if value >= READABLE else " is partly readable"), *where, *numbers]
