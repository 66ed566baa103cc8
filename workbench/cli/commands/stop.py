"""``lengthlens stop``: ends the training of a run, which keeps its checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.errors import UsageError


def stop(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="Stop the training of the run in this folder.")],
) -> None:
    """Stop the training of a run on this machine. As with Ctrl-C, the training saves a checkpoint first.

    `lengthlens train --resume RUN` continues the training bit-identically.
    """
    import os
    import signal

    from workbench.runs.lock import holder_of
    from workbench.runs.run import Run

    Run.open(run)
    process = holder_of(run)
    if process is None:
        raise UsageError(f"{run} is not being trained on this machine; lengthlens status {run} shows its state")
    os.kill(process, signal.SIGTERM)
    print(f"{run} saves a checkpoint and stops (process {process}).")
    print(f"Next: lengthlens train --resume {run}")
