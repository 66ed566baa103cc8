"""The largest numbers that settings accept. A larger number is most likely a typing error."""

from __future__ import annotations

LONGEST = 1_000_000
"""Tokens of the longest sequence that is drawn."""
SIZE = 1 << 24
"""Largest size in a model (widths, heads, position ids). The number of layers has a smaller limit."""
LAYERS = 4096
COUNT = (1 << 31) - 1
"""Largest number of steps, and of anything that is counted in steps."""
DRAWN = 1_000_000
"""Most sequences that are drawn at once."""
