"""``lengthlens rename``: gives a run another name."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.errors import UsageError


def rename(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Rename the run in this folder.")],
    new: Annotated[
        Path, typer.Argument(metavar="NEW", help="Give it this name, or move it to this path if NEW contains a `/`.")
    ],
) -> None:
    """Rename a run, with its checkpoints and results.

    The name of a run is that of its folder. Its id, its measurements and the runs that started from it stay valid.
    """
    from workbench.cli.commands.rm import refuse_busy
    from workbench.runs.run import Run
    from workbench.storage.below import move_folder

    place, target = run.absolute(), (run.absolute().parent / new if len(new.parts) == 1 else new.absolute())
    refuse_busy(Run.open(run), run)
    if target.exists():
        raise UsageError(f"{target} exists already; choose another name")
    if not target.parent.is_dir():
        raise UsageError(f"there is no folder {target.parent}; make it, or name a path in an existing folder")
    move_folder(place.parent, place.name, target.parent, target.name)
    shown = target if new.is_absolute() else run.parent / new if len(new.parts) == 1 else new
    print(f"{run} is now {shown}.")
    print(f"Next: lengthlens info {shown}")
