"""Executors: call one function for many items, here or in worker processes, and lose no item in silence.

An item must be files in, files out, and safe to do twice, even at once: an item whose worker was killed is tried
again, and a worker on another machine that only lost its connection may still be at it.
"""

from __future__ import annotations

import signal
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Protocol, TypeVar, runtime_checkable

from workbench.core.errors import LensError

Item = TypeVar("Item")
Result = TypeVar("Result")


class ExecutorError(LensError, ValueError):
    """An executor that cannot be made; the message says which there are."""


@dataclass(frozen=True)
class Failure:
    """Stands in the results for an item that gave none.

    Attributes:
        index: the item's place among the items.
        item: the item itself.
        error: what went wrong, in one line.
        traceback: the traceback where the function raised, or "" where its worker was killed.
    """

    index: int
    item: Any
    error: str
    traceback: str = field(default="", repr=False)

    @classmethod
    def of(cls, index: int, item: Any, error: BaseException) -> Failure:
        """The failure of an item whose function raised ``error``."""
        name = type(error).__name__
        said = str(error)
        whole = "".join(traceback.format_exception(error))
        return cls(index, item, f"{name}: {said}" if said else name, whole)


@runtime_checkable
class Executor(Protocol):
    """Calls a function for each of some items."""

    def check(self) -> None:
        """Refuse before any work what is needed and not there; nothing on one machine."""
        ...

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        on_done: Callable[[int, Result | Failure], None] | None = None,
        memory_per_worker: int | None = None,
    ) -> list[Result | Failure]:
        """Results in the order of the items, with a :class:`Failure` for each item that raised.

        Args:
            function: called with one item; what it raises (any Exception) concerns that item only.
            items: the items.
            on_done: called here, once per item as soon as it is done, with the item's index and its
                result or failure. What it raises ends the map.
            memory_per_worker: bytes one worker needs at its peak, to bound the number of workers.
        """
        ...


class Serial:
    """One item after another, in this process."""

    def check(self) -> None:
        """See :meth:`Executor.check`."""

    def map(
        self,
        function: Callable[[Item], Result],
        items: Iterable[Item],
        *,
        on_done: Callable[[int, Result | Failure], None] | None = None,
        memory_per_worker: int | None = None,
    ) -> list[Result | Failure]:
        """See :meth:`Executor.map`; ``memory_per_worker`` changes nothing here."""
        results: list[Result | Failure] = []
        with noting_interrupts() as interrupted:
            for index, item in enumerate(items):
                outcome = attempt(function, index, item)
                if interrupted:
                    raise KeyboardInterrupt
                results.append(outcome)
                if on_done is not None:
                    on_done(index, outcome)
        return results


@contextmanager
def noting_interrupts() -> Iterator[list[int]]:
    """A list that is no longer empty once Ctrl-C was pressed inside the block, or what raises like it arrived.

    Libraries written in C may lose the KeyboardInterrupt that is raised within them and raise
    something else in its place, which would make a failed item of what was meant to end the work.
    """
    noted: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield noted  # signals reach the main thread only
        return
    # SIGTERM too, where a handler raises for it; by default it ends the process, and nothing can be lost.
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    raising = {number: handler for number, handler in handlers.items() if callable(handler)}

    def note(number: int, frame: FrameType | None) -> None:
        noted.append(number)
        raising[signal.Signals(number)](number, frame)

    for number in raising:
        signal.signal(number, note)
    try:
        yield noted
    finally:
        for number, handler in raising.items():
            signal.signal(number, handler)


def attempt(function: Callable[[Item], Result], index: int, item: Item) -> Result | Failure:
    """The function's result for an item, or the failure it raised; leaving the program is one too."""
    try:
        return function(item)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever it is, the others go on
        return Failure.of(index, item, error)
