"""What tests of several tiers share. Which rows count, before and after compaction: one law, checked against a model in plain Python."""

from __future__ import annotations

from workbench.table import Table


def held(run) -> list[tuple[str, int, int, float]]:
    """What a reader gets of a run: (measurement, step, length, value)."""
    frame = Table.load(run.path).frame()
    return sorted(zip(frame.measurement, frame.step, frame.length, frame.value, strict=True))
