"""Fixtures of these tests."""

from tests.support.probes.fixtures import generators, measured

__all__ = ["generators", "measured"]
