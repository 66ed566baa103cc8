"""Training and measuring, ended at an operation on a file or at any time, and given again: same bits?"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tests.campaign.faults import FILLED, FULL, HALF, Fault
from tests.campaign.forked import Ended, lengthlens, start
from workbench.runs.run import sha256_of
from workbench.table import Table
from workbench.table.layout import shards_of

STEPS = 24
TRAIN = [
    *("train", "majority", "--steps", STEPS, "--lengths", "1-9", "--layers", 1, "--d-model", 8, "--heads", 2),
    *("--batch-size", 8, "--positions", "learned", "--ids", "random_offset", "--n-ctx", 80),
    *("--set", "training.checkpoints.log=3", "--set", "training.checkpoints.linear=2"),
]
#: Each measurement with as many sequences as it wants by itself, unless fewer are asked for: they share passes all the same.
MEASURE: list[object] = ["--steps", f"0,{STEPS}", "--lengths", "19,37", "--executor", "serial"]
INTERRUPTED = 130
REFUSED = 2


def measure_only(names: Sequence[str], sequences: int | None = None) -> None:
    """Have all work that measures make these measurements alone, on so many strings; called before any of it begins."""
    MEASURE.extend(word for name in names for word in ("--only", name))
    MEASURE.extend(() if sequences is None else ("--sequences", sequences))


@dataclass(frozen=True)
class Work:
    """One of the two kinds of work: its command, what it leaves, and what of that is done for good.

    Attributes:
        name: training or measuring.
        trained: the run to measure, or None for training.
        options: further words of the command line.
    """

    name: str
    trained: Path | None = None
    options: tuple[str, ...] = ()

    def words(self, folder: Path) -> list[object]:
        """The command line."""
        words = [*TRAIN, "--out", folder] if self.trained is None else ["measure", folder, *MEASURE]
        return [*words, *self.options]

    def prepare(self, folder: Path) -> None:
        """What is there before the work begins."""
        if self.trained is not None:
            shutil.copytree(self.trained, folder)

    def result(self, folder: Path) -> dict[str, str]:
        """Everything the work is for, bit by bit, and the names of all other files."""
        if self.trained is None:
            found = {str(p.relative_to(folder)): sha256_of(p) for p in folder.glob("steps/*/*")}
        else:
            rows = Table.load(folder).frame().drop(columns="run").to_dict("records")
            found = {str(row): "" for row in rows}
        rest = [p for p in folder.rglob("*") if p.is_file() and not p.is_relative_to(folder / "steps")]
        return found | {str(p.relative_to(folder)): "" for p in rest}

    def done(self, folder: Path) -> dict[str, tuple[int, int]]:
        """What is finished and must not be made again: its place on the disk and its time."""
        shards = [shard.path for shard in shards_of(folder)]
        checkpoints = list(folder.glob("steps/[0-9]*/*"))
        return {str(p): (p.stat().st_ino, p.stat().st_mtime_ns) for p in [*shards, *checkpoints]}


@dataclass(frozen=True)
class Undisturbed:
    """A piece of work that nothing happened to: what every disturbed one is compared with."""

    work: Work
    result: dict[str, str]
    operations: tuple[str, ...]
    seconds: float


def undisturbed(work: Work) -> Undisturbed:
    """Do the work in peace.

    Raises:
        RuntimeError: if not even that works.
    """
    with begun(work) as folder:
        ended = lengthlens(work.words(folder), folder)
        if ended.status != 0:
            raise RuntimeError(f"{work.name} fails undisturbed: {ended.said}")
        return Undisturbed(work, work.result(folder), ended.operations, ended.seconds)


@contextmanager
def begun(work: Work, below: Path | None = None) -> Iterator[Path]:
    """A folder of its own for one piece of work."""
    with tempfile.TemporaryDirectory(dir=below) as temporary:
        folder = Path(temporary).resolve() / "run"
        work.prepare(folder)
        yield folder


def go_on(whole: Undisturbed, folder: Path) -> str:
    """Give the same command again, undisturbed; what is wrong with the outcome, or ""."""
    work = whole.work
    before = work.done(folder)
    ended = lengthlens(work.words(folder), folder)
    if ended.status != 0:
        return f"the same command ended with status {ended.status}: {ended.said.strip()}"
    after = work.done(folder)
    again = [path for path, state in before.items() if after.get(path) != state]
    if again:
        return f"made again although done: {', '.join(again)}"
    result = work.result(folder)
    differing = sorted(k for k in result.keys() | whole.result.keys() if result.get(k) != whole.result.get(k))
    few = ", ".join(key[:200] for key in differing[:3])
    return f"differs from the undisturbed one in {len(differing)} places: {few}" if differing else ""


def wrong_end(kind: str, ended: Ended, folder: Path) -> str:
    """What is wrong with how a command ended on a fault, or ""."""
    said = " ".join(ended.said.split())
    if kind == "SIGKILL":
        return "" if ended.status == -signal.SIGKILL else f"was not killed: {ended.status}"
    if ended.status == 0:
        return ""  # it came too late to stop anything
    if kind in (FULL, FILLED):
        named = str(folder) in said and "No space left on device" in said and "make room there" in said
        good = ended.status == REFUSED and named and "Traceback" not in said
    else:
        good = ended.status == INTERRUPTED and "run the same command to resume" in said
    return "" if good else f"ended with status {ended.status}: {said}"


def at_operation(whole: Undisturbed, fault: Fault, below: Path | None = None) -> str:
    """Disturb the work at one operation, then go on; what is wrong, or "".

    Args:
        whole: the work undisturbed.
        fault: the disturbance.
        below: where the work is to be done; None = where temporary files go.
    """
    with begun(whole.work, below) as folder:
        ended = lengthlens(whole.work.words(folder), folder, fault)
        (folder.parent / "filler").unlink(missing_ok=True)
        return wrong_end(fault.kind, ended, folder) or go_on(whole, folder)


def at_time(whole: Undisturbed, seconds: float) -> str:
    """Kill the work after so many seconds, then go on; what is wrong, or ""."""
    with begun(whole.work) as folder:
        start(whole.work.words(folder), folder).end(kill_after=seconds)
        return go_on(whole, folder)


def with_workers(whole: Undisturbed, seconds: float) -> str:
    """Measure with worker processes, in a process of its own, and kill the parent; what is wrong, or ""."""
    with begun(whole.work) as folder:
        words = [*map(str, whole.work.words(folder))]
        words[words.index("serial")] = "processes"
        command = [sys.executable, "-m", "workbench.cli.main", *words]
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        process.kill()
        process.wait()
        return go_on(whole, folder)


def again_and_again(whole: Undisturbed, dice: random.Random) -> str:
    """Kill the work at a random operation of each attempt, until one attempt outlives it; what is wrong, or ""."""
    with begun(whole.work) as folder:
        while True:
            at = dice.randrange(1, max(2, len(whole.operations) // 3))
            if lengthlens(whole.work.words(folder), folder, Fault("SIGKILL", at)).status == 0:
                return go_on(whole, folder)


def second_writer(whole: Undisturbed, at: int) -> str:
    """Start the work a second time while the first writer stands still; what is wrong, or ""."""
    with begun(whole.work) as folder:
        first = start(whole.work.words(folder), folder, Fault("SIGSTOP", at))
        if not first.stopped():
            return f"was not stopped: {first.end().said}"
        try:
            second = lengthlens(whole.work.words(folder), folder)
        finally:
            os.kill(first.pid, signal.SIGCONT)
        ended = first.end()
        if second.status != REFUSED or f"is being written by process {first.pid}" not in " ".join(second.said.split()):
            return f"the second writer was not refused: {second.status}: {second.said}"
        return go_on(whole, folder) if ended.status == 0 else f"the first writer failed: {ended.said}"


def too_large(whole: Undisturbed, size: int) -> str:
    """Let the system refuse files beyond a size, as a quota does; what is wrong, or ""."""
    with begun(whole.work) as folder:
        ended = start(whole.work.words(folder), folder, file_size=size).end()
        said = " ".join(ended.said.split())
        if ended.status != REFUSED or f"{folder}" not in said or "File too large" not in said:
            return f"ended with status {ended.status}: {said}"
        return go_on(whole, folder)


def on_small_disk(whole: Undisturbed, at: int, size: str) -> str:
    """Fill the disk that the work is done on at one operation, make room, and go on; what is wrong, or ""."""
    with small_disk(size) as disk:
        return at_operation(whole, Fault(FILLED, at), disk)


@contextmanager
def small_disk(size: str) -> Iterator[Path | None]:
    """A disk in memory of its own, or None where one may not be mounted."""
    with tempfile.TemporaryDirectory() as temporary:
        options = ["-t", "tmpfs", "-o", f"size={size}", "tmpfs", temporary]
        try:
            mounted = subprocess.run(["mount", *options], capture_output=True).returncode == 0
        except FileNotFoundError:
            mounted = False
        try:
            yield Path(temporary) if mounted else None
        finally:
            if mounted:
                subprocess.run(["umount", temporary], check=True, capture_output=True)


def inside_writes(operations: Sequence[str]) -> list[int]:
    """The operations that are the second half of a write."""
    return [number for number, name in enumerate(operations) if name.endswith(HALF)]
