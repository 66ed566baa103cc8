"""Damage to the files of runs: is each found, named and kept out of what is used?"""

from __future__ import annotations

import contextlib
import io
import json
import random
import shutil
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
from safetensors.numpy import load, save

from tests.campaign.faults import Fault
from tests.campaign.forked import lengthlens
from tests.campaign.kills import MEASURE, STEPS, TRAIN
from workbench.runs.checkpoints import sha256
from workbench.runs.errors import RunError
from workbench.runs.log import COLUMNS, read_log
from workbench.runs.run import Run
from workbench.storage.seal import sealed_json
from workbench.table import Table

FLIPS = 14
STOP_AT = 190
"""The operation at which the unfinished runs are stopped: amid training, with a log since the last checkpoint."""

Change = Callable[[Path], None]


@dataclass(frozen=True)
class Corruption:
    """One damage.

    Attributes:
        kind: what was done, e.g. ``bit flipped``.
        where: the name of the file it was done to, or of the kind of file.
        change: does it, given the folder of runs.
        named: files and folders below the folder of runs, each of which must be named.
    """

    kind: str
    where: str
    change: Change
    named: tuple[str, ...]


def make_runs(root: Path) -> None:
    """``a`` and ``b``: trained and measured, with equal weights at step 0; ``c`` and ``d``: stopped amid training."""
    seeds = {"a": 0, "b": 1, "c": 2, "d": 3}
    for name, seed in seeds.items():
        fault = Fault("SIGTERM", STOP_AT) if name in "cd" else None
        words = [*TRAIN, "--out", root / name, "--set", f"seeds.data={seed}"]
        lengthlens(words, root / name, fault)
    for name in "ab":
        lengthlens(["measure", root / name, *MEASURE], root / name)


def shard(root: Path, run: str, measurement: str, step: int) -> str:
    """The one shard of a measurement at a step, below the folder of runs."""
    (found,) = (root / run / "measurements" / measurement).glob(f"{step:08d}-*")
    return found.relative_to(root).as_posix()


def corruptions(root: Path, seed: int = 0) -> list[Corruption]:
    """All damages to the runs that :func:`make_runs` made in ``root``."""
    dice = random.Random(seed)
    last = f"a/steps/{STEPS:08d}"
    files = {
        "run.json": "a/run.json",
        "meta.json": f"{last}/meta.json",
        "model.safetensors": f"{last}/model.safetensors",
        "log.parquet": f"{last}/log.parquet",
        "shard": shard(root, "a", "behaviour", STEPS),
        "table.parquet": "a/table.parquet",
        "resume.safetensors": "c/resume.safetensors",
        "live.jsonl": "c/live.jsonl",
        "timing.json": "a/timing.json",
    }
    found: list[Corruption] = []
    for where, file in files.items():
        found += _of_bytes(where, file, (root / file).stat().st_size, dice)
    return [*found, *_exchanges(root), *_foreign(root), *_values()]


