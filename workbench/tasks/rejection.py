"""Draws sequences of a hard kind by rejection."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from workbench.tasks.batch import Batch

MOST_TOKENS = 2**25
"""Tokens to draw in search of one stratum. If they do not contain enough of its sequences, the stratum is too rare."""
TOKENS_AT_ONCE = 2**16


def by_rejection(
    draw: Callable[[int], Batch], of_stratum: Callable[[Batch], Tensor], batch: int, length: int
) -> Batch | None:
    """Return the first ``batch`` drawn sequences that are of a stratum; None if they are too rare.

    Args:
        draw: draws this many sequences of a distribution, new ones at each call.
        of_stratum: returns which of them are of the stratum, ``[batch]``.
        batch: how many sequences to return.
        length: their length.
    """
    rows, count, batches = max(1, TOKENS_AT_ONCE // length), 0, list[Batch]()
    for _ in range(MOST_TOKENS // (rows * length)):
        candidates = draw(rows)
        chosen = of_stratum(candidates).nonzero()[: batch - count, 0]
        if len(chosen):
            batches.append(candidates.take(chosen))
            count += len(chosen)
        if count == batch:
            return Batch.join(batches)
    return None
