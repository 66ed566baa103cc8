"""Fixtures of these tests."""

from tests.support.figures.fixtures import story_frame, synthetic

__all__ = ["story_frame", "synthetic"]
