"""Looking again: which cells are drawn further strings for, and when that ends.

Every cell is given the strings of the first look. While its state is open it may be asked again at the planned looks,
each with its share of the error, so that what is claimed holds wherever one stops. A state once reached is kept.
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
    """Answers to further strings of one cell: how many of ``n`` were right, and distinct strings so far in all."""

    right: int
    n: int
    distinct: int | None = None


Draw = Callable[[Cell, int, int], Tally]
"""Draws strings ``start`` to ``stop`` of a cell's sequence and has them answered."""
DrawAgain = Callable[[Cell, int], Tally]
"""Draws a second, independent batch of so many strings of a cell."""


@dataclass(frozen=True)
class Looks:
    """The looks of one study.

    Attributes:
        planned: strings of a cell in all, after each look; the first is what every cell is given.
        allowed: how many of them may be made here: one alone where the budget is cut.
    """

    planned: tuple[int, ...]
    allowed: int

    @classmethod
    def of(cls, rules: Rules, first: int, deep: bool) -> Looks:
        """Those of a study whose cells start with ``first`` strings; ``deep``: whether it may look again at all.

        Fewer strings than the first planned look are a budget that was cut.
        """
        planned = (first, *(n for n in rules.looks if n > first))
        return cls(planned, len(planned) if deep and first >= rules.looks[0] else 1)


@dataclass
class LookBoard:
    """All cells of a checkpoint with their states.

    Attributes:
        grid, rules: what is judged, and how.
        cells: what is known of every law and length, judged or not.
        unseen: lengths at which ids are read that training never showed: they are not judged.
        states: of the judged cells; one once reached is kept.
        second: by law, the second batch at its last length, where one was drawn.
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
    def trained(self) -> list[Cell]:
        """The trained cells: the matched law at every length of G_in."""
        return [self.cells["matched", n] for n in self.grid.inside]

    def judged(self, law: str) -> list[Cell]:
        """The outer cells of a law that are judged and have a skill, by length."""
        return [cell for cell in self._wanted(law) if cell.defined]

    @property
    def outer(self) -> list[Cell]:
        return [cell for law in self.laws for cell in self.judged(law)]

    @property
    def undefined(self) -> list[Cell]:
        """Outer cells that should be judged and have no skill."""
        return [cell for law in self.laws for cell in self._wanted(law) if not cell.defined]

    def _wanted(self, law: str) -> list[Cell]:
        return [self.cells[law, n] for n in judged_lengths(self.grid, law) if n not in self.unseen]

    def bar(self, law: str) -> float | None:
        """Skill below which a length of this law has failed."""
        return bar_of((self.cells[law, n] for n in self.grid.inside), self.rules)

    def state(self, cell: Cell) -> State:
        return self.states.get(cell.key, "open")

    def having(self, state: State, among: Iterable[Cell]) -> list[Cell]:
        return [cell for cell in among if self.state(cell) == state]

    @property
    def no_threshold(self) -> bool:
        """Whether nobody knows what the best answers to a judged cell would score."""
        return any(cell.best is None for cell in (*self.trained, *self.outer))

    @property
    def fit(self) -> State:
        """Whether the training lengths are fitted: pass, fail or open."""
        states = {self.state(cell) if cell.defined else "open" for cell in self.trained}
        return "fail" if "fail" in states else "pass" if states == {"pass"} else "open"

    def settle(self) -> None:
        """Work out the states that are still open from the strings there are now; without a threshold all stay open."""
        if self.no_threshold:
            return
        trained = [cell for cell in self.trained if cell.defined]
        for cell in self.having("open", trained):
            self.states[cell.key] = trained_state(cell, self.rules, len(trained))
        outer, bars = self.outer, {law: self.bar(law) for law in self.laws}
        for cell in self.having("open", outer):
            self.states[cell.key] = outer_state(cell, self.rules, bars[cell.law], len(outer))

    def pair(self, law: str) -> Cell | None:
        """The first judged cell of a law that fails together with the next one, or that fails by complete count."""
        cells = self.judged(law)
        for place, cell in enumerate(cells):
            confirmed = cell.counted or bool(self.having("fail", cells[place + 1 : place + 2]))
            if self.state(cell) == "fail" and confirmed:
                return cell
        return None

    def lonely_end(self, law: str) -> Cell | None:
        """The last judged cell of a law, where it fails and no pair decides."""
        cells = self.judged(law)
        return cells[-1] if cells and self.state(cells[-1]) == "fail" and self.pair(law) is None else None

    def confirmed(self, law: str) -> bool:
        """Whether the second batch at the last length of a law fails too."""
        again, bar = self.second.get(law), self.bar(law)
        return again is not None and bar is not None and again.upper(self.rules.level) < bar

    def failed(self, law: str) -> Cell | None:
        """Where a law's skill is lost, or None."""
        return self.pair(law) or (self.lonely_end(law) if self.confirmed(law) else None)

    @property
    def could_be_robust(self) -> bool:
        """Whether *scale-robust* is not ruled out yet."""
        ruled_out = self.unseen or self.undefined or not self.grid.outside or not far_enough(self.grid)
        return not ruled_out and not {"fail", "between"} & {self.state(cell) for cell in self.outer}

    def matters(self, cell: Cell) -> bool:
        """Whether what an open outer cell turns out to be can still decide the verdict."""
        if self.could_be_robust:
            return True
        cells = self.judged(cell.law)
        place = [one.key for one in cells].index(cell.key)
        beside = [cells[i] for i in (place - 1, place + 1) if 0 <= i < len(cells)]
        return place == len(cells) - 1 or any(self.state(one) in ("open", "fail") for one in beside)

    def open_cells(self) -> list[Cell]:
        """The cells whose answer would decide something: trained ones first, and nothing else while one is open."""
        if self.fit == "fail" or self.no_threshold:
            return []
        if self.fit == "open":
            known = all(cell.defined for cell in self.trained)
            return self.having("open", self.trained) if known else []
        if any(self.failed(law) for law in self.laws):
            return []
        return [cell for cell in self.having("open", self.outer) if self.matters(cell)]


