"""Fixtures of these tests."""

from tests.support.trust.fixtures import as_if_just_started, custom

__all__ = ["as_if_just_started", "custom"]
