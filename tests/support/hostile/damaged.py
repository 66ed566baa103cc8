"""Folders of runs as nobody should hand them over: damaged, re-sealed, or not made of files at all.

Each case changes a folder that holds the run ``odd``, which it does something to, and the run ``sound``, which has to
be shown as if nothing were there.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import os
import random
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.campaign.forked import lengthlens, warm
from tests.campaign.kills import MEASURE, STEPS, TRAIN
from workbench.runs.run import Run, run_id
from workbench.storage.seal import BLANK, seal, sealed_json
from workbench.table.assembly import pack, unpack
from workbench.table.layout import shards_of
from workbench.table.parquet import PACKED, read_file, write_file
from workbench.table.schema import SCHEMA

LAST = f"odd/steps/{STEPS:08d}"
FILES = (
    "odd/run.json", f"{LAST}/meta.json", f"{LAST}/model.safetensors", f"{LAST}/log.parquet", "odd/table.parquet",
    "odd/live.jsonl", "odd/resume.safetensors", "shard",
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, -1, 0, 1, 10**6, 10**18, 10**30, -(10**18), 2.5, 1e308, 1e-300, float("nan"), float("inf"), "", "2x",
    "no_such", "\x00", "\ud800", "\u202e[/red]", "x" * 10_000, "../../etc/passwd", "/dev/zero", "os:system", [], [[]],
    [1, "a", None], {}, {"name": "no_such"}, {"name": 3}, {"name": "rotary", "base": -1}, {"law": "growing"}, "[bold]",
)  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One odd folder.

    Attributes:
        label: what was done.
        apply: does it to a folder that :func:`make_template` made.
        rows: whether rows, or what is said of them, can be read and are others: then panels draw something else.
    """

    label: str
    apply: Callable[[Path], None]
    rows: bool = False


def make_template(root: Path) -> None:
    """``odd`` and ``sound``: trained and measured in seconds; ``odd`` looks as if it were being trained further."""
    warm()
    for name, seed in (("odd", 0), ("sound", 1)):
        words = [*TRAIN, "--out", root / name, "--set", f"seeds.data={seed}"]
        ended = lengthlens(words, root / name)
        assert ended.status == 0, ended.said
        only = ["--only", "behaviour", "--only", "circuits.hardmax"]
        ended = lengthlens(["measure", root / name, *MEASURE, *only], root / name)
        assert ended.status == 0, ended.said
    run = Run.open(root / "odd")
    line = {"step": STEPS, "loss": 0.5, "lr": 1e-3, "accuracy_in": 0.5, "accuracy_out": None, "time": 0.0}
    (run.path / "live.jsonl").write_bytes(sealed_json(line) * 2)
    head = {"__metadata__": {"run": run.id, "state": "{}", "seal": BLANK}}
    text = json.dumps(head).encode()
    (run.path / "resume.safetensors").write_bytes(seal(len(text).to_bytes(8, "little") + text))


def cases(seed: int) -> list[Case]:
    """All cases of a seed, in an order in which neighbours have little in common."""
    dice = random.Random(seed)
    found = [*_settings(dice), *_metas(dice), *_bytes(dice), *_no_files(), *_shards(dice), *_tables(dice), *_places()]
    dice.shuffle(found)
    return found


def target(root: Path, file: str) -> Path:
    """A file of the run; ``shard`` stands for its last shard of behaviour."""
    return shards_of(root / "odd")[-1].path if file == "shard" else root / file


# ---- JSON, sealed again -----------------------------------------------------------------------------
def _settings(dice: random.Random, count: int = 190) -> Iterator[Case]:
    for number in range(count):
        own = random.Random(dice.random())
        yield Case(f"run.json {number}", partial(_restate, own, "odd/run.json", number % 2 == 0))


def _metas(dice: random.Random, count: int = 50) -> Iterator[Case]:
    for number in range(count):
        own = random.Random(dice.random())
        yield Case(f"meta.json {number}", partial(_restate, own, f"{LAST}/meta.json", False))


def _restate(dice: random.Random, file: str, with_id: bool, root: Path) -> None:
    """Change one to three places of a JSON file and seal it; ``with_id``: the id is made to agree."""
    content = json.loads((root / file).read_bytes())
    del content["seal"]
    for _ in range(dice.randint(1, 3)):
        content = mutated(dice, content)
    if with_id:
        with contextlib.suppress(AttributeError, KeyError, TypeError, ValueError):  # what is left of it may have none
            content["id"] = run_id(content)
    (root / file).write_bytes(seal((json.dumps({**content, "seal": BLANK}) + "\n").encode()))


