"""Limit how many requests compute at a time: many threads that compete for the interpreter lose time to switching.

Twenty readers who each move a slider once a second send some 300 requests a second, a dozen at once. With one thread
per request, a move takes nearly twice the CPU time and many times as long as one by one.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

AT_ONCE = 1
"""Requests that compute at a time; others are read and written meanwhile."""

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

_turns = threading.BoundedSemaphore(AT_ONCE)
_own = threading.local()


def taking_turns(application: Application) -> Application:
    """A WSGI application that answers few requests at a time."""

    def answered(environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        with _turns:
            _own.turn = True
            try:
                return application(environ, start)
            finally:
                _own.turn = False

    return answered


@contextmanager
def let_others_run() -> Iterator[None]:
    """Let other requests run while the ``with`` block waits, for example for the worker."""
    has_turn = getattr(_own, "turn", False)
    if has_turn:
        _turns.release()
    try:
        yield
    finally:
        if has_turn:
            _turns.acquire()
