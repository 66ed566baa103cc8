"""``timing.json``: what training took, beside the results and never in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from workbench.runs import timing
from workbench.runs.timing import Stopwatch, Timing, read_timing
from workbench.storage.seal import SealError, sealed_json


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    now = [100.0]
    monkeypatch.setattr(timing.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(timing, "peak_bytes", lambda: 7000)
    return now


def test_time_adds_up_over_what_continues_a_run(tmp_path: Path, clock: list[float]) -> None:
    """20 updates in 5 s, then an end 4 updates after what was saved; these are done again, and count again."""
    assert read_timing(tmp_path) is None
    watch = Stopwatch(tmp_path, 0)
    watch.note(0)
    assert read_timing(tmp_path) is None  # nothing was done
    clock[0] += 5.0
    watch.note(20)
    assert read_timing(tmp_path) == Timing(20, 5.0, 7000)
    clock[0] += 1.0
    watch.note(24)
    clock[0] += 1000.0  # nobody trains
    again = Stopwatch(tmp_path, 20)
    clock[0] += 2.0
    again.note(30)
    assert read_timing(tmp_path) == Timing(34, 8.0, 7000)


def test_what_is_no_time_is_named_and_costs_no_training(tmp_path: Path, clock: list[float]) -> None:
    path = tmp_path / timing.NAME
    for bad in ({"updates": "x"}, {"updates": -1, "seconds": 1.0, "peak_bytes": 1}):
        path.write_bytes(sealed_json(bad))
        with pytest.raises(SealError, match="time"):
            read_timing(tmp_path)
    path.write_bytes(b"{}")
    with pytest.raises(SealError):
        read_timing(tmp_path)
    watch = Stopwatch(tmp_path, 3)
    clock[0] += 1.5
    watch.note(5)
    assert read_timing(tmp_path) == Timing(2, 1.5, 7000)


def test_memory_is_counted_in_bytes() -> None:
    assert 10_000_000 < timing.peak_bytes() < 10**12
