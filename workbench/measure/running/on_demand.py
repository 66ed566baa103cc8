"""Measuring one run because somebody asked for it: what is missing is made, and stays in the table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from workbench.measure.running.engine import Done, Item
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
    if deepen_at is None:
        todo = plan([Path(run_path)], only=list(only) or None)
    else:
        todo = plan([Path(run_path)], only=list(only) or None, steps=[deepen_at], deepen="all")
    total, ended = 0, 0
    progress(0, len(todo.items), _doing(todo.items[0]) if todo.items else "nothing is missing")

    def tick(item: Item, done: Done | None) -> None:
        nonlocal total, ended
        ended += 1
        total += done.rows if done is not None else 0
        progress(ended, len(todo.items), _doing(item))

    problems = execute(todo, "serial", None, tick)
    return {"rows": total, "problems": [*todo.notices, *problems], "failed": bool(problems)}


def _doing(item: Item) -> str:
    return f"step {item.step:,}"
