"""Hostile command lines: each ends by itself, with a sentence where it is refused, and never with a traceback."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.campaign.forked import Ended
from tests.support.hostile.command_lines import LIMIT_S, Places, command_line, wrong
from tests.support.hostile.effort import AddTally, effort
from tests.support.hostile.forked_commands import (
    ENCODINGS,
    SEED,
    every_command_writes,
    places,  # noqa: F401 - fixtures
    tried,
)


def in_process(words: Sequence[str], folder: Path, encoding: str) -> Ended:
    """A command in a process of its own, as a shell starts it."""
    command = [sys.executable, "-m", "workbench.cli.main", *words]
    begun = time.monotonic()
    try:
        ended = subprocess.run(
            command, cwd=folder, capture_output=True, timeout=LIMIT_S, stdin=subprocess.DEVNULL,
            env={**os.environ, "PYTHONIOENCODING": encoding, "PYTHONPATH": os.pathsep.join(sys.path)},
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return Ended(-9, "", (), LIMIT_S)
    said = (ended.stdout + ended.stderr).decode(errors="replace")
    return Ended(ended.returncode, said, (), time.monotonic() - begun)


def test_hostile_command_lines_end_by_themselves(
    places: Places, tally: AddTally, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(places.folder)
    begun = time.monotonic()
    count = effort(2000)
    statuses, found = tried(places, count, SEED)
    with capsys.disabled():
        counts = ", ".join(f"{count:,} with status {status}" for status, count in sorted(statuses.items()))
        print(f"\n{count:,} forked command lines in {time.monotonic() - begun:,.0f} s ({counts}): {len(found)} wrong")
    tally("command lines", count, found)
    assert found == []


def test_hostile_command_lines_end_in_processes_of_their_own(
    places: Places, tally: AddTally, capsys: pytest.CaptureFixture[str]
) -> None:
    dice, statuses, found = random.Random(SEED + 1), Counter[int](), []
    while statuses.total() < effort(60):
        words = command_line(dice, places, 100_000 + statuses.total())
        if any("\0" in word for word in words):
            continue  # no process can be started with one
        ended = in_process(words, places.folder, ENCODINGS[statuses.total() % len(ENCODINGS)])
        statuses[ended.status] += 1
        if said := wrong(ended):
            found.append(f"{[word[:80] for word in words]}: {said}")
    with capsys.disabled():
        counts = ", ".join(f"{count:,} with status {status}" for status, count in sorted(statuses.items()))
        print(f"\n{statuses.total()} command lines as processes ({counts}): {len(found)} wrong")
    tally("command lines", statuses.total(), found)
    assert found == []


def test_every_command_writes_in_a_narrow_encoding(places: Places) -> None:
    every_command_writes(places, "cp1252")
