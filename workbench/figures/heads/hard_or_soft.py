"""What a head's attention picks, and over which lengths: one criterion for Run and Checkpoint.

Whether attention is even on a set of keys is the label of ``hardmax_verdict``: on how many sequences the head lies
within the set distance of a hardmax. How many keys the set has is ``tie_size``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from workbench.core.verdicts import HARD_ATTENTION, MIXED_ATTENTION, SOFT_ATTENTION, UNDECIDED
from workbench.figures.heads.head_curves import MEASUREMENT as HARDMAX
from workbench.figures.labels import Piece, proportion, whole
from workbench.figures.rows.claims import Claim, cite, count, estimate, head, number, plain
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import nearest, rows_with_values, setting_of

CHANGED = 0.1
"""Distances from hardmax that differ by more than this over length are given at both ends."""
ALL = 0.9
"""Part of the keys that a query sees from which on a set holds nearly all of them."""
ONE = 1.05
"""Keys, in the mean over queries, up to which a set is one key."""
WINDOW = 16
"""Number of queries before each length that are used if a row does not give it."""
EVEN = "even"
"""Role of the words that describe what a head attends to; their tooltip is :data:`HARDMAX_SAID`."""
HARDMAX_SAID = (
    "The labels describe the nearest hardmax: the uniform distribution on a set of keys that is closest to the "
    "attention. Attention counts as even where the distance is at most 0.1 in nearly all sequences."
)
WORDS = {
    HARD_ATTENTION: "averages evenly over a set of keys",
    SOFT_ATTENTION: "weights its keys unevenly",
    MIXED_ATTENTION: "averages evenly over a set of keys in some sequences only",
    UNDECIDED: "may or may not average evenly over a set of keys",
}
"""Label of ``hardmax_verdict`` -> what the head does, where the size of the set was not measured."""
NEARLY_ALL, ONE_KEY, SOME = "nearly all", "one", "some"
FEW = 3
"""Keys below which a head attends to its set, rather than averages over it."""
PARTLY_EVEN, MAYBE_EVEN = ", evenly in some sequences only", ", whether evenly is undecided"
WHERE_DECIDED = " where that is decided"

Row = Mapping[str, Any]


def shape_clause(frame: Frame, step: int, trained: float | None, layer: int, which: int) -> list[Piece]:
    """Return how a head attends at N, the longest trained length, and beyond, as a sentence without its full stop;
    empty if not measured.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N; without it, from the shortest measured length on.
        layer: the layer of the head.
        which: head within the layer.
    """
    at = {"measurement": HARDMAX, "law": "matched", "control": "", "step": step, "layer": layer, "head": which}
    rows = rows_with_values(frame.where(quantity="hardmax_distance", **at)).sort("length").rows()
    if not rows:
        return []
    first = rows[0]["length"] if trained is None else nearest([int(row["length"]) for row in rows], trained)
    rows = [row for row in rows if row["length"] >= first]
    labels, sizes, supports = (
        {row["length"]: row for row in frame.where(quantity=quantity, **at).rows()}
        for quantity in ("hardmax_verdict", "tie_size", "effective_support")
    )
    kinds = [labels[row["length"]] for row in rows if row["length"] in labels]
    pieces: list[Piece] = [head(rows[0]), plain(" ")]
    if len(kinds) == len(rows):
        return [*pieces, *_stretches(kinds, sizes, supports)]
    pieces = [*pieces, plain("is "), *_distance(rows)]
    if len(rows) > 1:
        pieces += [count(rows[0], "length", " from length "), count(rows[-1], "length", " to ")]
    return pieces


def set_of(label: str, size: Row | None) -> str:
    """The size of the set that a head attends to: one key, nearly all keys, some; "" if unknown or irrelevant."""
    if size is None or missing(size["value"]) or label == SOFT_ATTENTION:
        return ""
    if float(size["value"]) <= ONE:
        return ONE_KEY
    return NEARLY_ALL if float(size["value"]) >= ALL * _keys(size) else SOME


def _keys(row: Row) -> float:
    """Keys that the queries see whose mean a row is, BOS among them: the last few prefixes up to its length."""
    window = int(setting_of(row, "window") or WINDOW)
    length = int(row["length"])
    seen = [n + 1 for n in range(max(1, length - window + 1), length + 1)]
    return sum(seen) / len(seen)


def attends(labels: Sequence[str], sizes: Sequence[Row], supports: Sequence[Row]) -> tuple[list[Piece], str]:
    """Return how a head attends at one or more lengths with the same label, and the words that follow the lengths."""
    kind = set_of(labels[0], sizes[0] if sizes else None)
    sure = set(labels) <= {HARD_ATTENTION, SOFT_ATTENTION}
    after = "" if sure else PARTLY_EVEN if MIXED_ATTENTION in labels else MAYBE_EVEN
    if after == PARTLY_EVEN and UNDECIDED in labels:
        after += WHERE_DECIDED
    if labels[0] == SOFT_ATTENTION and supports:
        return [("spreads its attention unevenly over ", EVEN), *_amount(supports), plain(" keys")], after
    if not kind:
        return [(WORDS.get(labels[0], labels[0]), EVEN)], ""
    if kind == ONE_KEY:
        return [("attends to one key", EVEN)], after
    if kind == NEARLY_ALL:
        said = "averages evenly over nearly all keys" if sure else "attends to nearly all keys"
        # The size is a mean over the last queries, of which the first see fewer keys than the last.
        return [(said, EVEN), plain(" ("), *_amount(sizes), plain(" keys, the mean over the last queries)")], after
    few = max(float(row["value"]) for row in sizes) < FEW
    return [
        ("averages evenly over " if sure and not few else "attends to ", EVEN),
        *_amount(sizes),
        plain(" keys"),
    ], after


def _amount(rows: Sequence[Row]) -> list[Piece]:
    """How many keys: one number, or the least and the most."""
    ends = [pick(rows, key=lambda row: float(row["value"])) for pick in (min, max)]
    texts = [_keys_text(float(row["value"])) for row in ends]
    kept = [(text, row) for i, (text, row) in enumerate(zip(texts, ends, strict=True)) if not i or text != texts[0]]
    words = [Claim(text, "plain", [cite(row, "value", text)]) for text, row in kept]
    return [words[0], plain(" to "), words[1]] if len(words) == 2 else [*words]


def _keys_text(value: float) -> str:
    return whole(value) if value >= 10 else proportion(value, 1)


def _stretches(rows: Sequence[Row], sizes: Mapping[Any, Row], supports: Mapping[Any, Row]) -> list[Piece]:
    """What it does at which lengths: ``attends to one key at every measured length from 32 to 256``."""

    def sort(row: Row) -> tuple[str, str]:
        label = str(row["label"])
        return label if label in (HARD_ATTENTION, SOFT_ATTENTION) else "", set_of(label, sizes.get(row["length"]))

    groups = [list(part) for _, part in groupby(rows, key=sort)]
    pieces: list[Piece] = []
    for part in groups:
        every = " at every measured length" if len(groups) == 1 and len(part) > 1 else ""
        own, spread = ([one[row["length"]] for row in part if row["length"] in one] for one in (sizes, supports))
        own, spread = ([row for row in listed if not missing(row["value"])] for listed in (own, spread))
        pieces += [plain("; ")] if pieces else []
        does, after = attends([str(row["label"]) for row in part], own, spread)
        pieces += [*does, plain(every)]
        if len(part) == 1:
            pieces += [count(part[0], "length", " at length ")]
        else:
            pieces += [count(part[0], "length", " from "), count(part[-1], "length", " to ")]
        pieces.append(plain(after))
    return [piece for piece in pieces if piece[0]]


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
