"""What a guess and the stated shortcuts score under a law at a length: a constant of the task, found without any model.

A best constant that is fitted to the strings on which a model is judged lies too high, and moves when more are drawn.
So floors come from strings of their own; where all strings of a law can be listed in proportion, from these.
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
"""Strings drawn for a floor."""
BLOCK = 64
"""They are drawn so many at a time, as strings that are judged are."""
KEPT = 4096
"""Floors a process remembers."""


@dataclass(frozen=True)
class Floor:
    """What can be scored without the answer.

    Attributes:
        value: the floor over which skill is counted: chance; under the challenge law the best of chance and the
            shortcuts, those left out that the task states to be outside the floor.
        chance: accuracy of the best constant answer.
        shortcuts: accuracy of every stated shortcut oracle.
        outside: the oracles that the task leaves out of the floor.
    """

    value: float
    chance: float
    shortcuts: Mapping[str, float]
    outside: frozenset[str] = frozenset()


_FLOORS: dict[tuple[object, ...], Floor] = {}


def floor_of(task: Task, law: str, length: int, window: int, seed: int) -> Floor:
    """The floor of a law at a length.

    Args:
        task: what is asked.
        law: ``matched`` or ``challenge``.
        length: prefix length.
        window: N, the longest training length: what a window oracle sees.
        seed: the run's evaluation seed; the strings are none of those that are judged.
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
    """The shortcuts that enter the floor of a law."""
    if law != "challenge":
        return {}
    return {name: value for name, value in shortcuts.items() if name not in task.outside_floor}


def every_string(task: Task, law: str, length: int, window: int) -> Batch | None:
    """Every string of a law, each as often as its probability says; None where that takes too many."""
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
    """The strings of a floor, without their ``update_summary``: no oracle reads it."""
    generators = [generator("floor", seed, law, length, number) for number in range(STRINGS // BLOCK)]
    return task.sample_blocks(BLOCK, length, generators, law, window)
