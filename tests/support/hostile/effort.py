"""How much the hostile tier tries, and how that ends: all of it (`make hostile`), or a share (`make hostile-short`)."""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

Case = TypeVar("Case")
AddTally = Callable[[str, int, Sequence[str]], None]
"""Takes a surface, how many inputs it was given, and a sentence for each that ended wrong."""

SHARE = float(os.environ.get("HOSTILE_SHARE", "1"))
"""Of the inputs of each test."""


def effort(count: int, least: int = 1) -> int:
    """How many of so many inputs are tried: at least ``least``."""
    return max(min(least, count), round(count * SHARE))


def sample(cases: Sequence[Case], seed: int, least: int = 1) -> Sequence[Case]:
    """The cases that are tried, in their order: all of them, or a seeded sample."""
    count = effort(len(cases), least)
    return (
        cases
        if count == len(cases)
        else [cases[i] for i in sorted(random.Random(seed).sample(range(len(cases)), count))]
    )


KINDS = {"tracebacks": "traceback", "hangs": "hang", "executions": "executed", "outside": "outside"}
"""What may be wrong with how an input ends, and the word that says so."""


@dataclass(frozen=True)
class Tally:
    """How the inputs of one surface ended.

    Attributes:
        surface: a command, or a part of the dashboard.
        inputs: how many were tried.
        wrong: what was wrong, by the keys of :data:`KINDS` or ``other``.
    """

    surface: str
    inputs: int
    wrong: Mapping[str, int]

    @classmethod
    def of(cls, surface: str, inputs: int, problems: Sequence[str]) -> Tally:
        """The tally of problems, each of which is a sentence."""
        return cls(surface, inputs, Counter(_kind(problem) for problem in problems))


def _kind(problem: str) -> str:
    return next((kind for kind, word in KINDS.items() if word in problem.lower()), "other")


def tally_table(tallies: Iterable[Tally]) -> list[str]:
    """The lines of a table of all surfaces and their sum."""
    sums: dict[str, Counter[str]] = {}
    for tally in tallies:
        sums.setdefault(tally.surface, Counter()).update({"inputs": tally.inputs, **tally.wrong})
    sums["in all"] = sum(sums.values(), Counter())
    columns = ("inputs", *KINDS, "other")
    lines = [f"{'surface':<26}" + "".join(f"{column:>12}" for column in columns)]
    for surface, counts in sums.items():
        lines.append(f"{surface:<26}" + "".join(f"{counts[column]:>12,}" for column in columns))
    return lines


DEFECT = "defect in LengthLens"
"""What a command calls an error that nobody expected; hostile input must not bring one about."""
