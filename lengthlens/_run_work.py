"""Training and measuring from Python: what ``lengthlens train`` and ``lengthlens measure`` do, in this process."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from workbench.cli.errors import UsageError
from workbench.cli.options import DEFAULTS
from workbench.core.suggest import nearest
from workbench.measure.request import MeasureRequest

if TYPE_CHECKING:
    from workbench.runs import Run
    from workbench.table import Table

StrPath = str | os.PathLike[str]


def train(task: str, out: StrPath, settings: Mapping[str, Any] | None = None, **options: Any) -> Run:
    """Train a model and return its run. The same call resumes an interrupted run, bit-identically.

    Args:
        task: a task's name, or ``file.py:MyTask``.
        out: the run's folder.
        settings: further settings by path, e.g. ``{"training.warmup": 100}``; see ``lengthlens train --help``.
        options: the options of ``lengthlens train`` with underscores, e.g. ``positions="rotary"``, ``lengths="1-32"``,
            ``steps=500``. An option that is left out has the value that the task suggests, else the default.

    Example:

        >>> run = train("parity", "/tmp/parity", lengths="1-16", steps=200)  # doctest: +SKIP

    Raises:
        UsageError: for an option that does not exist.
        TaskError, PositionError, TrainingError, RunError: for settings that do not fit, or a folder with another run.
    """
    from workbench.cli.run_config import build
    from workbench.cli.train_request import TrainRequest
    from workbench.tasks.registry import forbid_exit
    from workbench.training.trainer import Trainer

    _refuse_unknown(options, DEFAULTS, "train")
    pairs = [(path.split("."), value) for path, value in (settings or {}).items()]
    config = build(TrainRequest(task, options, pairs))
    with forbid_exit(config.task):
        return Trainer(config, Path(out)).run()


def measure(
    runs: StrPath | Run | Sequence[StrPath | Run], only: Sequence[str] | str | None = None, **how: Any
) -> Table:
    """Measure the checkpoints of runs and return the table of all their rows. What is measured already is kept.

    Args:
        runs: a run, a folder of runs, or several.
        only: measurements by name (``circuits.hardmax``) or family (``probes.``); None = all except those on request.
        how: further fields of :class:`workbench.measure.request.MeasureRequest`, e.g. ``steps="last"``,
            ``lengths=[16, 32, 64]``, ``sequences=256``. By default this process computes; ``executor="processes"``
            uses all cores.

    Raises:
        UsageError: for a field that does not exist.
        MeasurementError: if anything could not be measured, after everything else was.
    """
    from workbench.measure.running.plan import execute, plan
    from workbench.measure.settings import MeasurementError
    from workbench.runs import Run
    from workbench.table import Table

    _refuse_unknown(
        how, [field.name for field in fields(MeasureRequest) if field.name not in ("folders", "only")], "measure"
    )
    listed = [runs] if isinstance(runs, str | os.PathLike | Run) else list(runs)
    folders = [run.path if isinstance(run, Run) else Path(run) for run in listed]
    names = [only] if isinstance(only, str) else only
    todo = plan(MeasureRequest(folders, only=names, **{"executor": "serial", **how}))
    for notice in todo.notices:
        warnings.warn(notice, stacklevel=2)
    if problems := execute(todo):
        raise MeasurementError("; ".join(problems))
    request = todo.request
    return Table.load(*folders, evaluation_seed=request.evaluation_seed, task_parameters=request.task_parameters)


def _refuse_unknown(given: Mapping[str, Any], known: Sequence[str] | Mapping[str, Any], function: str) -> None:
    """Refuse a keyword that the function does not have."""
    for name in given:
        if name not in known:
            raise UsageError(f"{function} has no option {name!r}; {nearest(name, known)}")
