"""Executing a plan of measurements with progress and a report, and settings of measurements as typed."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from workbench.cli.errors import UsageError
from workbench.cli.progress import Bar

if TYPE_CHECKING:
    from workbench.measure.running.engine import Done, Item
    from workbench.measure.running.plan import Plan


def run_plan(todo: Plan, executor: str, workers: int | None) -> None:
    """Execute a plan with progress and a report; raises SystemExit(1) if anything went wrong."""
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

        problems = execute(todo, executor, workers, tick)
    _report(todo, done, problems)


def _report(todo: Plan, done: list[Done], problems: list[str]) -> None:
    rows, passes, extra = (sum(getattr(d, f) for d in done) for f in ("rows", "passes", "extra_passes"))
    print(
        f"{len(done)} of {len(todo.items)} checkpoints measured in {len(todo.runs)} runs: {rows:,} rows, "
        f"{passes:,} forward passes and {extra:,} further ones; {todo.present:,} measurements were already there."
    )
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    if problems:
        raise SystemExit(1)


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
