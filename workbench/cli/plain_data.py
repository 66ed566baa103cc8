"""Refuses values that are not plain data before they are used: dates, tags, NaN, endless values."""

from __future__ import annotations

import math
from typing import Any

from workbench.cli.errors import UsageError
from workbench.core.errors import quoted_value

DEPTH = 32
"""Lists and mappings inside each other that a setting may have."""
MOST = 100_000
"""Values that one file or option may hold, with everything that YAML's references repeat."""


def refuse_strange(value: Any, where: str) -> None:
    """Refuse a value that is not made of texts, finite numbers, true, false and null in lists and mappings.

    Args:
        value: as JSON or YAML gave it.
        where: how a sentence calls it.

    Raises:
        UsageError: for anything else, for what is nested too deep, and for more values than a setting can have.
    """
    level, seen = [value], 0
    for _ in range(DEPTH + 1):
        seen += len(level)
        if seen > MOST:
            raise UsageError(f"{where} contains more than {MOST:,} values; make it smaller")
        for one in level:
            _refuse(one, where)
        # Not by recursion: what is nested too deep, or holds itself, would end that.
        level = [inner for one in level for inner in _inside(one)]
        if not level:
            return
    raise UsageError(f"{where} is nested more than {DEPTH} levels deep; reduce the nesting")


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value.keys(), *value.values()]
    return value if isinstance(value, list) else []


def _refuse(value: Any, where: str) -> None:
    if isinstance(value, str):
        try:
            value.encode()
        except UnicodeEncodeError:
            raise UsageError(f"{where} contains text that is not valid Unicode: {value[:40]!a}; remove it") from None
        if "\0" in value:
            raise UsageError(f"{where} contains a NUL character, which names and paths cannot contain; remove it")
    elif isinstance(value, int):
        if abs(value) >= 1 << 64:
            raise UsageError(f"{where} contains a whole number beyond 2^64; choose a smaller one")
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise UsageError(f"{where} contains {value}, which is not a finite number; choose a finite one")
    elif value is not None and not isinstance(value, dict | list):
        kind = type(value).__name__
        raise UsageError(
            f"{where} contains {quoted_value(value)}, a value of type {kind}; if you mean text, put it in quotes"
        )
