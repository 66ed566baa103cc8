"""What tests of several tiers share. Neighbours of a symbol, needles and chains of hops: every string, the laws, and the floors."""

from __future__ import annotations

NEIGHBOURS = ["ul", "ur", "nl_first", "nr_first", "nl_last", "nr_last"]


# ---- the laws of neighbours ------------------------------------------------------------------------
def occurrences(batch):
    """Positions (from 1) of the query in the context, per sequence."""
    context, query = batch.tokens[:, 1:-2], batch.tokens[:, -1:]
    return [(row.nonzero()[:, 0] + 1).tolist() for row in context == query]
