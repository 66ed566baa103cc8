"""Connections that ask nothing do not keep others out."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from workbench.dashboard.app import create_app, quiet_server
from workbench.dashboard.server import connection_limits

LIMIT = 20
WAIT = 60.0


@pytest.fixture
def server(small_root: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A served dashboard that takes :data:`LIMIT` connections of an address."""
    monkeypatch.setattr(connection_limits, "CONNECTIONS_PER_ADDRESS", LIMIT)
    app = create_app(small_root)
    made = quiet_server(app, "127.0.0.1", 0)
    thread = threading.Thread(target=made.run, daemon=True)
    thread.start()
    yield made
    made.task_dispatcher.shutdown()
    made.close()
    app.server.extensions["lengthlens"].close()
    thread.join(5)


def connect(server: Any) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.effective_port), timeout=WAIT)


def answer(connection: socket.socket) -> bytes:
    connection.sendall(b"GET /_dash-layout HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
    return connection.recv(15)


def is_closed(connection: socket.socket) -> bool:
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def test_the_longest_idle_connections_make_room(server: Any) -> None:
    idle = [connect(server) for _ in range(3 * LIMIT)]
    for connection in idle[::2]:
        connection.sendall(b"GET / HTTP/1.1\r\n")  # and never the rest
    newest = connect(server)
    assert answer(newest) == b"HTTP/1.1 200 OK"
    assert is_closed(idle[0])
    assert len(server.active_channels) <= LIMIT + 1
    for connection in (*idle, newest):
        connection.close()


def test_a_connection_that_is_used_outlives_idle_ones(server: Any) -> None:
    used = connect(server)
    idle = []
    for _ in range(2 * LIMIT):
        idle.append(connect(server))
        assert answer(used) == b"HTTP/1.1 200 OK"
        while b"\r\n0\r\n" not in (data := used.recv(1 << 20)) and len(data) == 1 << 20:
            pass
        drain(used)
    for connection in (*idle, used):
        connection.close()


def drain(connection: socket.socket) -> None:
    """Read what is left of an answer."""
    connection.settimeout(0.2)
    try:
        while connection.recv(1 << 20):
            pass
    except TimeoutError:
        pass
    finally:
        connection.settimeout(WAIT)


def test_a_request_that_never_ends_is_hung_up_on(server: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_limits, "REQUEST_SECONDS", 0.5)
    slow = connect(server)
    end = time.monotonic() + WAIT
    closed = False
    while not closed and time.monotonic() < end:
        try:
            slow.sendall(b"x")  # a header line that grows by a byte at a time
            time.sleep(0.05)
        except ConnectionError:
            closed = True
    assert closed
