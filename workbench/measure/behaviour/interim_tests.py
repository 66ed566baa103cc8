"""Interim tests: which cells get more sequences, and when drawing stops.

Every cell gets the sequences of the first interim test. While its state is open, it may get more at the planned interim
tests. Each test has its share of the error, so that a claim is valid wherever drawing stops. A state never changes once
it is reached.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

from workbench.core.names import TEST_SETS
from workbench.measure.behaviour.accuracy_cells import (
    Cell,
    Key,
    Rules,
    State,
    bar_of,
    far_enough,
    judged_lengths,
    outer_state,
    trained_state,
)
from workbench.measure.measurement import Grid

LAWS = TEST_SETS


@dataclass(frozen=True)
class Tally:
    """Counts of answers to further sequences of one cell, and the distinct sequences so far in total."""

    right: int
    n: int
    distinct: int | None = None


Draw = Callable[[Cell, int, int], Tally]
"""Draws sequences ``start`` to ``stop`` of a cell's random stream, and counts right answers."""
DrawAgain = Callable[[Cell, int], Tally]
"""Draws a second, independent batch of this many sequences of a cell, and counts right answers."""


@dataclass(frozen=True)
class Looks:
    """The interim tests of all lengths and test sets at one checkpoint.

    Attributes:
        planned: total sequences of a cell after each interim test; the first number is what every cell gets.
        allowed: how many of the tests may be made here; 1 if fewer sequences are available than planned.
    """

    planned: tuple[int, ...]
    allowed: int

    @classmethod
    def of(cls, rules: Rules, first: int, deep: bool) -> Looks:
        """Return the interim tests of a study whose cells start with ``first`` sequences.

        If ``first`` is below the first planned number, only one test is allowed.

        Args:
            rules: the rules of the verdict.
            first: sequences that every cell has.
            deep: whether more sequences may be drawn.
        """
        planned = (first, *(n for n in rules.looks if n > first))
        return cls(planned, len(planned) if deep and first >= rules.looks[0] else 1)


@dataclass
class LookBoard:
    """The states of all tested lengths and test sets of a checkpoint, between interim tests.

    Attributes:
        grid, rules: the lengths and the thresholds.
        cells: the counts of every test set and length, tested or not.
        unseen: lengths that need position ids which training never used. They are not tested.
        states: states of the tested cells. A state never changes once it is reached.
        second: by test set, the second batch at its last length, where one was drawn.
    """

    grid: Grid
    rules: Rules
    cells: dict[Key, Cell]
    unseen: frozenset[int] = frozenset()
    states: dict[Key, State] = field(default_factory=dict)
    second: dict[str, Cell] = field(default_factory=dict)

    @property
    def laws(self) -> tuple[str, ...]:
        return tuple(law for law in LAWS if any(key[0] == law for key in self.cells))

    @property
    def trained_cells(self) -> list[Cell]:
        """The trained cells: the matched test set at every length of G_in."""
        return [self.cells["matched", n] for n in self.grid.inside]

    def tested_cells(self, law: str) -> list[Cell]:
        """Return the tested cells beyond training of a test set that have a skill, by length."""
        return [cell for cell in self._expected(law) if cell.defined]

    @property
    def outer(self) -> list[Cell]:
        return [cell for law in self.laws for cell in self.tested_cells(law)]

    @property
    def undefined_cells(self) -> list[Cell]:
        """The cells beyond training that should be tested but have no skill."""
        return [cell for law in self.laws for cell in self._expected(law) if not cell.defined]

    def _expected(self, law: str) -> list[Cell]:
        return [self.cells[law, n] for n in judged_lengths(self.grid, law) if n not in self.unseen]

    def bar(self, law: str) -> float | None:
        """Return the skill below which a length of this test set fails."""
        return bar_of((self.cells[law, n] for n in self.grid.inside), self.rules)

    def state(self, cell: Cell) -> State:
        return self.states.get(cell.key, "open")

    def having(self, state: State, among: Iterable[Cell]) -> list[Cell]:
        return [cell for cell in among if self.state(cell) == state]

    @property
    def no_threshold(self) -> bool:
        """Whether the best possible accuracy of some tested cell is unknown."""
        return any(cell.best is None for cell in (*self.trained_cells, *self.outer))

    @property
    def fit(self) -> State:
        """Whether the model solves the training lengths: pass, fail or open."""
        states = {self.state(cell) if cell.defined else "open" for cell in self.trained_cells}
        return "fail" if "fail" in states else "pass" if states == {"pass"} else "open"

    def settle(self) -> None:
        """Determine the still inconclusive states from the present counts. Without a threshold none changes."""
        if self.no_threshold:
            return
        trained = [cell for cell in self.trained_cells if cell.defined]
        for cell in self.having("open", trained):
            self.states[cell.key] = trained_state(cell, self.rules, len(trained))
        outer, bars = self.outer, {law: self.bar(law) for law in self.laws}
        for cell in self.having("open", outer):
            self.states[cell.key] = outer_state(cell, self.rules, bars[cell.law], len(outer))

    def pair(self, law: str) -> Cell | None:
        """Return the first tested cell of a test set that fails together with the next one, or by complete count."""
        cells = self.tested_cells(law)
        for place, cell in enumerate(cells):
            confirmed = cell.counted or bool(self.having("fail", cells[place + 1 : place + 2]))
            if self.state(cell) == "fail" and confirmed:
                return cell
        return None

    def lonely_end(self, law: str) -> Cell | None:
        """Return the last tested cell of a test set if it fails and no pair of cells decides."""
        cells = self.tested_cells(law)
        return cells[-1] if cells and self.state(cells[-1]) == "fail" and self.pair(law) is None else None

    def second_batch_fails(self, law: str) -> bool:
        """Return whether the second batch at the last length of a test set fails too."""
        again, bar = self.second.get(law), self.bar(law)
        return again is not None and bar is not None and again.upper(self.rules.level) < bar

    def failing_cell(self, law: str) -> Cell | None:
        """Return the cell at which the skill of a test set drops, or None."""
        return self.pair(law) or (self.lonely_end(law) if self.second_batch_fails(law) else None)

    @property
    def could_be_robust(self) -> bool:
        """Whether *scale-robust* is still possible."""
        ruled_out = self.unseen or self.undefined_cells or not self.grid.outside or not far_enough(self.grid)
        return not ruled_out and not {"fail", "between"} & {self.state(cell) for cell in self.outer}

    def matters(self, cell: Cell) -> bool:
        """Return whether the result of an inconclusive cell beyond training can still decide the verdict."""
        if self.could_be_robust:
            return True
        cells = self.tested_cells(cell.law)
        place = [one.key for one in cells].index(cell.key)
        beside = [cells[i] for i in (place - 1, place + 1) if 0 <= i < len(cells)]
        return place == len(cells) - 1 or any(self.state(one) in ("open", "fail") for one in beside)

    def open_cells(self) -> list[Cell]:
        """Return the cells that can still decide the verdict; only trained cells as long as one of them is open."""
        if self.fit == "fail" or self.no_threshold:
            return []
        if self.fit == "open":
            known = all(cell.defined for cell in self.trained_cells)
            return self.having("open", self.trained_cells) if known else []
        if any(self.failing_cell(law) for law in self.laws):
            return []
        return [cell for cell in self.having("open", self.outer) if self.matters(cell)]


