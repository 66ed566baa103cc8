"""What the stated shortcuts of tasks are called in sentences."""

from __future__ import annotations

from collections.abc import Mapping

SHORTCUT_NAMES: Mapping[str, str] = {
    "first_window": "the first N tokens alone",
    "last_window": "the last N tokens alone",
    "last_token": "the last token alone",
    "position_only": "one constant answer",
    "counts": "the counts of the symbols alone",
    "bigram": "the likeliest symbol after the last two",
}
"""Name of a shortcut, as in the column ``target`` -> what it answers from, N being the longest trained length."""

BIGRAM = "bigram"
"""The shortcut that is a language model: a table of the training text, from two symbols to the likeliest next one."""


def shortcut_name(shortcut: str) -> str:
    """What a shortcut answers from; its own name where the table has none."""
    return SHORTCUT_NAMES.get(shortcut, f"the shortcut {shortcut.replace('_', ' ')}")
