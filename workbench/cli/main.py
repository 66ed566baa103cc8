"""The command ``lengthlens``: collects what ``commands/`` holds, a file a command.

Commands import what they need when called, so that --help is instant.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Annotated

import typer

from workbench import __version__
from workbench.cli.commands.adopt import adopt
from workbench.cli.commands.app import serve_app
from workbench.cli.commands.check import check
from workbench.cli.commands.compile import compile_program
from workbench.cli.commands.demo import demo
from workbench.cli.commands.fetch import fetch
from workbench.cli.commands.gallery import open_gallery
from workbench.cli.commands.in_context.answers import answers
from workbench.cli.commands.in_context.open import open_model
from workbench.cli.commands.in_context.prompts import prompts
from workbench.cli.commands.measure import measure
from workbench.cli.commands.new import new
from workbench.cli.commands.predict import predict
from workbench.cli.commands.prescribe import prescribe
from workbench.cli.commands.reproduce import reproduce
from workbench.cli.commands.sharing.export import export
from workbench.cli.commands.sharing.publish import publish
from workbench.cli.commands.sharing.report import report
from workbench.cli.commands.show import show
from workbench.cli.commands.sweep import sweep
from workbench.cli.commands.tasks import tasks
from workbench.cli.commands.train import train

COMMANDS: Mapping[str, Callable[..., None]] = {
    "train": train,
    "sweep": sweep,
    "measure": measure,
    "adopt": adopt,
    "open": open_model,
    "prompts": prompts,
    "answers": answers,
    "compile": compile_program,
    "app": serve_app,
    "gallery": open_gallery,
    "tasks": tasks,
    "new": new,
    "predict": predict,
    "reproduce": reproduce,
    "show": show,
    "prescribe": prescribe,
    "report": report,
    "publish": publish,
    "export": export,
    "fetch": fetch,
    "check": check,
    "demo": demo,
}
"""The commands by name, in the order of --help."""

app = typer.Typer(
    name="lengthlens",
    invoke_without_command=True,
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
for name, command in COMMANDS.items():
    app.command(name)(command)


def _version(asked: bool) -> None:
    if asked:
        print(f"lengthlens {__version__}")
        raise typer.Exit


@app.callback()
def whole(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say which it is.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        print(context.get_help())
        print(f"Next: {next_step(Path('checkpoints'))}")


def next_step(folder: Path) -> str:
    """The command that makes sense next, by what a folder of runs holds."""
    from workbench.runs.errors import RunError
    from workbench.runs.run import find_runs

    try:
        runs = find_runs(folder, [])
    except RunError:
        runs = []
    if not runs:
        demo = "lengthlens demo (five minutes: three runs trained, measured and shown)"
        return f"lengthlens gallery (the runs that come with it, in a browser), or {demo}"
    if not all((run.path / "measurements").exists() or (run.path / "table.parquet").exists() for run in runs):
        return f"lengthlens measure {folder}"
    return f"lengthlens app {folder}"


def main() -> None:
    """Entry point: one clear sentence and a non-zero exit for whatever the user can mend."""
    from workbench.cli.errors import guarded

    sys.exit(guarded(app))


if __name__ == "__main__":
    main()
