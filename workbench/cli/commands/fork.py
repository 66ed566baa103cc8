"""``lengthlens fork``: train on from a checkpoint of a run on other data, several times."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import (
    ExecutorOption,
    TimeLimitOption,
    TrustCode,
    assignments,
    completing,
    integers,
    length_range,
)
from workbench.cli.table_text import count_of
from workbench.core.limits import DRAWN
from workbench.core.names import CURRICULA

if TYPE_CHECKING:
    from workbench.runs.run import Run
    from workbench.training.config import RunConfig

MOST_FORKS = 1_000
"""Forks that one command trains at most."""


@dataclass(frozen=True)
class ForkJob:
    """What a worker process needs to train a fork.

    Attributes:
        name: of the new run.
        folder: of the new run.
        parent: folder of the run that is split.
        step: where it is split.
        child: number of the fork.
        lengths: settings of its own length distribution, as (name, value).
        until: when to stop and save, in seconds since the epoch; None = no limit.
        trusted: Python files whose code may run.
    """

    name: str
    folder: str
    parent: str
    step: int
    child: int
    lengths: tuple[tuple[str, Any], ...] = ()
    until: float | None = None
    trusted: tuple[str, ...] = ()


def fork(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Fork this run.")],
    at: Annotated[
        str,
        typer.Option(
            metavar="STEPS",
            help="Fork the run at these checkpoint steps, e.g. 150,300. `lengthlens steps RUN` lists them.",
        ),
    ],
    children: Annotated[int, typer.Option(min=1, max=MOST_FORKS, help="Train this many forks from each step.")] = 3,
    lengths: Annotated[
        str | None,
        typer.Option(
            help="Train the forks on these lengths in tokens, written as LOW-HIGH. Default: the lengths of the run."
        ),
    ] = None,
    curriculum: Annotated[
        str | None,
        typer.Option(
            help=f"Train the forks with this distribution of lengths: {', '.join(CURRICULA)}. Set its "
            "parameters with --set, e.g. few_long with training.curriculum.share=0.1. Default: the distribution of "
            "the run.",
            autocompletion=completing(lambda: CURRICULA),
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Set training.curriculum.NAME for the forks. Repeatable.",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the new runs to this folder. Default: the folder that contains RUN.")
    ] = None,
    label: Annotated[
        str,
        typer.Option(help="Add this word to the names of the new runs."),
    ] = "",
    workers: Annotated[
        int | None, typer.Option(min=1, help="Use this many worker processes. Default: one per core.")
    ] = None,
    executor: ExecutorOption = "processes",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List the new runs without training them.")] = False,
    time_limit: TimeLimitOption = None,
    trust_code: TrustCode = None,
) -> None:
    """Continue the training of a run from a checkpoint several times, each time on different training data.

    All forks start with the weights and the optimizer's state of the run at that step. From then on, each fork draws
    its own sequences and lengths. If the forks all end alike while runs with other seeds end differently, the outcome
    was already decided at that step. With --lengths, --curriculum or --set, the forks also change the length
    distribution. Compare such forks with unchanged forks of the same step.

    The new runs are called NAME-fork150-1, NAME-fork150-2 and so on. Up to the forked step, they are bit-identical to
    RUN. If RUN was trained with --set training.keep_state_at=[150], the forks begin at step 150. Otherwise each fork
    first repeats the training up to that step. Run the same command to resume; finished forks are kept.
    """
    from workbench.cli.sweeping.sweep_cells import STATE_WORDS, train_jobs
    from workbench.cli.time_limit import NotFinished
    from workbench.cli.time_limit import time_limit as stopping_before
    from workbench.jobs.choose import make_executor
    from workbench.runs.run import Run
    from workbench.tasks.source_code import trust

    engine = make_executor(executor, workers=workers)
    if not dry_run:
        engine.check()
    steps = list(dict.fromkeys(integers(at, "--at")))
    if len(steps) * children > MOST_FORKS:
        raise UsageError(
            f"--at and --children name {len(steps) * children:,} forks; at most {MOST_FORKS:,} are trained"
        )
    changes = changed_settings(lengths, curriculum, set_ or [])
    if label and not (label.replace("-", "").replace("_", "").isalnum() and len(label) <= DRAWN):
        raise UsageError(f"--label takes letters, digits, - and _, not {label[:60]!r}")
    for file in trust_code or ():
        trust(file)
    parent = Run.open(run)
    with stopping_before(time_limit) as limit:
        until = None if limit is None else limit.until
        word = f"-{label}" if label else "-changed" if changes else ""
        jobs = [
            ForkJob(
                name=(name := f"{parent.path.resolve().name}-fork{step}{word}-{child}"),
                folder=str(((out or run.resolve().parent) / name).absolute()),
                parent=str(run.absolute()),
                step=step,
                child=child,
                lengths=tuple(changes),
                until=until,
                trusted=tuple(str(file) for file in trust_code or ()),
            )
            for step in steps
            for child in range(1, children + 1)
        ]
        configs = {job.name: config_of_fork(parent, job) for job in jobs}
        states = {job.name: refused_or_state(Path(job.folder), configs[job.name]) for job in jobs}
        counts = Counter(states.values())
        existing = counts["done"]
        if dry_run:
            for job in jobs:
                print(f"{job.folder}: {STATE_WORDS[states[job.name]]}")
            due = len(jobs) - existing
            print(f"{count_of(len(jobs), 'fork')} of {parent.name}, {due} to be trained; nothing was done.")
            return
        missing = [job for job in jobs if states[job.name] != "done"]
        planned = {job.name: range(job.step, configs[job.name].training.steps) for job in missing}
        problems, left = train_jobs(train_fork, missing, planned, executor, workers, limit)
        trained = len(missing) - len(left) - len(problems)
        print(f"{count_of(len(jobs), 'fork')} of {parent.name}: {trained} trained now, {existing} existed already.")
        for problem in problems:
            print(f"problem: {problem}", file=sys.stderr)
        if left:
            raise NotFinished(f"The time limit is up: {len(left)} of {len(jobs)} forks are left to be trained")
    if problems:
        raise SystemExit(1)
    folder = out or run.parent
    print(f"Next: lengthlens measure {run} {folder / parent.path.resolve().name}-fork*")


def changed_settings(lengths: str | None, curriculum: str | None, pairs: Sequence[str]) -> list[tuple[str, Any]]:
    """Return the settings of the length distribution after a fork, as (name, value).

    Args:
        lengths: LOW-HIGH; None = as before.
        curriculum: its kind; None = as before.
        pairs: ``training.curriculum.NAME=VALUE``.

    Raises:
        UsageError: for a setting of anything else.
    """
    changes: list[tuple[str, Any]] = []
    if curriculum is not None:
        changes.append(("law", curriculum))
    if lengths is not None:
        changes += zip(("low", "high"), length_range(lengths), strict=True)
    for path, value in assignments(pairs):
        if path[:2] != ["training", "curriculum"] or len(path) != 3:
            raise UsageError(
                f"--set of fork takes training.curriculum.NAME=VALUE, because only the length distribution can change "
                f"at a fork, not {'.'.join(path)}"
            )
        changes.append((path[2], value))
    return changes


def config_of_fork(parent: Run, job: ForkJob) -> RunConfig:
    """Return the config of a fork.

    Raises:
        TrainingError, TaskError, PositionError: see :func:`workbench.training.forks.fork_config`.
    """
    from workbench.training.forks import changed_curriculum, fork_config

    return fork_config(parent, job.step, job.child, changed_curriculum(parent, job.lengths))


def refused_or_state(folder: Path, config: RunConfig) -> str:
    """Return whether the run in the folder of a fork is done, begun or missing.

    Raises:
        RunError: if the folder contains another run, or a damaged one.
    """
    from workbench.cli.sweeping.sweep_cells import run_state
    from workbench.runs.run import Run
    from workbench.training.compare_configs import refuse_another

    state = run_state(folder)
    if state != "missing":
        refuse_another(Run.open(folder), config)
    return state


def train_fork(job: ForkJob, until: float | None = None) -> int:
    """Train one fork, in a worker process; returns the last step.

    Args:
        job: what is trained.
        until: the time from which on it is not begun, in seconds since the epoch; None = no limit.

    Raises:
        TimeIsUp: if the time is up.
        Stopped: where the time was up, with everything saved.
    """
    from workbench.cli.sweeping.sweep_cells import train_until
    from workbench.jobs.deadline import refuse_late
    from workbench.runs.run import Run
    from workbench.tasks.source_code import trust
    from workbench.training.forks import begin_fork
    from workbench.training.trainer import Trainer

    refuse_late(until)
    for file in job.trusted:
        trust(Path(file))
    parent = Run.open(job.parent)
    config = config_of_fork(parent, job)
    begin_fork(parent, config, Path(job.folder))
    return train_until(Trainer(config, Path(job.folder)), job.until)
