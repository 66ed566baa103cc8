"""What stands for many rows of measurements in a file of held values: a line a quantity, in an order of their own places."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tests.support.held import digest

PLACE = ("law", "length", "position", "layer", "head", "site", "target", "mode", "control", "label")
"""What tells the rows of a quantity apart."""
WORDS = (*PLACE, "status", "reason", "n", "distinct", "note")
"""What of a row is compared as text; settings are frozen elsewhere."""
NUMBERS = ("value", "low", "high")
FLOAT = re.compile(r"-?\d+\.\d+(e[+-]?\d+)?|\d+e[+-]?\d+")
DIGITS = 7
"""That are written of each number of a digest: more than are compared."""


def held_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """By quantity: how many rows, a checksum of all that they say in words and counts, and the digest of their numbers.

    A number with a decimal point in a note is left out of the checksum, for its last digit may be another one elsewhere.

    Returns:
        ``{quantity: [rows, checksum, digest]}``; ``status`` counts the rows of each status.
    """
    every = list(rows)
    found: dict[str, Any] = {"status": counted(r["status"] for r in every)}
    for quantity in sorted({r["quantity"] for r in every}):
        chosen = sorted((r for r in every if r["quantity"] == quantity), key=_order)
        words = "\n".join(_words(r) for r in chosen)
        found[quantity] = [len(chosen), f"{zlib.crc32(words.encode()):08x}", short([_numbers(r) for r in chosen])]
    return found


def counted(values: Iterable[object]) -> dict[str, int]:
    """How often each value occurs, in the order of their names."""
    names = [str(value) for value in values]
    return {name: names.count(name) for name in sorted({*names})}


def short(values: object) -> dict[str, list[float]]:
    """A digest of few digits."""
    counts, sums = digest(values)["digest"][:2], digest(values)["digest"][2:]
    return {"digest": [*map(int, counts), *(float(f"{x:.{DIGITS}g}") for x in sums)]}


def _order(r: Mapping[str, Any]) -> Sequence[tuple[bool, Any]]:
    return [(r[name] is not None, "" if r[name] is None else r[name]) for name in PLACE]


def _words(r: Mapping[str, Any]) -> str:
    return "|".join(FLOAT.sub("#", str(r[name])) for name in WORDS)


def _numbers(r: Mapping[str, Any]) -> list[float]:
    return [np.nan if r[name] is None else float(r[name]) for name in NUMBERS]
