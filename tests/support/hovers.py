"""What hovers and cells name, found again in the rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tests.support.cited import NUMBER, Rows, parsed, same

NUMERIC = r"[\u2212\d.,e+-]+|\u221e"
VALUE = re.compile(
    rf"<b>(?P<value>{NUMERIC}|\u2013)</b>(?: \[(?P<low>{NUMERIC}), (?P<high>{NUMERIC})\])?(?: \u00b7 n (?P<n>[\d,]+))?"
)
WHERE = re.compile(r"(?P<name>step|length) (?P<number>[\d,]+)")
HEAD = re.compile(r"L(\d+) H(\d+)")
LAYER = re.compile(r"\bafter (\d+)\b")
Row = dict[str, Any]


def texts_of(figure: Mapping[str, Any]) -> Iterator[str]:
    """Every hover text of a figure as the browser gets it."""
    for trace in figure["data"]:
        held = trace.get("hovertext")
        for text in np.asarray([] if held is None else held, dtype=object).ravel().tolist():
            if text:
                yield text


def close(text: str | None, value: Any) -> bool:
    """Whether a number as written is a value; nothing written, or a dash, stands for nothing there."""
    text = None if text == "\u2013" else text
    if text is None or value is None:
        return text is None and value is None
    if "e" in text:
        return bool(np.isclose(parsed(text), float(value), rtol=0.006))
    return same(text, value)


class Named:
    """Rows of some measurements and quantities, to be found by what a hover text says of them."""

    def __init__(self, rows: Rows, pairs: set[tuple[str, str]]) -> None:
        self._at: dict[tuple[Any, Any], list[Row]] = {}
        for row in rows.of(pairs):
            self._at.setdefault((row["step"], row["length"]), []).append(row)

    def by(self, text: str) -> list[Row]:
        """The rows that a text may have been made of: same step, length and place, value, interval and n."""
        found = VALUE.search(text)
        assert found is not None, text
        place = text[: found.start()]
        where = {name: parsed(number) for name, number in WHERE.findall(place)}
        rows = self._at.get((where.pop("step", None), where.pop("length", None)), [])
        head, layer = HEAD.search(place), LAYER.search(place)
        if head is not None:
            where |= {"layer": float(head[1]), "head": float(head[2])}
        elif layer is not None:
            where["layer"] = float(layer[1])
        elif re.search(r"\bembed\b", place):
            where["layer"] = -1.0
        if found["value"] == "\u2013":  # what has no value says why, in the words of its row
            why = text.rpartition("<br>")[2].partition(": ")[2]
            rows = [row | {"value": None, "low": None, "high": None} for row in rows if why and row["note"] == why]
        return [
            row
            for row in rows
            if all(row[name] == value for name, value in where.items())
            and all(close(found[part], row[part]) for part in ("value", "low", "high"))
            and (found["n"] is None or close(found["n"], row["n"]))
        ]


def numbers(text: str) -> list[str]:
    """Every number that a text names."""
    return NUMBER.findall(text)
