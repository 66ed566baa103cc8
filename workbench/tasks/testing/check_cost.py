"""Checks that the memory of a task does not grow like the square of the length."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

from torch import Tensor
from torch.overrides import TorchFunctionMode

from workbench.tasks.base import EVALUATION_LAWS, Task, TaskError
from workbench.tasks.testing.subject import (
    LONG,
    LONGEST_LISTED,
    Check,
    TaskSubject,
)


# ---- cost ----------------------------------------------------------------------------------------
class _LargestTensor(TorchFunctionMode):
    """Records the largest number of elements of any tensor that is created in the block."""

    numbers = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        for value in result if isinstance(result, tuple | list) else (result,):
            if isinstance(value, Tensor):
                self.numbers = max(self.numbers, value.numel())
        return result


def _memory(one: TaskSubject) -> Iterator[str]:
    """Check that no array grows like the square of the length, because long sequences are the purpose of tasks."""
    long = _longest(one.task)
    short = one.task.next_length(long / 4)
    for law in EVALUATION_LAWS:
        small, large = _peak(one, law, short), _peak(one, law, long)
        grows = (long / short) ** 1.5  # between what grows like the length and like its square
        least = long**2 / 4, 2 * long**2  # numbers of a tensor, bytes of all arrays
        for what, few, many, square in zip(("tensor", "array"), small, large, least, strict=True):
            if many > square and many > grows * few:
                yield (
                    f"drawing 2 sequences of the {law} test set at length {long} allocates {many:,} "
                    f"{'numbers in one tensor' if what == 'tensor' else 'bytes'}, which grows like the square of the "
                    "length; use cumulative sums along the sequence, or blocks"
                )


def _longest(task: Task) -> int:
    """Return a length of about :data:`LONG`, or a shorter one if there is none."""
    for length in (LONG, LONG // 2, LONG // 4):
        with suppress(TaskError):
            return task.next_length(length)
    return task.next_length(LONGEST_LISTED)


def _peak(one: TaskSubject, law: str, length: int) -> tuple[int, int]:
    """Return the elements of the largest tensor, and bytes of everything else, while two sequences are drawn."""
    one.draw(law, length, count=2, window=length // 8)  # what is cached does not count
    tracemalloc.start()
    try:
        with _LargestTensor() as largest:
            batch = one.draw(law, length, count=2, window=length // 8)
            one.task.shortcuts(batch, length // 8)
        return largest.numbers, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


CHECKS: Mapping[str, Check] = {
    "memory": _memory,
}
"""The checks of this file by name, in the order in which they run."""
