"""Not beginning an item once the time for it is up."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from workbench.core.errors import LensError

Item = TypeVar("Item")
Result = TypeVar("Result")


class TimeIsUp(LensError):
    """An item was not begun, or not finished, because the time for it was up."""


@dataclass(frozen=True)
class Before(Generic[Item, Result]):
    """A function of one item that refuses items from some time on; travels to worker processes.

    Attributes:
        function: what is called.
        until: seconds since the epoch; None = no limit.
    """

    function: Callable[[Item], Result]
    until: float | None = None

    def __call__(self, item: Item) -> Result:
        """The function's result.

        Raises:
            TimeIsUp: if the time is up.
        """
        if self.until is not None and time.time() >= self.until:
            raise TimeIsUp("not begun")
        return self.function(item)
