"""Trains the families of the determinacy study in memory, as stacks, and evaluates how far each run reaches."""

from __future__ import annotations

import contextlib
import multiprocessing
import queue
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from workbench.claims.determinacy.cells import (
    CHILDREN,
    FORK_STEPS,
    SOLVED,
    TRAINED_MULTIPLES,
    TRAINED_PARENTS,
    StudyCell,
)
from workbench.claims.determinacy.stored_rows import read_rows, write_rows
from workbench.core.names import MATCHED
from workbench.core.reach import REACH_MULTIPLES, mean_clipped
from workbench.core.seeds import seed_of

if TYPE_CHECKING:
    from workbench.tasks.base import Law
    from workbench.training.config import RunConfig
    from workbench.training.stacked import RunState

FAMILY_FILE = Path(__file__).parent, "families.parquet"
"""Folder and name of the published table."""
_MESSAGES: Any = None
"""In a worker process, the queue of rows and lines to the main process."""
SEQUENCES = 256
"""Test sequences of a run at each length."""
STACK = 24
"""Runs that are trained together."""
SAME_REACH = 1e-6
"""Largest difference of reach between two trainings of the same run on one machine, from storing it in float32."""
SCHEMA = pa.schema(
    [
        ("cell", pa.string()),
        ("schedule", pa.string()),
        ("parent", pa.int32()),
        ("step", pa.int32()),
        ("child", pa.int32()),
        ("solves", pa.float32()),
        *((f"skill_{multiple:g}", pa.float32()) for multiple in REACH_MULTIPLES),
        ("reach", pa.float32()),
        ("reach_again", pa.float32()),
        ("seconds", pa.float32()),
    ]
)
"""One row for each run: its cell, its family, whether it solves the trained lengths, and how far it reaches.

``step`` and ``child`` are 0 for a parent. ``solves`` is the least skill at the trained lengths at the end.
``reach_again`` is the reach on other test sequences; it is missing for children.
"""


