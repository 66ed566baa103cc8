"""Measures what a request contains, with progress and a report."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from workbench.cli.errors import UsageError
from workbench.cli.progress import Bar
from workbench.cli.table_text import count_of
from workbench.cli.time_limit import NotFinished, TimeLimit
from workbench.jobs.share import WHOLE

if TYPE_CHECKING:
    from workbench.measure.request import MeasureRequest
    from workbench.measure.running.engine import CheckpointJob, JobResult
    from workbench.measure.running.plan import Plan


def measure_with_progress(request: MeasureRequest, limit: TimeLimit | None = None) -> None:
    """Plan the measurements of a request and run them with a progress bar; raises SystemExit(1) if one fails.

    Raises:
        NotFinished: if the limit did not allow for all of it.
        UsageError: if it did not allow for a single checkpoint.
    """
    from workbench.measure.running.plan import execute, plan

    todo = plan(request)
    while True:
        for notice in todo.notices:
            print(f"note: {notice}", file=sys.stderr)
        results: list[JobResult] = []
        ended: list[CheckpointJob] = []
        with Bar(len(todo.jobs), "measuring", "checkpoint") as bar:
            tick = partial(_tick, bar, results, ended)
            until, begun = (None, 0.0) if limit is None else (limit.until, time.time())
            try:
                problems = execute(todo, tick, until)
            except KeyboardInterrupt:
                if limit is None or not limit.up:
                    raise
                if not ended and time.time() - begun > limit.seconds / 2:
                    raise UsageError(
                        f"no checkpoint could be measured within --time-limit {limit.text}; give more time, or "
                        "fewer measurements at once with --only"
                    ) from None
                problems = []
        left = len(todo.jobs) - len(ended)
        _report(todo, results, problems, bool(left))
        if left:
            raise NotFinished(
                f"The time limit is up: {left:,} of {len(todo.jobs):,} checkpoints are left to be measured"
            )
        # What one checkpoint of a bracket shows says whether the next one is needed.
        if request.deepen != "bracket" or not (todo := plan(request)).jobs:
            return


def _tick(
    bar: Bar, results: list[JobResult], ended: list[CheckpointJob], job: CheckpointJob, result: JobResult | None
) -> None:
    """Move the bar along by a job that has ended."""
    ended.append(job)
    if result is not None:
        results.append(result)
    bar.update(len(ended), f"{job.run_name} step {job.step:,}")


def _report(todo: Plan, done: list[JobResult], problems: list[str], left: bool) -> None:
    print(report(todo, done))
    for problem in problems:
        print(f"problem: {problem}", file=sys.stderr)
    if problems and not left:
        raise SystemExit(1)


def report(todo: Plan, done: Sequence[JobResult]) -> str:
    """Return what was measured, or that all results exist already, or that there was nothing to measure."""
    where = count_of(len(todo.runs), "run")
    there = f"{count_of(todo.present, 'measurement')} existed already"
    if todo.jobs:
        rows, passes, further = (sum(getattr(d, f) for d in done) for f in ("rows", "passes", "extra_passes"))
        return (
            f"{len(done):,} of {count_of(len(todo.jobs), 'checkpoint')} measured in {where}: {count_of(rows, 'row')}, "
            f"{count_of(passes, 'forward pass')} and {further:,} further; {there}."
        )
    if todo.present:
        return f"Nothing left to measure in {where}: {there}."
    if not any(run.steps for run in todo.runs) and todo.runs:
        return f"Nothing to measure in {where}: no checkpoint is saved yet."
    if (share := todo.request.share) != WHOLE:
        return f"Nothing to measure: no checkpoint is in share {share.number}/{share.of}."
    return f"Nothing was measured in {where}."
