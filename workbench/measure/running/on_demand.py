"""Measuring one run because somebody asked for it: what is missing is made, and stays in the table."""

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
    """Measure what a run lacks, a checkpoint after another, as ``lengthlens measure`` does.

    Args:
        run_path: the run's folder.
        only: names or prefixes of measurements; empty = all.
        state: of the folder, in any form: a changed folder is another question, though nothing is read from this.
        progress: told after each checkpoint; whatever it raises ends the work, and what is measured by then stays.
        deepen_at: measure this step alone, with further strings where the first ones leave a question open.

    Returns:
        JSON: ``rows`` made, ``problems``, a sentence each, and whether any of them is more than a notice (``failed``).
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
