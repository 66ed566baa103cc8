"""``lengthlens new``: something of one's own to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.core.errors import shown


def new(
    what: Annotated[str, typer.Argument(metavar="task", help="What to write: task.")],
    name: Annotated[str, typer.Argument(help="Its name: small letters, digits and _.")],
    to: Annotated[Path, typer.Option("--to", help="The folder to write into.")] = Path(),
) -> None:
    """Write a task of your own to start from: NAME.py, which works as it stands, and its test."""
    if what != "task":
        raise UsageError(f"lengthlens new writes a task, not {shown(what)}: lengthlens new task my_task")
    from workbench.cli.new_task import write_task

    task, test, cls = write_task(name, to)
    place = shlex.quote(f"{task}:{cls}")
    print(f"{task} is a task that works: has x occurred so far? Make it yours. {test} is its test.")
    print(f"Next: lengthlens tasks --check {place}, then lengthlens train {place}")
