"""The command ``lengthlens``. Commands import what they need when called, so that --help is instant."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

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
    positions: Annotated[str, typer.Option(help="Position encoding: none, learned, rotary.")] = "none",
    ids: Annotated[str, typer.Option(help="Position ids in training: arange, random_offset.")] = "arange",
    lengths: Annotated[str, typer.Option(help="Training lengths, as LOW-HIGH.")] = "1-50",
    steps: Annotated[int, typer.Option(min=1, help="Optimizer steps.")] = 2000,
    layers: Annotated[int, typer.Option(min=1, help="Blocks.")] = 2,
    d_model: Annotated[int, typer.Option(min=1, help="Width of the residual stream.")] = 64,
    heads: Annotated[int, typer.Option(min=1, help="Attention heads per block.")] = 4,
    n_ctx: Annotated[int, typer.Option(min=1, help="Number of position ids; bounds learned positions only.")] = 512,
    learning_rate: Annotated[float, typer.Option(min=0.0, help="Peak learning rate of AdamW.")] = 1e-3,
    batch_size: Annotated[int, typer.Option(min=1, help="Sequences per step.")] = 64,
    seed: Annotated[int, typer.Option(min=0, help="Seed of weights and data; --set seeds.init=.. sets one.")] = 0,
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="PATH=VALUE",
            help="Any further setting: task.PARAMETER, model.FIELD, training.FIELD (e.g. "
            "training.checkpoints.log=20, training.curriculum.law=fixed), seeds.NAME. Repeatable.",
        ),
    ] = None,
) -> None:
    """Train one model; the same command continues an interrupted run to the same bits.

    A checkpoint is written at step 0, then at log-spaced and evenly spaced steps. Ctrl-C saves first.
    """
    from workbench.cli.train import train_command

    options = {
        "positions": positions,
        "ids": ids,
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


@app.command()
def measure(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Runs, or folders of runs.")],
    only: Annotated[
        list[str] | None,
        typer.Option(help="A measurement (behaviour, circuits.hardmax, ...) or family (`probes.`). Repeatable."),
    ] = None,
    steps: Annotated[str | None, typer.Option(help="Checkpoints, e.g. 0,100,2000; default all; `last`.")] = None,
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
    executor: Annotated[str, typer.Option(help="serial or processes.")] = "processes",
    workers: Annotated[int | None, typer.Option(min=1, help="Worker processes; default: one per core.")] = None,
) -> None:
    """Measure checkpoints: whatever is missing, in parallel; what is there stays.

    Results are Parquet shards in each run's folder and one table.parquet per run. A damaged checkpoint
    is named and skipped; the exit status then is 1.
    """
    from workbench.cli.measure import measure_command

    measure_command(folders, only, steps, lengths, sequences, set_ or [], executor, workers)


@app.command("app")
def app_command(
    folders: Annotated[
        list[Path] | None, typer.Argument(metavar="[DIR]...", help="Folders of runs; default checkpoints/.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8050,
    browser: Annotated[bool, typer.Option("--open", help="Open a browser on it.")] = False,
) -> None:
    """Serve the dashboard. Everything is served from this machine; nothing else is contacted."""
    from workbench.dashboard.create import serve

    serve(folders or [Path("checkpoints")], host=host, port=port, open_browser=browser)


@app.command()
def tasks() -> None:
    """List the tasks, one a line: name, kind, chance, what is asked, the summary that answers it."""
    from workbench.cli.tasks import tasks_command

    tasks_command()


@app.command()
def show(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    step: Annotated[int | None, typer.Option(min=0, help="Checkpoint; default the last measured.")] = None,
) -> None:
    """Show a run in the terminal: its verdict, its behaviour over prefix length, and its steps."""
    from workbench.cli.show import show_command

    show_command(run, step)


@app.command()
def check(
    folders: Annotated[list[Path], typer.Argument(metavar="DIR...", help="Runs, or folders of runs.")],
) -> None:
    """Check that checkpoints are whole and are what they say; the exit status is 1 if one is not."""
    from workbench.cli.check import check_command

    check_command(folders)


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Where the three demo runs go.")] = Path("checkpoints/demo"),
    serve: Annotated[bool, typer.Option(help="Open the dashboard at the end.")] = True,
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port of the dashboard.")] = 8050,
) -> None:
    """Train three small models, measure them, and serve the dashboard: minutes on two cores."""
    from workbench.cli.demo import demo_command

    demo_command(out, serve, port)


def main() -> None:
    """Entry point: one clear sentence and a non-zero exit for whatever the user can mend."""
    from workbench.cli.errors import guarded

    sys.exit(guarded(app))


if __name__ == "__main__":
    main()
