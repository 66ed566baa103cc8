"""Formulas of quantities as HTML: single letters in italics, longer names upright.

The notation is that of :class:`workbench.measure.measurement.Quantity`: ``p_{(j)}`` and ``x^{2}`` for what stands below
and above the line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from dash import html

LETTERS = (
    "In formulas ⟨·⟩ is the mean over sequences, n the prefix length, and N the longest trained length. The correct "
    "answer at n is y_{n}, and the model’s answer is ŷ_{n}. The query sees K keys. Its score of key j is s_{j}, and "
    "its attention weight is p_{j}, with p_{(1)} ≥ p_{(2)} ≥ … in order. The indicator 1[·] is 1 where the condition "
    "holds, else 0."
)
"""What the letters are that all formulas share."""

_PARTS = re.compile(r"([_^])\{([^{}]*)\}|(?<![^\W\d_])([^\W\d_][\u0300-\u036f]?)(?![^\W\d_])")
"""What stands below or above the line, or a letter that no other letter touches."""
_UPRIGHT = "ΣΔ∏"


def typeset(text: str) -> list[Any]:
    """Return a formula as HTML: variables in italics, indices below and powers above the line."""
    return list(_typeset_once(text))


@lru_cache(maxsize=2048)
def _typeset_once(text: str) -> tuple[Any, ...]:
    return tuple(_typeset(text))


def _typeset(text: str) -> Iterator[Any]:
    end = 0
    for part in _PARTS.finditer(text):
        if part.start() > end:
            yield text[end : part.start()]
        end = part.end()
        side, inner, letter = part.groups()
        if side:
            yield (html.Sub if side == "_" else html.Sup)(typeset(inner))
        else:
            yield letter if letter in _UPRIGHT else html.I(letter)
    if end < len(text):
        yield text[end:]
