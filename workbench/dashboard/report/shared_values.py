"""Plain data in which whatever occurs more than once is written once.

The figures of a run at its steps and lengths have most in common: templates, axes, words, the rows of other steps.
:func:`pack` gives each distinct part that is used twice a number; ``assets/report/report.js`` puts them together.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import orjson

REFERENCE = "$"
"""The only key of what stands for a shared part."""
SHORTEST = 24
"""Characters of JSON from which on a part is worth a reference."""


#: What has no parts.
PLAIN = frozenset({str, int, float, bool, type(None)})


class _Parts:
    """Every distinct part, in the order in which it was met: its JSON with numbers for its parts, and its uses.

    What has no parts of its own (a long text, a list of numbers and texts) stands in a tuple.
    """

    def __init__(self) -> None:
        self.number: dict[str, int] = {}
        self.value: list[Any] = []
        self.uses: list[int] = []

    def reference(self, value: Any) -> str:
        """The JSON of a value, or ``@`` and its number where it is a part of its own."""
        kind = type(value)
        if kind in PLAIN:
            text = _json(value)
            return self._part(text, None) if len(text) >= SHORTEST else text
        if isinstance(value, dict):
            if REFERENCE in value:
                raise ValueError(f"data with the key {REFERENCE!r} cannot be packed")
            inner = {str(name): self.reference(part) for name, part in value.items()}
            return self._part("{" + ",".join([f"{_json(name)}:{part}" for name, part in inner.items()]) + "}", inner)
        if isinstance(value, np.ndarray | np.generic):
            return self.reference(value.tolist())
        listed = list(value)
        if PLAIN.issuperset(map(type, listed)):
            return self._part(orjson.dumps(listed).decode(), None)
        parts = [self.reference(part) for part in listed]
        return self._part("[" + ",".join(parts) + "]", parts)

    def _part(self, text: str, parts: dict[str, str] | list[str] | None) -> str:
        if text not in self.number:
            self.number[text] = len(self.value)
            self.value.append((orjson.loads(text),) if parts is None else parts)
            self.uses.append(0)
            for one in parts.values() if isinstance(parts, dict) else parts or ():
                self.use(one)
        return f"@{self.number[text]}"

    def use(self, met: str) -> None:
        """Count one more position of a value that was met before."""
        if met.startswith("@"):
            self.uses[int(met[1:])] += 1


def pack(value: Any) -> dict[str, Any]:
    """The value as ``root`` and ``shared``: parts of it that occur several times are written once.

    Args:
        value: dictionaries, lists, arrays, texts and numbers; NaN and infinity become null.

    Raises:
        ValueError: for a dictionary with the key ``$``.
    """
    parts = _Parts()
    root = parts.reference(value)
    parts.use(root)
    worth = {f"@{i}": text for text, i in parts.number.items() if parts.uses[i] > 1 and len(text) >= SHORTEST}
    place = {met: i for i, met in enumerate(worth)}

    def reference(met: str) -> Any:
        return {REFERENCE: place[met]} if met in place else body(met)

    def body(met: str) -> Any:
        if not met.startswith("@"):
            return orjson.loads(met)
        held = parts.value[int(met[1:])]
        if isinstance(held, dict):
            return {name: reference(one) for name, one in held.items()}
        return [reference(one) for one in held] if isinstance(held, list) else held[0]

    return {"shared": [body(met) for met in worth], "root": reference(root)}


def unpack(given: Mapping[str, Any]) -> Any:
    """What was packed."""
    shared = given["shared"]
    values: dict[int, Any] = {}

    def opened(value: Any) -> Any:
        if isinstance(value, dict):
            if REFERENCE not in value:
                return {name: opened(part) for name, part in value.items()}
            place = value[REFERENCE]
            if place not in values:
                values[place] = opened(shared[place])
            return values[place]
        return [opened(part) for part in value] if isinstance(value, list) else value

    return opened(given["root"])


def _json(value: Any) -> str:
    """The JSON of a text, a number, true, false or null."""
    return orjson.dumps(value).decode()
