"""The dashboard over 200 runs and two million rows: first page, slider moves, twenty readers, memory.

python -m benchmarks.dashboard
"""

from __future__ import annotations

import shutil
from pathlib import Path

from workbench.runs.folder import Run, find_runs
from workbench.table.files import read_file, write_file
from workbench.table.layout import table_path
from workbench.table.reading import STATE, folder_state
from workbench.table.seal import sealed_json

RUNS = 200
GALLERY = Path(__file__).resolve().parent.parent / "checkpoints" / "gallery"
RATES, WIDTHS = (3e-4, 1e-3, 3e-3, 1e-2), (16, 32, 64, 128, 256)


def build(root: Path, runs: int = RUNS) -> int:
    """Write the runs, each a copy of a run of the gallery under another configuration; returns how many rows."""
    originals = find_runs(GALLERY)
    return sum(_copy(originals[number % len(originals)], root / f"run-{number:03d}", number) for number in range(runs))


def _copy(original: Run, path: Path, number: int) -> int:
    config = original.config | {
        "training": original.config["training"] | {"learning_rate": RATES[number % len(RATES)]},
        "model": original.config["model"] | {"d_model": WIDTHS[number // len(RATES) % len(WIDTHS)]},
        "seeds": original.config["seeds"] | {"init": number, "data": number},
    }
    config.pop("seal", None)
    path.mkdir(parents=True)
    (path / "run.json").write_bytes(sealed_json(config))
    for step in original.steps:
        folder = path / "steps" / f"{step:08d}"
        folder.mkdir(parents=True)
        for name in ("meta.json", "log.parquet"):
            shutil.copyfile(original.step_path(step) / name, folder / name)
    rows, metadata = read_file(table_path(original.path))
    own = {name: text for name, text in metadata.items() if name not in ("schema_version", "rows")}
    write_file(table_path(path), rows, own | {STATE: folder_state(path)})
    return int(rows.num_rows)
