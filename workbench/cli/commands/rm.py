"""``lengthlens rm``: deletes runs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.errors import UsageError

if TYPE_CHECKING:
    from workbench.runs.run import Run


def remove_runs(
    runs: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Delete the runs in these folders.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Delete without confirmation.")] = False,
) -> None:
    """Delete runs with their checkpoints and results. This cannot be undone.

    The command waits for your confirmation. A run that is being trained is not deleted.
    """
    from workbench.runs.run import Run
    from workbench.storage.below import remove_folder

    opened = [(folder, Run.open(folder)) for folder in runs]
    for folder, run in opened:
        refuse_busy(run, folder)
    for folder, run in opened:
        content = content_of(run)
        if not yes and not user_agrees(f"Delete {folder} ({content})?", f"lengthlens rm {folder} --yes"):
            print(f"{folder} is kept.")
            continue
        place = folder.absolute()
        remove_folder(place.parent, place.name)
        print(f"{folder} is deleted ({content}).")


def content_of(run: Run) -> str:
    """How much a run contains, in words."""
    from workbench.cli.table_text import count_of

    size = sum(path.stat().st_size for path in run.path.rglob("*") if path.is_file())
    return f"{count_of(len(run.steps), 'checkpoint')}, {size / 1e6:.1f} MB"


def refuse_busy(run: Run, folder: Path) -> None:
    """Refuse a run that another process writes.

    Raises:
        BeingWritten: if one does.
    """
    from workbench.runs.lock import writer_lock

    with writer_lock(run.path):
        pass


def user_agrees(question: str, command: str) -> bool:
    """Whether the user agrees.

    Raises:
        UsageError: where nobody can answer, with the command that needs no answer.
    """
    import sys

    if not sys.stdin.isatty():
        raise UsageError(f"nobody can answer the question {question!r} here; give --yes: {command}")
    return typer.confirm(question)
