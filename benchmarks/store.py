"""Opening a large data folder: 200 runs x 24 checkpoints x 8 measurements, compacted.

python -m benchmarks.store
"""

from __future__ import annotations

import shutil
import statistics
import tempfile
import time
from pathlib import Path

from benchmarks.tools.table import Line
from workbench.storage.seal import sealed_json
from workbench.table import Table
from workbench.table.folder_state import folder_state
from workbench.table.layout import table_path
from workbench.table.parquet import read_file, write_file
from workbench.table.reading import STATE
from workbench.table.schema import row
from workbench.table.shards import compact, shard_path, write_shard

RUNS, STEPS, MEASUREMENTS, ROWS = 200, 24, 8, 50


def build(root: Path) -> None:
    """Write the runs: 1.9 million rows in all; per run a compacted table and its 192 shards."""
    first = root / "run-000"
    _skeleton(first, 0)
    for step in range(STEPS):
        for measurement in range(MEASUREMENTS):
            _shard(first, f"made.up{measurement}", step * 100, f"{measurement:016x}", f"{step:064x}")
    compact(first)
    rows, metadata = read_file(table_path(first))
    for number in range(1, RUNS):  # the others are copies: making each anew would take minutes and show nothing more
        run = root / f"run-{number:03d}"
        _skeleton(run, number)
        shutil.copytree(first / "measurements", run / "measurements", copy_function=shutil.copyfile)
        own = {name: text for name, text in metadata.items() if name not in ("schema_version", "rows")}
        write_file(table_path(run), rows, own | {"run": f"{number:016x}", STATE: folder_state(run)})


def _skeleton(run: Path, number: int) -> None:
    run.mkdir(parents=True)
    (run / "run.json").write_bytes(sealed_json(_config(number)))
    for at in range(STEPS):
        step = run / "steps" / f"{at * 100:08d}"
        step.mkdir(parents=True)
        (step / "meta.json").write_bytes(sealed_json({"step": at * 100, "sha256": f"{at:064x}"}))


def _shard(run: Path, measurement: str, step: int, key: str, sha256: str) -> None:
    facts = {"run": run.name, "step": step, "measurement": measurement}
    rows = [
        row(quantity=f"q{q % 5}", law="matched", length=10 * (1 + q // 5), value=q / ROWS, n=128) | facts
        for q in range(ROWS)
    ]
    write_shard(shard_path(run, measurement, step, key), rows, {"spec": "{}", "key": key, "sha256": sha256})


def _config(number: int) -> dict[str, object]:
    return {
        "format": 1,
        "id": f"{number:016x}",
        "task": {"name": "majority", "parameters": {}},
        "model": {"positions": {"name": "none"}, "ids": {"name": "arange"}, "n_layers": 2, "d_model": 64, "n_heads": 4},
        "training": {"steps": 2300, "trained_length": 50, "curriculum": {"law": "uniform", "low": 1, "high": 50}},
        "seeds": {"init": number, "data": number, "evaluation": 0, "probe": 0},
        "facts": {},
        "versions": {},
    }


def measure(rounds: int = 5) -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        build(Path(folder))
        found = []
        for _ in range(rounds + 1):
            start = time.perf_counter()
            table = Table.load(folder)
            count = int(table.sql("select count(*) as n from rows")["n"][0])
            found.append(time.perf_counter() - start)
    what = f"opening {RUNS} runs x {STEPS} steps x {MEASUREMENTS} measurements"
    seconds = statistics.median(found[1:])
    return [Line(what, "seconds", seconds, 1.0, f"{count:,} rows", at_most=True)]


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
