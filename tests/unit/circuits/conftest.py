"""Fixtures of these tests."""

from tests.support.circuits.fixtures import asked, keyed

__all__ = ["asked", "keyed"]
