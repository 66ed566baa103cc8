"""A run as what was measured of it alone: to be handed on where the weights are not."""

from __future__ import annotations

from pathlib import Path

from workbench.runs.adoption.copy_run import copy_checkpoints, copy_rows
from workbench.runs.checkpoints import write_config
from workbench.runs.errors import RunError
from workbench.runs.run import Run
from workbench.storage.atomic import make_folder, remove_leftovers, replacing_folder


def write_rows_only(run: Run, model: str, out: Path) -> Run:
    """Write a folder with the settings, hashes and rows of a run, which names its model and no place of its weights.

    Id and hashes are those of the run: where the weights are those of others, ``lengthlens open FOLDER --relink`` makes
    it whole; where they are its own, training does. The folder appears whole or not at all; one that is there gives way
    if it is of the same run.

    Args:
        run: the run.
        model: what the model is called, as whoever looks for it would.
        out: the folder.

    Raises:
        RunError: for damaged rows, or another run in the folder.
    """
    if out.exists() and Run.open(out).id != run.id:
        raise RunError(f"{out} contains another run; choose another folder")
    make_folder(out.parent)
    remove_leftovers(out.parent, out.name)
    with replacing_folder(out.parent, out.name, over=True) as folder:
        copy_checkpoints(run, folder, ("meta.json", "log.parquet"))
        kept = {name: value for name, value in run.config.items() if name not in ("folders", "seal")}
        write_config(folder, {**kept, "rows_only": model})
        if problems := copy_rows(run, folder):
            raise RunError(f"the rows of run {run.name} are damaged: {problems[0]}")
    return Run.open(out)
