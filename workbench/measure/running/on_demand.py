"""Measuring one run on request from the dashboard; the new rows stay in the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from workbench.measure.request import MeasureRequest
from workbench.measure.running.engine import CheckpointJob, JobResult
from workbench.measure.running.plan import execute, plan


def measure_run(
    run_path: str,
    only: Sequence[str],
    state: str,
    progress: Callable[[int, int, str], None],
    deepen_at: int | None = None,
) -> dict[str, Any]:
    """Measure what a run lacks, one checkpoint after another, as ``lengthlens measure`` does.

    Args:
        run_path: the run's folder.
        only: names or prefixes of measurements; empty = all.
        state: state of the folder. It is not read, but makes requests for a changed folder distinct.
        progress: called after each checkpoint. An error that it raises stops the work; finished measurements are kept.
        deepen_at: measure this step only, and draw more sequences where the first ones are inconclusive.

    Returns:
        JSON: ``rows``, the number of new rows; ``problems``, one sentence each; ``failed``, whether any problem is more
            than a notice.
    """
    request = MeasureRequest([Path(run_path)], only=list(only) or None, executor="serial")
    todo = plan(request if deepen_at is None else replace(request, steps=[deepen_at], deepen="all"))
    total, ended = 0, 0
    progress(0, len(todo.jobs), _doing(todo.jobs[0]) if todo.jobs else "nothing is missing")

    def tick(job: CheckpointJob, result: JobResult | None) -> None:
        nonlocal total, ended
        ended += 1
        total += 0 if result is None else result.rows
        progress(ended, len(todo.jobs), _doing(job))

    problems = execute(todo, tick)
    return {"rows": total, "problems": [*todo.notices, *problems], "failed": bool(problems)}


def _doing(job: CheckpointJob) -> str:
    return f"step {job.step:,}"
