"""What tests of several tiers share. Executors: the same answers everywhere, every item accounted for, and no process left behind."""

from __future__ import annotations

import time
from pathlib import Path

import pytest


def alive(pid: int) -> bool:
    """Whether a process runs; one that ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def gone(pids: list[int]) -> bool:
    """Whether processes end, given a minute for a busy machine."""
    for _ in range(600):
        if not any(map(alive, pids)):
            return True
        time.sleep(0.1)
    return False


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks at processes in /proc")
