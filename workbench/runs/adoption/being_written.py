"""A run folder that is written at once, without training: made if it is missing, continued if it is the same run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.runs.checkpoints import remove_unfinished, write_config
from workbench.runs.errors import RunError
from workbench.runs.lock import writer_lock
from workbench.runs.run import Run, run_id
from workbench.table.stored_json import StoredError, check_run
from workbench.tasks.registry import same_task


@contextmanager
def being_written(out: Path, config: Mapping[str, Any]) -> Iterator[Run]:
    """The run of this ``run.json``; no other process can write to it while the block runs.

    Raises:
        RunError: if the folder contains another run, or the config is not valid; then nothing is written.
    """
    try:
        check_run(json.loads(json.dumps(config)))
    except StoredError as error:
        raise RunError(f"no run can be written to {out}: {error}") from None
    with writer_lock(out):
        remove_unfinished(out)
        if not (out / "run.json").exists():
            write_config(out, config)
        run = Run.open(out)
        if not _is_of(run, config):
            raise RunError(f"{out} contains another run; choose another --out")
        yield run


def _is_of(run: Run, config: Mapping[str, Any]) -> bool:
    """Whether a run is the one that ``config`` describes. Older runs may lack the hash of their task's file."""
    held = run.config["task"]
    return run.id == config["id"] or (same_task(held, config["task"]) and run.id == run_id({**config, "task": held}))
