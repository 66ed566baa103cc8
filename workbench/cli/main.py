"""The command ``lengthlens``. Commands import what they need when called, so that --help is instant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.commands.reproduce import reproduce
from workbench.cli.options import DEFAULTS, TrustCode
from workbench.models.positions.registry import ENCODINGS
from workbench.training.learning_rate_schedules import RATE_SCHEDULES

DEFAULT = {name: str(value) for name, value in DEFAULTS.items()}

app = typer.Typer(
    name="lengthlens",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
    help="""Is a model scale-robust or length-coupled, what in it makes it so, and since when in training?

Train a model on a scale-invariant task, measure its checkpoints over training and prefix length,
and look at the result in a browser:

    lengthlens train majority --positions none --lengths 1-50 --out checkpoints/majority
    lengthlens measure checkpoints
    lengthlens app checkpoints
""",
)


@app.command()
def train(
    task: Annotated[str, typer.Argument(help="A task's name (see `lengthlens tasks`), or `file.py:MyTask`.")],
    out: Annotated[
        Path | None, typer.Option(help="The run's folder. Default: checkpoints/TASK-POSITIONS-sSEED.")
    ] = None,
    architecture: Annotated[
        str | None,
        typer.Option(help="transformer, or ssm: a state-space model.", show_default=DEFAULT["architecture"]),
    ] = None,
    gates: Annotated[
        str | None,
        typer.Option(help="Gates of a state-space model: nonnegative or signed.", show_default=DEFAULT["gates"]),
    ] = None,
    positions: Annotated[
        str | None,
        typer.Option(
            help=f"Position encoding: {', '.join(ENCODINGS)}. Its parameters: --set model.positions.base=1e5.",
            show_default=DEFAULT["positions"],
        ),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(
            help="Position ids in training: arange, random_offset, pose, random_subset, coupled (by the task), "
            "predicted (coupled, and those of answers by the model itself).",
            show_default=DEFAULT["ids"],
        ),
    ] = None,
    curriculum: Annotated[
        str | None,
        typer.Option(
            help="Law of the training lengths: uniform, fixed, growing, few_long, mixture. Its parameters: "
            "--set training.curriculum.start=5.",
            show_default=DEFAULT["curriculum"],
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
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Any further setting: task.PARAMETER, model.FIELD, training.FIELD, seeds.NAME. Repeatable.",
        ),
    ] = None,
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
    - training.checkpoints.log=20, training.checkpoints.linear=10
    """
    from workbench.cli.commands.train import train_command

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
    train_command(task, out, options, set_ or [])


train.__doc__ = str(train.__doc__).replace("RATE_SCHEDULES", "|".join(RATE_SCHEDULES))


@app.command()
def sweep(
    file: Annotated[Path, typer.Argument(metavar="FILE.yaml", help="The sweep; see below.")],
    out: Annotated[Path | None, typer.Option(help="Folder of the runs, in place of the file's `out`.")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes; default: one per core.")] = None,
    executor: Annotated[str, typer.Option(help="serial or processes.")] = "processes",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="List the cells and what is missing; train nothing.")
    ] = False,
) -> None:
    """Train a grid of runs: whatever is missing, in parallel; the same command continues after any end.

    Keys are the options of `lengthlens train` (task, positions, lengths, ...) or paths of its --set:

        out: checkpoints/example
        base:
          layers: 1
          steps: 1000
          training.checkpoints.log: 4
        grid:
          task: [majority, parity]
          scheme:
            - {name: nope, positions: none}
            - {name: ape, positions: learned, ids: random_offset}
          seed: [0, 1]
        measure: true

    An axis that is no option (scheme) sets several keys at once. A list under `grid` is several grids. A
    run is named by what varies: majority-nope-seed0. Every cell is checked before any is trained. `measure`
    may also be {only: [behaviour], steps: last, lengths: [100, 200], sequences: 256}.
    """
    from workbench.cli.commands.sweep import sweep_command

    sweep_command(file, out, workers, executor, dry_run)


