"""Errors of recurrences after words that lead back to the same state: kept by affine maps, shrunk by ReLU networks."""

from __future__ import annotations

from workbench.claims.claim import Row


def neutrality_rows() -> list[Row]:
    """Return the rows; they are computed once the criterion of their claim is fixed."""
    raise NotImplementedError
