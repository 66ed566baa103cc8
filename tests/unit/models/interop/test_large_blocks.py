"""Large activations go back to the system although small ones were allocated behind them."""

from __future__ import annotations

import platform
import subprocess
import sys

import pytest

CODE = """
import re, sys
from workbench.models.interop.hugging_face.large_blocks import return_large_blocks
def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
if sys.argv[1] == "yes":
    assert return_large_blocks()
first = bytearray(b"x") * (30 << 20)
del first  # from here on glibc keeps blocks of this size
before = resident()
large = []
small = []
for _ in range(100):
    large.append(bytearray(b"x") * (2 << 20))
    small.append([bytearray(b"x") * 5000 for _ in range(5)])
held = resident() - before
large.clear()
print(held, resident() - before)
"""


def kept(fixed: str) -> tuple[float, float]:
    """MiB that 100 blocks of 2 MiB take, and that stay when they are let go of."""
    done = subprocess.run([sys.executable, "-c", CODE, fixed], capture_output=True, text=True, check=True)
    held, left = map(float, done.stdout.split())
    return held, left


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such threshold")
def test_large_blocks_go_back_although_small_ones_lie_between_them() -> None:
    held, left = kept("yes")
    assert held > 180
    assert left < 60