def mutated(dice: random.Random, content: dict[str, Any]) -> dict[str, Any]:
    """The content with one place, wherever it lies, changed, removed or added."""
    content = copy.deepcopy(content)
    at: Any = content
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        key = dice.choice(keys) if keys else None
        if key is None or not isinstance(at[key], dict | list) or not at[key] or dice.random() < 0.25:
            break
        at = at[key]
    kind = dice.random()
    if key is None or (kind < 0.1 and isinstance(at, dict)):
        value = dice.choice(VALUES)
        at.update({"added": value}) if isinstance(at, dict) else at.append(value)
    elif kind < 0.25:
        del at[key]
    else:
        at[key] = copy.deepcopy(dice.choice(VALUES))
    return content


# ---- bytes ------------------------------------------------------------------------------------------
def _bytes(dice: random.Random) -> Iterator[Case]:
    for file in FILES:
        for kind in ("truncated", "flipped", "zeroed", "emptied", "doubled", "random", "text"):
            yield Case(f"{kind} {file}", partial(_break, random.Random(dice.random()), file, kind))


def _break(dice: random.Random, file: str, kind: str, root: Path) -> None:
    path = target(root, file)
    data = bytearray(path.read_bytes())
    place = dice.randrange(len(data))
    if kind == "flipped":
        data[place] ^= 1 << dice.randrange(8)
    elif kind == "zeroed":
        data[place : place + 64] = bytes(len(data[place : place + 64]))
    made = {
        "truncated": data[:place], "emptied": b"", "doubled": data + data, "random": dice.randbytes(500),
        "text": b"[" * 100_000,
    }  # fmt: skip
    path.write_bytes(made.get(kind, data))


# ---- what is no file --------------------------------------------------------------------------------
def _no_files() -> Iterator[Case]:
    places = (*FILES, "odd/steps", LAST, "odd/measurements", "odd/measurements/behaviour", "odd")
    links = ("/dev/zero", "/dev/full", "/dev/stdin", "/proc/kmsg", "/proc/self/mem", "none", "..", "/")
    for place in places:
        yield Case(f"a pipe for {place}", partial(_instead, place, lambda path: os.mkfifo(path)))
        yield Case(f"a socket for {place}", partial(_instead, place, make_socket))
        yield Case(f"a folder for {place}", partial(_instead, place, lambda path: path.mkdir()))
        yield Case(f"a terabyte for {place}", partial(_instead, place, _sparse))
        yield Case(f"a circle for {place}", partial(_instead, place, lambda path: path.symlink_to(path.name)))
        # The whole disk holds whatever it holds: it is no place to look for runs in, here.
        for link in links if place != "odd" else links[:-1]:
            yield Case(f"a link to {link} for {place}", partial(_instead, place, partial(_link, link)))


def _instead(place: str, make: Callable[[Path], None], root: Path) -> None:
    path = target(root, place)
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    make(path)


def _link(to: str, path: Path) -> None:
    path.symlink_to(to)


def make_socket(path: Path) -> None:
    """A socket, bound by its name alone: its whole path could have 107 bytes at most."""
    with contextlib.chdir(path.parent), socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path.name)


def _sparse(path: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 40)


# ---- rows, sealed again -----------------------------------------------------------------------------
ROWS: dict[str, tuple[Any, ...]] = {
    "value": (float("nan"), float("inf"), -1e308, 1e308, None),
    "low": (float("nan"), 2.0, None),
    "high": (float("-inf"), -2.0, None),
    "length": (0, -5, 2**31 - 1, None),
    "step": (-1, 2**62, 7),
    "layer": (-2, 32_000, None),
    "head": (-1, 32_000, None),
    "label": ("no verdict", "\u202e", "x" * 5000, None),
    "quantity": ("no_such", "", "[red]"),
    "status": ("no_such", "undefined", "unseen_position"),
    "law": ("no_such", "[/]"),
    "setting": ("not json", "[" * 2000, "{}"),
    "note": ("[/bold]", "\x1b[31m", "x" * 100_000),
    "n": (-1, 2**31 - 1, None),
    "mode": ("no_such",),
    "measurement": ("probes.summary", "no/such", ""),
}
SPECS = ("{", "[]", "5", '{"version": "a"}', '{"quantities": 5}', '{"quantities": [5]}', '{"a":' * 50_000, "{}",
         '{"name": "behaviour", "version": 10, "quantities": [{"name": "accuracy", "definition": 3}]}')  # fmt: skip


