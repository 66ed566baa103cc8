"""``lengthlens train``: one model."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.cli.options import (
    DEFAULTS,
    ONLY,
    TRAIN_OPTIONS,
    DeviceOption,
    DtypeOption,
    assignments,
    completing,
    completing_tasks,
    seed_list,
    suggestions,
    trusting,
)
from workbench.cli.table_text import count_of
from workbench.core.names import CELLS, CURRICULA, GATES
from workbench.models.compute_device import ComputeDevice
from workbench.models.positions.registry import ENCODINGS, ID_SAMPLERS
from workbench.training.learning_rate_schedules import RATE_SCHEDULES

if TYPE_CHECKING:
    from workbench.cli.train_request import TrainRequest
    from workbench.tasks.base import Task
    from workbench.training.config import RunConfig

DEFAULT = {name: str(value) for name, value in DEFAULTS.items()}


def train(
    task: Annotated[
        str | None,
        typer.Argument(
            help="Train on this task: a name (`lengthlens tasks` lists them) or `file.py:MyTask`.",
            autocompletion=completing_tasks,
            show_default=False,
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the run to this folder. Default: checkpoints/TASK-POSITIONS-sSEED.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Write the run to checkpoints/NAME. Give either this option or --out."),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the settings and the folder of the run, and train nothing.")
    ] = False,
    architecture: Annotated[
        str | None,
        typer.Option(
            help="Train a transformer, an ssm (state-space model) or an rnn (recurrent network).",
            show_default=DEFAULT["architecture"],
            autocompletion=completing(lambda: ONLY),
        ),
    ] = None,
    gates: Annotated[
        str | None,
        typer.Option(
            help=f"Set the gates of a state-space model: {' or '.join(GATES)}.",
            show_default=DEFAULT["gates"],
            autocompletion=completing(lambda: GATES),
        ),
    ] = None,
    cell: Annotated[
        str | None,
        typer.Option(
            help=f"Set the cell of a recurrent network: {' or '.join(CELLS)}.",
            show_default=DEFAULT["cell"],
            autocompletion=completing(lambda: CELLS),
        ),
    ] = None,
    positions: Annotated[
        str | None,
        typer.Option(
            "--positions",
            "--pos",
            help=f"Set the position encoding: {', '.join(ENCODINGS)}. Set its parameters with --set "
            "model.positions.base=1e5.",
            show_default=DEFAULT["positions"],
            autocompletion=completing(lambda: ENCODINGS),
        ),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(
            help=f"Set the position ids in training: {', '.join(ID_SAMPLERS)}. For coupled and predicted, the task "
            f"defines the ids. With predicted, the model itself predicts the ids of its answers.",
            show_default=DEFAULT["ids"],
            autocompletion=completing(lambda: ID_SAMPLERS),
        ),
    ] = None,
    curriculum: Annotated[
        str | None,
        typer.Option(
            help=f"Set the distribution of training lengths: {', '.join(CURRICULA)}. Set its parameters with --set "
            "training.curriculum.start=5.",
            show_default=DEFAULT["curriculum"],
            autocompletion=completing(lambda: CURRICULA),
        ),
    ] = None,
    lengths: Annotated[
        str | None, typer.Option(help="Train on these lengths in tokens, as LOW-HIGH.", show_default=DEFAULT["lengths"])
    ] = None,
    steps: Annotated[
        int | None, typer.Option(min=1, help="Train for this many optimizer steps.", show_default=DEFAULT["steps"])
    ] = None,
    layers: Annotated[
        int | None, typer.Option(min=1, help="Set the number of blocks.", show_default=DEFAULT["layers"])
    ] = None,
    d_model: Annotated[
        int | None, typer.Option(min=1, help="Set the width of the residual stream.", show_default=DEFAULT["d_model"])
    ] = None,
    heads: Annotated[
        int | None,
        typer.Option(min=1, help="Set the number of attention heads per block.", show_default=DEFAULT["heads"]),
    ] = None,
    n_ctx: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Set the number of position ids. Learned positions cannot represent longer sequences.",
            show_default=DEFAULT["n_ctx"],
        ),
    ] = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(
            "--learning-rate",
            "--lr",
            min=0.0,
            help="Set the peak learning rate.",
            show_default=DEFAULT["learning_rate"],
        ),
    ] = None,
    batch_size: Annotated[
        int | None,
        typer.Option(
            "--batch-size",
            "--bs",
            min=1,
            help="Set the number of sequences per step.",
            show_default=DEFAULT["batch_size"],
        ),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="Set the seeds of weights and data. --set seeds.init=.. sets only one of them.",
            show_default=DEFAULT["seed"],
        ),
    ] = None,
    max_length: Annotated[
        int | None,
        typer.Option(
            "--max-length",
            "--length",
            min=1,
            help="Train on lengths from 1 to this number of tokens. This option is short for --lengths 1-N.",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(
            metavar="SEEDS",
            help="Train several runs one after another, with the seeds of a range (0-4), of a list (0,1,2), or of a "
            "number (3 means 0,1,2). With --out DIR, the runs are called DIR-s0, DIR-s1, ...",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="RUN@STEP",
            help="Start from the weights of a checkpoint of another run (RUN@last means its last one). The new run "
            "uses the "
            "model of that run, and its training lengths unless you give --lengths. Tokens are matched by name.",
        ),
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            metavar="RUN",
            help="Continue the training of this run with its stored settings. The result is bit-identical to "
            "training without a break. Leave the task out.",
        ),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Set task.PARAMETER, model.FIELD, training.FIELD or seeds.NAME. Repeatable.",
        ),
    ] = None,
    device: DeviceOption = "cpu",
    dtype: DtypeOption = None,
) -> None:
    """Train one model. Run the same command to resume; the result is bit-identical.

    An option that you leave out has the value that the task suggests, or else the default shown below. Checkpoints are
    written at step 0, at log-spaced steps and at evenly spaced steps. Ctrl-C saves a checkpoint before it stops.
    The last line of the output reports whether the model solves its training lengths.

    Useful settings for --set:

    - training.rate_law=RATE_SCHEDULES, training.warmup=100, training.weight_decay=0.1
    - training.optimizer=sgd, training.momentum=0.9
    - training.regularizers.positional=1e-4, training.regularizers.attention_entropy=0.01
    - training.early_stop.accuracy=0.99 stops once the longest training lengths are learned
    - 'training.task_schedule=[{"parameter": "p", "values": [2, 3], "over": 1000}]' changes the task during training
    - 'training.id_schedule={"values": ["arange"], "over": 1000}' first uses the ids `arange`, then those of --ids
    - training.lengths_per_batch=4 divides each batch into 4 groups, and each group draws its own length
    - training.carried_states=passed begins sequences with the states after those of the batch before (ssm, rnn)
    - training.average_weights=0.99 stores and measures an exponential moving average of the weights
    - training.strings=1000 trains on a fixed set of 1000 sequences instead of new ones in each batch
    - model.norm_after_attention=true adds a LayerNorm to what attention writes
    - model.tied=true ties the unembedding to the embedding, for tasks whose answers are tokens (text)
    - training.checkpoints.log=20, training.checkpoints.linear=10
    """
    options = {name: value for name, value in locals().items() if name in TRAIN_OPTIONS}
    if resume is not None:
        others = {
            "out": out,
            "name": name,
            "max_length": max_length,
            "seeds": seeds,
            "start": start,
            "set": set_,
            "dtype": dtype,
        }
        typed = {name: value for name, value in {**options, **others}.items() if name != "steps"}
        continue_run(
            resume, task, steps, [f"--{name.replace('_', '-')}" for name, value in typed.items() if value is not None]
        )
        return
    if task is None:
        raise UsageError(
            "no task is given; name one, e.g. lengthlens train parity, or continue a run with --resume RUN"
        )
    if name is not None:
        out = named_folder(name, out)
    if max_length is not None:
        if lengths is not None:
            raise UsageError(
                f"--lengths {lengths} and --max-length {max_length} both set the training lengths; leave one out"
            )
        options["lengths"] = f"1-{max_length}"
    from workbench.cli.early_refusal import refuse_early
    from workbench.cli.train_request import TrainRequest

    settings = assignments(set_ or [])
    chosen = ComputeDevice(device, dtype or "").resolve()
    settings += [(["training", name], value) for name, value in chosen.facts.items()]
    request = TrainRequest(task, options, settings)
    numbers = None if seeds is None else seed_list(seeds, seed, settings)
    refuse_early(request)  # before anything that loads torch
    from workbench.cli.run_config import starting_run, starting_weights

    request = replace(request, start=starting_weights(start))
    stated = any(path[:2] == ["training", "curriculum"] for path, _ in settings)
    if start is not None and options["lengths"] is None and not stated:
        earlier = starting_run(start)
        options["lengths"] = f"{earlier.shortest_trained}-{earlier.trained_length}"
        print(f"Training lengths {options['lengths']}, as in {earlier.name}; --lengths sets others.")
    if dry_run:
        print_plan(request, out, numbers)
        return
    if numbers is None:
        trained = [train_one(request, out, chosen)]
    else:
        print(f"{count_of(len(numbers), 'run')}: seeds {', '.join(map(str, numbers))}.")
        trained = [
            train_one(
                replace(request, options={**options, "seed": number}),
                None if out is None else Path(f"{out}-s{number}"),
                chosen,
            )
            for number in numbers
        ]
    folders = " ".join(str(folder) for folder, _ in trained)
    print(f"Next: lengthlens measure {folders}{trusting(trained[0][1])}")


def named_folder(name: str, out: Path | None) -> Path:
    """The folder of a run with a name.

    Raises:
        UsageError: for a name that is a path, or next to ``--out``.
    """
    if out is not None:
        raise UsageError(f"--name {name} and --out {out} both name the folder of the run; leave one out")
    if not name or Path(name).name != name:
        raise UsageError(f"--name takes a name without '/', not {name[:60]!r}; --out takes a path")
    return Path("checkpoints") / name


def print_plan(request: TrainRequest, out: Path | None, seeds: Sequence[int] | None) -> None:
    """Print the settings of what would be trained as YAML, and the folder of each run."""
    import yaml

    from workbench.cli.early_refusal import PARTS
    from workbench.cli.run_config import build

    config = build(request)
    settings = {part: value for part, value in config.as_json().items() if part in PARTS}
    print(yaml.safe_dump(settings, sort_keys=False, allow_unicode=True, default_flow_style=None, width=100), end="")
    if seeds is None:
        folders = [out or default_folder(request.task, config, config.seeds.init)]
    else:
        folders = [
            Path(f"{out}-s{seed}") if out is not None else default_folder(request.task, config, seed) for seed in seeds
        ]
    print(f"\n# Nothing was trained. Without --dry-run, this trains {', '.join(map(str, folders))}.")


def default_folder(task: str, config: RunConfig, seed: int) -> Path:
    """The folder of a run without ``--out``."""
    name = Path(task.rpartition(":")[2] if ":" in task else task).name
    return Path("checkpoints") / f"{name}-{config.model.variant}-s{seed}"


def continue_run(folder: Path, task: str | None, steps: int | None, given: list[str]) -> None:
    """Continue a run with its stored settings, on the type of device that it was trained on.

    Raises:
        UsageError: see :func:`workbench.cli.resumed_training.resumed_training`.
    """
    from workbench.cli.resumed_training import resumed_training
    from workbench.runs.run import Run

    request = resumed_training(folder, task, steps, given)
    run = Run.open(folder)
    if run.finished:
        print(f"{folder} is finished: its training has ended at step {run.steps[-1]:,}.")
    else:
        kind = run.config["training"].get("device", "cpu")
        train_one(request, folder, ComputeDevice(kind, "").resolve())
    print(f"Next: lengthlens measure {folder}")


def train_one(request: TrainRequest, out: Path | None, chosen: ComputeDevice) -> tuple[Path, Task]:
    """Train one run and return its folder and its task.

    Args:
        request: what to train.
        out: its folder; None = named after the task, the variant and the seed.
        chosen: the device.

    Raises:
        Stopping: if training was interrupted.
    """
    from workbench.cli.errors import Stopping
    from workbench.cli.progress import TrainingProgress
    from workbench.cli.run_config import build
    from workbench.measure.behaviour.solves_trained_lengths import fit_sentence
    from workbench.runs.errors import RunError
    from workbench.runs.run import Run
    from workbench.tasks.registry import forbid_exit
    from workbench.training.compare_configs import gives_way
    from workbench.training.trainer import Stopped, Trainer

    task, options = request.task, request.options
    config = build(request)
    folder = out or default_folder(task, config, config.seeds.init)
    with suppress(RunError):  # what cannot be read, training refuses
        if (folder / "run.json").exists() and gives_way(Run.open(folder), config):
            print(f"{folder} contained a run without checkpoints; it is replaced.")
    suggested = suggestions(config.task, options)
    taken = {key: value for key, value in suggested.items() if options.get(key) is None}
    if taken:
        print(f"{config.task.name} suggests {', '.join(f'{key} {value}' for key, value in taken.items())}.")
    device = chosen.device if chosen.kind != "cpu" else ""
    with TrainingProgress(config.training.steps, folder.name) as progress:
        try:
            with forbid_exit(config.task):
                run = Trainer(config, folder, progress, device, request.start).run()
        except Stopped as stopped:
            progress.close()
            raise Stopping(f"{folder}: {stopped}.") from None
    print(f"{folder}: {count_of(len(run.steps), 'checkpoint')}, last at step {run.steps[-1]:,}.")
    if run.stop_reason:
        print(f"It ended early: {run.stop_reason}.")
    with forbid_exit(config.task):
        print(fit_sentence(run))
    return folder, config.task


train.__doc__ = str(train.__doc__).replace("RATE_SCHEDULES", "|".join(RATE_SCHEDULES))
