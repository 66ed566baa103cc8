"""A layer of attention that names the letters that are absent from a sequence."""

from __future__ import annotations

from workbench.claims.claim import Row


def separation_rows() -> list[Row]:
    """Return the rows; they are computed once the criterion of their claim is fixed."""
    raise NotImplementedError


def gain_rows() -> list[Row]:
    """Return the rows; they are computed once the criterion of their claim is fixed."""
    raise NotImplementedError
