"""Cells of test sets with few sequences: all are counted where possible, else draws cover a band of lengths.

Draws with replacement are independent even if they repeat. So an interval from 512 draws is valid for the accuracy of
the test set, however few sequences it has. It does not cover any other sequence or length. So there are three cases:

- With one sequence per length, the unit is the length. Every length of a band is counted, which covers all residues.
- If the sequences of a length can be listed, each is evaluated once and weighted by its probability.
- If they cannot be listed and few draws are distinct, the cell is a band. A length is uniform over those that the task
  has after the previous grid length; then a sequence of that length is drawn. The note of its rows names the lengths.

A complete count has no sampling error and no interval.
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
"""A cell with fewer distinct sequences (or fewer than half of its draws) is drawn over its band."""
BLOCK = 64
"""Block size of draws over a band. Each block depends only on its number and the seed."""
MOST_FLOORS = 64
"""Maximum number of lengths of a band whose baselines are averaged. They are evenly spaced over the band."""
Answers = Iterator[tuple["Batch", Mapping[str, "Tensor"]]]


@dataclass(frozen=True)
class Counted:
    """The exact counts for a task with one sequence per length.

    Attributes:
        grid: the grid whose lengths end a band each.
        bands: by last length, all lengths of the band.
        right: by length from 1 on, whether its last ``period`` queries are all right.
    """

    grid: Grid
    bands: Mapping[int, Sequence[int]]
    right: Mapping[int, float]

    def cells(self, laws: Sequence[str]) -> dict[Key, Cell]:
        """Return the cells by test set and length. All test sets are identical here, so the counts are, too."""
        by_key = {}
        for last, lengths in self.bands.items():
            right = sum(self.right[n] for n in lengths)
            note = f"{right:g} of {len(lengths)} lengths, all counted: {lengths_text(lengths[0], lengths[-1])}"
            for law in laws:
                by_key[law, last] = Cell(
                    law, last, right, len(lengths), 0.0, len(lengths), counted=True, first=lengths[0], note=note
                )
        return by_key

    @property
    def first_wrong(self) -> int | None:
        """The smallest length beyond N with a wrong answer."""
        return min((n for n, right in self.right.items() if n > self.grid.trained and right < 1), default=None)


def count_lengths(study: Study, names: Sequence[str], whole: Batch, answers: Mapping[str, Tensor]) -> Counted:
    """Count right answers at every length up to the last one of the grid.

    Args:
        study: the study of a task with one sequence per length.
        names: activations that answers need besides the logits.
        whole: the sequence of the grid's last length, once or several times.
        answers: the model's activations and logits on it. They serve every prefix, because the model is causal. If
            prefixes have other position ids, each length gets its own pass.
    """
    task, grid = study.task, study.grid
    batch, cache = whole.rows(0, 1), {name: tensor[:1] for name, tensor in answers.items()}
    lengths = [n for n in range(1, max(grid.lengths) + 1) if task.admissible(n)]
    right = {}
    if study.cfg.ids.consistent:
        queries = right_queries(study, batch, cache)[0]
        for n in lengths:
            end = batch.index(n) + 1
            right[n] = float(task.sequence_correct(queries[:, :end], batch.prefix(n))[0])
    else:
        for n in lengths:
            alone = task.sample(1, n, generator("length", study.seed, n), "matched", window=grid.trained)
            found = right_queries(study, alone, study.answers(alone, names))[0]
            right[n] = float(task.sequence_correct(found, alone)[0])
    kept, bands = bands_of(grid, lengths, task.period)
    return Counted(kept, bands, right)


def bands_of(grid: Grid, lengths: Sequence[int], period: int) -> tuple[Grid, dict[int, Sequence[int]]]:
    """Put all lengths into bands that end at a grid length and contain at least two periods.

    A shorter band joins the next one. The last trained band and the last band of all join the previous one. No band
    contains both trained and longer lengths.

    Returns:
        the grid of the lengths that end a band, and the bands by these lengths.
    """
    bands: dict[int, Sequence[int]] = {}
    for start, stop in ((0, grid.trained), (grid.trained, max(grid.lengths))):
        ends, ended, waiting = [n for n in grid.lengths if start < n <= stop], list[int](), list[int]()
        for n in ends:
            waiting += [m for m in lengths if start < m <= n]
            start = n
            if len(waiting) >= 2 * period:
                bands[n], waiting = waiting, []
                ended.append(n)
        if waiting:
            bands[ends[-1]] = [*(bands.pop(ended[-1]) if ended else []), *waiting]
    kept = [tuple(n for n in some if n in bands) for some in (grid.lengths, grid.inside, grid.outside)]
    lengths, inside, outside = kept
    return Grid(grid.trained, lengths, inside, outside, shortest=grid.shortest), bands


def is_few(cell: Cell) -> bool:
    """Return whether few of a cell's draws are distinct."""
    return cell.distinct is not None and cell.distinct < min(FEWEST, cell.n / 2)


