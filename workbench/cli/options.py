"""Reading the values of options."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from workbench.cli.errors import UsageError


def length_range(text: str) -> tuple[int, int]:
    """``LOW-HIGH`` or a single length, as (low, high).

    Raises:
        UsageError: for anything else.
    """
    found = re.fullmatch(r"\s*(\d+)\s*(?:-\s*(\d+)\s*)?", text)
    if not found or int(found[1]) < 1:
        raise UsageError(f"--lengths takes LOW-HIGH with LOW at least 1, e.g. 1-50, not {text!r}")
    low, high = int(found[1]), int(found[2] or found[1])
    if low > high:
        raise UsageError(f"--lengths {text}: the shortest length exceeds the longest")
    return low, high


def integers(text: str, option: str) -> list[int]:
    """A comma-separated list of integers.

    Raises:
        UsageError: naming the option, for anything else.
    """
    try:
        return [int(part) for part in text.split(",")]
    except ValueError:
        raise UsageError(f"{option} takes whole numbers separated by commas, e.g. 100,200, not {text!r}") from None


def assignments(pairs: Sequence[str]) -> list[tuple[list[str], Any]]:
    """``a.b=value`` settings as (path, value); values are JSON where they parse as JSON, else text.

    Raises:
        UsageError: for a setting without ``=``.
    """
    found = []
    for pair in pairs:
        path, equals, text = pair.partition("=")
        if not equals or not path:
            raise UsageError(f"--set takes PATH=VALUE, e.g. training.weight_decay=0.1, not {pair!r}")
        try:
            value = json.loads(text)
        except ValueError:
            value = text
        found.append((path.split("."), value))
    return found


def put(tree: dict[str, Any], path: Sequence[str], value: Any) -> None:
    """Set a nested entry of a dict, making the dicts on the way."""
    for part in path[:-1]:
        inner = tree.get(part)
        if not isinstance(inner, dict):
            inner = tree[part] = {} if inner is None else {"name": inner}
        tree = inner
    tree[path[-1]] = value