@app.command()
def measure(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Runs, or folders of runs.")],
    only: Annotated[
        list[str] | None,
        typer.Option(help="A measurement (behaviour, circuits.hardmax, ...) or family (`probes.`). Repeatable."),
    ] = None,
    steps: Annotated[
        str | None, typer.Option(help="Checkpoints, e.g. 0,100,2000; default all; `last`: each run's last.")
    ] = None,
    lengths: Annotated[
        str | None, typer.Option(help="Prefix lengths, e.g. 100,200,400; default up to 8 x the trained one.")
    ] = None,
    sequences: Annotated[
        int | None, typer.Option(min=2, help="Sequences per law and length; default what each measurement wants.")
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="MEASUREMENT.SETTING=VALUE", help="A measurement's setting. Repeatable."),
    ] = None,
    deepen: Annotated[
        str,
        typer.Option(
            help="Where behaviour may draw more strings to decide a verdict: last (each run's last checkpoint), all, "
            "or bracket (also those among which the last verdict began, earliest first)."
        ),
    ] = "last",
    executor: Annotated[str, typer.Option(help="serial or processes.")] = "processes",
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes; default: one per core.")] = None,
    trust_code: TrustCode = None,
) -> None:
    """Measure checkpoints: whatever is missing, in parallel; what is there stays.

    Results are Parquet shards in each run's folder and one table.parquet per run. A damaged checkpoint
    is named and skipped; the exit status then is 1.
    """
    from workbench.cli.commands.measure import measure_command

    measure_command(
        folders,
        only,
        steps,
        lengths,
        sequences,
        set_ or [],
        executor,
        workers,
        deepen=deepen,
        trust_code=trust_code or (),
    )


@app.command()
def adopt(
    source: Annotated[Path, typer.Argument(metavar="DIR", help="Checkpoint files (.safetensors, .pt) of one run.")],
    task: Annotated[str, typer.Option(help="The task it was trained on, or `file.py:MyTask`.")],
    lengths: Annotated[str, typer.Option(help="The lengths it was trained on, as LOW-HIGH.")],
    out: Annotated[Path | None, typer.Option(help="The run's folder. Default: checkpoints/DIR.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="TransformerLens's config as JSON. Default: DIR/config.json, if there.")
    ] = None,
    files: Annotated[str | None, typer.Option(help="Which files to take, e.g. 'model_*.pt'. Default: all.")] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="PATH=VALUE", help="task.PARAMETER or model.FIELD. Repeatable."),
    ] = None,
) -> None:
    """Take in checkpoints of TransformerLens's HookedTransformer, trained elsewhere, as a run.

    Steps come from the file names; all files are checked before anything is written. What the weights'
    shapes and the config do not tell must be stated, e.g. --set model.positions=rotary
    --set model.act_fn=gelu. Models with folded LayerNorms are refused: adopt the raw checkpoints.
    """
    from workbench.cli.commands.adopt import adopt_command

    adopt_command(source, task, lengths, out, config, files, set_ or [])


@app.command("compile")
def compile_command(
    program: Annotated[
        str,
        typer.Argument(
            help="A program, named as `lengthlens predict --program` does (majority), or a file FILE.crasp."
        ),
    ],
    lengths: Annotated[
        str, typer.Option(help="Lengths that count as trained, as LOW-HIGH; it is right on them.")
    ] = "1-20",
    up_to: Annotated[
        int, typer.Option("--up-to", min=1, help="Longest prefix for which its comparisons are sharp enough.")
    ] = 1024,
    first_keys: Annotated[
        int | None, typer.Option("--first-keys", min=1, help="Hide all keys after this position.")
    ] = None,
    log_scaled: Annotated[bool, typer.Option("--log-scaled", help="Multiply scores by log K.")] = False,
    out: Annotated[
        Path | None, typer.Option(help="The run's folder. Default: checkpoints/compiled/PROGRAM_UPTO.")
    ] = None,
    task: Annotated[
        str | None, typer.Option(help="The task that a program of a file answers: a name, or `file.py:MyTask`.")
    ] = None,
    set_: Annotated[
        list[str] | None, typer.Option("--set", metavar="task.X=VALUE", help="A parameter of that task. Repeatable.")
    ] = None,
) -> None:
    """Make a transformer that computes a C-RASP program exactly, as a run: a model whose every answer is known.

    Two options make twins of it, right on short prefixes by construction and wrong on some longer ones: --up-to 20
    (comparisons too blunt for the near ties of long strings, which a verdict over all strings hardly sees) and
    --first-keys 20 (what comes later is never read).

    A file holds a program as text, a definition a line; its last line is the answer:

        alphabet 0 1
        ones_lead := count(Q(0)) < count(Q(1))
    """
    from workbench.cli.commands.compile import compile_command

    compile_command(program, lengths, up_to, first_keys, log_scaled, out, task, set_ or [])


