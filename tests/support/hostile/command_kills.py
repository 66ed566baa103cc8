"""Commands that write a folder, killed at an operation on a file or at any time, and given again."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from tests.campaign import kills
from tests.campaign.faults import Fault
from tests.campaign.forked import lengthlens
from workbench.table.layout import TABLE_NAME
from workbench.table.parquet import read_file

ENDED_BEFORE = "was not killed: 0"
"""What is told of a command that ended before the operation at which it was to be killed."""
OUT = "out"
"""What a command writes, below the folder of its own."""
CLAIMS = ("HE06", "HE05")
IMPORTED = (
    "workbench.cli.commands.sharing.export",
    "workbench.cli.exporting.hub_folder",
    "workbench.claims.reproducing",
    "workbench.claims.suites.registry",
    "workbench.dashboard.report.gallery_site",
    "workbench.diagnosis.measurement",
    "workbench.table.object_store",
)
"""What the commands import, besides what training and measuring do."""


@dataclass(frozen=True)
class WritingCommand(kills.Work):
    """A command that reads a run and writes files elsewhere.

    Attributes:
        run: the run that it reads.
    """

    run: Path = Path()

    def words(self, folder: Path) -> list[object]:
        """The command line."""
        out, root = folder / OUT, self.run.parent
        commands: dict[str, list[object]] = {
            "publish": ["publish", root, "-o", out],
            "export": ["export", self.run, "--to", out],
            "fetch": ["fetch", f"file://{root}", "-o", out],
            "report": ["report", self.run, "-o", out / "page.html"],
            "reproduce": ["reproduce", *CLAIMS, "--out", out, "--executor", "serial"],
        }
        return commands[self.name]

    def prepare(self, folder: Path) -> None:
        """What is there before the work begins."""
        folder.mkdir()

    def result(self, folder: Path) -> dict[str, str]:
        """Every file with the hash of its content, and every folder, hidden ones too."""
        return {str(path.relative_to(folder)): content_of(path, folder) for path in folder.rglob("*")}

    def done(self, folder: Path) -> dict[str, tuple[int, int]]:
        """Nothing: each of these commands may write everything again."""
        return {}


def content_of(path: Path, folder: Path) -> str:
    """The rows of a table, and the hash of any other file without the name of its folder; "" for a folder."""
    if path.is_dir():
        return ""
    if path.name == TABLE_NAME:
        return str(sorted(map(str, read_file(path)[0].to_pylist())))
    return hashlib.sha256(path.read_bytes().replace(os.fsencode(folder), b"FOLDER")).hexdigest()


def commands(root: Path) -> Iterator[kills.Work]:
    """The six commands, for a run that is trained and measured in ``root``."""
    run = root / "run"
    lengthlens(kills.Work("training").words(run), run)
    diagnosis = ("--only", "diagnosis", "--sequences", "8")
    yield kills.Work("diagnosis", shutil.copytree(run, root.parent / "trained"), diagnosis)
    lengthlens(["measure", run, "--only", "behaviour", "--sequences", 8, *kills.MEASURE], run)
    for name in ("publish", "export", "fetch", "report", "reproduce"):
        yield WritingCommand(name, run=run)


def wrong_after(work: kills.Work, dice: random.Random, count: int) -> tuple[Counter[str], list[str]]:
    """Kill a command so many times; return how often in each way, and what is wrong, a line each."""
    whole = kills.undisturbed(work)
    ways, wrong = Counter[str](), []
    for number in range(count):
        way = ("operation", "operation", "operation", "time", "twice")[number % 5]
        ways[way] += 1
        at = [dice.randrange(len(whole.operations)) for _ in range(2)]
        if way == "operation":
            message = kills.at_operation(whole, Fault("SIGKILL", at[0]))
            # Threads of `fetch` share folders that one of them makes: a repetition may have an operation less.
            while message == ENDED_BEFORE and at[0]:
                at[0] -= 1
                message = kills.at_operation(whole, Fault("SIGKILL", at[0]))
        elif way == "time":
            message = kills.at_time(whole, dice.uniform(0, whole.seconds))
        else:
            message = killed_twice(whole, *at)
        if message:
            wrong.append(f"{work.name}, killed at {way} ({at}): {message}")
    return ways, wrong


def killed_twice(whole: kills.Undisturbed, first: int, second: int) -> str:
    """Kill the command, then kill the same command given again, then let it end; what is wrong, or ""."""
    with kills.begun(whole.work) as folder:
        for at in (first, second):
            lengthlens(whole.work.words(folder), folder, Fault("SIGKILL", at))
        return kills.go_on(whole, folder)


def warm_commands() -> None:
    """Import here what the commands would import in each child."""
    for name in IMPORTED:
        import_module(name)
