"""Norms of small transformers in training, and how near they are to their saturated networks."""

from __future__ import annotations

from workbench.claims.claim import Row


def norm_rows() -> list[Row]:
    """Return the rows; they are computed once the criterion of their claim is fixed."""
    raise NotImplementedError


def slope_rows() -> list[Row]:
    """Return the rows; they are computed once the criterion of their claim is fixed."""
    raise NotImplementedError
