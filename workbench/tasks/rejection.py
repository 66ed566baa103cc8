"""Strings of a hard kind, drawn by rejection."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from workbench.tasks.batch import Batch

MOST_TOKENS = 2**25
"""Tokens drawn in search of one stratum; where they do not give enough strings of it, it is too rare."""
TOKENS_AT_ONCE = 2**16


def by_rejection(
    draw: Callable[[int], Batch], of_stratum: Callable[[Batch], Tensor], batch: int, length: int
) -> Batch | None:
    """The first ``batch`` strings that are of a stratum; None where they are too rare.

    Args:
        draw: that many strings of a law, further ones at each call.
        of_stratum: which of them are of the stratum, ``[batch]``.
        batch: how many strings are wanted.
        length: their length.
    """
    rows, found, kept = max(1, TOKENS_AT_ONCE // length), 0, list[Batch]()
    for _ in range(MOST_TOKENS // (rows * length)):
        drawn = draw(rows)
        chosen = of_stratum(drawn).nonzero()[: batch - found, 0]
        if len(chosen):
            kept.append(drawn.take(chosen))
            found += len(chosen)
        if found == batch:
            return Batch.join(kept)
    return None
