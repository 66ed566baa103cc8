"""Chance levels without a closed form, estimated from sequences drawn with a fixed seed."""

from __future__ import annotations

from functools import lru_cache
from typing import ClassVar

from workbench.tasks.base import Law, Task
from workbench.tasks.best_constant import in_best_reach
from workbench.tasks.random_generator import generator

__all__ = ["ChanceByDraws"]

STRINGS = 4096


class ChanceByDraws(Task):
    """The base class of tasks with numeric answers whose chance level has no closed form and is estimated from
    draws.
    """

    family: ClassVar[str] = "averages"

    def chance(self, law: Law, length: int) -> float:
        """Return the share of 4,096 sequences, drawn with a fixed seed, for which the best constant answer is right.

        Its standard error is at most 0.008. For vectors only some constants are tried, so that the true chance may be a
        little higher. For *challenge* it is that of N = length // 8.
        """
        return _share_in_reach(self, law, length)


@lru_cache(maxsize=1024)
def _share_in_reach(task: Task, law: Law, length: int) -> float:
    draws = generator("chance", task.name, sorted(task.parameters.items()), law, length)
    strings, _ = task.draw_strings(STRINGS, length, draws, law, None)
    return float(in_best_reach(task.answer(strings), task.tolerance_, task._within).double().mean())
