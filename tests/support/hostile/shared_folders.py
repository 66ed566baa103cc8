"""Folders that commands write into, or copy from, as somebody else may have left them.

Each case puts a hazard at a place of a folder and runs one command, or one function behind the dashboard. Beside the
folder lies ``victim``, which nothing may change, and nothing may appear outside the folder that the command writes.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from tests.campaign.kills import MEASURE, TRAIN
from tests.support.hostile.damaged import VALUES, make_socket, mutated
from tests.support.hostile.damaged import cases as damaged_runs
from tests.support.hostile.effort import DEFECT
from tests.support.hostile.folders import Hang, Idle, command, limited
from tests.support.table.s3_server import serving
from workbench.core.errors import LensError
from workbench.dashboard.panels.notes_panel import save_notes
from workbench.dashboard.report.gallery_site import MADE
from workbench.dashboard.saved_views import handle_request, view_list
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.store import Store
from workbench.runs.run_notes import read_notes, write_notes
from workbench.table.object_store import CATALOGUE, fetch

LIMIT_S = 300
"""Seconds after which a case is ended and counts as a hang, whatever else the machine does."""
CPU_S = 60
"""Seconds of this process's own time after which a case that has ended counts as a hang too."""
RUN = "runs/run"
STEP = f"{RUN}/steps/00000000"
FETCHED = ("run", "run/run.json", "run/table.parquet", "run/measurements", "run/measurements/behaviour", "run/steps",
           "run/steps/00000000", "run/steps/00000000/meta.json", "run/steps/00000000/log.parquet")  # fmt: skip
"""Places of a run that ``fetch`` copies."""
PUBLISHED = (MADE, "index.html", "assets", "assets/report.css", "runs", "runs/run.html", "runs/gone.html")
EXPORTED = ("run.json", "table.parquet", "measurements", "measurements/behaviour", "steps", "steps/00000000",
            "steps/00000000/meta.json", "steps/00000000/model.safetensors", "steps/00000000/log.parquet")  # fmt: skip
CLAIM_FILES = ("claims.parquet", "runs.parquet", "index.md", "crasp-exact.md", "starting_runs")
NAMES = (
    "x" * 200, "x" * 240, "x" * 255, "\u00fc" * 127, "a b", "a\nb", "\x1b[31mred", "\u202egnp", "-rf", "~", "$HOME", "%2e%2e", "..%2f..", "a\\b", "C:", "CON",
    "...", ".hidden", "\udcff\udcfe", "run.json", "steps", "measurements", ".fetched.json", "\u0661", "'\"<script>", "{0}", "%s", "a;b", "|", "*",
)  # fmt: skip
"""Names of folders in a store."""
LONG_NAMES = ("x" * 256, "x" * 1000, "\u00fc" * 200, "/".join(["x" * 250] * 3), "a/" * 300 + "b")
"""Names that a store may have and a file system may not."""


# ---- hazards ---------------------------------------------------------------------------------------
def _link(to: str, path: Path, victim: Path) -> None:
    path.symlink_to(to.replace("VICTIM", str(victim)))


def _write(data: bytes, path: Path, victim: Path) -> None:
    path.write_bytes(data)


def _sparse(path: Path, victim: Path) -> None:
    with open(path, "wb") as file:
        file.truncate(1 << 36)


def _folder(path: Path, victim: Path) -> None:
    (path / "below").mkdir(parents=True)
    (path / "file").write_bytes(b"x")


Hazard = Callable[[Path, Path], None]
HAZARDS: dict[str, Hazard] = {
    "a link to a file": partial(_link, "VICTIM/file"),
    "a link to a folder": partial(_link, "VICTIM"),
    "a link to a run": partial(_link, "VICTIM/run"),
    "a link to nothing": partial(_link, "VICTIM/none"),
    "a link in a circle": lambda path, victim: path.symlink_to(path.name),
    "a link to a device": partial(_link, "/dev/zero"),
    "a link to the folder above": partial(_link, ".."),
    "a pipe": lambda path, victim: os.mkfifo(path),
    "a socket": lambda path, victim: make_socket(path),
    "a folder": _folder,
    "an empty file": partial(_write, b""),
    "bytes": partial(_write, bytes(range(256))),
    "deep JSON": partial(_write, b"[" * 100_000),
    "64 GiB of nothing": _sparse,
}


