"""Plant single-site bugs and ask whether the tests see them: which share of bugs would they catch?

    python -m tests.campaign.mutants [--count 40] [--seed 0] [--room tasks ...] [--results mutants.jsonl]

Works on a copy of the tree. For each bug a child is forked in which no module of the project is loaded yet; it runs the test
files that name the mutated module or its public names, those that do so most often first, then those that hold what its room
computes, until one fails. A bug that all of them pass survives: it is one that no test sees, or one that changes nothing. Another
seed draws other bugs: write the kind of test that sees the kind of bug. With ``--results`` an interrupted run goes on where it
stopped.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import json
import math
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.campaign.mutation_sites import ROOMS, Site, sample

ROOT = Path(__file__).resolve().parents[2]
OURS = frozenset(("workbench", "probes", "circuits", "app", "tests", "benchmarks"))
HEAVY = ("torch", "numpy", "scipy.stats", "pandas", "pyarrow.parquet", "duckdb", "pydantic", "sklearn.linear_model", "transformer_lens",
         "plotly.graph_objects", "hypothesis", "jaxtyping")  # fmt: skip
"""Imported once, before any child is forked."""
MOST_FILES = 12
"""Test files that are run for a bug at most, those that name its module most often; the kits of its room come besides."""
DEFAULTS, FROZEN_SPECS = "tests/unit/test_defaults.py", "tests/unit/measure/test_frozen_specs.py"
OF_MEASUREMENTS = (
    "tests/unit/measure/test_registry.py",
    FROZEN_SPECS,
    "tests/unit/measure/test_other_settings.py",
    "tests/unit/measure/test_check_measurement.py",
)
KITS: Mapping[str, tuple[str, ...]] = {
    "measure": OF_MEASUREMENTS,
    "circuits": OF_MEASUREMENTS,
    "probes": OF_MEASUREMENTS,
    "diagnosis": OF_MEASUREMENTS,
    "tasks": ("tests/unit/tasks/test_check_task.py",),
    "figures": ("tests/unit/figures/test_figures_package.py",),
    "claims": ("tests/unit/claims/test_committed_claims.py",),
}
"""Tests that go through everything of a room by its registry, and name none of it; beside those that hold what it computes."""
GALLERY = "tests/e2e/test_gallery.py"
MEASURED = frozenset(("tasks", "models", "measure", "runs", "table", "probes", "circuits", "diagnosis"))
"""Rooms that make the numbers of the gallery, which is measured again to the same ones."""
TEST_LIMIT_S = 300
"""Longest a test may take: a bug that makes it endless is caught. On a busy machine the slowest takes two minutes."""
LIMIT_S = 1800.0
"""Longest a child may take; a bug whose tests take longer is undecided."""


@dataclass(frozen=True)
class Outcome:
    """What became of a bug.

    Attributes:
        site: the bug.
        outcome: caught, survived or undecided.
        by: the first test that failed; "" where none did.
        ran: how many tests ran.
        seconds: how long that took.
    """

    site: Site
    outcome: str
    by: str
    ran: int
    seconds: float


class _FirstFailure:
    """A pytest plugin that notes the first failure, and ends tests that do not end.

    Attributes:
        files: whose tests are run, in this order.
    """

    def __init__(self, test_limit: int, files: Sequence[str] = ()) -> None:
        self.first, self.ran, self.test_limit = "", 0, test_limit
        self.place = {file: place for place, file in enumerate(files)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Conftests may have put their own files first."""
        items.sort(key=lambda item: self.place.get(item.nodeid.partition("::")[0], 0))

    def pytest_runtest_logstart(self, nodeid: str, location: Any) -> None:
        signal.alarm(self.test_limit)

    def pytest_runtest_logfinish(self, nodeid: str, location: Any) -> None:
        signal.alarm(0)

    def pytest_runtest_logreport(self, report: Any) -> None:
        self.ran += report.when == "call"
        if report.failed and not self.first:
            self.first = report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self.first:
            self.first = report.nodeid


