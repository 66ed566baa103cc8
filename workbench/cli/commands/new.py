"""``lengthlens new``: something of one's own to start from."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.errors import UsageError
from workbench.core.errors import quoted_value


def new(
    what: Annotated[str, typer.Argument(metavar="task", help="Write a file of this kind. `task` is the only kind.")],
    name: Annotated[str, typer.Argument(help="Name the task with small letters, digits and _.")],
    to: Annotated[Path, typer.Option("--to", help="Write the files into this folder.")] = Path(),
) -> None:
    """Write a working example task to NAME.py, and write its test. Change both into your own task."""
    if what != "task":
        raise UsageError(
            f"lengthlens new cannot write {quoted_value(what)}, only a task; run lengthlens new task my_task"
        )
    from workbench.cli.new_task import write_task

    task, test, cls = write_task(name, to)
    place = shlex.quote(f"{task}:{cls}")
    print(
        f"{task} contains a working example task with the question: has x occurred so far? Change it into your own "
        f"task. {test} is its test."
    )
    print(f"Next: lengthlens tasks --check {place}, then lengthlens train {place}")