def put(hazard: Hazard, path: Path, victim: Path) -> None:
    """Put a hazard in the place of whatever lies there."""
    if path.is_symlink() or path.is_file():
        path.unlink()
    elif path.is_dir():
        shutil.rmtree(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    hazard(path, victim)


# ---- the folder of a case ----------------------------------------------------------------------------
def make_template(root: Path) -> None:
    """``runs`` with one small measured run; what fetch and publish make of it; and a table of claims."""
    run = root / RUN
    steps = [
        [*TRAIN, "--out", run],
        ["measure", run, "--only", "behaviour", "--sequences", 4, *MEASURE],
        ["fetch", f"file://{root / 'runs'}", "-o", root / "fetched"],
        ["publish", root / "runs", "-o", root / "site"],
        ["reproduce", "HE06", "--out", root / "claims", "--executor", "serial"],
    ]
    for words in steps:
        status, said = command(words)
        assert status == 0, said
    shutil.copytree(run, root / "victim" / "run")
    (root / "victim" / "file").write_bytes(b"theirs")
    (root / "runs" / "views").mkdir()
    (root / "runs" / "views" / "one.json").write_text(json.dumps({"name": "one", "link": "/"}))
    (run / "notes.md").write_text("a note\n")
    (run / "tags.txt").write_text("a\nb\n")


@dataclass(frozen=True)
class Case:
    """One command beside one hazard.

    Attributes:
        surface: the command, or what of the dashboard it is.
        label: what was done.
        prepare: does it to a copy of the template.
        run: does the work there; the status and what was said.
        writes: the entries of the copy that the work may change.
    """

    surface: str
    label: str
    prepare: Callable[[Path], object]
    run: Callable[[Path], tuple[int | str, str]]
    writes: tuple[str, ...]


def contents(folder: Path) -> dict[str, Any]:
    """All that lies below a folder: bytes of files, targets of links, kinds of anything else."""
    found: dict[str, Any] = {}
    for path in folder.rglob("*"):
        if path.is_symlink():
            content: Any = os.readlink(path)
        elif path.is_file():
            content = path.read_bytes() if path.stat().st_size < 1 << 30 else path.stat().st_size
        else:
            content = path.is_dir()
        found[path.relative_to(folder).as_posix()] = content
    return found


def outside(root: Path, writes: Sequence[str]) -> dict[str, Any]:
    """What no case may change."""
    entries = [path for path in root.iterdir() if path.name not in writes]
    return {path.name: contents(path) if path.is_dir() and not path.is_symlink() else "" for path in entries}


def tried(case: Case, template: Path, folder: Path) -> list[str]:
    """What is wrong with how one case ends, a line each."""
    root = folder / "root"
    shutil.copytree(template, root, symlinks=True)
    wrong: list[str] = []
    try:
        case.prepare(root)
        before = outside(root, case.writes)
        begun = time.process_time()
        with limited(LIMIT_S):
            status, said = case.run(root)
        if (seconds := time.process_time() - begun) > CPU_S:
            wrong.append(f"hang: {seconds:.0f} s of CPU time")
        if status not in (0, 1, 2) or "Traceback" in said or DEFECT in said:
            wrong.append(f"traceback: status {status}: {said[-1500:]}")
        elif status != 0 and not said.strip():
            wrong.append("nothing was said")
        if outside(root, case.writes) != before:
            after = outside(root, case.writes)
            changed = [name for name in before.keys() | after.keys() if before.get(name) != after.get(name)]
            wrong.append(f"outside: {changed} changed")
    except Hang:
        wrong.append("hang")
    except Exception:  # noqa: BLE001 - a traceback is what is looked for
        wrong.append(f"traceback: {traceback.format_exc()[-1500:]}")
    finally:
        os.system(f"rm -rf '{root}'")
    return [f"{case.surface}, {case.label}: {line}" for line in wrong]


# ---- cases -----------------------------------------------------------------------------------------
def cases(seed: int) -> Sequence[Case]:
    """All cases of a seed."""
    dice = random.Random(seed)
    surfaces = (
        _fetch_cases,
        _store_cases,
        _publish_cases,
        _export_cases,
        _report_cases,
        _claim_cases,
        _view_cases,
        _note_cases,
    )
    return [case for surface in surfaces for case in surface(random.Random(dice.random()))]


def _at(place: str, hazard: Hazard) -> Callable[[Path], None]:
    return lambda root: put(hazard, root / place, root / "victim")


def _words(*words: str) -> Callable[[Path], tuple[int | str, str]]:
    return lambda root: command([word.replace("ROOT", str(root)) for word in words])


def _fetch(root: Path) -> tuple[int | str, str]:
    """The folder was fetched from the runs of the template; the copy's are its runs now."""
    path = root / "fetched" / CATALOGUE
    if path.is_file() and not path.is_symlink() and path.stat().st_size < 1 << 20:
        path.write_bytes(path.read_bytes().replace(b"TEMPLATE", os.fsencode(root)))
    return command(["fetch", f"file://{root / 'runs'}", "-o", root / "fetched"])


def _moved(root: Path) -> dict[str, Any]:
    """The catalogue of the copy, which names the copy's runs."""
    path = root / "fetched" / CATALOGUE
    content: dict[str, Any] = json.loads(path.read_text())
    content["url"] = f"file://{root / 'runs'}"
    path.write_text(json.dumps(content))
    return content


def _fetch_cases(dice: random.Random) -> Iterator[Case]:
    """Hazards in the folder: while nothing has changed, while all has, and while all is gone from the store."""

    def prepare(state: str, place: str, hazard: Hazard, root: Path) -> None:
        content = _moved(root)
        if state == "changed":
            for path in (root / "runs").rglob("*"):
                os.utime(path, (0, 0))
        elif state == "gone":
            shutil.move(root / RUN, root / "runs" / "other")
        content["objects"] |= {f"{place}/run.json": [1, 1], f"{place}/run/run.json": [1, 1]}
        (root / "fetched" / CATALOGUE).write_text(json.dumps(content))
        put(hazard, root / "fetched" / place, root / "victim")

    for place in FETCHED:
        for name, hazard in HAZARDS.items():
            for state in ("unchanged", "changed", "gone"):
                label = f"{name} for {place}, the store {state}"
                yield Case("fetch", label, partial(prepare, state, place, hazard), _fetch, ("fetched",))
    for name, hazard in HAZARDS.items():
        yield Case("fetch", f"{name} for the catalogue", _at(f"fetched/{CATALOGUE}", hazard), _fetch, ("fetched",))
        yield Case("fetch", f"{name} for the folder", _at("fetched", hazard), _fetch, ("fetched",))

    def restate(own: random.Random, root: Path) -> None:
        content = _moved(root)
        places = [
            "../victim/run/run.json",
            str(root / "victim/run/run.json"),
            "run/../../victim/run/run.json",
            "a" * 300 + "/run.json",
        ]
        content["objects"] |= {
            own.choice(places): own.choice([[1, 1], [-1, -1], [], "x", [10**30, 1]]) for _ in range(2)
        }
        for _ in range(own.randint(0, 2)):
            content = mutated(own, content)
        (root / "fetched" / CATALOGUE).write_text(json.dumps(content))

    for number in range(120):
        yield Case("fetch", f"catalogue {number}", partial(restate, random.Random(dice.random())), _fetch, ("fetched",))


def _store_cases(dice: random.Random) -> Iterator[Case]:
    """Hazards in the store."""
    words = ("fetch", "file://ROOT/runs", "-o", "ROOT/new")
    for place in FETCHED:
        for name, hazard in HAZARDS.items():
            yield Case(
                "fetch", f"{name} in the store for {place}", _at(f"runs/{place}", hazard), _words(*words), ("new",)
            )

    def named(name: str, root: Path) -> None:
        shutil.copytree(root / RUN, os.path.join(root / "runs", name))

    for name in NAMES:
        if not {name} & {".."}:
            yield Case("fetch", f"a run called {name[:40]!r}", partial(named, name), _words(*words), ("new",))

    def served(name: str, root: Path) -> tuple[int | str, str]:
        data = (root / RUN / "run.json").read_bytes()
        objects = {
            "study/run/run.json": data,
            f"study/{name}/run.json": data,
            f"study/run/measurements/m/00000000-{name}.parquet": b"",
        }
        with serving(objects) as server:
            os.environ |= {
                "AWS_ACCESS_KEY_ID": "some",
                "AWS_SECRET_ACCESS_KEY": "one",
                "AWS_EC2_METADATA_DISABLED": "true",
            }
            try:
                return 1, "\n".join(fetch(server.url("study"), root / "new").problems) or "none"
            except LensError as error:
                return 2, str(error)

    for name in (*LONG_NAMES, *(name for name in NAMES if name.isprintable())):
        yield Case("fetch", f"objects called {name[:40]!r}", lambda root: None, partial(served, name), ("new",))


def _publish_cases(dice: random.Random) -> Iterator[Case]:
    words = _words("publish", "ROOT/runs", "-o", "ROOT/site")

    def prepare(place: str, hazard: Hazard, root: Path) -> None:
        names = [*json.loads((root / "site" / MADE).read_text()), "runs/gone.html"]
        (root / "site" / MADE).write_text(json.dumps(names))
        put(hazard, root / "site" / place, root / "victim")

    for place in PUBLISHED:
        for name, hazard in HAZARDS.items():
            yield Case("publish", f"{name} for {place}", partial(prepare, place, hazard), words, ("site",))
    for name, hazard in HAZARDS.items():
        yield Case("publish", f"{name} for the folder", _at("site", hazard), words, ("site",))

    def restate(content: Any, root: Path) -> None:
        (root / "site" / MADE).write_text(json.dumps(content))

    names = [
        "../victim/file",
        "runs/../../victim/file",
        "runs/x",
        "assets/",
        "runs",
        "",
        "index.html",
        "/etc/passwd",
        "runs/" + "x" * 300,
        3,
        None,
        {},
    ]
    for number, value in enumerate([*VALUES, *([dice.choice(names) for _ in range(3)] for _ in range(20))]):
        yield Case("publish", f"list {number}", partial(restate, value), words, ("site",))


def _export_cases(dice: random.Random) -> Iterator[Case]:
    words = _words("export", f"ROOT/{RUN}", "--to", "ROOT/new")
    for name, hazard in HAZARDS.items():
        yield Case("export", f"{name} for the folder", _at("new", hazard), words, ("new",))
        for place in EXPORTED:
            yield Case("export", f"{name} in the run for {place}", _at(f"{RUN}/{place}", hazard), words, ("new",))


def _report_cases(dice: random.Random) -> Iterator[Case]:
    words = _words("report", f"ROOT/{RUN}", "-o", "ROOT/page.html")
    for name, hazard in HAZARDS.items():
        yield Case("report", f"{name} for the page", _at("page.html", hazard), words, ("page.html",))
        for place in EXPORTED:
            yield Case("report", f"{name} in the run for {place}", _at(f"{RUN}/{place}", hazard), words, ("page.html",))


def damaged_reports(template: Path, folder: Path, every: int) -> tuple[int, list[str]]:
    """Reports of runs that are damaged or sealed again, of one case in so many; how many, and what is wrong."""
    chosen, wrong = damaged_runs(15)[::every], []
    for case in chosen:
        root = folder / "root"
        shutil.copytree(template, root)
        here = os.getcwd()
        try:
            case.apply(root)
            with limited(LIMIT_S):
                status, said = command(["report", root / "odd", "-o", folder / "page.html"])
            if status not in (0, 1, 2) or "Traceback" in said or DEFECT in said:
                wrong.append(f"report, {case.label}: traceback: {said[-1500:]}")
        except Hang:
            wrong.append(f"report, {case.label}: hang")
        finally:
            os.chdir(here)
            os.system(f"rm -rf '{root}'")
    return len(chosen), wrong


def _claim_cases(dice: random.Random) -> Iterator[Case]:
    reading = [("--list",), ("--list", "crasp-exact"), ("HE06", "--dry-run")]
    for place in CLAIM_FILES:
        for name, hazard in HAZARDS.items():
            for words in reading:
                run = _words("reproduce", *words, "--out", "ROOT/claims")
                yield Case(
                    "claims table", f"{name} for {place}, {words}", _at(f"claims/{place}", hazard), run, ("claims",)
                )
    for name, hazard in HAZARDS.items():
        run = _words("reproduce", "HE06", "--out", "ROOT/claims", "--add", "ROOT/odd.parquet", "--executor", "serial")
        yield Case("claims table", f"{name} to be added", _at("odd.parquet", hazard), run, ("claims",))
    for place in CLAIM_FILES:
        for name in ("a link to a file", "a link to a folder", "a link to a run", "a link to nothing", "a folder"):
            run = _words("reproduce", "HE06", "--out", "ROOT/claims", "--executor", "serial")
            yield Case(
                "claims table", f"{name} for {place}, computed", _at(f"claims/{place}", HAZARDS[name]), run, ("claims",)
            )

    def damage(own: random.Random, root: Path) -> None:
        path = root / "claims" / "claims.parquet"
        data = bytearray(path.read_bytes())
        for _ in range(own.randint(1, 3)):
            data[own.randrange(len(data))] ^= 1 << own.randrange(8)
        path.write_bytes(data[: own.randint(1, len(data))] if own.random() < 0.3 else data)

    for number in range(120):
        run = _words("reproduce", "--list", "crasp-exact", "--out", "ROOT/claims")
        yield Case("claims table", f"damaged table {number}", partial(damage, random.Random(dice.random())), run, ())


def _view_cases(dice: random.Random) -> Iterator[Case]:
    def shelf(asks: Sequence[dict[str, Any]], root: Path) -> tuple[int | str, str]:
        context = Context(Store([root / "runs"]), Idle(), Idle())
        try:
            said = [handle_request(context, ask) for ask in asks]
            return 0, f"{said} {[str(line)[:200] for line in view_list(context)]}"
        finally:
            context.close()

    asks = [
        {"do": "list"},
        {"do": "save", "name": "one", "link": "/"},
        {"do": "save", "name": "two", "link": "/run?run=run"},
        {"do": "delete", "file": "0:one"},
    ]
    for place in ("runs/views", "runs/views/one.json", "runs/views/two.json"):
        for name, hazard in HAZARDS.items():
            yield Case("saved views", f"{name} for {place}", _at(place, hazard), partial(shelf, asks), ("runs",))
    texts = [value for value in VALUES if isinstance(value, str)] + [
        "one",
        "0:one",
        "0:../run/run",
        "9:one",
        "0:",
        ":",
        "/run",
        "//x",
        "/run?\n",
        "../one",
        "one.json",
        "\u0661:one",
    ]
    for _ in range(300):
        own = random.Random(dice.random())
        ask = {
            "do": own.choice(["save", "delete", "list", "save", "delete"]),
            "name": own.choice(texts),
            "link": own.choice(["/", "/run?run=run", *texts]),
            "file": own.choice(texts),
        }
        yield Case("saved views", f"{str(ask)[:200]!a}", lambda root: None, partial(shelf, [ask]), ("runs",))

    def stated(content: Any, root: Path) -> None:
        (root / "runs" / "views" / "one.json").write_text(json.dumps(content))

    for number in range(100):
        own = random.Random(dice.random())
        content = mutated(own, {"name": "one", "link": "/"})
        yield Case("saved views", f"file {number}", partial(stated, content), partial(shelf, asks), ("runs",))


def _note_cases(dice: random.Random) -> Iterator[Case]:
    def write(text: str, tags: str, root: Path) -> tuple[int | str, str]:
        context = Context(Store([root / "runs"]), Idle(), Idle())
        try:
            line, notes = save_notes(context, "run", text, tags, read_notes(root / RUN).state)
        finally:
            context.close()
        try:
            write_notes(root / RUN, text, tags.split(","), read_notes(root / RUN).state)
        except LensError as error:
            line += str(error)
        return 0, f"{line} {notes} {read_notes(root / RUN)}"

    for place in ("notes.md", "tags.txt", "live.jsonl", "lock"):
        for name, hazard in HAZARDS.items():
            yield Case(
                "notes", f"{name} for {place}", _at(f"{RUN}/{place}", hazard), partial(write, "new", "c,d"), ("runs",)
            )
    texts = [value for value in VALUES if isinstance(value, str) and value.isascii()] + [
        "",
        "# a\n\nb",
        "x" * 70_000,
        "a," * 40,
        "\u202ex",
        "\r\n" * 9,
    ]
    for number in range(200):
        own = random.Random(dice.random())
        yield Case(
            "notes",
            f"text {number}",
            lambda root: None,
            partial(write, own.choice(texts), own.choice(texts)),
            ("runs",),
        )
