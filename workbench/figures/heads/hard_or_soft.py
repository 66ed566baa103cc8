"""Whether a head's attention is hard or soft, and over which lengths: one criterion for Run and Checkpoint.

The criterion is the label of ``hardmax_verdict``: on how many sequences the head lies within the set distance of a
hardmax. The distance itself says how far away it stays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from workbench.figures.heads.head_curves import MEASUREMENT as HARDMAX
from workbench.figures.labels import Piece, proportion
from workbench.figures.rows.claims import count, estimate, head, number, plain
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.picking import nearest, valued

CHANGED = 0.1
"""Distances from hardmax that differ by more than this over length are given at both ends."""
WORDS = {"hardmax": "hard", "soft": "soft", "mixed": "hard on some sequences only", "undecided": "undecided"}
"""Label of ``hardmax_verdict`` -> how attention is said to be."""

Row = Mapping[str, Any]


def shape_clause(frame: Frame, step: int, trained: float | None, layer: int, which: int) -> list[Piece]:
    """Hard or soft, from the longest trained length on, without the full stop; empty where it was not measured.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N; without it, from the shortest measured length on.
        layer: of the head.
        which: head within the layer.
    """
    at = {"measurement": HARDMAX, "law": "matched", "control": "", "step": step, "layer": layer, "head": which}
    rows = valued(frame.where(quantity="hardmax_distance", **at)).sort("length").rows()
    if not rows:
        return []
    first = rows[0]["length"] if trained is None else nearest([int(row["length"]) for row in rows], trained)
    rows = [row for row in rows if row["length"] >= first]
    labels = {row["length"]: row for row in frame.where(quantity="hardmax_verdict", **at).rows()}
    kinds = [labels[row["length"]] for row in rows if row["length"] in labels]
    made: list[Piece] = [head(rows[0]), plain(" is ")]
    if len(kinds) == len(rows):
        made += [*_stretches(kinds), plain(", ")]
    elif len(rows) > 1:
        return [*made, *_distance(rows), count(rows[0], "length", " from length "), count(rows[-1], "length", " to ")]
    return [*made, *_distance(rows)]


def _stretches(rows: Sequence[Row]) -> list[Piece]:
    """Which kind at which lengths: ``soft at every measured length from 32 to 256``."""
    groups = [(kind, list(part)) for kind, part in groupby(rows, key=lambda row: str(row["label"]))]
    made: list[Piece] = []
    for kind, part in groups:
        every = " at every measured length" if len(groups) == 1 and len(part) > 1 else ""
        made += [plain(", ")] if made else []
        made += [plain(WORDS.get(kind, kind) + every)]
        if len(part) == 1:
            made += [count(part[0], "length", " at length ")]
        else:
            made += [count(part[0], "length", " from "), count(part[-1], "length", " to ")]
    return made


def _distance(rows: Sequence[Row]) -> list[Piece]:
    """How far from the nearest hardmax: the range over length, or both ends where it changes."""
    lowest, top = (pick_one(rows, key=lambda row: float(row["value"])) for pick_one in (min, max))
    if len(rows) == 1:
        return [*estimate(rows[0]), plain(" from hardmax")]
    if proportion(float(top["value"])) == proportion(float(lowest["value"])):
        return [number(top), plain(" from hardmax")]
    if float(top["value"]) - float(lowest["value"]) <= CHANGED:
        return [number(lowest), plain(" to "), number(top), plain(" from hardmax")]
    ends: list[Piece] = [number(rows[0]), plain(" from hardmax"), count(rows[0], "length", " at ")]
    return [*ends, plain(" and "), number(rows[-1]), count(rows[-1], "length", " at ")]