def _of_bytes(where: str, file: str, size: int, dice: random.Random) -> Iterator[Corruption]:
    def one(kind: str, change: Callable[[bytes], bytes]) -> Corruption:
        def apply(root: Path) -> None:
            (root / file).write_bytes(change((root / file).read_bytes()))

        return Corruption(kind, where, apply, (file,))

    # An empty live.jsonl is what training leaves after every checkpoint.
    for length in {0, size // 4, size // 2, size - 1} - ({0} if where == "live.jsonl" else set()):
        yield one("truncated", partial(_first, length))
    for _ in range(FLIPS):
        yield one("bit flipped", partial(_flipped, dice.randrange(size), dice.randrange(8)))
    for _ in range(2):
        yield one("block of zeros", partial(_zeroed, dice.randrange(max(1, size - 64))))
    yield one("bytes added", lambda data: data + bytes(range(32)))
    if where in ("run.json", "meta.json", "model.safetensors", "log.parquet"):
        lost = {"run.json": "a"}.get(where, file)
        yield Corruption("deleted", where, lambda root: (root / file).unlink(), (lost,))


def _first(length: int, data: bytes) -> bytes:
    return data[:length]


def _flipped(place: int, bit: int, data: bytes) -> bytes:
    changed = bytearray(data)
    changed[place] ^= 1 << bit
    return bytes(changed)


def _zeroed(start: int, data: bytes) -> bytes:
    return data[:start] + bytes(len(data[start : start + 64])) + data[start + 64 :]


def _exchanges(root: Path) -> Iterator[Corruption]:
    """Two files or folders that have changed places; each is whole."""

    def one(where: str, first: str, second: str, named: tuple[str, ...] | None = None) -> Corruption:
        return Corruption("exchanged", where, partial(_exchange, first, second), named or (first, second))

    steps = sorted(p.name for p in (root / "a" / "steps").iterdir())
    zero, early, late = (f"steps/{name}" for name in (steps[0], steps[-2], steps[-1]))
    for file in ("model.safetensors", "meta.json", "log.parquet"):
        yield one(f"{file}, two steps", f"a/{early}/{file}", f"a/{late}/{file}")
        yield one(f"{file}, two runs", f"a/{late}/{file}", f"b/{late}/{file}")
    yield one("meta.json, equal weights", f"a/{zero}/meta.json", f"b/{zero}/meta.json")
    yield one("checkpoint, two steps", f"a/{early}", f"a/{late}")
    yield one("checkpoint, two runs", f"a/{late}", f"b/{late}")
    yield one("checkpoint, equal weights", f"a/{zero}", f"b/{zero}")
    yield one("run.json", "a/run.json", "b/run.json", (f"a/{late}", f"b/{late}"))
    yield one("table.parquet", "a/table.parquet", "b/table.parquet")
    yield one("resume.safetensors", "c/resume.safetensors", "d/resume.safetensors")
    for measurement in ("behaviour", "circuits.hardmax"):
        own = [shard(root, "a", measurement, step) for step in (0, STEPS)]
        other = [shard(root, "b", measurement, step) for step in (0, STEPS)]
        yield one("shard, two steps", own[0], own[1])
        yield one("shard, two runs", own[1], other[1])
        yield one("shard, equal key", own[0], other[0])
    pair = [shard(root, "a", m, STEPS) for m in ("behaviour", "circuits.hardmax")]
    yield one("shard, two measurements", pair[0], pair[1])


def _exchange(first: str, second: str, root: Path) -> None:
    (root / first).rename(root / "moving")
    (root / second).rename(root / first)
    (root / "moving").rename(root / second)


def _foreign(root: Path) -> Iterator[Corruption]:
    """Things of another origin put into a run, each whole in itself."""

    def copied(where: str, source: str, target: str) -> Corruption:
        def apply(root: Path) -> None:
            place = root / target
            place.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (root / source).is_dir() else shutil.copy)(root / source, place)

        return Corruption("foreign", where, apply, (target,))

    yield copied("checkpoint added", f"b/steps/{STEPS:08d}", f"a/steps/{STEPS - 1:08d}")
    yield copied("checkpoint of another run", "b/steps/00000012", "c/steps/00000024")
    other = shard(root, "b", "behaviour", STEPS)
    yield copied("shard added", other, "a" + other[1:])
    yield copied("resume.safetensors", "d/resume.safetensors", "c/resume.safetensors")
    for where, file in (("run.json", "a/run.json"), ("meta.json", f"a/steps/{STEPS:08d}/meta.json")):
        for text in (b"{}\n", b"[]\n", b'{"format": 1, "step": 24, "sha256": ""}\n'):
            yield Corruption("foreign", where, partial(_replace, file, text), (file,))
    for name in ("behaviour", "probes.summary"):
        file = shard(root, "a", name, STEPS)
        yield Corruption("foreign", "shard", partial(_foreign_table, file), (file,))
    yield Corruption("foreign", "table.parquet", partial(_foreign_table, "a/table.parquet"), ("a/table.parquet",))
    for change in (_renamed_tensor, _reshaped_tensor):
        file = f"a/steps/{STEPS:08d}"
        yield Corruption("foreign", "model.safetensors, signed", partial(_resign, file, change), (file,))


def _replace(file: str, data: bytes, root: Path) -> None:
    (root / file).write_bytes(data)


def _foreign_table(file: str, root: Path) -> None:
    import pandas as pd

    pd.DataFrame({"step": [1, 2], "value": [0.5, 0.25]}).to_parquet(root / file)


def _values() -> Iterator[Corruption]:
    """Checkpoints that are signed as they are, and hold what no training run gives."""
    for step in (0, STEPS):
        for value in (np.nan, np.inf, -np.inf):
            place = f"a/steps/{step:08d}"
            yield Corruption(
                "not finite", "model.safetensors, signed", partial(_resign, place, partial(_set, value)), (place,)
            )
    for first, second in ((0, STEPS), (12, STEPS), (0, 12)):
        named = (f"steps {first} and {second} hold equal weights",)
        yield Corruption("equal weights", "two steps", partial(_same_weights, first, second), named)


Tensors = dict[str, np.ndarray]


def _resign(place: str, change: Callable[[Tensors], Tensors], root: Path) -> None:
    """Change a checkpoint's weights and make its hashes and seal agree."""
    file, meta = root / place / "model.safetensors", root / place / "meta.json"
    file.write_bytes(save(change({k: v.copy() for k, v in load(file.read_bytes()).items()})))
    meta.write_bytes(sealed_json({**json.loads(meta.read_bytes()), "sha256": sha256(file.read_bytes())}))


def _set(value: float, tensors: Tensors) -> Tensors:
    tensors["unembed.W_U"].flat[3] = value
    return tensors


