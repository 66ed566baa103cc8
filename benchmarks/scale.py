"""A study of thousands of runs: what its folder, its table and the dashboard's start take.

    python -m benchmarks.scale [--runs 5000] [--checkpoints 30]

The runs are generated: folders as training and measuring leave them, without weights, with the rows of one measured
run of the gallery at every checkpoint. Figures of fewer runs are taken on the way, for what grows with them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from workbench.models.positions.registry import ENCODINGS
from workbench.storage.seal import sealed_json
from workbench.table import Table
from workbench.table.folder_state import folder_state
from workbench.table.layout import table_path
from workbench.table.parquet import read_file, write_file
from workbench.table.reading import STATE
from workbench.table.shards import compact, shard_path, write_shard

MEASUREMENT = "behaviour"
SEEDS = 10
"""Runs of one configuration."""
GRID: tuple[tuple[Sequence[Any], int], ...] = (
    (("majority", "flip_flop", "parity", "mod_p_mean"), 125),
    (tuple(ENCODINGS)[:5], 25),
    ((32, 64, 128, 256, 512), 5),
    ((0.0001, 0.0003, 0.001, 0.003, 0.01), 1),
)
"""Tasks, encodings, widths and learning rates, each with the configurations after which the next one comes."""
GALLERY = Path(__file__).resolve().parent.parent / "checkpoints" / "gallery"


def one_step() -> tuple[list[dict[str, Any]], str]:
    """The rows of one checkpoint's behaviour, and their spec."""
    run = next(path.parent for path in sorted(GALLERY.glob("*/table.parquet")))
    rows, metadata = read_file(table_path(run))
    rows = rows.filter(pc.field("measurement") == MEASUREMENT)
    last = rows.filter(pc.field("step") == pc.max(rows["step"]).as_py())
    return last.to_pylist(), json.dumps(json.loads(metadata["specs"])[MEASUREMENT])


def build(root: Path, runs: int, checkpoints: int, shards: bool) -> None:
    """Write the runs; per run a table and, if they are asked for, the shards that it was made of."""
    rows, spec = one_step()
    first = root / "run-00000"
    _skeleton(first, 0, checkpoints)
    for at in range(checkpoints):
        own = [{**row, "run": first.name, "step": 100 * at} for row in rows]
        path = shard_path(first, MEASUREMENT, 100 * at, f"{at:016x}")
        write_shard(path, own, {"spec": spec, "key": f"{at:016x}", "sha256": f"{at:064x}", "run": _id(0)})
    compact(first)
    table, metadata = read_file(table_path(first))
    for number in range(1, runs):
        run = root / f"run-{number:05d}"
        _skeleton(run, number, checkpoints)
        if shards:
            shutil.copytree(first / "measurements", run / "measurements", copy_function=shutil.copyfile)
        _table(run, number, table, metadata)
    if not shards:
        shutil.rmtree(first / "measurements")
        _table(first, 0, table, metadata)


def _table(run: Path, number: int, table: pa.Table, metadata: Mapping[str, str]) -> None:
    own = {name: text for name, text in metadata.items() if name not in ("schema_version", "rows")}
    write_file(table_path(run), table, own | {"run": _id(number), STATE: folder_state(run)})


def _id(number: int) -> str:
    return f"{number:016x}"


