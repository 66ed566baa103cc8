"""Drawing ahead: while a reader views a run, a thread draws what its sliders can select next.

Moving one slider changes a panel along one axis. These drawings are few, and they are cached. The thread rests while
any request is open, so that requests are answered first.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from workbench.dashboard.panels.panel_spec import Panel, PanelCursor

REST = 0.004
"""Seconds between two drawings."""
QUIET = 0.3
"""Seconds without a request after which drawing continues."""
WAITING = 32
"""Runs whose drawings may wait; of more, the longest waiting is given up."""


@dataclass(frozen=True)
class PrefetchRequest:
    """A selection, the panels on screen there, and their look."""

    at: PanelCursor
    panels: tuple[Panel, ...]
    look: tuple[tuple[str, Any], ...]

    @property
    def key(self) -> tuple[Any, ...]:
        """Equal where the drawings would be."""
        return self.at.run.name, self.at.run.signature, self.look

    def drawings(self) -> Iterator[tuple[Panel, PanelCursor]]:
        """Every panel at every selection that one slider leads to, the nearest first."""
        cursor = self.at.cursor
        for part, places in (("step", self.at.run.measured_steps), ("length", self.at.run.lengths)):
            here = getattr(cursor, part)
            for value in sorted(places, key=lambda place: abs(place - here)):
                there = replace(cursor, step=value) if part == "step" else replace(cursor, length=value)
                moved = replace(self.at, cursor=there)
                yield from ((panel, moved) for panel in self.panels if part in panel.needs)


class Prefetch:
    """A thread that draws ahead, started at the first request.

    Args:
        draw: draws a panel at a selection in a look, and caches it.
    """

    def __init__(self, draw: Callable[[Panel, PanelCursor, dict[str, Any]], object]) -> None:
        self._draw = draw
        self._disturbed = 0.0
        self._waiting: OrderedDict[tuple[Any, ...], PrefetchRequest] = OrderedDict()
        self._done: OrderedDict[tuple[Any, ...], None] = OrderedDict()
        self._wake = threading.Condition()
        self._thread: threading.Thread | None = None
        self._closed = False

    def ask(self, at: PanelCursor, panels: Sequence[Panel], look: dict[str, Any]) -> None:
        """Draw ahead for a run, unless that was done in this state of it."""
        asked = PrefetchRequest(at, tuple(panels), tuple(sorted(look.items())))
        with self._wake:
            if self._closed or asked.key in self._done:
                return
            self._waiting[asked.key] = asked
            while len(self._waiting) > WAITING:
                self._waiting.popitem(last=False)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="ahead", daemon=True)
                self._thread.start()
            self._wake.notify_all()

    def disturb(self) -> None:
        """Pause drawing ahead until there has been no request for a while."""
        self._disturbed = time.monotonic()

    def close(self) -> None:
        """End the thread after the drawing it is at."""
        with self._wake:
            self._closed = True
            self._waiting.clear()
            self._wake.notify_all()

    def _run(self) -> None:
        while True:
            with self._wake:
                while not self._waiting and not self._closed:
                    self._wake.wait()
                if self._closed:
                    return
                key, request = self._waiting.popitem(last=False)
                self._done[key] = None
                while len(self._done) > 4 * WAITING:
                    self._done.popitem(last=False)
            for panel, at in request.drawings():
                while not self._closed and time.monotonic() - self._disturbed < QUIET:
                    time.sleep(REST)
                if self._closed:
                    return
                with suppress(Exception):  # what cannot be drawn says so where it is asked for
                    self._draw(panel, at, dict(request.look))
                time.sleep(REST)
