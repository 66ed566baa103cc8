"""Benchmarks measure what is there: the code that they hand to processes of their own still runs."""

from __future__ import annotations

from benchmarks.measurements.observing import SETUP


def test_a_checkpoint_is_observed_with_all_measurements() -> None:
    """The last line of it observes a small model, and no measurement fails."""
    found: dict[str, object] = {}
    exec(SETUP, found)
    assert found["task"].name == "majority"
