"""Cells: how many sequences of one test set and length are right, and whether skill is above a threshold.

A cell is shown to be *above* its threshold, shown to be *below* it, or inconclusive. The claim that all cells are above
needs no correction over cells. Each cell is tested at the full level, and a false "all" needs one false cell. The claim
that some cell is below needs a correction. So the level of *fail* is divided by the number of cells that could fail.
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
"""A test set and a length."""


@dataclass(frozen=True)
class Rules:
    """The thresholds of the verdict, the planned interim tests and their error level.

    Attributes:
        looks: total sequences of a cell after each interim test, ascending.
        fitted: skill that every trained cell must be shown to reach.
        robust: skill that every outer cell must be shown to reach; also the share of trained skill below which a cell
            fails.
        error: one-sided error of a claim over all interim tests.
    """

    looks: tuple[int, ...] = LOOKS
    fitted: float = FITTED
    robust: float = ROBUST
    error: float = ERROR

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in zip(self.looks, self.looks[1:], strict=False))
        if not self.looks or self.looks[0] < 1 or not rising:
            raise ValueError(
                f"looks takes numbers of sequences in rising order, e.g. 512, 2048, 4096, not {list(self.looks)}"
            )
        for name, value in (("fitted", self.fitted), ("robust", self.robust)):
            if not 0 < value <= 1:
                raise ValueError(f"{name} is a threshold of skill, above 0 and at most 1, not {value}")

    @property
    def level(self) -> float:
        """Gamma: the one-sided level of a limit at one interim test."""
        return self.error / len(self.looks)


@dataclass(frozen=True)
class Cell:
    """Counts of right answers on one test set at one length.

    Attributes:
        law, length: the test set, and the prefix length. Where ``first`` is set, the length is the last one of a band.
        right: number of right answers. It may be a fraction where all sequences are counted, weighted by probability.
        n: number of draws, or of counted items where everything is counted.
        floor: baseline: accuracy of the best guess or shortcut. It is a constant of the test set, estimated from other
            sequences.
        distinct: distinct sequences among the draws; None = unknown.
        counted: whether this is a complete count, without sampling error and interval.
        first: first length of the band, where the cell is one.
        best: accuracy of the best possible answers. None = unknown, so that there is no threshold.
        note: what was counted, or the drawn lengths, where this is not the test set at one length.
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
        """The lengths of the cell: ``length 48``, or ``lengths 33 to 48`` for a band."""
        return lengths_text(self.length if self.first is None else self.first, self.length)

    @property
    def defined(self) -> bool:
        """Whether skill is defined: the cell has answers, and its baseline is not too close to 1."""
        return self.n > 0 and self.floor <= HIGHEST_FLOOR

    @property
    def accuracy(self) -> float:
        return self.right / self.n

    @property
    def best_skill(self) -> float:
        """The best possible skill. Thresholds are shares of it."""
        return 1.0 if self.best is None else self.above(self.best)

    @property
    def skill(self) -> float:
        """(accuracy - baseline) / (1 - baseline); the field ``floor`` is the baseline."""
        return self.above(self.accuracy)

    def above(self, accuracy: float) -> float:
        """Return the skill that an accuracy means, given the baseline of this cell."""
        return (accuracy - self.floor) / (1.0 - self.floor)

    def lower(self, level: float) -> float:
        """Return the lower limit of skill with one-sided error ``level``."""
        return self.skill if self.counted else self.above(lower_limit(int(self.right), self.n, level))

    def upper(self, level: float) -> float:
        """Return the upper limit of skill with one-sided error ``level``."""
        return self.skill if self.counted else self.above(upper_limit(int(self.right), self.n, level))


def lengths_text(first: int, last: int) -> str:
    """Return ``length 48`` or ``lengths 33 to 48``."""
    return f"length {last}" if first == last else f"lengths {first} to {last}"


def trained_state(cell: Cell, rules: Rules, cells: int) -> State:
    """Return whether a trained cell reaches its threshold; ``cells`` is the number of trained cells."""
    needed = rules.fitted * cell.best_skill
    if cell.lower(rules.level) >= needed:
        return "pass"
    return "fail" if cell.upper(rules.level / cells) < needed else "open"


def outer_state(cell: Cell, rules: Rules, bar: float | None, cells: int) -> State:
    """Return whether skill holds at a length beyond training.

    Args:
        cell: the cell.
        rules: thresholds and levels.
        bar: skill below which the cell fails; None where the trained skill of its test set is unknown, so that no cell
            fails.
        cells: number of tested cells beyond training.
    """
    low, high, threshold = cell.lower(rules.level), cell.upper(rules.level), rules.robust * cell.best_skill
    bar = None if bar is None else min(bar, threshold)
    if low >= threshold:
        return "pass"
    if bar is not None and cell.upper(rules.level / cells) < bar:
        return "fail"
    return "between" if high < threshold and (bar is None or low >= bar) else "open"


def bar_of(trained: Iterable[Cell], rules: Rules) -> float | None:
    """Return the skill below which a length fails, from the trained cells of the same test set.

    None is returned if none of these cells has a skill.
    """
    skills = [cell.skill for cell in trained if cell.defined]
    return min(rules.robust, rules.robust * sum(skills) / len(skills)) if skills else None


def judged_lengths(grid: Grid, law: str) -> tuple[int, ...]:
    """Return the lengths beyond training at which a test set is tested."""
    if law == "matched":
        return grid.outside
    # The margin of the challenge test set is 0 up to 2N and full from 8N/3 on. Below, one window sees every event.
    return tuple(n for n in grid.outside if n >= CHALLENGE_FROM * grid.trained - 1e-9)


def far_enough(grid: Grid) -> bool:
    """Return whether the grid reaches the length that *scale-robust* needs."""
    return max(grid.lengths) >= HORIZON * grid.trained
