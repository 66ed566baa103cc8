"""Executing a plan of measurements with progress and a report, and settings of measurements as typed."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.cli.errors import UsageError
from workbench.cli.progress import Bar
from workbench.cli.table_text import count_of
from workbench.cli.time_limit import NotFinished, TimeLimit
from workbench.jobs.share import WHOLE

if TYPE_CHECKING:
    from workbench.measure.running.engine import Done, Item
    from workbench.measure.running.plan import Plan


def run_plan(todo: Plan, executor: str, workers: int | None, limit: TimeLimit | None = None) -> None:
    """Execute a plan with progress and a report; raises SystemExit(1) if anything went wrong.

    Raises:
        NotFinished: if the limit did not allow for all of it.
        UsageError: if it did not allow for a single checkpoint.
    """
    from workbench.measure.running.plan import execute

    for notice in todo.notices:
        print(f"note: {notice}", file=sys.stderr)
    done: list[Done] = []
    ended: list[Item] = []
    with Bar(len(todo.items), "measuring", "checkpoint") as bar:

        def tick(item: Item, result: Done | None) -> None:
            ended.append(item)
            if result is not None:
                done.append(result)
            bar.update(len(ended), f"{item.run_name} step {item.step:,}")

        until, begun = (None, 0.0) if limit is None else (limit.until, time.time())
        try:
            problems = execute(todo, executor, workers, tick, until)
        except KeyboardInterrupt:
            if limit is None or not limit.up:
                raise
            if not ended and time.time() - begun > limit.seconds / 2:
                raise UsageError(
                    f"within --time-limit {limit.text} not one checkpoint could be measured; give more time, or fewer "
                    "measurements at once with --only"
                ) from None
            problems = []
    left = len(todo.items) - len(ended)
    _report(todo, done, problems, bool(left))
    if left:
        raise NotFinished(f"The time limit is up: {left:,} of {len(todo.items):,} checkpoints are left to be measured")


def _report(todo: Plan, done: list[Done], problems: list[str], left: bool) -> None:
    print(report(todo, done))
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    if problems and not left:
        raise SystemExit(1)


def report(todo: Plan, done: Sequence[Done]) -> str:
    """What was measured; or, where nothing was left to do or nothing was there, which of the two."""
    where = count_of(len(todo.runs), "run")
    there = f"{count_of(todo.present, 'measurement')} {'was' if todo.present == 1 else 'were'} already there"
    if todo.items:
        rows, passes, further = (sum(getattr(d, f) for d in done) for f in ("rows", "passes", "extra_passes"))
        return (
            f"{len(done):,} of {count_of(len(todo.items), 'checkpoint')} measured in {where}: {count_of(rows, 'row')}, "
            f"{count_of(passes, 'forward pass')} and {further:,} further; {there}."
        )
    if todo.present:
        return f"Nothing left to measure in {where}: {there}."
    if not any(run.steps for run in todo.runs) and todo.runs:
        return f"Nothing to measure in {where}: no checkpoint is saved yet."
    if todo.share != WHOLE:
        return f"Nothing to measure: no checkpoint falls to share {todo.share.number}/{todo.share.of}."
    return f"Nothing was measured in {where}."


def settings_of(pairs: Sequence[tuple[Sequence[str], Any]]) -> dict[str, dict[str, Any]]:
    """``circuits.hardmax.window=8``, read as a path and a value, as settings per measurement.

    Raises:
        UsageError: for a path that names no setting.
    """
    found: dict[str, dict[str, Any]] = {}
    for path, value in pairs:
        if len(path) < 2:
            raise UsageError(f"--set takes MEASUREMENT.SETTING=VALUE, e.g. circuits.hardmax.window=8, not {path[0]}")
        found.setdefault(".".join(path[:-1]), {})[path[-1]] = value
    return found
