"""Fixtures of these tests."""

from tests.support.figures.fixtures import coupled, robust, story_frame, synthetic

__all__ = ["coupled", "robust", "story_frame", "synthetic"]
