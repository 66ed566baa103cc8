"""Reading the values of options."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.cli.errors import UsageError
from workbench.table.errors import nearest

DEFAULTS: Mapping[str, Any] = {
    "positions": "none", "ids": "arange", "curriculum": "uniform", "lengths": "1-50", "steps": 2000, "layers": 2,
    "d_model": 64, "heads": 4, "n_ctx": 512, "learning_rate": 1e-3, "batch_size": 64, "seed": 0,
}  # fmt: skip
"""Options of ``lengthlens train``, with what holds where neither the user nor the task says otherwise."""


def resolved(options: Mapping[str, Any], suggested: Mapping[str, Any], task: str) -> dict[str, Any]:
    """Every option with a value: the user's, else what the task suggests, else the general default.

    Args:
        options: what the user gave; None = not given.
        suggested: ``Task.suggested``.
        task: the task's name, for the error.

    Raises:
        UsageError: for a suggestion that is no option.
    """
    for name in suggested:
        if name not in DEFAULTS:
            raise UsageError(f"{task} suggests {name!r}, which is no option of train; {nearest(name, DEFAULTS)}")
    given = {name: value for name, value in options.items() if value is not None}
    return {**DEFAULTS, **suggested, **given}


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
