"""Fixtures of these tests."""

from tests.support.circuits.fixtures import asked

__all__ = ["asked"]
