"""``lengthlens compile``: a program of the zoo as a run, to be measured and looked at like a trained one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from workbench.cli.errors import UsageError
from workbench.cli.options import length_range
from workbench.core.suggest import nearest
from workbench.models import HookedTransformer
from workbench.runs import Run
from workbench.runs.given import Checkpoint, config_of, store
from workbench.tasks import make_task
from workbench.tasks.base import Task
from workbench.theory.compiler import Compiled
from workbench.theory.compiler import compile as compiled_of
from workbench.theory.zoo import ZOO, Case

STEP = 1
"""Step of the compiled weights; at step 0 there is a random model of the same shape, for comparison."""


def compile_command(
    program: str, lengths: str, up_to: int, first_keys: int | None, log_scaled: bool, out: Path | None
) -> None:
    """Compile, check against the task, and write the run."""
    run = compiled_run(program, length_range(lengths), up_to, first_keys, log_scaled, out)
    cfg = run.config["model"]
    sizes = f"{cfg['n_layers']} layers, d_model {cfg['d_model']}, {cfg['n_heads']} heads"
    print(f"{run.path}: {program} compiled for prefixes up to {up_to:,} ({sizes}); step 0 holds random weights.")
    print(f"Next: lengthlens measure {run.path}")


def compiled_run(
    program: str,
    lengths: tuple[int, int],
    up_to: int,
    first_keys: int | None = None,
    log_scaled: bool = False,
    out: Path | None = None,
) -> Run:
    """The run of a compiled program.

    Args:
        program: a program of :data:`workbench.theory.zoo.ZOO` that has a task.
        lengths: prefix lengths that count as training's: on these the model must be right.
        up_to: longest prefix for which the gain of its comparisons suffices.
        first_keys: hide all keys after this position.
        log_scaled: scale scores by log K.
        out: the run's folder; None = checkpoints/compiled/PROGRAM with the options.

    Raises:
        UsageError: for a program that is not known or has no task, and where the model cannot be right.
    """
    case, task = _case(program)
    high = lengths[1]
    if up_to < high:
        raise UsageError(
            f"compiled for prefixes up to {up_to} it cannot be right at {high}; give --up-to {high} or more"
        )
    if first_keys is not None and first_keys < high:
        raise UsageError(f"with the first {first_keys} keys alone it cannot be right at {high}; show it {high} or more")
    made = compiled_of(case.program, up_to, first_keys=first_keys, log_scaled=log_scaled)
    _agree(made, task, lengths)
    cfg = made.model.cfg
    options = {"program": program, "up_to": up_to, "first_keys": first_keys, "log_scaled": log_scaled}
    config = config_of(
        task, cfg, lengths, {"compiled": options, "steps": STEP}, "on which the compiled weights are right"
    )
    checkpoints = [Checkpoint(0, lambda: HookedTransformer(cfg, seed=0)), Checkpoint(STEP, lambda: made.model)]
    reads = [[0, cfg.n_ctx - 1]]  # the weights are right at all of them, so that none is unseen
    return store(out or Path("checkpoints/compiled") / _name(options), config, checkpoints, reads)


def _case(program: str) -> tuple[Case, Task]:
    with_task = [name for name, case in ZOO.items() if case.task]
    if program not in with_task:
        if program in ZOO:
            raise UsageError(f"{program} has no task to be measured on; those with one are {', '.join(with_task)}")
        raise UsageError(f"no program is called {program!r}; {nearest(program, with_task)}")
    case = ZOO[program]
    assert case.task is not None
    name, parameters = case.task
    return case, make_task(name, **parameters)


def _agree(made: Compiled, task: Task, lengths: tuple[int, int]) -> None:
    """Refuse weights that do not answer the task on its own lengths: tokens or answers would be in another order."""
    for length in task.lengths(*lengths):
        batch = task.sample(32, length, torch.Generator().manual_seed(0), "matched")
        with torch.no_grad():
            right = task.correct(made.model(batch.tokens), batch)
        if not bool(right[batch.mask].all()):
            raise UsageError(f"the compiled {made.program} does not answer {task.name} at length {length}")


def _name(options: dict[str, Any]) -> str:
    name = f"{options['program']}_{options['up_to']}"
    if options["first_keys"] is not None:
        name += f"_first_{options['first_keys']}"
    return name + ("_log" if options["log_scaled"] else "")
