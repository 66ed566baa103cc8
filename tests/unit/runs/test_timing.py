"""``timing.json``: what training took, beside the results and never in them."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

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


@pytest.mark.parametrize(("said", "found"), [
    ({"updates": 0, "seconds": 0, "peak_bytes": 0}, Timing()), ({"updates": 3, "seconds": 1.5, "peak_bytes": 9}, Timing(3, 1.5, 9)), ({"updates": -1, "seconds": 1.0, "peak_bytes": 0}, "a time that is not possible"), ({"updates": 1, "seconds": -0.1, "peak_bytes": 0}, "a time that is not possible"),
    ({"updates": 1, "seconds": 1.0, "peak_bytes": -1}, "a time that is not possible"), ({"updates": 1, "seconds": math.inf, "peak_bytes": 0}, "a time that is not possible"), ({"updates": 1.0, "seconds": 1.0, "peak_bytes": 0}, "contains no time"), ({"updates": 1, "seconds": 1.0}, "contains no time"),
    ({"updates": 1, "seconds": "1", "peak_bytes": 0}, "contains no time"),
])  # fmt: skip
def test_times_that_can_be(said: dict[str, Any], found: Timing | str, tmp_path: Path) -> None:
    (tmp_path / "timing.json").write_bytes(sealed_json(said))
    if isinstance(found, str):
        with pytest.raises(SealError, match=found):
            read_timing(tmp_path)
    else:
        assert read_timing(tmp_path) == found


def test_time_and_updates_add_up_and_memory_is_the_most(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now, peak = [100.0], [50]
    monkeypatch.setattr(timing.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(timing, "peak_bytes", lambda: peak[0])
    assert read_timing(tmp_path) is None
    watch = Stopwatch(tmp_path, 10)
    watch.note(10)
    assert read_timing(tmp_path) is None, "nothing was done"
    now[0] = 104.0
    watch.note(13)
    assert read_timing(tmp_path) == Timing(3, 4.0, 50)
    now[0], peak[0] = 110.0, 30
    again = Stopwatch(tmp_path, 12)
    now[0] = 111.5
    again.note(14)
    assert read_timing(tmp_path) == Timing(5, 5.5, 50)


@pytest.mark.parametrize(("platform", "factor"), [("darwin", 1), ("linux", 1024)])
def test_memory_by_the_units_of_the_system(platform: str, factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timing.sys, "platform", platform)
    monkeypatch.setattr(timing.resource, "getrusage", lambda who: type("Usage", (), {"ru_maxrss": 7})())
    assert timing.peak_bytes() == 7 * factor
