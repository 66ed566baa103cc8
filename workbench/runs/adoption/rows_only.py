"""A run as what was measured of it alone: to be handed on where the weights are not."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from workbench.runs.checkpoints import write_config
from workbench.runs.errors import RunError
from workbench.runs.run import Run
from workbench.table.layout import TABLE_NAME
from workbench.table.shards import compact


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
        raise RunError(f"{out} holds another run; choose another folder")
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as made:
        folder = Path(made) / out.name
        for step in run.steps:
            there = folder / run.step_path(step).relative_to(run.path)
            there.mkdir(parents=True)
            for name in ("meta.json", "log.parquet"):
                if (file := run.step_path(step) / name).is_file():
                    shutil.copyfile(file, there / name)
        kept = {name: value for name, value in run.config.items() if name not in ("folders", "seal")}
        write_config(folder, {**kept, "rows_only": model})
        for part in ("measurements", TABLE_NAME):
            if (there := run.path / part).is_dir():
                shutil.copytree(there, folder / part)
            elif there.exists():
                shutil.copyfile(there, folder / part)
        if problems := compact(folder):
            raise RunError(f"the rows of run {run.name} are damaged: {problems[0]}")
        shutil.rmtree(folder / "measurements", ignore_errors=True)
        shutil.rmtree(out, ignore_errors=True)
        folder.replace(out)
    return Run.open(out)
