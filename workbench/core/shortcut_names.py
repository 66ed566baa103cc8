"""The words that sentences use for a task's declared shortcuts."""

from __future__ import annotations

from collections.abc import Mapping

SHORTCUT_NAMES: Mapping[str, str] = {
    "first_window": "the first N tokens alone",
    "last_window": "the last N tokens alone",
    "last_token": "the last token alone",
    "position_only": "one constant answer",
    "counts": "the counts of the symbols alone",
    "middle_token": "the token after the middle alone",
    "bigram": "the likeliest symbol after the last two",
}
"""Name of a shortcut, as in the column ``target`` -> how it predicts the answer. N is the longest trained length."""

BIGRAM = "bigram"
"""The shortcut that is a bigram language model: a table of the training text from two symbols to the most likely next
one.
"""


def shortcut_name(shortcut: str) -> str:
    """Return how a shortcut predicts the answer, in words; the shortcut's own name if the table does not contain it."""
    return SHORTCUT_NAMES.get(shortcut, f"the shortcut {shortcut.replace('_', ' ')}")
