"""A maker of small run folders, written by hand: plain JSON, and shards by the public writer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from workbench.storage.seal import sealed_json
from workbench.table.schema import Row, row
from workbench.table.shards import shard_path, write_shard

CONFIG: dict[str, Any] = {
    "format": 1,
    "id": "0123456789abcdef",
    "task": {"name": "majority", "parameters": {"p": 0.5, "bos": True}},
    "model": {
        "positions": "rotary",
        "ids": "arange",
        "n_layers": 2,
        "n_heads": 4,
        "d_model": 64,
        "n_ctx": 512,
    },
    "training": {
        "steps": 3000,
        "batch_size": 64,
        "learning_rate": 1e-3,
        "trained_length": 50,
        "curriculum": {"law": "uniform", "low": 1, "high": 50},
    },
    "seeds": {"init": 1, "data": 2, "evaluation": 3, "probe": 4},
    "created": "2026-01-02T03:04:05+00:00",
}


class RunMaker:
    """Writes one run folder piece by piece."""

    def __init__(self, path: Path, config: dict[str, Any] = CONFIG) -> None:
        self.path = path
        path.mkdir(parents=True)
        (path / "run.json").write_bytes(sealed_json(config))

    def checkpoint(self, step: int, sha256: str = "aa") -> None:
        folder = self.path / "steps" / f"{step:08d}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "meta.json").write_bytes(sealed_json({"step": step, "sha256": sha256, "trained_ids": None}))

    def rows(self, measurement: str, step: int, values: list[float], **fields: Any) -> list[Row]:
        fields = {"quantity": "accuracy", "law": "matched", **fields}
        return [
            row(run="as measured", measurement=measurement, step=step, length=2**k, value=value, **fields)
            for k, value in enumerate(values)
        ]

    def shard(
        self,
        measurement: str = "behaviour",
        step: int = 100,
        values: list[float] | None = None,
        *,
        key: str = "k1",
        sha256: str = "aa",
        version: int = 1,
        rows: list[Row] | None = None,
    ) -> Path:
        path = shard_path(self.path, measurement, step, key)
        quantity = {"name": "accuracy", "definition": "share of right answers", "unit": "share"}
        spec = {"name": measurement, "version": version, "quantities": [quantity]}
        made = self.rows(measurement, step, values or [0.5]) if rows is None else rows
        write_shard(path, made, {"spec": json.dumps(spec), "key": key, "sha256": sha256})
        return path
