"""Fixtures of these tests."""

from tests.support.table.fixtures import make_run

__all__ = ["make_run"]