@dataclass
class StudyTable:
    """The rows of the study in a file.

    Attributes:
        folder: the folder of the Parquet file.
        name: its name.
        rows: its rows.
    """

    folder: Path
    name: str
    rows: list[dict[str, Any]] = field(default_factory=list)

    @classmethod
    def read(cls, folder: Path, name: str) -> StudyTable:
        """Read a file; a missing file has no rows."""
        return cls(folder, name, read_rows(folder, name))

    def has(self, cell: StudyCell, step: int, child: int) -> bool:
        """Return whether the runs of a cell, a fork step and a child number are there (0 and 0: the parents)."""
        wanted = (cell.name, cell.schedule, step, child)
        return any((row["cell"], row["schedule"], row["step"], row["child"]) == wanted for row in self.rows)

    def parents(self, cell: StudyCell) -> list[int]:
        """Return the seeds of the stored parents of a cell."""
        name = (cell.name, cell.schedule)
        return [row["parent"] for row in self.rows if (row["cell"], row["schedule"]) == name and not row["step"]]

    def same_parents(self, cell: StudyCell, rows: Sequence[dict[str, Any]]) -> bool:
        """Return whether the stored parents of a cell reach as far as these. On another machine, rounding differs."""
        name = (cell.name, cell.schedule)
        stored = {r["parent"]: r["reach"] for r in self.rows if (r["cell"], r["schedule"]) == name and not r["step"]}
        return all(abs(stored[row["parent"]] - row["reach"]) < SAME_REACH for row in rows)

    def drop(self, cell: StudyCell) -> None:
        """Remove the rows of a cell."""
        self.rows = [row for row in self.rows if (row["cell"], row["schedule"]) != (cell.name, cell.schedule)]

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows and write the file."""
        self.rows = [*self.rows, *rows]
        write_rows(self.folder, self.name, self.rows, SCHEMA)


class _SentRows(StudyTable):
    """A table in a worker process, whose new rows the main process stores."""

    def add(self, rows: Sequence[dict[str, Any]]) -> None:
        """Add rows and send them."""
        self.rows = [*self.rows, *rows]
        _MESSAGES.put(("rows", rows))

    def drop(self, cell: StudyCell) -> None:
        """Remove the rows of a cell here and in the main process."""
        super().drop(cell)
        _MESSAGES.put(("drop", cell))


def skills(
    cell: StudyCell,
    states: Sequence[RunState],
    lengths: Sequence[int],
    words: Sequence[object],
    config: RunConfig | None = None,
    test_set: Law = MATCHED,
) -> np.ndarray:
    """Return the skill of runs at some lengths ``[run, length]``, each run on test sequences of its own.

    Skill is NaN at a length at which a constant answer is always right.

    Args:
        cell: the cell.
        states: the runs' weights.
        lengths: the lengths.
        words: for each run, what its test sequences depend on.
        config: the config of the runs; None = that of the cell.
        test_set: where the sequences come from.
    """
    from workbench.training.stacked import stacked_right_answers

    config = cell.config(0) if config is None else config
    weights = [state.weights for state in states]
    found = np.empty((len(states), len(lengths)))
    for place, length in enumerate(lengths):
        seeds = [seed_of("determinacy test", cell.name, word) for word in words]
        right = stacked_right_answers(
            config.task, config.model, weights, length, SEQUENCES, seeds, test_set, cell.longest
        )
        chance = config.task.chance(test_set, length)
        found[:, place] = (right.numpy() / SEQUENCES - chance) / (1 - chance) if chance < 1 else np.nan
    return found


def reach_of(skill: np.ndarray) -> np.ndarray:
    """Return the mean over lengths of skill clipped to [0, 1], from ``[run, length]``."""
    return np.array([mean_clipped(of_run) for of_run in skill.tolist()])


def reach_lengths(cell: StudyCell) -> list[int]:
    """Return the lengths at which reach is evaluated."""
    task = cell.make_task()
    return [task.next_length(round(multiple * cell.longest)) for multiple in REACH_MULTIPLES]


def trained_lengths(cell: StudyCell) -> list[int]:
    """Return the trained lengths at which a run must solve the task."""
    task = cell.make_task()
    return [task.next_length(round(multiple * cell.longest)) for multiple in TRAINED_MULTIPLES]


def run_study(
    table: StudyTable, cells: Sequence[StudyCell], tell: Callable[[str], None], until: float | None = None
) -> None:
    """Train what a table lacks, block by block; each block is stored when it ends.

    Args:
        table: takes the rows in.
        cells: the cells, in order.
        tell: receives a line after each block.
        until: seconds since the epoch after which no block begins; None = no limit.
    """
    for cell in cells:
        blocks = [(step, child) for step in FORK_STEPS for child in range(1, CHILDREN + 1)]
        if table.has(cell, 0, 0) and all(table.has(cell, *block) for block in blocks):
            continue
        if until is not None and time.time() >= until:
            return
        families = _families(table, cell, tell)
        if not families:
            continue
        for step, child in blocks:
            if table.has(cell, step, child):
                continue
            if until is not None and time.time() >= until:
                return
            table.add(list(_children(cell, families, step, child)))
            tell(f"{cell.name}, {cell.schedule}: child {child} at step {step}")


def run_study_in_processes(
    table: StudyTable,
    cells: Sequence[StudyCell],
    tell: Callable[[str], None],
    until: float | None = None,
    workers: int = 1,
) -> None:
    """Like :func:`run_study`, with one cell in each worker process; this process stores the rows.

    Args:
        table: takes the rows in.
        cells: the cells, in order.
        tell: receives a line after each block.
        until: seconds since the epoch after which no block begins; None = no limit.
        workers: processes.
    """
    context = multiprocessing.get_context("spawn")
    messages = context.Queue()
    handle: dict[str, Callable[[Any], None]] = {"rows": table.add, "drop": table.drop, "line": tell}
    with ProcessPoolExecutor(workers, context, initializer=_set_messages, initargs=(messages,)) as pool:
        running = {pool.submit(_run_cell, table.rows, cell, until) for cell in cells}
        while running or not messages.empty():
            with contextlib.suppress(queue.Empty):
                kind, content = messages.get(timeout=1)
                handle[kind](content)
            for done in {job for job in running if job.done()}:
                running.remove(done)
                done.result()


def _set_messages(messages: Any) -> None:
    """Keep the queue to the main process, in a worker process that has one thread."""
    global _MESSAGES
    _MESSAGES = messages
    use_one_thread()


def use_one_thread() -> None:
    """Let a worker process compute on one core."""
    import torch

    torch.set_num_threads(1)


def _run_cell(rows: list[dict[str, Any]], cell: StudyCell, until: float | None) -> None:
    """Train one cell in a worker process. Rows and lines go to the main process."""
    table = _SentRows(Path(), "", list(rows))
    run_study(table, [cell], lambda line: _MESSAGES.put(("line", line)), until)


def _families(table: StudyTable, cell: StudyCell, tell: Callable[[str], None]) -> dict[int, dict[int, RunState]]:
    """Train the parents of a cell, and return their states at the fork steps by seed. The parents' rows are stored."""
    from workbench.training.stacked import train_stacked

    seeds = table.parents(cell)
    if seeds:
        states = trained_states(cell, seeds)
        if table.same_parents(cell, list(_rows(cell, seeds, [each[max(each)] for each in states], 0, 0, 0.0))):
            return dict(zip(seeds, states, strict=True))
        tell(f"{cell.name}, {cell.schedule}: the parents differ from the stored ones, so the cell is trained again")
        table.drop(cell)
    begun = time.process_time()
    count = TRAINED_PARENTS * (cell.parents // STACK)
    at_fork: dict[int, RunState] = {}
    for first in range(0, count, STACK):
        some = range(first, min(count, first + STACK))
        early = train_stacked([cell.config(seed) for seed in some], to_step=FORK_STEPS[0])
        at_fork |= {seed: early.last(place) for place, seed in enumerate(some) if place not in early.not_finite}
    words = [("at fitting", seed) for seed in at_fork]
    least = skills(cell, list(at_fork.values()), trained_lengths(cell), words).min(1)
    solving = [seed for seed, skill in zip(at_fork, least, strict=True) if skill >= SOLVED]
    seeds = solving[: cell.parents]
    tell(f"{cell.name}, {cell.schedule}: {len(solving)} of {count} runs solve the trained lengths at step "
         f"{FORK_STEPS[0]}; {len(seeds)} are parents")  # fmt: skip
    if len(seeds) < 2:
        return {}
    states = trained_states(cell, seeds)
    last = [of_run[max(of_run)] for of_run in states]
    seconds = (time.process_time() - begun) / len(seeds)
    table.add(list(_rows(cell, seeds, last, 0, 0, seconds)))
    return dict(zip(seeds, states, strict=True))


def trained_states(cell: StudyCell, seeds: Sequence[int]) -> list[dict[int, RunState]]:
    """Train runs of a cell to the end, and return their states at the fork steps and at the end.

    Args:
        cell: the cell.
        seeds: the runs' seeds.
    """
    from workbench.training.stacked import train_stacked

    states: list[dict[int, RunState]] = []
    for first in range(0, len(seeds), STACK):
        states += train_stacked([cell.config(seed) for seed in seeds[first : first + STACK]], keep=FORK_STEPS).states
    return states


def _children(
    cell: StudyCell, families: dict[int, dict[int, RunState]], step: int, child: int
) -> Iterator[dict[str, Any]]:
    """Train one child of each parent from a fork step on, and return their rows."""
    from workbench.training.stacked import train_stacked

    begun = time.process_time()
    seeds = list(families)
    last: list[RunState] = []
    for first in range(0, len(seeds), STACK):
        some = seeds[first : first + STACK]
        configs = [cell.config(seed, (step, child)) for seed in some]
        result = train_stacked(configs, start_states=[families[seed][step] for seed in some], from_step=step)
        last += [result.last(place) for place in range(len(some))]
    yield from _rows(cell, seeds, last, step, child, (time.process_time() - begun) / max(1, len(seeds)))


def _rows(
    cell: StudyCell, seeds: Sequence[int], states: Sequence[RunState], step: int, child: int, seconds: float
) -> Iterator[dict[str, Any]]:
    """The rows of trained runs."""
    words = [(seed, step, child) for seed in seeds]
    beyond = reach_lengths(cell)
    skill = skills(cell, states, beyond, words, test_set=cell.test_set)
    solves = skills(cell, states, trained_lengths(cell), words).min(1)
    repeated = [("again", word) for word in words]
    again = None if child else reach_of(skills(cell, states, beyond, repeated, test_set=cell.test_set))
    for place, seed in enumerate(seeds):
        yield {
            "cell": cell.name,
            "schedule": cell.schedule,
            "parent": seed,
            "step": step,
            "child": child,
            "solves": float(solves[place]),
            **{f"skill_{multiple:g}": float(skill[place, i]) for i, multiple in enumerate(REACH_MULTIPLES)},
            "reach": float(reach_of(skill)[place]),
            "reach_again": None if again is None else float(again[place]),
            "seconds": seconds,
        }