def look(board: LookBoard, looks: Looks, draw: Draw, again: DrawAgain) -> Mapping[Key, int]:
    """Draw more sequences until the verdict is decided or no interim test remains.

    Args:
        board: the cells with the counts of the first interim test. Cells and states are changed.
        looks: the planned and the allowed interim tests.
        draw: draws further sequences and counts right answers.
        again: draws a second, independent batch and counts right answers.

    Returns:
        the number of interim tests made, for each cell with more than one.
    """
    test_counts: dict[Key, int] = {}
    board.settle()
    while True:
        asked = [cell for cell in board.open_cells() if test_counts.get(cell.key, 1) < looks.allowed]
        if not asked:
            break
        for cell in asked:
            start = test_counts.get(cell.key, 1)
            more = draw(cell, *looks.planned[start - 1 : start + 1])
            board.cells[cell.key] = replace(
                cell, right=cell.right + more.right, n=cell.n + more.n, distinct=more.distinct
            )
            test_counts[cell.key] = start + 1
        board.settle()
    if board.fit == "pass":
        _confirm(board, lambda cell: again(cell, looks.planned[test_counts.get(cell.key, 1) - 1]))
    return test_counts


def _confirm(board: LookBoard, again: Callable[[Cell], Tally]) -> None:
    """Draw a second batch of the same size where a test set fails at its last length only."""
    for law in board.laws:
        end = board.lonely_end(law)
        if end is not None and not any(board.failing_cell(law) for law in board.laws):
            found = again(end)
            board.second[law] = replace(end, right=found.right, n=found.n, distinct=found.distinct)


def flawless(floor: float, bar: float, rules: Rules) -> int:
    """Return the least number of sequences that proves skill of at least ``bar`` if all their answers are right."""
    return math.ceil(math.log(rules.level) / math.log(floor + bar * (1 - floor)))


def would_decide(cell: Cell, bar: float, rules: Rules, cells: int, fails_below: float | None) -> int | None:
    """Return how many sequences in total would decide a cell if its share of right answers stays the same.

    Args:
        cell: the cell.
        bar: skill that it must be shown to reach.
        rules: thresholds, interim tests and levels.
        cells: the number by which the level of *fail* is divided.
        fails_below: skill below which it fails; None = it cannot fail.

    Returns:
        if all answers were right: the number of right answers that suffices. Otherwise the smallest planned number at
            which the present share would pass or fail; None if there is none.
    """
    if cell.right == cell.n:
        return flawless(cell.floor, bar, rules)
    for n in (n for n in rules.looks if n > cell.n):
        then = replace(cell, right=round(cell.accuracy * n), n=n)
        if then.lower(rules.level) >= bar:
            return n
        if fails_below is not None and then.upper(rules.level / cells) < fails_below:
            return n
    return None


def looks_left(board: LookBoard, looks: Looks, made: Mapping[Key, int]) -> list[Cell]:
    """Return the cells that would get more sequences if all planned interim tests were allowed."""
    return [cell for cell in board.open_cells() if made.get(cell.key, 1) < len(looks.planned)]