def _shards(dice: random.Random) -> Iterator[Case]:
    for column, values in ROWS.items():
        for number, value in enumerate(values):
            yield Case(f"rows {column} {number}", partial(_rows, random.Random(dice.random()), column, value), True)
    for number, spec in enumerate(SPECS):
        yield Case(f"spec {number}", partial(_metadata, {"spec": spec}), True)
    for name, value in (("written", ""), ("written", "9999"), ("run", "another"), ("sha256", "0"), ("key", "no")):
        yield Case(f"metadata {name} {value}", partial(_metadata, {name: value}), True)
    yield Case("Parquet bomb, shard", partial(_bomb, "shard"))
    yield Case("Parquet bomb, table", partial(_bomb, "odd/table.parquet"))
    yield Case("Parquet bomb, log", partial(_bomb, f"{LAST}/log.parquet"))
    yield Case("10,000 shards", _many_shards)


def _rows(dice: random.Random, column: str, value: Any, root: Path) -> None:
    """Write a value into one, some or all rows of every shard of behaviour; the table goes, which would hide them."""
    for shard in shards_of(root / "odd"):
        rows, metadata = read_file(shard.path)
        listed = rows.cast(SCHEMA).to_pylist()
        share = dice.choice((0.0, 0.3, 1.0))
        for number, row in enumerate(listed):
            if number == 0 or dice.random() < share:
                row[column] = value
        own = {name: text for name, text in metadata.items() if name not in ("schema_version", "rows")}
        try:
            table = pa.Table.from_pylist(listed, SCHEMA)
        except (pa.ArrowException, OverflowError):
            continue
        write_file(shard.path, table, own)
    (root / "odd" / "table.parquet").unlink()


def _metadata(changed: dict[str, str], root: Path) -> None:
    for shard in shards_of(root / "odd"):
        rows, metadata = read_file(shard.path)
        own = {name: text for name, text in metadata.items() if name not in ("schema_version", "rows")}
        write_file(shard.path, rows, own | changed)
    (root / "odd" / "table.parquet").unlink()


def _bomb(file: str, root: Path) -> None:
    """Sixty million rows of one value in some hundred kilobytes, with the right columns and a right seal."""
    path = target(root, file)
    log = path.name == "log.parquet"
    schema = pq.read_schema(path).remove_metadata() if log else SCHEMA
    metadata = {} if log else read_file(path)[1] | {"seal": BLANK}
    schema = schema.with_metadata(metadata)
    many = pa.Table.from_pylist([{"step": 1}] * 1_000_000, schema)
    data = io.BytesIO()
    with pq.ParquetWriter(data, schema, compression="zstd") as writer:
        for _ in range(60):
            writer.write_table(many, row_group_size=1_000_000)
    path.write_bytes(data.getvalue() if log else seal(data.getvalue()))
    if log:
        from workbench.runs.run import sha256_of

        meta = json.loads((path.parent / "meta.json").read_bytes())
        del meta["seal"]
        (path.parent / "meta.json").write_bytes(sealed_json({**meta, "log_sha256": sha256_of(path)}))


def _many_shards(root: Path) -> None:
    for number in range(10_000):
        (root / "odd" / "measurements" / "behaviour" / f"{number:08d}-x.parquet").write_bytes(b"no rows")


# ---- the compacted table, sealed again --------------------------------------------------------------
def _tables(dice: random.Random, count: int = 40) -> Iterator[Case]:
    for number in range(count):
        yield Case(f"manifest {number}", partial(_manifest, random.Random(dice.random())))
    texts = {
        "zip bomb": lambda: pack("0" * (300 << 20)), "nested": lambda: pack("[" * 1_000_000), "no JSON": lambda: pack("{"),
        "no zip": lambda: "AAAA", "no base64": lambda: "\u00e4", "not a list": lambda: pack("5"),
    }  # fmt: skip
    for label, text in texts.items():
        yield Case(f"manifest, {label}", partial(_table, lambda held, text=text: held | {"shards": text()}))
    for name in ("spec_texts", "specs", "newest", "state", "run", "rows", "shards"):
        for value in ("", "[]", "{}", '{"a": 5}', "[" * 100_000, "\x00"):
            change = {name: value}
            yield Case(f"table, {name} {value[:5]!r}", partial(_table, lambda held, change=change: held | change))