def _skeleton(run: Path, number: int, checkpoints: int) -> None:
    run.mkdir(parents=True)
    task, positions, width, rate = (places[number // SEEDS // every % len(places)] for places, every in GRID)
    seed = number % SEEDS
    config = {
        "format": 1,
        "id": _id(number),
        "task": {"name": task, "parameters": {}},
        "model": {
            "positions": {"name": positions},
            "ids": {"name": "arange"},
            "n_layers": 2,
            "d_model": width,
            "n_heads": 4,
        },
        "training": {
            "steps": 100 * (checkpoints - 1),
            "trained_length": 50,
            "learning_rate": rate,
            "curriculum": {"law": "uniform", "low": 1, "high": 50},
        },
        "seeds": {"init": seed, "data": seed, "evaluation": 0, "probe": 0},
        "facts": {},
        "versions": {},
    }
    (run / "run.json").write_bytes(sealed_json(config))
    for at in range(checkpoints):
        step = run / "steps" / f"{at * 100:08d}"
        step.mkdir(parents=True)
        (step / "meta.json").write_bytes(sealed_json({"step": at * 100, "sha256": f"{at:064x}", "run": _id(number)}))


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    """Wall-clock seconds, and what came of it."""
    start = time.perf_counter()
    found = work()
    return time.perf_counter() - start, found


def of_child(work: partial[dict[str, float]]) -> dict[str, float]:
    """What ``work`` finds in a forked process of its own, and that process's peak of memory in GB."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        found = dict(work())
        found[f"GB of memory at its peak ({work.func.__name__})"] = (
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        )
        os.write(writing, json.dumps(found).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        text = file.read()
    os.waitpid(pid, 0)
    return dict(json.loads(text))


def loading(root: Path) -> dict[str, float]:
    """What a reader of the table meets."""
    seconds, table = timed(lambda: Table.load(root))
    asked = "select run, max(value) from joined where quantity = 'accuracy' group by run"
    query, _ = timed(lambda: table.sql(asked))
    stamp, _ = timed(lambda: Table.signature(root))
    return {"rows": len(table), "s to load the table": seconds, "s a query over all": query, "s to see news": stamp}


def opening(root: Path) -> dict[str, float]:
    """What the dashboard's server meets before its first page."""
    from workbench.dashboard.pages.sweep import PHASE
    from workbench.dashboard.server.context import Context
    from workbench.dashboard.server.worker import Worker
    from workbench.dashboard.state.store import Store

    store = Store([root])
    context = Context(store, Worker())
    first, _ = timed(lambda: store.refresh(force=True))
    again, _ = timed(lambda: store.refresh(force=True))
    sweep, _ = timed(lambda: PHASE.plain(context, {}, "light", 11))
    rest, _ = timed(lambda: store.series((MEASUREMENT, "skill", "matched", "", "teacher_forced"), wait=True))
    context.close()
    return {
        "s for the dashboard to look at the runs": first,
        "s for it to look for news": again,
        "s to draw the Sweep page's first diagram": sweep,
        "s to read a quantity that nobody has asked for": rest,
    }


def serving(root: Path) -> dict[str, float]:
    """What somebody meets who opens the dashboard: the first page with runs, and the page that has all of them."""
    from workbench.dashboard import router
    from workbench.dashboard.server.context import Context
    from workbench.dashboard.server.worker import Worker
    from workbench.dashboard.state.store import Store

    context = Context(Store([root]), Worker())
    start = time.perf_counter()
    router.page(context, "/", "")
    first, known = time.perf_counter() - start, len(context.store.runs())
    while context.store.progress is not None:
        time.sleep(0.2)
    whole, _ = timed(lambda: router.page(context, "/", ""))
    context.close()
    return {"s to the first page": first, "runs on it": known, "s for a page of all runs": whole}


def shard_loading(root: Path) -> dict[str, float]:
    """What shards cost that were never brought together, and bringing them together."""
    run = root / "run-00000"
    table_path(run).unlink()
    before, _ = timed(lambda: Table.load(run))
    seconds, _ = timed(lambda: compact(run))
    return {"s a run to read its shards": before, "s a run to compact": seconds}


def size(root: Path) -> tuple[int, int]:
    """Files and bytes below a folder."""
    files = [os.path.join(here, name) for here, _, names in os.walk(root) for name in names]
    return len(files), sum(os.lstat(path).st_size for path in files)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--checkpoints", type=int, default=30)
    options = parser.parse_args()
    tell(options.runs // 10, options.checkpoints, shards=True)
    tell(options.runs // 5, options.checkpoints, shards=False)
    tell(options.runs, options.checkpoints, shards=False)


def tell(runs: int, checkpoints: int, *, shards: bool) -> None:
    """Generate so many runs, look at them in processes of their own, and print what was found."""
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        built, _ = timed(partial(build, root, runs, checkpoints, shards))
        files, total = size(root)
        found = {"files": files, "GB": total / 1e9, "s to generate": built}
        for look in (shard_loading,) if shards else (loading, opening, serving):
            found |= of_child(partial(look, root))
        print(f"{runs:,} runs x {checkpoints} checkpoints, {'tables and shards' if shards else 'tables'}:")
        for name, value in found.items():
            print(f"  {value:14,.3f}  {name}", flush=True)


if __name__ == "__main__":
    main()
