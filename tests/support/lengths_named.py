"""Which numbers of a block of text do not say of which prefix length they are."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

from workbench.figures.rows.claims import Claim
from workbench.figures.rows.frame import missing

LENGTHS_THEMSELVES = ("failure_length", "critical_length", "training_length_bound", "settled_step", "verdict")
"""Quantities whose value is a length or a step, and needs no length beside it."""
NAMED = re.compile(
    r"\bfrom (?:length )?(?P<first>[\d,]+)(?: items| \(the longest trained\))? to (?P<last>[\d,]+)"
    r"|\b(?:at|lengths?|from|to) (?P<only>[\d,]+)(?! keys)\b(?!\.\d)",
    re.IGNORECASE,
)
CLAUSE_END = re.compile(r"[.;:](?=\s|$)")


class Place(NamedTuple):
    """A length, or a span of lengths, that a text names at a place."""

    at: int
    first: int
    last: int


def unnamed_lengths(block: Sequence[Any]) -> list[str]:
    """The numbers of a block that do not say of which of its lengths they are.

    A block whose numbers are all of one length names it once. In one with several lengths each number has its own
    beside it: the last named before it, or the next one in the same clause. A clause without a length speaks of
    that which was named last.

    Args:
        block: pieces of a sentence or of several, in their order.
    """
    text, numbers = "", []
    for piece in block:
        for one in piece.cites if isinstance(piece, Claim) else ():
            if one.source != "table" or one.column not in ("value", "low", "high"):
                continue
            if not missing(one.row["length"]) and one.row["quantity"] not in LENGTHS_THEMSELVES:
                numbers.append((len(text) + max(0, piece[0].find(one.text)), one.text, int(one.row["length"])))
        text += piece[0]
    if len({length for _, _, length in numbers}) < 2:
        return []
    ends = [0, *(found.end() for found in CLAUSE_END.finditer(text)), len(text)]
    problems, last = [], None
    for start, end in pairwise(ends):
        named = [_place(found) for found in NAMED.finditer(text, start, end)]
        earlier = [last] if last else []
        for at, number, length in numbers:
            if start <= at < end:
                before = [*earlier, *(place for place in named if place.at < at)][-1:]
                after = [place for place in named if place.at > at][:1]
                if not any(place.first <= length <= place.last for place in (*before, *after)):
                    problems.append(f"{number} of length {length} in {text[start:end].strip()!r}")
        last = named[-1] if named else last
    return problems


def _place(found: re.Match[str]) -> Place:
    first, last = (int((found[name] or found["only"]).replace(",", "")) for name in ("first", "last"))
    return Place(found.start(), first, last)
