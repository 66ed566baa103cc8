"""Baselines: accuracy of guesses and of the task's shortcuts, on one test set at one length, without a model.

A constant answer fitted to the sequences that test the model would score too high, and would change with more of them.
So baselines come from sequences of their own. If all sequences of a test set can be listed in proportion to their
probabilities, that list is used instead.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import torch

from workbench.core.canonical import canonical
from workbench.tasks.base import Batch, Task
from workbench.tasks.random_generator import generator

STRINGS = 4096
"""Number of sequences drawn for a baseline."""
BLOCK = 64
"""Block size of these draws, as for the test sequences."""
KEPT = 4096
"""Maximum number of baselines that a process caches."""


@dataclass(frozen=True)
class Floor:
    """Baseline accuracies, which a model reaches without solving the task.

    Attributes:
        value: the baseline of skill. On the matched test set it is chance. On the challenge test set it is the best of
            chance and the shortcuts, except those that the task excludes.
        chance: accuracy of the best constant answer.
        shortcuts: accuracy of each shortcut that the task declares.
        outside: the shortcuts that the task excludes from the baseline.
    """

    value: float
    chance: float
    shortcuts: Mapping[str, float]
    outside: frozenset[str] = frozenset()


_FLOORS: dict[tuple[object, ...], Floor] = {}


def floor_of(task: Task, law: str, length: int, window: int, seed: int) -> Floor:
    """Return the baseline of a test set at a length, cached.

    Args:
        task: the task.
        law: ``matched`` or ``challenge``.
        length: prefix length.
        window: N, the longest training length: what a window shortcut sees.
        seed: the run's evaluation seed. The baseline's sequences are disjoint draws from the test sequences.
    """
    key = (type(task), canonical(task.parameters), law, length, window, seed)
    if key not in _FLOORS:
        while len(_FLOORS) >= KEPT:
            _FLOORS.pop(next(iter(_FLOORS)))
        _FLOORS[key] = _floor(task, law, length, window, seed)
    return _FLOORS[key]


def _floor(task: Task, law: str, length: int, window: int, seed: int) -> Floor:
    batch = every_string(task, law, length, window) or strings(task, law, length, window, seed)
    asked = batch.mask[:, batch.index(length)]
    hits = {name: of_each[asked].tolist() for name, of_each in task.shortcuts(batch, window).items()}
    shortcuts = {name: math.fsum(values) / len(values) for name, values in hits.items()}
    chance = task.chance(law, length)
    return Floor(max([chance, *_counting(task, law, shortcuts).values()]), chance, shortcuts, task.outside_floor)


def _counting(task: Task, law: str, shortcuts: Mapping[str, float]) -> Mapping[str, float]:
    """Return the shortcuts that enter the baseline of a test set."""
    if law != "challenge":
        return {}
    return {name: value for name, value in shortcuts.items() if name not in task.outside_floor}


def every_string(task: Task, law: str, length: int, window: int) -> Batch | None:
    """Return all sequences of a test set, repeated in proportion to probability; None if that takes too many."""
    support = task.support(law, length, window)
    if support is None:
        return None
    times = support.probabilities * torch.arange(1, STRINGS + 1)[:, None]
    whole = ((times - times.round()).abs() <= 1e-9).all(1).nonzero()
    if not len(whole):
        return None
    often = times[whole[0, 0]].round().long()
    return support.batch.take(torch.arange(len(support.batch)).repeat_interleave(often))


def strings(task: Task, law: str, length: int, window: int, seed: int) -> Batch:
    """Draw the sequences of a baseline, without their ``update_summary``, which no shortcut reads."""
    generators = [generator("floor", seed, law, length, number) for number in range(STRINGS // BLOCK)]
    return task.sample_blocks(BLOCK, length, generators, law, window)
