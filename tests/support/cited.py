"""Holds sentences against rows: every number that a sentence names must stand in a row that it cites."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

import pandas as pd

from workbench.core import thresholds
from workbench.figures.rows.claims import CURSOR, DIFFERENCE, MULTIPLE, RECOVERED, RUN, SETTING, THRESHOLD, Cite, Claim
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import PLACE

NUMBER = re.compile(r"\u2212?\d[\d,]*(?:\.\d+)?")


def said(pieces: Sequence[tuple[str, str]]) -> str:
    """The pieces as prose."""
    return "".join(text for text, _ in pieces)


def parsed(text: str) -> float:
    """A number as pages write it."""
    return float(text.replace("\u2212", "-").replace(",", ""))


def same(text: str, value: float) -> bool:
    """Whether a number as written is a value, rounded to as many decimals as are written."""
    decimals = len(text.partition(".")[2])
    return abs(parsed(text) - float(value)) <= 0.5 * 10**-decimals + 1e-9


class Rows:
    """Rows of a run by their place, so that thousands of numbers can be looked up."""

    def __init__(self, frame: pd.DataFrame | Frame) -> None:
        frame = frame.to_pandas() if isinstance(frame, Frame) else frame
        self.frame = frame
        self._columns = {
            str(name): frame[name].astype(object).where(frame[name].notna(), None).tolist() for name in frame
        }
        self._at: dict[tuple[Any, ...], list[int]] = {}
        for number, key in enumerate(zip(*(self._columns[name] for name in PLACE), strict=True)):
            self._at.setdefault(key, []).append(number)

    @cached_property
    def _listed(self) -> dict[tuple[str, str], list[dict[str, Any]]]:
        """Measurement and quantity -> their rows, missing values as None."""
        names, found = list(self._columns), dict[tuple[str, str], list[dict[str, Any]]]()
        for values in zip(*self._columns.values(), strict=True):
            row = dict(zip(names, values, strict=True))
            found.setdefault((row["measurement"], row["quantity"]), []).append(row)
        return found

    def of(self, pairs: Iterable[tuple[str, str]]) -> list[dict[str, Any]]:
        """The rows of some measurements and quantities, not to be changed."""
        return [row for pair in pairs for row in self._listed.get(pair, ())]

    def every(self) -> list[dict[str, Any]]:
        """All rows."""
        return self.of(self._listed)

    def at(self, place: Mapping[str, Any], column: str) -> list[Any]:
        """What a column holds in each row that stands at a place; missing equals missing."""
        found = self._at.get(tuple(plain(place[name]) for name in PLACE), [])
        return [self._columns[column][number] for number in found]


def plain(value: Any) -> Any:
    """A value as a key."""
    return None if value is None or pd.isna(value) else value


def unfounded(pieces: Sequence[tuple[str, str]], frame: pd.DataFrame | Frame | Rows, trained: float) -> list[str]:
    """What of a sentence is not founded: numbers without a citation, and citations that no row bears out.

    Args:
        pieces: the sentence.
        frame: the rows of its run, read from the table another way than the sentence read them.
        trained: N, as the run's configuration states it.
    """
    rows = frame if isinstance(frame, Rows) else Rows(frame)
    wrong = []
    for piece in pieces:
        rest = piece[0]
        for one in piece.cites if isinstance(piece, Claim) else ():
            if one.text not in rest:
                wrong.append(f"{one.text!r} is cited, but not said in order in {piece[0]!r}")
            rest = rest.partition(one.text)[2] if one.text in rest else rest
            wrong += _borne_out(one, rows, trained)
        free = piece[0]
        for one in piece.cites if isinstance(piece, Claim) else ():
            free = free.replace(one.text, "", 1)
        wrong += [f"{found} in {piece[0]!r} cites nothing" for found in NUMBER.findall(free)]
    return wrong


def _borne_out(one: Cite, rows: Rows, trained: float) -> list[str]:
    if one.source == CURSOR:  # there is no row: that is what the sentence says
        return [] if same(one.text, one.row[one.column]) else [f"{one} is not what was asked"]
    if one.source == DIFFERENCE:
        return _difference(one, rows)
    if one.source == RECOVERED:
        return _recovered(one, rows)
    if one.source == RUN:
        return [] if one.column == "trained_length" and same(one.text, trained) else [f"{one} is not of the run"]
    if one.source == THRESHOLD:
        return [] if same(one.text, getattr(thresholds, one.column.upper())) else [f"{one} is no threshold"]
    if one.source == SETTING:
        told = {json.loads(text).get(one.column) for text in rows.at(one.row, "setting")}
        return [] if len(told) == 1 and same(one.text, *told) else [f"{one}: the settings say {told}"]
    found = rows.at(one.row, one.column)
    if one.source == MULTIPLE:
        times = {length / trained for length in found}
        return [] if len(times) == 1 and same(one.text, *times) else [f"{one}: the row is at {times} N"]
    if len(found) != 1:
        return [f"{one}: {len(found)} rows stand there"]
    held = found[0]
    if isinstance(held, str):
        return [] if held.rstrip(".").endswith(one.text) else [f"{one}: the row says {held!r}"]
    return [] if held is not None and same(one.text, held) else [f"{one}: the row says {held}"]


def _recovered(one: Cite, rows: Rows) -> list[str]:
    """An accuracy to which a share of its drop is added; no accuracy is above 1."""
    found = {part: rows.at(one.row[part], "value") for part in ("accuracy", "drop", "share")}
    names = {part: one.row[part]["quantity"] for part in found}
    if names != {"accuracy": "balanced_accuracy", "drop": "balanced_loss", "share": "restored_share"}:
        return [f"{one} is made of {names}"]
    if len({one.row[part]["length"] for part in found}) != 1:
        return [f"{one} is of several lengths"]
    if any(len(values) != 1 for values in found.values()):
        return [f"{one}: not one row stands at each place"]
    (accuracy,), (drop,), (share,) = found.values()
    total = min(1.0, accuracy + share * drop)
    return [] if same(one.text, total) else [f"{one}: the rows give {total}"]


def _difference(one: Cite, rows: Rows) -> list[str]:
    """A difference of two rows by Newcombe's rule (1998, method 10), worked out here again."""
    found = [{name: rows.at(one.row[side], name) for name in ("value", "low", "high")} for side in ("a", "b")]
    if any(len(part["value"]) != 1 for part in found):
        return [f"{one}: not one row stands at each place"]
    a, b = ({name: values[0] for name, values in part.items()} for part in found)
    for part in (a, b):  # an exact value is its own limits
        part |= {end: part["value"] for end in ("low", "high") if part[end] is None or part[end] != part[end]}
    apart = a["value"] - b["value"]
    limits = {
        "value": apart,
        "low": apart - ((a["value"] - a["low"]) ** 2 + (b["high"] - b["value"]) ** 2) ** 0.5,
        "high": apart + ((a["high"] - a["value"]) ** 2 + (b["value"] - b["low"]) ** 2) ** 0.5,
    }
    right = any(same(one.text, sign * limits[one.column]) for sign in (1, -1))
    return [] if right else [f"{one}: the rows differ by {limits}"]
