"""Cells of laws with few strings: counted where all can be, else drawn over a band of lengths.

Draws with replacement are independent whatever they repeat, so an interval from 512 of them holds for the accuracy
of the law, however few its strings are. What it does not cover is any other string or length. So:

- where there is one string per length the unit is the length, and every length of a band is counted: all residues;
- where a law's strings at a length can be listed, each is evaluated once and weighted by its probability;
- where they cannot, and hardly any of the draws are distinct, the cell is its band: a length uniform over those that
  are admissible after the grid length before it, then the law at that length. The note of its rows says which lengths.

What is counted completely has no sampling error, and no interval.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from workbench.measure.behaviour.accuracy_cells import Cell, Key, lengths_text
from workbench.measure.behaviour.baselines import floor_of
from workbench.measure.behaviour.interim_tests import LookBoard
from workbench.measure.behaviour.observed import right_queries
from workbench.measure.behaviour.verdict import Verdict
from workbench.measure.measurement import Grid, Study
from workbench.tasks.random_generator import generator

if TYPE_CHECKING:
    from torch import Tensor

    from workbench.tasks.base import Batch, Support, Task

FEWEST = 32
"""Distinct strings among the first draws below which a cell is drawn over its band (or half of the draws)."""
BLOCK = 64
"""Draws over a band are made in blocks of so many, each a pure function of its number."""
MOST_FLOORS = 64
"""Lengths of a band whose floors are averaged, at most: evenly spaced over it."""
Answers = Iterator[tuple["Batch", Mapping[str, "Tensor"]]]


@dataclass(frozen=True)
class Counted:
    """A task with one string per length, counted.

    Attributes:
        grid: the grid whose lengths end a band each.
        bands: by last length, all lengths of the band.
        right: by length from 1 on, whether it is answered right: its last ``period`` queries.
    """

    grid: Grid
    bands: Mapping[int, Sequence[int]]
    right: Mapping[int, float]

    def cells(self, laws: Sequence[str]) -> dict[Key, Cell]:
        """The same counts under every law, for all laws are one."""
        found = {}
        for last, lengths in self.bands.items():
            right = sum(self.right[n] for n in lengths)
            note = f"{right:g} of {len(lengths)} lengths, all counted: {lengths_text(lengths[0], lengths[-1])}"
            for law in laws:
                found[law, last] = Cell(
                    law, last, right, len(lengths), 0.0, len(lengths), counted=True, first=lengths[0], note=note
                )
        return found

    @property
    def first_wrong(self) -> int | None:
        """The smallest length beyond N that is answered wrong."""
        return min((n for n, right in self.right.items() if n > self.grid.trained and right < 1), default=None)


def count_lengths(study: Study, names: Sequence[str], whole: Batch, answers: Mapping[str, Tensor]) -> Counted:
    """Ask at every length up to the grid's last.

    Args:
        study: of a task with one string per length.
        names: activations that answers are judged by, beside the logits.
        whole: the string of the grid's last length, once or several times.
        answers: what the model made of it. A causal model reads every prefix of it as it would alone, unless prefixes
            have other position ids alone; then each length has its own pass.
    """
    task, grid = study.task, study.grid
    batch, cache = whole.rows(0, 1), {name: tensor[:1] for name, tensor in answers.items()}
    lengths = [n for n in range(1, max(grid.lengths) + 1) if task.admissible(n)]
    right = {}
    if study.cfg.ids.consistent:
        queries = right_queries(study, batch, cache)[0]
        for n in lengths:
            end = batch.index(n) + 1
            right[n] = float(task.answered(queries[:, :end], batch.prefix(n))[0])
    else:
        for n in lengths:
            alone = task.sample(1, n, generator("length", study.seed, n), "matched", window=grid.trained)
            found = right_queries(study, alone, study.answers(alone, names))[0]
            right[n] = float(task.answered(found, alone)[0])
    kept, bands = bands_of(grid, lengths, task.period)
    return Counted(kept, bands, right)


def bands_of(grid: Grid, lengths: Sequence[int], period: int) -> tuple[Grid, dict[int, Sequence[int]]]:
    """Every length, in bands that end at a grid length and hold two periods at least.

    A shorter band joins the next one, the last of the trained ones and the last of all the one before; no band holds
    both trained and longer lengths.

    Returns:
        the grid of the lengths that end a band, and the bands by these.
    """
    found: dict[int, Sequence[int]] = {}
    for start, stop in ((0, grid.trained), (grid.trained, max(grid.lengths))):
        ends, ended, waiting = [n for n in grid.lengths if start < n <= stop], list[int](), list[int]()
        for n in ends:
            waiting += [m for m in lengths if start < m <= n]
            start = n
            if len(waiting) >= 2 * period:
                found[n], waiting = waiting, []
                ended.append(n)
        if waiting:
            found[ends[-1]] = [*(found.pop(ended[-1]) if ended else []), *waiting]
    kept = [tuple(n for n in some if n in found) for some in (grid.lengths, grid.inside, grid.outside)]
    lengths, inside, outside = kept
    return Grid(grid.trained, lengths, inside, outside, shortest=grid.shortest), found


def is_few(cell: Cell) -> bool:
    """Whether hardly any of a cell's draws are distinct."""
    return cell.distinct is not None and cell.distinct < min(FEWEST, cell.n / 2)


