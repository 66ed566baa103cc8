"""Twenty thousand requests to a real server on this machine: no traceback, no hang, no secret, memory that stays."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.dashboard import fakes
from tests.support.hostile.effort import AddTally, effort
from tests.support.hostile.requesting import Maker, storm
from tests.support.places import ROOT

COUNT = effort(20_000)
STEPS = (0, 100, 1000, 1500, 3000)
ALLOWED = 120.0
"""Megabytes that the server may come to hold after a fifth of the requests: its caches of drawings fill until then."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two measured runs and one that is not; their checkpoints hold no weights."""
    chosen = tuple(f for f in fakes.FAKES if f.name in ("majority-nope-s0", "flip_flop-rotary-s0"))
    return fakes.build(tmp_path_factory.mktemp("runs"), chosen, steps=STEPS)


@pytest.fixture
def served(root: Path, tmp_path: Path) -> Iterator[tuple[int, int, Path]]:
    """Port, process id and log of ``app.py`` over the runs."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path / "log"
    with log.open("wb") as out:
        process = subprocess.Popen(
            [sys.executable, "app.py", str(root), "--port", str(port)], cwd=ROOT, stdout=out, stderr=subprocess.STDOUT
        )
        try:
            for _ in range(1200):
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    assert process.poll() is None, log.read_text()
                    time.sleep(0.1)
            yield port, process.pid, log
            assert process.poll() is None, "the server ended"
        finally:
            process.terminate()
            process.wait(60)


def resident(process: int) -> float:
    """Megabytes of memory that a process holds."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def test_twenty_thousand_requests_leave_no_traceback_and_a_server_of_the_same_size(
    served: tuple[int, int, Path],
    tally: AddTally,
    capsys: pytest.CaptureFixture[str],
) -> None:
    port, process, log = served
    held: dict[int, float] = {}
    begun = time.monotonic()
    make = Maker(port, ("majority-nope-s0", "flip_flop-rotary-s0", "majority-learned-s0"), STEPS, fakes.LENGTHS)
    found = storm(make, COUNT, each=lambda sent: held.__setitem__(sent, resident(process)), every=max(1, COUNT // 80))
    took = time.monotonic() - begun
    early = max(megabytes for sent, megabytes in held.items() if sent <= COUNT // 5)
    with capsys.disabled():
        print(
            f"\n{found.total:,} requests in {took:.0f} s; {early:.0f} MB after a fifth of them, {max(held.values()):.0f} MB at most"
        )
        print(found.table())
    tally("requests", found.total, found.wrong)
    assert found.total == COUNT
    assert not found.wrong, "\n".join(found.wrong[:10])
    assert max(held.values()) < early + ALLOWED
    said = log.read_text()
    assert "Traceback" not in said, said[-4000:]
    assert len(said.splitlines()) < 10, said[-4000:]  # nothing is logged at all


def test_a_thousand_connections_that_ask_nothing_keep_nobody_out(served: tuple[int, int, Path]) -> None:
    port, _, log = served
    idle = []
    try:
        for number in range(1100):
            connection = socket.create_connection(("127.0.0.1", port), timeout=60)
            if number % 2:
                connection.sendall(b"GET / HTTP/1.1\r\n")  # and never the rest
            idle.append(connection)
        with socket.create_connection(("127.0.0.1", port), timeout=60) as asking:
            asking.sendall(b"GET /_dash-layout HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            assert asking.recv(15) == b"HTTP/1.1 200 OK"
    finally:
        for connection in idle:
            connection.close()
    assert "Traceback" not in log.read_text()
