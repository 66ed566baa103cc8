"""Copies a run's files to another folder, as plain files: links are not followed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from workbench.runs.run import Run
from workbench.storage import bounded
from workbench.storage.atomic import make_folder
from workbench.storage.below import copy_file, remove_folder
from workbench.storage.bounded import UnreadableError
from workbench.storage.errors import LinkError
from workbench.table.layout import TABLE_NAME, shards_of
from workbench.table.shards import compact

LIMITS = {"model.safetensors": bounded.WEIGHTS, "meta.json": bounded.META_JSON, "log.parquet": bounded.LOG}
"""The files of a checkpoint, and the most bytes of each."""


def copy_checkpoints(run: Run, folder: Path, names: Sequence[str] = tuple(LIMITS)) -> None:
    """Copy files of all checkpoints of a run.

    Args:
        run: the run.
        folder: the folder to copy to.
        names: names from :data:`LIMITS`; a checkpoint may lack some.

    Raises:
        LinkError: if one of the files is behind a link.
        UnreadableError: if one of them is not a regular file, or is too large.
        StorageError: if the folder cannot be written.
    """
    for step in run.steps:
        place = run.step_path(step).relative_to(run.path)
        make_folder(folder, place)
        for name in names:
            with suppress(FileNotFoundError):
                copy_file(run.path, folder, place / name, LIMITS[name])


def copy_rows(run: Run, folder: Path) -> list[str]:
    """Copy the rows of a run as one table. The folder contains ``run.json`` already.

    Returns:
        the problems of stored rows, a sentence each; the table lacks these rows.

    Raises:
        StorageError: if the folder cannot be written.
    """
    problems = []
    files = [(Path(TABLE_NAME), bounded.TABLE)]
    files += [(shard.path.relative_to(run.path), bounded.SHARD) for shard in shards_of(run.path)]
    for place, limit in files:
        make_folder(folder, place.parent)
        try:
            copy_file(run.path, folder, place, limit)
        except FileNotFoundError:
            continue
        except (LinkError, UnreadableError) as error:
            problems.append(f"{run.path / place} is not copied: {error}")
    problems += compact(folder)
    remove_folder(folder, "measurements")
    return problems
