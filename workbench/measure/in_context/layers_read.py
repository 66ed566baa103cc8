"""The layers of a deep model whose activations are read, and their hook names."""

from __future__ import annotations


def spread(layers: int, count: int) -> list[int]:
    """Return ``count`` layers at even distances, including the last one; all layers if there are no more.

    >>> spread(30, 5)
    [5, 11, 17, 23, 29]
    """
    count = min(count, layers)
    return [-(-layers * (i + 1) // count) - 1 for i in range(count)]


def stream(layer: int) -> str:
    """Return the hook name of the residual stream after a layer."""
    return f"blocks.{layer}.hook_resid_post"
