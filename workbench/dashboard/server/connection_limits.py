"""Connections of one client are bounded in number and time, so that idle ones cannot keep others out."""

from __future__ import annotations

import time
from typing import Any

from waitress.channel import HTTPChannel
from waitress.server import BaseWSGIServer

CONNECTIONS_PER_ADDRESS = 256
"""Open at once. A browser opens about six; a proxy or tunnel stands for many browsers with one address."""
REQUEST_SECONDS = 30.0
"""Within which a request must have arrived whole."""
IDLE_SECONDS = 30
"""Seconds after which a connection without a request is closed; an open page sends one every two seconds."""


class LimitedChannel(HTTPChannel):  # type: ignore[misc]
    """A connection that makes room: beyond the limit of its address the longest idle one is closed."""

    request_began = 0.0

    def __init__(self, server: Any, sock: Any, addr: Any, adj: Any, map: Any = None) -> None:
        close_longest_idle(server, addr)
        super().__init__(server, sock, addr, adj, map=map)

    def received(self, data: bytes) -> bool:
        """Take bytes of a request, and remember when its first ones came."""
        if self.request is None:
            self.request_began = time.time()
        return bool(super().received(data))

    def readable(self) -> bool:
        """Whether to read on. A request that is late closes its connection."""
        if self.request is not None and time.time() - self.request_began > REQUEST_SECONDS:
            self.will_close = True
        return bool(super().readable())


def close_longest_idle(server: Any, addr: Any) -> None:
    """Mark connections of an address for closing until there is room for one more. Busy ones are never closed."""
    open_channels = [
        channel for channel in server.active_channels.values() if channel.addr[0] == addr[0] and not channel.will_close
    ]
    surplus = len(open_channels) + 1 - CONNECTIONS_PER_ADDRESS
    if surplus > 0:
        idle = [channel for channel in open_channels if not channel.requests and not channel.total_outbufs_len]
        for channel in sorted(idle, key=lambda channel: channel.last_activity)[:surplus]:
            channel.will_close = True


def limit_connections(server: Any) -> Any:
    """The same waitress server, with :class:`LimitedChannel` on each of its listening sockets."""
    listening = [server] if isinstance(server, BaseWSGIServer) else server.map.values()
    for socket in listening:
        if isinstance(socket, BaseWSGIServer):
            socket.channel_class = LimitedChannel
    return server
