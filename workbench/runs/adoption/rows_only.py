"""A run with results only (no weights), for passing results on without the weights."""

from __future__ import annotations

from pathlib import Path

from workbench.runs.adoption.copy_run import copy_checkpoints, copy_rows
from workbench.runs.checkpoints import write_config
from workbench.runs.errors import RunError
from workbench.runs.run import Run
from workbench.storage.atomic import make_folder, remove_leftovers, replacing_folder


def write_rows_only(run: Run, model: str, out: Path) -> Run:
    """Write a folder with the settings, hashes and rows of a run. It names the model, but no path of its weights.

    Id and hashes are those of the run. If the weights belong to others, ``lengthlens open FOLDER --relink`` adds them;
    if they are the run's own, training does. The folder appears complete or not at all. An existing folder is replaced
    if it is of the same run.

    Args:
        run: the run.
        model: the name under which others can find the model.
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