def look(board: LookBoard, looks: Looks, draw: Draw, again: DrawAgain) -> Mapping[Key, int]:
    """Ask until the verdict is decided or no look is left.

    Args:
        board: the cells with the strings of the first look; cells and states change.
        looks: what is planned and allowed.
        draw: has further strings answered.
        again: has a second, independent batch answered.

    Returns:
        how many looks each cell has had that was asked again.
    """
    made: dict[Key, int] = {}
    board.settle()
    while True:
        asked = [cell for cell in board.open_cells() if made.get(cell.key, 1) < looks.allowed]
        if not asked:
            break
        for cell in asked:
            start = made.get(cell.key, 1)
            more = draw(cell, *looks.planned[start - 1 : start + 1])
            board.cells[cell.key] = replace(
                cell, right=cell.right + more.right, n=cell.n + more.n, distinct=more.distinct
            )
            made[cell.key] = start + 1
        board.settle()
    if board.fit == "pass":
        _confirm(board, lambda cell: again(cell, looks.planned[made.get(cell.key, 1) - 1]))
    return made


def _confirm(board: LookBoard, again: Callable[[Cell], Tally]) -> None:
    """Draw a second batch, of as many strings, where a law fails at its last length alone."""
    for law in board.laws:
        end = board.lonely_end(law)
        if end is not None and not any(board.failed(law) for law in board.laws):
            found = again(end)
            board.second[law] = replace(end, right=found.right, n=found.n, distinct=found.distinct)


def flawless(floor: float, bar: float, rules: Rules) -> int:
    """Strings that show skill of at least ``bar`` if all are answered right."""
    return math.ceil(math.log(rules.level) / math.log(floor + bar * (1 - floor)))


def would_decide(cell: Cell, bar: float, rules: Rules, cells: int, fails_below: float | None) -> int | None:
    """How many strings in all would decide an open cell, if its share of right answers stays.

    Args:
        cell: it.
        bar: skill it must be shown to reach.
        rules: thresholds, looks and levels.
        cells: how many cells the level of *fail* is divided by.
        fails_below: skill below which it fails, or None where nothing fails.

    Returns:
        where nothing was wrong yet, the number at which that shows enough; else the smallest planned look at which
        the present share would pass or fail; None where none would.
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
    """The cells that would be asked again if the budget were not cut."""
    return [cell for cell in board.open_cells() if made.get(cell.key, 1) < len(looks.planned)]
