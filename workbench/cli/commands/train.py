"""``lengthlens train``: one model."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.options import (
    CURRICULA,
    DEFAULTS,
    GATES,
    ONLY,
    DeviceOption,
    DtypeOption,
    assignments,
    completing,
    completing_tasks,
    suggestions,
    trusting,
)
from workbench.cli.table_text import count_of
from workbench.models.compute_device import ComputeDevice
from workbench.models.positions.registry import ENCODINGS, ID_SAMPLERS
from workbench.training.learning_rate_schedules import RATE_SCHEDULES

DEFAULT = {name: str(value) for name, value in DEFAULTS.items()}


def train(
    task: Annotated[
        str,
        typer.Argument(
            help="A task's name (see `lengthlens tasks`), or `file.py:MyTask`.", autocompletion=completing_tasks
        ),
    ],
    out: Annotated[
        Path | None, typer.Option(help="The run's folder. Default: checkpoints/TASK-POSITIONS-sSEED.")
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(
            help="transformer, or ssm: a state-space model.",
            show_default=DEFAULT["architecture"],
            autocompletion=completing(lambda: ONLY),
        ),
    ] = None,
    gates: Annotated[
        str | None,
        typer.Option(
            help=f"Gates of a state-space model: {' or '.join(GATES)}.",
            show_default=DEFAULT["gates"],
            autocompletion=completing(lambda: GATES),
        ),
    ] = None,
    positions: Annotated[
        str | None,
        typer.Option(
            help=f"Position encoding: {', '.join(ENCODINGS)}. Its parameters: --set model.positions.base=1e5.",
            show_default=DEFAULT["positions"],
            autocompletion=completing(lambda: ENCODINGS),
        ),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(
            help="Position ids in training: arange, random_offset, pose, random_subset, coupled (by the task), "
            "predicted (coupled, and those of answers by the model itself).",
            show_default=DEFAULT["ids"],
            autocompletion=completing(lambda: ID_SAMPLERS),
        ),
    ] = None,
    curriculum: Annotated[
        str | None,
        typer.Option(
            help=f"Law of the training lengths: {', '.join(CURRICULA)}. Its parameters: "
            "--set training.curriculum.start=5.",
            show_default=DEFAULT["curriculum"],
            autocompletion=completing(lambda: CURRICULA),
        ),
    ] = None,
    lengths: Annotated[
        str | None, typer.Option(help="Training lengths, as LOW-HIGH.", show_default=DEFAULT["lengths"])
    ] = None,
    steps: Annotated[int | None, typer.Option(min=1, help="Optimizer steps.", show_default=DEFAULT["steps"])] = None,
    layers: Annotated[int | None, typer.Option(min=1, help="Blocks.", show_default=DEFAULT["layers"])] = None,
    d_model: Annotated[
        int | None, typer.Option(min=1, help="Width of the residual stream.", show_default=DEFAULT["d_model"])
    ] = None,
    heads: Annotated[
        int | None, typer.Option(min=1, help="Attention heads per block.", show_default=DEFAULT["heads"])
    ] = None,
    n_ctx: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Number of position ids; bounds the readable length of learned positions.",
            show_default=DEFAULT["n_ctx"],
        ),
    ] = None,
    learning_rate: Annotated[
        float | None, typer.Option(min=0.0, help="Peak learning rate.", show_default=DEFAULT["learning_rate"])
    ] = None,
    batch_size: Annotated[
        int | None, typer.Option(min=1, help="Sequences per step.", show_default=DEFAULT["batch_size"])
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0, help="Seed of weights and data; --set seeds.init=.. sets one.", show_default=DEFAULT["seed"]
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="RUN@STEP",
            help="Begin from the weights of another run's checkpoint (@last: its last). The model is that run's, and "
            "tokens are carried over by their names.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Any further setting: task.PARAMETER, model.FIELD, training.FIELD, seeds.NAME. Repeatable.",
        ),
    ] = None,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = None,
) -> None:
    """Train one model; the same command continues an interrupted run to the same bits.

    What is not given is what the task suggests, else the default shown. A checkpoint is written at step 0,
    then at log-spaced and evenly spaced steps. Ctrl-C saves first. The last line says whether the model
    fits its training lengths.

    Settings worth knowing, each behind --set:

    - training.rate_law=RATE_SCHEDULES, training.warmup=100, training.weight_decay=0.1
    - training.optimizer=sgd, training.momentum=0.9
    - training.regularizers.positional=1e-4, training.regularizers.attention_entropy=0.01
    - training.early_stop.accuracy=0.99 ends the run once its own longest training lengths are learned
    - 'training.task_schedule=[{"parameter": "p", "values": [2, 3], "over": 1000}]' changes the task on the way
    - 'training.id_schedule={"values": ["arange"], "over": 1000}' has these ids first, then those of --ids
    - training.strings=1000 trains on so many strings, drawn once, instead of new ones in each batch
    - model.tied=true reads answers out with the embedding, where they are the tokens of the task (text)
    - training.checkpoints.log=20, training.checkpoints.linear=10
    """
    from workbench.cli.early_refusal import refuse_early

    options = {
        "architecture": architecture,
        "gates": gates,
        "positions": positions,
        "ids": ids,
        "curriculum": curriculum,
        "lengths": lengths,
        "steps": steps,
        "layers": layers,
        "d_model": d_model,
        "heads": heads,
        "n_ctx": n_ctx,
        "learning_rate": learning_rate,
        "batch_size": batch_size,
        "seed": seed,
    }
    settings = assignments(set_ or [])
    chosen = ComputeDevice(device, dtype or "").found()
    settings += [(["training", name], value) for name, value in chosen.facts.items()]
    refuse_early(task, options, settings)  # before anything that loads torch
    from workbench.cli.run_config import build, starting_weights

    given = starting_weights(start)
    config = build(task, options, settings, given)
    from workbench.cli.errors import Stopping
    from workbench.cli.progress import TrainingProgress
    from workbench.measure.behaviour.fitted import fit_sentence
    from workbench.runs.errors import RunError
    from workbench.runs.run import Run
    from workbench.tasks.registry import contained
    from workbench.training.compare_configs import gives_way
    from workbench.training.trainer import Stopped, Trainer

    name = Path(task.rpartition(":")[2] if ":" in task else task).name
    folder = out or Path("checkpoints") / f"{name}-{config.model.variant}-s{config.seeds.init}"
    with suppress(RunError):  # what cannot be read, training refuses
        if (folder / "run.json").exists() and gives_way(Run.open(folder), config):
            print(f"{folder} held another run, which ended before its first checkpoint; this one takes its place.")
    suggested = suggestions(config.task, options)
    taken = {key: value for key, value in suggested.items() if options.get(key) is None}
    if taken:
        print(f"{config.task.name} suggests {', '.join(f'{key} {value}' for key, value in taken.items())}.")
    with TrainingProgress(config.training.steps, folder.name) as progress:
        try:
            with contained(config.task):
                run = Trainer(config, folder, progress, chosen.device if chosen.kind != "cpu" else "", given).run()
        except Stopped as stopped:
            progress.close()
            raise Stopping(f"{folder}: {stopped}.") from None
    print(f"{folder}: {count_of(len(run.steps), 'checkpoint')}, last at step {run.steps[-1]:,}.")
    if run.ended:
        print(f"It ended early: {run.ended}.")
    with contained(config.task):
        print(fit_sentence(run))
    print(f"Next: lengthlens measure {folder}{trusting(config.task)}")


train.__doc__ = str(train.__doc__).replace("RATE_SCHEDULES", "|".join(RATE_SCHEDULES))
