"""The largest numbers that settings take: beyond them lies a slip of the pen, not an experiment."""

from __future__ import annotations

LONGEST = 1_000_000
"""Tokens of the longest strings that are drawn."""
SIZE = 1 << 24
"""Any size of a model but its layers: widths, heads, position ids."""
LAYERS = 4096
COUNT = (1 << 31) - 1
"""Steps, and whatever is counted in them."""
DRAWN = 1_000_000
"""Sequences that are drawn at a time."""