def copied(root: Path, target: Path) -> None:
    """Copy all files of a tree that git tracks, or would."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "-co", "--exclude-standard"], cwd=root, capture_output=True, check=True
    )
    for name in filter(None, listed.stdout.decode().split("\0")):
        if (root / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(root / name, target / name)


def compiled(root: Path) -> None:
    """Load every module of a tree once as its unit tests do, with types checked, so that children find them compiled."""
    files = [path.relative_to(root) for room in ROOMS.values() for path in sorted((root / room).rglob("*.py"))]
    files = [path for path in files if path.stem != "__main__"]  # which run a command
    names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
    code = f"import importlib, tests.unit.conftest\nfor name in {names!r}: importlib.import_module(name)"
    environment = {**os.environ, "PYTHONPATH": str(root)}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    subprocess.run([sys.executable, "-c", code], cwd=root, env=environment, check=True)


def tests_of(root: Path, file: str) -> list[str]:
    """Files of tests for a module, at most :data:`MOST_FILES` of unit tests that name it.

    First those that name it or a public name of it, then those that name a module which imports it, each the more often the
    earlier; else all of its room. What a test's own helpers name, it names too. Then those of the folder that stands for
    the module's own, the kits of its room, the tests of trained and hand-made models of its room, and where its room
    makes the gallery's numbers, those that measure the gallery again.
    """
    texts = {path: _with_helpers(root, path) for path in sorted((root / "tests" / "unit").rglob("test_*.py"))}
    module = file.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    sources = [path for room in ROOMS.values() for path in sorted((root / room).rglob("*.py"))]
    users = [path for path in sources if f"from {module} import" in path.read_text()]
    chosen: list[Path] = []
    for modules in ([root / file], users):
        named = re.compile("|".join(word for path in modules for word in _names(root, path)) or r"\0")
        counts = {path: len(named.findall(text)) for path, text in texts.items()}
        chosen += sorted(
            (path for path, count in counts.items() if count and path not in chosen), key=lambda path: -counts[path]
        )
    room = next((name for name, folder in ROOMS.items() if file.startswith(f"{folder}/")), "")
    of_room = (root / "tests" / "unit" / room).rglob("test_*.py") if room else []
    beside = root / "tests" / "unit" / Path(file.removeprefix("workbench/")).parent
    every = [*(chosen[:MOST_FILES] or sorted(of_room)), *sorted(beside.glob("test_*.py"))]
    kits = [one for one in (DEFAULTS, *_holding(root, room), *KITS.get(room, ())) if (root / one).is_file()]
    science = sorted(
        str(path.relative_to(root)) for path in (root / "tests/science" / (room or "-")).rglob("test_*.py")
    )
    gallery = [GALLERY] if room in MEASURED and (root / GALLERY).is_file() else []
    last = dict.fromkeys([*kits, *science, *gallery])
    named = dict.fromkeys(str(path.relative_to(root)) for path in every)
    return [*(one for one in named if one not in last), *last]


def _holding(root: Path, room: str) -> list[str]:
    """The tests that hold what a room computes, as :mod:`tests.support.held` says it."""
    held = sorted((root / "tests/unit" / (room or "-")).rglob("held/*.json"))
    return [str((file.parents[1] / f"{file.stem}.py").relative_to(root)) for file in held]


def _with_helpers(root: Path, path: Path) -> str:
    """The text of a test file, and of the helper modules that it imports."""
    text = path.read_text()
    files = {
        root / f"{name.replace('.', '/')}.py" for name in re.findall(r"from (tests\.support\.[\w.]+) import", text)
    }
    return "\n".join([text, *(file.read_text() for file in sorted(files) if file.is_file())])


def _names(root: Path, path: Path) -> list[str]:
    """Patterns of what a test says that uses a module: its name, or one of its public names."""
    module = str(path.relative_to(root)).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    package, _, short = module.rpartition(".")
    public = [
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_") and len(node.name) > 4
    ]
    return [
        rf"\b{re.escape(module)}\b",
        rf"from {re.escape(package)} import .*\b{short}\b",
        *(rf"\b{name}\b" for name in public),
    ]


def judge(root: Path, site: Site, limit: float = LIMIT_S, test_limit: int = TEST_LIMIT_S) -> Outcome:
    """Plant a bug in a tree that may be written to, run its tests, and take it out again."""
    path, began = root / site.file, time.monotonic()
    original = path.read_bytes()
    path.write_bytes(site.planted(original))
    try:
        compile(path.read_bytes(), str(path), "exec")
        tests = tests_of(root, site.file)
        found = _asked(root, tests, limit, test_limit) if tests else {"first": "", "ran": 0}
    except SyntaxError:
        found = {"first": "(no Python)", "ran": 0}
    finally:
        path.write_bytes(original)
    outcome = "undecided" if found is None else "caught" if found["first"] else "survived"
    seconds = round(time.monotonic() - began, 1)
    return Outcome(site, outcome, found["first"] if found else "", found["ran"] if found else 0, seconds)


def _asked(root: Path, tests: Sequence[str], limit: float, test_limit: int) -> dict[str, Any] | None:
    """What a forked pytest over these files finds; None where it does not end in time."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.setpgid(0, 0)
            os.close(reader)
            os.write(writer, json.dumps(_found(root, tests, test_limit)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    try:
        began = time.monotonic()
        while os.waitpid(child, os.WNOHANG)[0] == 0:
            if time.monotonic() - began > limit:
                with suppress(ProcessLookupError):
                    os.killpg(child, signal.SIGKILL)
                os.waitpid(child, 0)
                return None
            time.sleep(0.05)
        told = os.read(reader, 1 << 16)
    finally:
        os.close(reader)
    return dict(json.loads(told)) if told else {"first": "(the interpreter ended)", "ran": 0}


def _found(root: Path, tests: Sequence[str], test_limit: int) -> dict[str, Any]:
    """In the child: run these files of this tree, whatever was loaded from another one."""
    silent = os.open(os.devnull, os.O_WRONLY)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    for name in [name for name in sys.modules if name.partition(".")[0] in OURS]:
        del sys.modules[name]
    sys.dont_write_bytecode = True  # a mutant of the same second and size would be taken for its source
    os.environ.update(PYTHONPATH=str(root), PYTHONDONTWRITEBYTECODE="1")
    os.chdir(root)
    sys.path[:] = [str(root), *(path for path in sys.path if path and Path(path) != ROOT)]
    plugin = _FirstFailure(test_limit, tests)
    signal.signal(signal.SIGALRM, _endless)
    options = [
        "-x",
        "-q",
        "-p",
        "no:cacheprovider",
        "-p",
        "no:xdist",
        "--hypothesis-seed=0",
        f"--rootdir={root}",
    ]
    status = pytest.main([*options, *tests], plugins=[plugin])
    assert (
        status in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED) or plugin.first
    )
    return {"first": plugin.first, "ran": plugin.ran}


def _endless(number: int, frame: Any) -> None:
    raise TimeoutError("the test does not end")


def interval(hits: int, of: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's 95 % interval of a share; the whole of [0, 1] where nothing was tried."""
    if not of:
        return 0.0, 1.0
    share, spread = hits / of, z * z / of
    middle, half = (
        (share + spread / 2) / (1 + spread),
        z / (1 + spread) * math.sqrt(share * (1 - share) / of + spread / 4 / of),
    )
    return max(0.0, middle - half), min(1.0, middle + half)


def report(outcomes: Iterable[Outcome]) -> str:
    """Shares of bugs that were caught, with 95 % intervals, by room and by kind; and the survivors."""
    tried = list(outcomes)
    found = [one for one in tried if one.outcome != "undecided"]
    groups: dict[str, list[Outcome]] = defaultdict(list)
    for one in found:
        for group in ("all", f"room {one.site.room}", f"kind {one.site.kind}"):
            groups[group].append(one)
    lines = []
    for name, members in sorted(groups.items()):
        hits = sum(one.outcome == "caught" for one in members)
        low, high = interval(hits, len(members))
        lines.append(f"{name:24} {hits:4} of {len(members):4}  {hits / len(members):.2f}  [{low:.2f}, {high:.2f}]")
    for one in (one for one in tried if one.outcome != "caught"):
        lines.append(
            f"{one.outcome}: {one.site.file}:{one.site.line} {one.site.old!r} -> {one.site.new!r} ({one.site.kind}, {one.ran} tests)"
        )
    return "\n".join(lines or ["no bug was planted"])


def read_results(file: Path) -> dict[str, Outcome]:
    """Earlier outcomes by the id of their bug."""
    if not file.exists():
        return {}
    rows: list[Mapping[str, Any]] = [json.loads(line) for line in file.read_text().splitlines()]
    held = [Outcome(**{**row, "site": Site(**row["site"])}) for row in rows]
    return {one.site.id: one for one in held}


def main(words: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=40, help="bugs that are planted")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--room", nargs="+", default=list(ROOMS), choices=list(ROOMS))
    parser.add_argument("--results", type=Path, help="a line for each bug; what stands there is not tried again")
    given = parser.parse_args(words)
    for name in HEAVY:
        importlib.import_module(name)
    known = read_results(given.results) if given.results else {}
    outcomes = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        copied(ROOT, Path(folder))
        compiled(Path(folder))
        for site in sample(Path(folder), given.count, given.seed, given.room):
            one = known.get(site.id) or judge(Path(folder), site)
            if given.results and site.id not in known:
                with given.results.open("a") as file:
                    file.write(json.dumps(asdict(one)) + "\n")
            outcomes.append(one)
            print(
                f"{one.outcome:8} {site.file}:{site.line} {site.old!r} -> {site.new!r} ({one.seconds:g} s) {one.by}",
                flush=True,
            )
    print(report(outcomes))


if __name__ == "__main__":
    main()
