"""A run's log and its accuracies over training as an offline run of Weights & Biases: no account, and no network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from workbench.cli.errors import UsageError
from workbench.cli.exporting.tensorboard_scalars import scalars
from workbench.runs.run import Run

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
        raise UsageError(
            "--wandb-offline needs the package wandb, which is not installed; put it there with "
            "pip install 'lengthlens[wandb]'"
        ) from None
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} holds something already; name another folder")
    folder.mkdir(parents=True, exist_ok=True)
    by_step: dict[int, dict[str, float]] = {}
    for tag, step, value in scalars(run):
        by_step.setdefault(step, {})[tag] = value
    settings = wandb.Settings(
        mode="offline", root_dir=str(folder), run_id=run.id[:16], run_name=run.name, console="off", silent=True,
        disable_git=True, disable_code=True, x_disable_meta=True, x_disable_stats=True, x_disable_machine_info=True,
        x_save_requirements=False,
    )  # fmt: skip
    parts = {part: run.config[part] for part in ("task", "model", "training", "seeds")}
    own = sys.exit, sys.excepthook  # wandb puts its own in their place, to learn how the process ends
    try:
        with wandb.init(project=PROJECT, config=parts, settings=settings) as written:
            for step in sorted(by_step):
                written.log(by_step[step], step=step)
        wandb.teardown()  # its process writes on after a run has ended: once that is gone, all is in the file
    finally:
        sys.exit, sys.excepthook = own
    (made,) = (folder / "wandb").glob("offline-run-*")
    return sum(map(len, by_step.values())), made
