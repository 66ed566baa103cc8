"""Listing a folder of 1,000 measured runs: the first call, against reading the rows of the same runs.

Also plotting a folder of 40 copied runs, whose tables must be compared with their folders, and refusing 1,000 runs.

python -m benchmarks.listing
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.compute as pc

from benchmarks.tools.table import Line
from workbench.runs.run import Run
from workbench.storage.seal import sealed_json
from workbench.table.folder_state import folder_state
from workbench.table.last_verdict import COLUMNS, last_verdict, note_of
from workbench.table.layout import table_path
from workbench.table.parquet import read_file, write_file
from workbench.table.reading import STATE, read_run

RUNS = 1000
PLOTTED = 40
ORIGINAL = Path(__file__).resolve().parent.parent / "checkpoints" / "gallery" / "majority_nope_s0"


def build(root: Path, runs: int = RUNS) -> None:
    """Write the runs: copies of a run of the gallery with other seeds, without weights, with the rows of behaviour."""
    original = Run.open(ORIGINAL)
    verdict = last_verdict(read_run(ORIGINAL).rows, read_run(ORIGINAL).specs)
    rows, metadata = read_file(table_path(ORIGINAL))
    rows = rows.filter(pc.field("measurement") == "behaviour")
    own = {name: text for name, text in metadata.items() if name not in ("schema_version", "rows")}
    for number in range(runs):
        path = root / f"run-{number:04d}"
        path.mkdir(parents=True)
        config = original.config | {"id": f"{number:016x}", "seeds": original.config["seeds"] | {"init": number}}
        (path / "run.json").write_bytes(sealed_json(config))
        for step in original.steps:
            folder = path / "steps" / f"{step:08d}"
            folder.mkdir(parents=True)
            shutil.copyfile(original.step_path(step) / "meta.json", folder / "meta.json")
        state = folder_state(path)
        note = note_of(path, verdict, state)
        write_file(table_path(path), rows, own | {"run": config["id"], STATE: state} | note)


def _cpu_s(words: list[str], environment: dict[str, str], status: int = 0) -> float:
    """CPU seconds of one command."""
    command = [sys.executable, "-c", "from workbench.cli.main import main; main()", *words]
    start = _children_s()
    done = subprocess.run(command, capture_output=True, env=environment)
    if done.returncode != status:
        raise RuntimeError(f"{words} exits with {done.returncode}: {done.stderr.decode()[-500:]}")
    return _children_s() - start


def _children_s() -> float:
    """CPU time of all finished child processes, which other programs on the machine do not change."""
    times = os.times()
    return times.children_user + times.children_system


def measure(rounds: int = 3) -> list[Line]:
    first, again, reading, plotting, refusing = [], [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "runs"
        build(root)
        copies = Path(folder) / "copies"
        for number in range(PLOTTED):
            shutil.copytree(ORIGINAL, copies / f"run-{number:02d}")
        for number in range(rounds):
            environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/cache{number}"}
            for times in (first, again):
                times.append(_cpu_s(["list", str(root)], environment))
            plotting.append(_cpu_s(["plot", str(copies), "accuracy"], environment))
            refusing.append(_cpu_s(["plot", str(root), "accuracy"], environment, status=2))
            start = time.process_time()
            for path in sorted(root.iterdir()):
                rows = read_run(path, COLUMNS)
                last_verdict(rows.rows, rows.specs)
            reading.append(time.process_time() - start)
    seconds = statistics.median(first)
    ratio = statistics.median(a / b for a, b in zip(reading, first, strict=True))
    what = f"lengthlens list, {RUNS:,} measured runs, first call"
    note = f"{statistics.median(again):.1f} s from the second call on"
    return [
        Line(what, "CPU seconds", seconds, 2.0, note, at_most=True),
        Line(what, "reading their rows / the command", ratio, 1.0),
        Line(f"lengthlens plot, {PLOTTED} copied runs", "CPU seconds", statistics.median(plotting), 3.0, at_most=True),
        Line(f"lengthlens plot, {RUNS:,} runs refused", "CPU seconds", statistics.median(refusing), 2.0, at_most=True),
    ]


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
