"""Cells, as data: how often a law at a length was answered right, what that shows, and what it leaves open.

A cell is *above* its bar, *below* it, or neither is shown: three answers, not two. That all cells are above needs no
correction over cells (each is tested at the full level, and a false "all" needs one false cell); that some cell is
below does, so the level of *fail* is divided by the number of cells that could.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from workbench.core.thresholds import CHALLENGE_FROM, ERROR, FITTED, HIGHEST_FLOOR, HORIZON, LOOKS, ROBUST
from workbench.measure.intervals import lower_limit, upper_limit
from workbench.measure.measurement import Grid

State = Literal["pass", "fail", "between", "open"]
Key = tuple[str, int]
"""A law and a length."""


@dataclass(frozen=True)
class Rules:
    """The thresholds of the verdict, and the planned looks with the level that each has.

    Attributes:
        looks: strings of a cell in all, after each planned look; ascending.
        fitted: skill every trained cell must be shown to reach.
        robust: skill every outer cell must be shown to reach, and the kept share of trained skill.
        error: one-sided error of a claim over all looks.
    """

    looks: tuple[int, ...] = LOOKS
    fitted: float = FITTED
    robust: float = ROBUST
    error: float = ERROR

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.looks, self.looks[1:], strict=False))
        if not self.looks or self.looks[0] < 1 or not rising:
            raise ValueError(f"looks takes rising numbers of sequences, e.g. 512, 2048, 4096, not {list(self.looks)}")
        for name, value in (("fitted", self.fitted), ("robust", self.robust)):
            if not 0 < value <= 1:
                raise ValueError(f"{name} is a skill above 0 and up to 1, not {value}")

    @property
    def level(self) -> float:
        """Gamma: the one-sided level of a limit at any look."""
        return self.error / len(self.looks)


@dataclass(frozen=True)
class Cell:
    """Answers under one law at one length.

    Attributes:
        law, length: which strings; the length is the last of a band where ``first`` is given.
        right: how many were answered right; a fraction where the law's strings are counted with their probabilities.
        n: draws, or, where everything is counted, the number of what was counted.
        floor: accuracy of the best guess or shortcut: a constant of the law, from strings of its own.
        distinct: distinct strings among the draws, or None where that is not known.
        counted: whether this is a complete count, which has no sampling error and so no interval.
        first: first length of the band, where the cell is one.
        best: accuracy of the best possible answers; None where nobody knows it, so that there is no threshold.
        note: what was counted, or which lengths the draws are of, where that is not the law at one length.
    """

    law: str
    length: int
    right: float
    n: int
    floor: float
    distinct: int | None = None
    counted: bool = False
    first: int | None = None
    note: str = ""
    best: float | None = 1.0

    @property
    def key(self) -> Key:
        return self.law, self.length

    @property
    def lengths(self) -> str:
        """Which lengths it is of: ``length 48``, or ``lengths 33 to 48`` of a band."""
        return lengths_text(self.length if self.first is None else self.first, self.length)

    @property
    def defined(self) -> bool:
        """Whether skill is: something was asked, and the floor leaves room above it."""
        return self.n > 0 and self.floor <= HIGHEST_FLOOR

    @property
    def accuracy(self) -> float:
        return self.right / self.n

    @property
    def best_skill(self) -> float:
        """The best possible skill, of which thresholds are shares."""
        return 1.0 if self.best is None else self.above(self.best)

    @property
    def skill(self) -> float:
        """(accuracy - floor) / (1 - floor)."""
        return self.above(self.accuracy)

    def above(self, accuracy: float) -> float:
        """An accuracy as skill over this cell's floor."""
        return (accuracy - self.floor) / (1.0 - self.floor)

    def lower(self, level: float) -> float:
        """Lower limit of skill, of one-sided error ``level``."""
        return self.skill if self.counted else self.above(lower_limit(int(self.right), self.n, level))

    def upper(self, level: float) -> float:
        """Upper limit of skill, of one-sided error ``level``."""
        return self.skill if self.counted else self.above(upper_limit(int(self.right), self.n, level))


def lengths_text(first: int, last: int) -> str:
    """``length 48``, or ``lengths 33 to 48``."""
    return f"length {last}" if first == last else f"lengths {first} to {last}"


def trained_state(cell: Cell, rules: Rules, cells: int) -> State:
    """Whether a trained length is fitted; ``cells`` is the number of trained ones."""
    needed = rules.fitted * cell.best_skill
    if cell.lower(rules.level) >= needed:
        return "pass"
    return "fail" if cell.upper(rules.level / cells) < needed else "open"


def outer_state(cell: Cell, rules: Rules, bar: float | None, cells: int) -> State:
    """Whether skill is kept at a length beyond training.

    Args:
        cell: it.
        rules: thresholds and levels.
        bar: skill below which it has failed; None where the trained skill of its law is unknown, and nothing fails.
        cells: number of the outer cells that are judged.
    """
    low, high, needed = cell.lower(rules.level), cell.upper(rules.level), rules.robust * cell.best_skill
    bar = None if bar is None else min(bar, needed)
    if low >= needed:
        return "pass"
    if bar is not None and cell.upper(rules.level / cells) < bar:
        return "fail"
    return "between" if high < needed and (bar is None or low >= bar) else "open"


def bar_of(trained: Iterable[Cell], rules: Rules) -> float | None:
    """Skill below which a length has failed, from the trained cells of the same law; None where none has a skill."""
    skills = [cell.skill for cell in trained if cell.defined]
    return min(rules.robust, rules.robust * sum(skills) / len(skills)) if skills else None


def judged_lengths(grid: Grid, law: str) -> tuple[int, ...]:
    """The lengths beyond training that count under a law."""
    if law == "matched":
        return grid.outside
    # The margin of the challenge law is 0 up to 2N and whole from 8N/3 on: before that one window sees every event.
    return tuple(n for n in grid.outside if n >= CHALLENGE_FROM * grid.trained - 1e-9)


def far_enough(grid: Grid) -> bool:
    """Whether the grid reaches the horizon that *scale-robust* needs."""
    return max(grid.lengths) >= HORIZON * grid.trained
