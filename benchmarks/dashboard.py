"""The dashboard over 200 runs and two million rows: first page, slider moves, twenty readers, memory.

python -m benchmarks.dashboard
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import re
import shutil
import statistics
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.tools.painted import painted
from benchmarks.tools.table import Line
from workbench.dashboard.request_check import outputs_of
from workbench.runs.run import Run, find_runs
from workbench.storage.seal import sealed_json
from workbench.table.folder_state import folder_state
from workbench.table.layout import table_path
from workbench.table.parquet import read_file, write_file
from workbench.table.reading import STATE

RUNS = 200
WHOLE = 20
"""Every how many-th run is measured by everything there is; of the others, only the usual four count."""
USUAL = ("behaviour", "circuits.hardmax", "probes.summary", "probes.position")
GALLERY = Path(__file__).resolve().parent.parent / "checkpoints" / "gallery"
READERS, SECONDS = 20, 12
CONNECTIONS = 6
"""Requests that a browser has under way at once."""
KEYS = [("Training step", "ArrowLeft"), ("Prefix length", "ArrowLeft")] * 5
RATES, WIDTHS = (3e-4, 1e-3, 3e-3, 1e-2), (16, 32, 64, 128, 256)


def build(root: Path, runs: int = RUNS) -> dict[str, int]:
    """Write the runs, each a copy of a run of the gallery under another configuration; returns the rows of each."""
    originals = find_runs(GALLERY)
    return {
        f"run-{number:03d}": _copy(originals[number % len(originals)], root / f"run-{number:03d}", number)
        for number in range(runs)
    }


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
        for name in ("meta.json", "log.parquet"):  # a compiled model has no log
            if (original.step_path(step) / name).exists():
                shutil.copyfile(original.step_path(step) / name, folder / name)
    rows, metadata = read_file(table_path(original.path))
    if number % WHOLE:
        rows = rows.filter(pc.is_in(rows["measurement"], pa.array(USUAL)))
    own = {name: text for name, text in metadata.items() if name not in ("schema_version", "rows")}
    write_file(table_path(path), rows, own | {STATE: folder_state(path)})
    return int(rows.num_rows)


# ---- the dashboard, in a process of its own --------------------------------------------------------
def _serve(root: str, pipe: Connection) -> None:
    import sys

    from workbench.dashboard.app import create_app, quiet_server

    app = create_app(Path(root))
    server = quiet_server(app, "127.0.0.1", 0)
    threading.Thread(target=server.run, daemon=True).start()
    wired = {
        output: {
            "inputs": [(one["id"], one["property"]) for one in made["inputs"]],
            "state": [(one["id"], one["property"]) for one in made["state"]],
        }
        for output, made in app.callback_map.items()
        if "callback" in made
    }
    pipe.send((server.effective_port, wired))
    while _asked(pipe):
        status = Path("/proc/self/status").read_text()
        peak = re.search(r"VmHWM:\s+(\d+)", status)
        loaded = [name for name in ("torch", "transformer_lens") if name in sys.modules]
        reads = app.server.extensions["lengthlens"].store.progress is not None
        pipe.send((int(peak[1]) / 1024 if peak else 0.0, time.process_time(), loaded, reads))


def _asked(pipe: Connection) -> bool:
    """Whether the state is asked for; not where the asker has gone."""
    try:
        return bool(pipe.recv() == "state")
    except EOFError:
        return False


class Server:
    """The dashboard over a folder: its address, what its callbacks listen to, its memory.

    Args:
        root: the data root.
    """

    def __init__(self, root: Path) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, far = context.Pipe()
        self._process = context.Process(target=_serve, args=(str(root), far))  # not a daemon: it has a worker
        self._process.start()
        far.close()
        self.port, self.wired = self._pipe.recv()

    def state(self) -> tuple[float, float, list[str], bool]:
        """Highest memory in MiB (Linux), processor time so far in s, which of torch and transformer_lens it has, and
        whether it still reads runs for the first time.
        """
        self._pipe.send("state")
        found: tuple[float, float, list[str], bool] = self._pipe.recv()
        return found

    def close(self) -> None:
        """End the process."""
        self._pipe.send("end")
        self._process.join(timeout=10)


@contextmanager
def served(root: Path) -> Iterator[Server]:
    """A server as long as the block runs."""
    server = Server(root)
    try:
        yield server
    finally:
        server.close()


class Reader:
    """One browser, without the painting: it knows the values on its page, and asks what a change asks for.

    Args:
        server: whom it asks.
        search: the link it opens, below ``/run``.
    """

    def __init__(self, server: Server, search: str) -> None:
        self._server, self._pool = server, ThreadPoolExecutor(CONNECTIONS)
        self._own = threading.local()
        self.values: dict[tuple[str, str], Any] = {
            ("look", "data"): {"theme": "light", "size": 11},
            ("view", "value"): "attention",
        }
        self.ids: set[Any] = set()
        place = {"path": "/run", "search": search, "last": ""}
        answer = self._post("..page.children...nav.children...here.data..", {("place", "data"): place}, "place.data")
        self._gather(json.loads(answer)["response"]["page"]["children"])
        self.move("step", self.values["step", "data"])  # what a browser asks by itself when a page appears

    def _gather(self, tree: Any) -> None:
        """The values of all components of a page."""
        for part in tree if isinstance(tree, list) else [tree]:
            if isinstance(part, dict) and isinstance(part.get("props"), dict):
                props = part["props"]
                self.ids.add(props.get("id"))
                for name in ("data", "value", "n_clicks", "n_intervals"):
                    if "id" in props and name in props:
                        self.values[props["id"], name] = props[name]
                self._gather(props.get("children", []))

    def move(self, store: str, value: Any) -> float:
        """Change one store and have everything answered that listens to it; seconds until the last answer.

        What stands below the first screen is asked for afterwards, as by a browser whose reader rests.
        """
        self.values[store, "data"] = value
        took = self._asked(store)
        if ("late", "data") in self.values:
            self.values["late", "data"] = {part: self.values[part, "data"] for part in ("step", "length", "head")}
            self._asked("late")
        return took

    def _asked(self, store: str) -> float:
        asked = [output for output, made in self._server.wired.items() if (store, "data") in made["inputs"]]
        asked = [output for output in asked if self._known(output)]
        start = time.perf_counter()
        list(self._pool.map(lambda output: self._post(output, {}, f"{store}.data"), asked))
        return time.perf_counter() - start

    def _known(self, output: str) -> bool:
        """Whether all that a callback reads and writes is on this page."""
        wired, made = self._server.wired[output], outputs_of(output)
        written = {one["id"] for one in (made if isinstance(made, list) else [made])}
        return written <= self.ids and all(one in self.values for one in wired["inputs"])

    def _post(self, output: str, given: dict[tuple[str, str], Any], changed: str) -> bytes:
        wired = self._server.wired[output]
        values = self.values | given

        def listed(kind: str) -> list[dict[str, Any]]:
            return [{"id": i, "property": p, "value": values.get((i, p))} for i, p in wired[kind]]

        body = {"output": output, "outputs": outputs_of(output), "inputs": listed("inputs"), "state": listed("state")}
        text = json.dumps(body | {"changedPropIds": [changed]})
        connection = getattr(self._own, "connection", None)
        if connection is None:
            connection = self._own.connection = http.client.HTTPConnection("127.0.0.1", self._server.port, timeout=60)
        connection.request("POST", "/_dash-update-component", text, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        if answer.status not in (200, 204):
            raise RuntimeError(f"{output}: {answer.status} {data[:200]!r}")
        if "-shown.data" in output and data:  # the rest is not kept: twenty browsers are twenty machines
            told = orjson.loads(data)["response"]
            self.values |= {(name, "data"): told[name]["data"] for name in told if name.endswith("-shown")}
        return data


def together(readers: Sequence[Reader], seconds: float) -> list[float]:
    """All readers move a slider once a second, each at a time of its own; how long every move took."""
    took: list[float] = []

    def read(number: int, reader: Reader) -> None:
        rng = np.random.default_rng(number)
        scale = reader.values["scale", "data"]
        begin = time.monotonic() + number / len(readers)
        for second in range(int(seconds)):
            time.sleep(max(0.0, begin + second - time.monotonic()))
            store, places = (("step", "steps"), ("length", "lengths"))[second % 2]
            took.append(reader.move(store, int(rng.choice(scale[places]))))

    threads = [threading.Thread(target=read, args=pair) for pair in enumerate(readers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def measure() -> list[Line]:
    with tempfile.TemporaryDirectory() as folder:
        rows = build(Path(folder))
        watched = max(rows, key=rows.__getitem__)  # everything measured at nine checkpoints: the fullest page there is
        what = f"dashboard, {RUNS} runs, {sum(rows.values()) / 1e6:.1f} million rows"
        with served(Path(folder)) as server:
            start = time.perf_counter()
            first = _first_page(server)
            seconds = time.perf_counter() - start
            while server.state()[3]:
                time.sleep(0.1)
            read = time.perf_counter() - start
            alone = Reader(server, f"?run={watched}")
            scale = alone.values["scale", "data"]
            moves = [alone.move("step", step) for step in scale["steps"]]
            moves += [alone.move("length", length) for length in scale["lengths"]]
            readers = [Reader(server, f"?run=run-{number:03d}") for number in range(READERS)]
            time.sleep(SECONDS)  # what is drawn ahead for twenty opened runs
            before = server.state()[1]
            warm = together(readers, SECONDS)
            memory, after, loaded, _ = server.state()
            seen = painted(server.port, watched, KEYS)
    assert first > 0
    assert not loaded, f"the dashboard loads {loaded}"
    return [
        Line(what, "s to the first page, from a cold start", seconds, 2.0, at_most=True),
        Line(what, "s until all runs have been read", read, None, "sliders move meanwhile, some three times slower"),
        Line(what, "ms in the server for a slider move, first time, median", 1e3 * statistics.median(moves), None),
        Line(what, "ms in the server for a slider move, p95", 1e3 * float(np.quantile(moves, 0.95)), 150, at_most=True),
        Line(
            what,
            f"ms, p95, {READERS} readers each moving once a second",
            1e3 * float(np.quantile(warm, 0.95)),
            150,
            f"median {1e3 * statistics.median(warm):.0f} ms",
            at_most=True,
        ),
        Line(what, "ms of processor time for each of those moves", 1e3 * (after - before) / len(warm), None),
        *_painted(what, seen),
        Line(what, "MiB of peak memory", memory, 1024, at_most=True),
    ]


def _painted(what: str, seen: list[tuple[float, float]] | None) -> list[Line]:
    """From a key to the redrawn page, for one reader beside nobody; nothing without a browser."""
    if seen is None:
        return []
    ends = [last for _, last in seen]
    said = f"p95 {np.quantile(ends, 0.95):.0f} ms; drawn by the processor, without a graphics card"
    name = "ms from a key to the last redrawn panel, in a browser, median"
    return [Line(what, name, statistics.median(ends), 280, said, at_most=True)]


def _first_page(server: Server) -> int:
    """Ask for the first page as a browser does; its size in bytes."""
    output = "..page.children...nav.children...here.data.."
    body = {
        "output": output,
        "outputs": outputs_of(output),
        "inputs": [
            {"id": "place", "property": "data", "value": {"path": "/", "search": "", "last": ""}},
            {"id": "version", "property": "data", "value": None},
        ],
        "state": [{"id": "here", "property": "data", "value": None}],
        "changedPropIds": ["place.data"],
    }
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
    connection.request("POST", "/_dash-update-component", json.dumps(body), {"Content-Type": "application/json"})
    answer = connection.getresponse()
    data = answer.read()
    if answer.status != 200:
        raise RuntimeError(f"the first page: {answer.status} {data[:300]!r}")
    return len(data)


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
