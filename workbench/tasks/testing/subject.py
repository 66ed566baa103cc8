"""A task to check, with the sequences that the checks look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import torch
from torch import Tensor

from workbench.tasks.base import EVALUATION_LAWS, Batch, Task, TaskError

P = 1e-6
"""Significance level at which two distributions differ, over all statistics of a comparison together."""
MANY = 2_000
"""Sequences to draw from a distribution."""
SOME = 24
"""Sequences to look at one by one."""
LONGEST_LISTED = 40
"""Largest length up to which every length is looked at."""
LONG = 1024
"""Length at which memory is measured."""
MOST_LENGTHS = 12
"""Number of admissible lengths to draw at."""
KINDS = ("state", "average", "counter", "pointer")
LAWS = ("training", *EVALUATION_LAWS)


class TaskSubject:
    """A task to check, with sequences of the task that several checks use.

    Attributes:
        task: the task.
        window: N, the first admissible length from 8 on.
        length: the first admissible length from 4 N on, at which distributions are compared.
    """

    def __init__(self, task: Task) -> None:
        self.task = task
        self._many: dict[str, Batch] = {}
        self._some: dict[tuple[str, int], Batch] = {}

    @cached_property
    def window(self) -> int:
        return self.task.next_length(8)

    @cached_property
    def length(self) -> int:
        return self.task.next_length(4 * self.window)

    def draw(self, law: str, length: int, count: int = SOME, seed: int = 0, window: int | None = None) -> Batch:
        """Draw fresh sequences of a distribution."""
        generator = torch.Generator().manual_seed(seed)
        return self.task.sample(count, length, generator, law, self.window if window is None else window)

    def large_batch(self, law: str) -> Batch:
        """Return :data:`MANY` sequences of a distribution at :attr:`length`."""
        if law not in self._many:
            self._many[law] = self.draw(law, self.length, MANY)
        return self._many[law]

    def strings(self, batch: Batch) -> Tensor:
        """Return token ids without BOS."""
        return batch.tokens[:, int(self.task.bos) :]

    def small_batches(self) -> Iterator[tuple[str, Batch]]:
        """Yield some sequences of each distribution, at N and beyond it."""
        for law in LAWS:
            for length in (self.window, self.length):
                if (law, length) not in self._some:
                    self._some[law, length] = self.draw(law, length)
                yield f"{law} sequences of length {length}", self._some[law, length]


def refuses(act: Callable[[], object]) -> bool:
    """Whether a call is refused with a TaskError."""
    try:
        act()
    except TaskError:
        return True
    return False


Check = Callable[[TaskSubject], Iterator[str]]
"""Yields a sentence for each promise that a task does not keep."""
