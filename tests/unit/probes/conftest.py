"""Fixtures of these tests."""

from tests.support.probes.fixtures import at, generators, measured, read_code

__all__ = ["at", "generators", "measured", "read_code"]