def _renamed_tensor(tensors: Tensors) -> Tensors:
    tensors["unembed.weight"] = tensors.pop("unembed.W_U")
    return tensors


def _reshaped_tensor(tensors: Tensors) -> Tensors:
    tensors["unembed.W_U"] = tensors["unembed.W_U"].T.copy()
    return tensors


def _same_weights(first: int, second: int, root: Path) -> None:
    data = load((root / f"a/steps/{first:08d}/model.safetensors").read_bytes())
    _resign(f"a/steps/{second:08d}", lambda _: data, root)


@dataclass(frozen=True)
class Sound:
    """What the undamaged runs hold: the text of every row and log line, and the weights of every checkpoint."""

    rows: dict[str, frozenset[str]]
    logs: dict[str, frozenset[str]]
    weights: dict[tuple[str, int], str]


def sound(root: Path) -> Sound:
    """The undamaged runs. Raises RuntimeError if they are not sound to begin with."""
    problems = said_by_check(root)
    if problems:
        raise RuntimeError(f"the undamaged runs are said to be damaged: {problems}")
    weights = {(run, step): _weights(root / run, step) for run in "abcd" for step in Run.open(root / run).steps}
    logs = {run: frozenset(_written(root / run)) for run in "abcd"}
    return Sound({run: rows_of(root / run)[0] for run in "ab"}, logs, weights)


def judge(corruption: Corruption, whole: Sound, root: Path, folder: Path) -> str:
    """Do the damage to a copy of the runs; what is not found, not named or used nevertheless, or ""."""
    copy = folder / "runs"
    shutil.copytree(root, copy)
    corruption.change(copy)
    problems = said_by_check(copy)
    silent = [name for name in corruption.named if not any(_names(problem, copy, name) for problem in problems)]
    wrong = [f"not named: {', '.join(silent)} in {problems}"] if silent else []
    runs = {name.partition("/")[0] for name in corruption.named} & set("abcd") or {"a"}
    return "; ".join([*wrong, *_used(whole, copy, runs)])


def _names(problem: str, root: Path, name: str) -> bool:
    """Whether a sentence names a file, or for a file of a checkpoint the checkpoint."""
    place = str((root / name).parent) if "/steps/" in name and name.count("/") == 3 else str(root / name)
    return place in problem or (" " in name and name in problem)


def said_by_check(root: Path) -> list[str]:
    """The problems that ``lengthlens check`` names."""
    from workbench.cli.commands.check import check

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.suppress(SystemExit, ValueError):
        check([root])
    return [line for line in said.getvalue().splitlines() if line.startswith("problem: ")]


def _used(whole: Sound, root: Path, runs: set[str]) -> Iterator[str]:
    """What differs from the undamaged runs and is handed out all the same: rows, log lines, weights of these runs."""
    for run, rows in whole.rows.items():
        found, problems = rows_of(root / run)
        if found - rows:
            yield f"the table of {run} holds {len(found - rows)} rows that were never measured"
        if rows - found and not problems:
            yield f"the table of {run} lacks {len(rows - found)} rows and says nothing"
    for run, lines in whole.logs.items():
        strange = _logged(root / run) - lines
        if strange:
            yield f"the log of {run} holds {len(strange)} lines that were never written"
    for run, step in sorted(key for key in whole.weights if key[0] in runs):
        try:
            with warnings.catch_warnings(action="ignore"):
                loaded = _weights(root / run, step)
        except RunError:
            continue
        # Signed weights that are finite and fit cannot be told from right ones but by their equals.
        if loaded != whole.weights[run, step] and Run.open(root / run).equal_steps() == []:
            yield f"step {step} of {run} is loaded with other weights"


def rows_of(folder: Path) -> tuple[frozenset[str], list[str]]:
    """The text of every row of a run, and what its table says is wrong."""
    try:
        table = Table.load(folder)
    except ValueError as error:
        return frozenset(), [str(error)]
    return frozenset(map(str, table.frame().drop(columns="run").to_dict("records"))), table.problems


def _written(folder: Path) -> Iterator[str]:
    """The text of every line of a run's log; of those for one step only the last is shown."""
    for file in folder.glob("steps/*/log.parquet"):
        yield from map(_text, pq.read_table(file).to_pylist())
    live = folder / "live.jsonl"
    yield from (_text(json.loads(line)) for line in (live.read_bytes().splitlines() if live.exists() else []))


def _logged(folder: Path) -> frozenset[str]:
    """The text of every line that is shown."""
    try:
        return frozenset(map(_text, read_log(folder).to_dict("records")))
    except RunError:
        return frozenset()


def _text(line: Mapping[str, Any]) -> str:
    return str([float("nan") if line[name] is None else float(line[name]) for name in COLUMNS])


def _weights(folder: Path, step: int) -> str:
    state = Run.open(folder).load(step).state_dict()
    return sha256(b"".join(value.numpy().tobytes() for _, value in sorted(state.items())))
