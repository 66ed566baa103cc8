"""Models with one head that find the largest item of a set: dispersion, adaptive temperature, norm after attention."""

from __future__ import annotations

from workbench.claims.claim import Row


def dispersion_rows() -> list[Row]:
    """Return the rows; they are computed once the criterion of their claim is fixed."""
    raise NotImplementedError


def temperature_rows() -> list[Row]:
    """Return the rows; they are computed once the criterion of their claim is fixed."""
    raise NotImplementedError


def variance_rows() -> list[Row]:
    """Return the rows; they are computed once the criterion of their claim is fixed."""
    raise NotImplementedError


def norm_rows() -> list[Row]:
    """Return the rows; they are computed once the criterion of their claim is fixed."""
    raise NotImplementedError