@app.command("app")
def app_command(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]...", help="Folders of runs; default checkpoints/.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8050,
    browser: Annotated[bool, typer.Option("--open", help="Open a browser on it.")] = False,
    trust_code: TrustCode = None,
) -> None:
    """Serve the dashboard. Everything is served from this machine; nothing else is contacted."""
    from workbench.dashboard.app import serve

    serve(folders or [Path("checkpoints")], host=host, port=port, open_browser=browser, trust_code=trust_code or ())


@app.command()
def tasks(
    name: Annotated[
        str | None, typer.Argument(metavar="[TASK]", help="A task's name, or `file.py:MyTask`: all about that one.")
    ] = None,
    check: Annotated[
        bool,
        typer.Option("--check", help="Check whether it keeps what a task promises; run this on a task of your own."),
    ] = False,
) -> None:
    """List the tasks by family: kind, chance and the summary that answers; or tell all about one, or check it.

    *Kind* says what must be carried on to answer at every length: a finite **state**, an **average**, an
    unbounded **counter**, or a **pointer** to one place. *Chance* is the accuracy of the best constant
    answer at length 64 (or the next length there is). Piped, it prints one task a line.
    """
    from workbench.cli.commands.tasks import tasks_command

    tasks_command(name, check)


@app.command()
def predict(
    task: Annotated[
        str | None,
        typer.Argument(metavar="[TASK]", help="A task's name, or one in the literature (tomita_4, D_12, unique-copy)."),
    ] = None,
    regex: Annotated[
        str | None, typer.Option(help="A regular expression instead of a task; | is union, () the empty word.")
    ] = None,
    alphabet: Annotated[
        str | None, typer.Option(help="Symbols of the expression, if there are more than it mentions.")
    ] = None,
    positions: Annotated[
        list[str] | None,
        typer.Option(help=f"{', '.join(ENCODINGS)}. Repeatable.", show_default="none, learned"),
    ] = None,
    ids: Annotated[
        str | None,
        typer.Option(help="Position ids in training.", show_default="random_offset for learned positions"),
    ] = None,
    acceptance: Annotated[
        str, typer.Option(help="Whether acceptance of a regular language may read the last symbol: last or neutral.")
    ] = "last",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="task.PARAMETER, or positions.SETTING, as positions.period of limit. Repeatable.",
        ),
    ] = None,
    program: Annotated[bool, typer.Option("--program", help="Print the C-RASP programs behind a guarantee.")] = False,
) -> None:
    """Say what theory predicts for a task or a regular language, by which theorem, and where it is silent.

    *guaranteed*: in the class that the theorem is about. *not expressible*: outside it. *open*: no theorem
    covers the case. *not decided*: a decision procedure ended without an answer.
    """
    from workbench.cli.commands.predict import predict_command

    predict_command(task, regex, alphabet, positions or [], ids, acceptance, set_ or [], program)


@app.command()
def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    step: Annotated[int | None, typer.Option(min=0, help="Checkpoint; default the last measured.")] = None,
) -> None:
    """Show a run in the terminal: its verdict, its behaviour over prefix length, and its steps."""
    from workbench.cli.commands.show import show_command

    show_command(run, step)


@app.command()
def check(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Runs, or folders of runs.")],
) -> None:
    """Check that checkpoints are whole and are what they say; the exit status is 1 if one is not."""
    from workbench.cli.commands.check import check_command

    check_command(folders)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the three demo runs go.")] = Path("checkpoints/demo"),
    serve: Annotated[bool, typer.Option(help="Open the dashboard at the end.")] = True,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the dashboard.")] = 8050,
) -> None:
    """Train three small models, measure them, and serve the dashboard: minutes on two cores."""
    from workbench.cli.commands.demo import demo_command

    demo_command(out, serve, port)


app.command()(reproduce)


def main() -> None:
    """Entry point: one clear sentence and a non-zero exit for whatever the user can mend."""
    from workbench.cli.errors import guarded

    sys.exit(guarded(app))


if __name__ == "__main__":
    main()
