"""The view of the runs: one row per run, read as plain JSON and folder names."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from workbench.core.stored_model import component_name
from workbench.storage.seal import SealError
from workbench.table.layout import checkpoint_steps, read_meta
from workbench.table.stored_json import StoredError

#: columns of the view ``runs``; what a run's configuration does not give as a single value is null
RUNS = pa.schema(
    [
        ("run", pa.string()),
        ("id", pa.string()),
        ("task", pa.string()),
        ("parameters", pa.string()),
        ("positions", pa.string()),
        ("ids", pa.string()),
        ("n_layers", pa.int64()),
        ("n_heads", pa.int64()),
        ("d_model", pa.int64()),
        ("n_ctx", pa.int64()),
        ("steps", pa.int64()),
        ("last_step", pa.int64()),
        ("n_checkpoints", pa.int64()),
        ("ended", pa.string()),
        ("low", pa.int64()),
        ("high", pa.int64()),
        ("batch_size", pa.int64()),
        ("learning_rate", pa.float64()),
        ("init_seed", pa.int64()),
        ("data_seed", pa.int64()),
        ("evaluation_seed", pa.int64()),
        ("created", pa.string()),
        ("path", pa.string()),
    ]
)


def describe_run(name: str, path: Path, config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the row of one run in the table of runs.

    ``steps`` is the planned number of steps, and ``last_step`` that of the newest checkpoint. ``ended`` is the reason
    why training ended earlier than planned, or empty. ``low`` is the shortest prefix length of the curriculum and
    ``high`` is N, the longest one trained on, in tokens. ``parameters`` is canonical JSON.
    """
    task, model, training, seeds = (_part(config, key) for key in ("task", "model", "training", "seeds"))
    curriculum = _part(training, "curriculum")
    steps = checkpoint_steps(path)
    return {
        "run": name,
        "id": _text(config.get("id")),
        "task": _text(task.get("name")),
        "parameters": json.dumps(task.get("parameters", {}), sort_keys=True, separators=(",", ":")),
        "positions": _text(component_name(model.get("positions"))),
        "ids": _text(component_name(model.get("ids"))),
        **{key: _integer(model.get(key)) for key in ("n_layers", "n_heads", "d_model", "n_ctx")},
        "steps": _integer(training.get("steps")),
        "last_step": steps[-1] if steps else None,
        "n_checkpoints": len(steps),
        "ended": _ended(path, steps[-1]) if steps and training.get("early_stop") else "",
        "low": _integer(curriculum.get("low")),
        "high": _integer(training.get("trained_length", curriculum.get("high"))),
        "batch_size": _integer(training.get("batch_size")),
        "learning_rate": _number(training.get("learning_rate")),
        "init_seed": _integer(seeds.get("init")),
        "data_seed": _integer(seeds.get("data")),
        "evaluation_seed": _integer(seeds.get("evaluation")),
        "created": _text(config.get("created")),
        "path": str(path),
    }


def to_runs(described: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Rows of :func:`describe_run` as an Arrow table of :data:`RUNS`."""
    return pa.Table.from_pylist([dict(one) for one in described], schema=RUNS)


def _ended(path: Path, step: int) -> str:
    """Why training ended early at a step; "" if it did not, or if the checkpoint is damaged."""
    try:
        return str(read_meta(path, step).get("ended", ""))
    except (SealError, StoredError, OSError):
        return ""


def _part(config: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    part = config.get(key)
    return part if isinstance(part, Mapping) else {}


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _integer(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
