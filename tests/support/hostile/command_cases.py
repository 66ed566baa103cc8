"""One hostile command line with the files that it reads: it succeeds or ends in one sentence, and writes nowhere else."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.campaign.forked import Ended, start
from tests.support.hostile.opened_outcomes import sentence_problems

LIMIT_S = 60.0
"""Seconds after which a command counts as a hang."""
OUT = "out"
"""What a command may write, beside the folder that it is started in."""
WORK = "work"
"""The folder that a command is started in, with its input."""


@dataclass(frozen=True)
class CommandCase:
    """One command.

    Attributes:
        label: what is wrong with its input, with the kind of input in front.
        words: the command line; ``OUT`` stands for the path that it may write.
        prepare: writes the input into the folder that the command is started in.
        succeeds: whether the command ends with status 0; None = either.
    """

    label: str
    words: tuple[str, ...]
    prepare: Callable[[Path], object] = lambda folder: None
    succeeds: bool | None = None


def entries(root: Path) -> dict[str, Any]:
    """Every entry below a folder, with what must not change about it; nothing is opened."""
    found: dict[str, Any] = {}
    for path in sorted(root.rglob("*")):
        status = path.lstat()
        changed = None if path.is_dir() and not path.is_symlink() else (status.st_size, status.st_mtime_ns)
        found[path.relative_to(root).as_posix()] = (status.st_mode, changed)
    return found


def tried(root: Path, case: CommandCase) -> tuple[Ended, list[str]]:
    """How a command ended, and what is wrong with that, a sentence each."""
    shutil.rmtree(root, ignore_errors=True)
    folder, out = root / WORK, root / OUT
    folder.mkdir(parents=True)
    case.prepare(folder)
    before, here = entries(root), Path.cwd()
    os.chdir(folder)
    try:
        ended = start([str(out) if word == "OUT" else word for word in case.words], root).end(kill_after=LIMIT_S)
    finally:
        os.chdir(here)
    after = {name: entry for name, entry in entries(root).items() if name.split("/")[0] != OUT}
    refused = ended.status == 2 and "\u256d\u2500 Error" in ended.said  # typer's box about a value of the wrong type
    problems = [] if refused else sentence_problems(ended, LIMIT_S)
    if after != before:
        problems.append(f"outside: {sorted(before.items() ^ after.items())[:3]}")
    if case.succeeds is not None and case.succeeds != (ended.status == 0):
        problems.append(f"ended with status {ended.status}: {ended.said[-300:]}")
    if ended.status != 0 and out.exists():
        problems.append("something was left behind")
    return ended, [f"{case.label}: {problem}" for problem in problems]
