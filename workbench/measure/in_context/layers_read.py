"""Which layers of a deep model are read, and by which name."""

from __future__ import annotations


def spread(layers: int, count: int) -> list[int]:
    """``count`` of so many layers at even distances, the last one among them; all where there are no more.

    >>> spread(30, 5)
    [5, 11, 17, 23, 29]
    """
    count = min(count, layers)
    return [-(-layers * (i + 1) // count) - 1 for i in range(count)]


def stream(layer: int) -> str:
    """The residual stream behind a layer."""
    return f"blocks.{layer}.hook_resid_post"
