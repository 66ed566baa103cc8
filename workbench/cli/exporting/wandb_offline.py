"""A run's log and its accuracies over training as an offline run of Weights & Biases: no account, and no network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from workbench.cli.errors import UsageError
from workbench.cli.exporting.tensorboard_scalars import scalars
from workbench.runs.run import Run
from workbench.storage.atomic import make_folder, remove_leftovers, replacing_folder

PROJECT = "lengthlens"


def export_to_wandb(run: Run, folder: Path) -> tuple[int, Path]:
    """Write a run's scalars, a record a step, and its settings below a folder.

    What the machine, its packages and its code are is not written, and errors are reported to nobody.

    Returns:
        how many scalars there are, and the folder that ``wandb sync`` takes.

    Raises:
        UsageError: where wandb is not installed, or the folder holds offline runs already.
    """
    os.environ["WANDB_ERROR_REPORTING"] = "false"
    try:
        import wandb
    except ImportError:
        raise UsageError("--wandb-offline needs the package wandb, which is not installed: pip install wandb") from None
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty; name another folder with --wandb-offline")
    folder = folder.absolute()
    make_folder(folder.parent)
    remove_leftovers(folder.parent, folder.name)
    by_step: dict[int, dict[str, float]] = {}
    for tag, step, value in scalars(run):
        by_step.setdefault(step, {})[tag] = value
    parts = {part: run.config[part] for part in ("task", "model", "training", "seeds")}
    own = sys.exit, sys.excepthook  # wandb puts its own in their place, to learn how the process ends
    with replacing_folder(folder.parent, folder.name) as temporary:
        settings = wandb.Settings(
            mode="offline", root_dir=str(temporary), run_id=run.id[:16], run_name=run.name, console="off", silent=True,
            disable_git=True, disable_code=True, x_disable_meta=True, x_disable_stats=True, x_disable_machine_info=True,
            x_save_requirements=False,
        )  # fmt: skip
        try:
            with wandb.init(project=PROJECT, config=parts, settings=settings) as written:
                for step in sorted(by_step):
                    written.log(by_step[step], step=step)
            wandb.teardown()  # its process writes on after a run has ended: once that is gone, all is in the file
        finally:
            sys.exit, sys.excepthook = own
    (path,) = (folder / "wandb").glob("offline-run-*")
    return sum(map(len, by_step.values())), path