def band(task: Task, grid: Grid, length: int) -> list[int]:
    """Return the lengths of the band that ends at a grid length.

    The first band begins at the shortest training length. At shorter lengths a task may have no query.
    """
    before = max((n for n in grid.lengths if n < length), default=min(grid.shortest, length) - 1)
    return [n for n in range(before + 1, length + 1) if task.admissible(n)]


@dataclass(frozen=True)
class Band:
    """A test set at several equally likely lengths.

    Attributes:
        law: name of the test set.
        lengths: the lengths, ascending.
    """

    law: str
    lengths: Sequence[int]

    def floor(self, study: Study) -> float:
        """Return the mean of the baselines over the lengths."""
        places = np.linspace(0, len(self.lengths) - 1, min(len(self.lengths), MOST_FLOORS)).round().astype(int)
        lengths = [self.lengths[place] for place in places]
        floors = [floor_of(study.task, self.law, n, study.grid.trained, study.seed).value for n in lengths]
        return sum(floors) / len(floors)

    def draws(self, study: Study, start: int, stop: int, names: Sequence[str], word: str = "band") -> Answers:
        """Yield draws ``start`` to ``stop`` of (length, sequence) with the model's answers, grouped by length."""
        by_length: dict[int, list[Batch]] = {}
        for block in range(start // BLOCK, -(-stop // BLOCK)):
            seed = (word, study.seed, self.law, self.lengths[-1], block)
            lengths = torch.randint(len(self.lengths), (BLOCK,), generator=generator(*seed, "lengths"))
            in_range = torch.arange(block * BLOCK, (block + 1) * BLOCK)
            in_range = (in_range >= start) & (in_range < stop)
            for place in lengths[in_range].unique().tolist():
                n, own = self.lengths[place], lengths == place
                strings = study.task.sample(int(own.sum()), n, generator(*seed, n), self.law, window=study.grid.trained)
                by_length.setdefault(n, []).append(strings.take(in_range[own].nonzero()[:, 0]))
        for n in sorted(by_length):
            batch = type(by_length[n][0]).join(by_length[n])
            yield batch, study.answers(batch, names)


def exact(study: Study, cell: Cell, support: Support, names: Sequence[str]) -> Cell:
    """Return a cell with all sequences evaluated once. Its accuracy is exactly that of the test set."""
    batch = support.batch
    answered = study.task.sequence_correct(right_queries(study, batch, study.answers(batch, names))[0], batch)
    odds = support.probabilities * batch.mask[:, batch.index(batch.length)]
    n, asked = len(batch), float(odds.sum())
    right = float((odds * answered).sum()) / asked if asked else 0.0
    note = f"all {n} sequence{'s' * (n > 1)}"
    return replace(cell, right=n * right, n=n if asked else 0, distinct=n, counted=True, note=note)


def over_band(cell: Cell, of: Band, floor: float) -> Cell:
    """Return an empty cell for a band."""
    return replace(
        cell, right=0, n=0, distinct=0, floor=floor, first=of.lengths[0],
        note=lengths_text(of.lengths[0], of.lengths[-1]),
    )  # fmt: skip


def one_string(batch: Batch) -> bool:
    """Return whether all sequences of a batch are identical."""
    return bool((batch.tokens == batch.tokens[:1]).all())


def with_few(verdict: Verdict, board: LookBoard) -> Verdict:
    """Return the verdict, with a note if it rests on few distinct sequences of a test set."""
    few = [
        cell
        for cell in (*board.trained_cells, *board.outer)
        if is_few(cell) or (cell.counted and cell.distinct is not None and cell.distinct < FEWEST)
    ]
    if not few:
        return verdict
    fewest = min(few, key=lambda cell: (cell.distinct or 0, -cell.length))
    said = f"{fewest.distinct} distinct sequence{'s' * (fewest.distinct != 1)} at {fewest.lengths}"
    return replace(verdict, note="; ".join(filter(None, (verdict.note, said))))
