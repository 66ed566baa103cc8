"""Fixtures of these tests."""

from tests.support.tasks.fixtures import assert_law, every_string, seeded

__all__ = ["assert_law", "every_string", "seeded"]