def _manifest(dice: random.Random, root: Path) -> None:
    def change(held: dict[str, str]) -> dict[str, str]:
        entries = json.loads(unpack(held["shards"]))
        for _ in range(dice.randint(1, 3)):
            entries = mutated(dice, {"entries": entries}).get("entries")
            if not isinstance(entries, list):
                break
        return held | {"shards": pack(json.dumps(entries))}

    _table(change, root)


def _table(change: Callable[[dict[str, str]], dict[str, str]], root: Path) -> None:
    """Change the table's metadata. What it says of times is right, so that it counts where it can be read."""
    path = root / "odd" / "table.parquet"
    rows, metadata = read_file(path)
    whole = {"schema_version": metadata.get("schema_version", "1"), **change(dict(metadata)), "seal": BLANK}
    data = io.BytesIO()
    pq.write_table(rows.cast(SCHEMA).replace_schema_metadata(whole), data, **PACKED)
    path.write_bytes(seal(data.getvalue()))


# ---- places -----------------------------------------------------------------------------------------
def _places() -> Iterator[Case]:
    """Links, names and numbers of folders."""
    yield Case("10,000 empty folders", _many_folders)
    yield Case("deep nesting", _deep)
    yield Case("two links to the folder above", _links_up)
    yield Case("links to runs, in chains", _chains)
    yield Case("20,000 steps", partial(_folders, "odd/steps", [f"{n:08d}" for n in range(100, 20_100)]))
    yield Case(
        "steps of no number", partial(_folders, "odd/steps", ["0" * 30, "9" * 30, "9" * 17, "0000000x", "-0000001"])
    )
    yield Case(
        "measurements of no name", partial(_folders, "odd/measurements", ["x" * 200, "..x", "a b", "\u202e", "\n"])
    )
    for name in (
        b"\xff\xfe",
        b"[red]",
        b"\n",
        b"\x1b[31m",
        b"=cmd",
        b"x" * 250,
        "\u202e".encode(),
        b"a'b\"c",
        b"%s{0}",
    ):
        yield Case(f"named {name[:9]!r}", partial(_renamed, name))
    # Below /dev may lie a disk in memory with the folders of these very tests, whose runs are no hostile ones.
    for to in ("/proc", "/sys", *(() if Path(tempfile.gettempdir()).resolve().is_relative_to("/dev") else ("/dev",))):
        yield Case(f"linked in: {to}", partial(_beside, to))
    for number in range(6):
        yield Case(f"pipes beside {number}", partial(_pipes, number))


def _many_folders(root: Path) -> None:
    for number in range(10_000):
        (root / f"{number:05d}").mkdir()


def _deep(root: Path) -> None:
    place = os.open(root, os.O_RDONLY)
    for _ in range(3000):
        os.mkdir("d", dir_fd=place)
        below = os.open("d", os.O_RDONLY, dir_fd=place)
        os.close(place)
        place = below
    os.close(place)


def _links_up(root: Path) -> None:
    for folder in (root, root / "a", root / "a" / "b"):
        folder.mkdir(exist_ok=True)
        for name in ("up", "again"):
            (folder / name).symlink_to(root)


def _chains(root: Path) -> None:
    (root / "first").symlink_to("odd")
    for number in range(30):
        (root / f"next{number}").symlink_to(f"next{number - 1}" if number else "first")
    (root / "odd" / "steps" / "00000099").symlink_to(root / LAST)


def _folders(below: str, names: list[str], root: Path) -> None:
    for name in names:
        (root / below / name).mkdir()


def _renamed(name: bytes, root: Path) -> None:
    os.rename(root / "odd", os.fsencode(root) + b"/" + name)


def _beside(to: str, root: Path) -> None:
    (root / "all").symlink_to(to)


def _pipes(number: int, root: Path) -> None:
    """Pipes in every folder there is, hidden, as temporary files, and under names that mean something."""
    names = ("pipe", ".pipe", f".run.json.{'a' * 12}.tmp", "table.parquet", "lock", "README")
    for folder in [root, *(path for path in root.rglob("*") if path.is_dir())]:
        path = folder / names[number]
        if not path.exists():
            os.mkfifo(path)