def band(task: Task, grid: Grid, length: int) -> list[int]:
    """The admissible lengths of the band that ends at a grid length; the first one begins where training does.

    At shorter lengths a task may ask nothing.
    """
    before = max((n for n in grid.lengths if n < length), default=min(grid.shortest, length) - 1)
    return [n for n in range(before + 1, length + 1) if task.admissible(n)]


@dataclass(frozen=True)
class Band:
    """A law at several lengths, each as likely.

    Attributes:
        law: the law.
        lengths: the lengths, ascending.
    """

    law: str
    lengths: Sequence[int]

    def floor(self, study: Study) -> float:
        """The mean of the floors of the lengths."""
        places = np.linspace(0, len(self.lengths) - 1, min(len(self.lengths), MOST_FLOORS)).round().astype(int)
        lengths = [self.lengths[place] for place in places]
        floors = [floor_of(study.task, self.law, n, study.grid.trained, study.seed).value for n in lengths]
        return sum(floors) / len(floors)

    def draws(self, study: Study, start: int, stop: int, names: Sequence[str], word: str = "band") -> Answers:
        """Draws ``start`` to ``stop`` of a sequence of (length, string), answered; by length, not in their order."""
        drawn: dict[int, list[Batch]] = {}
        for block in range(start // BLOCK, -(-stop // BLOCK)):
            seed = (word, study.seed, self.law, self.lengths[-1], block)
            lengths = torch.randint(len(self.lengths), (BLOCK,), generator=generator(*seed, "lengths"))
            wanted = torch.arange(block * BLOCK, (block + 1) * BLOCK)
            wanted = (wanted >= start) & (wanted < stop)
            for place in lengths[wanted].unique().tolist():
                n, own = self.lengths[place], lengths == place
                strings = study.task.sample(int(own.sum()), n, generator(*seed, n), self.law, window=study.grid.trained)
                drawn.setdefault(n, []).append(strings.take(wanted[own].nonzero()[:, 0]))
        for n in sorted(drawn):
            batch = type(drawn[n][0]).join(drawn[n])
            yield batch, study.answers(batch, names)


def exact(study: Study, cell: Cell, support: Support, names: Sequence[str]) -> Cell:
    """A cell whose strings are all evaluated once: its accuracy is that of the law, exactly."""
    batch = support.batch
    answered = study.task.answered(right_queries(study, batch, study.answers(batch, names))[0], batch)
    odds = support.probabilities * batch.mask[:, batch.index(batch.length)]
    n, asked = len(batch), float(odds.sum())
    right = float((odds * answered).sum()) / asked if asked else 0.0
    note = f"all {n} sequence{'s' * (n > 1)}"
    return replace(cell, right=n * right, n=n if asked else 0, distinct=n, counted=True, note=note)


def over_band(cell: Cell, of: Band, floor: float) -> Cell:
    """A cell with nothing asked yet, that stands for its band."""
    return replace(
        cell, right=0, n=0, distinct=0, floor=floor, first=of.lengths[0],
        note=lengths_text(of.lengths[0], of.lengths[-1]),
    )  # fmt: skip


def one_string(batch: Batch) -> bool:
    """Whether all strings of a batch are the same one."""
    return bool((batch.tokens == batch.tokens[:1]).all())


def with_few(verdict: Verdict, board: LookBoard) -> Verdict:
    """The verdict; its note says so where it knows of a judged law only what its few strings tell."""
    few = [
        cell
        for cell in (*board.trained, *board.outer)
        if is_few(cell) or (cell.counted and cell.distinct is not None and cell.distinct < FEWEST)
    ]
    if not few:
        return verdict
    fewest = min(few, key=lambda cell: (cell.distinct or 0, -cell.length))
    said = f"{fewest.distinct} distinct sequence{'s' * (fewest.distinct != 1)} at {fewest.lengths}"
    return replace(verdict, note="; ".join(filter(None, (verdict.note, said))))
