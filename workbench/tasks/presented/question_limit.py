"""The longest question that fits into a model's prompt, and whether the window or the task limits it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DIFFERENT_SYMBOLS = ("sort", "ub", "uf")
"""Tasks whose symbols are all different, so that a question has no more items than the task has symbols."""


def question_limit(config: Mapping[str, Any]) -> str:
    """Return the largest number of items in a question, in words, with what limits it.

    Args:
        config: the content of ``run.json`` of a model that was given its task in the prompt.
    """
    presented, fitting = config["task"]["presented"], config["training"]["trained_length"]
    symbols = len(presented["wording"]["symbols"])
    if config["task"]["name"] in DIFFERENT_SYMBOLS and symbols < fitting:
        return f"its task limits a question to {symbols:,} items, which are all different symbols"
    return f"its window of {presented['window']:,} tokens limits a question to {fitting:,} items"
