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
from hostile.command_lines import LIMIT_S, TRAIN, Places, command_line, forked, make_places, wrong

from tests.campaign.forked import Ended, warm

SEED = 20261122
ENCODINGS = ("utf-8", "ascii", "latin-1")


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Places:
    """One small measured run, and what is no run."""
    warm()
    folder = tmp_path_factory.mktemp("hostile")
    make_places(folder)
    run = folder / "run"
    for words in (
        ["train", "majority", *TRAIN, "--out", str(run)],
        ["measure", str(run), "--only", "behaviour", "--sequences", "8", "--executor", "serial"],
    ):
        assert forked(words, folder).status == 0
    return Places(run, folder)


def tried(places: Places, count: int, seed: int) -> tuple[Counter[int], list[str]]:
    """Exit statuses of so many command lines, and what is wrong, a line each."""
    dice, statuses, found = random.Random(seed), Counter[int](), []
    for number in range(count):
        words = command_line(dice, places, number)
        ended = forked(words, places.folder, ENCODINGS[number % len(ENCODINGS)])
        statuses[ended.status] += 1
        if said := wrong(ended):
            found.append(f"{[word[:80] for word in words]}: {said}")
    return statuses, found


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


def test_some_hostile_command_lines_end_by_themselves(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(places.folder)
    statuses, found = tried(places, 25, SEED)
    assert found == []
    assert statuses[0] > 0 < statuses[2]


@pytest.mark.hostile
def test_hostile_command_lines_end_by_themselves(
    places: Places, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(places.folder)
    begun = time.monotonic()
    statuses, found = tried(places, 2000, SEED)
    with capsys.disabled():
        counts = ", ".join(f"{count:,} with status {status}" for status, count in sorted(statuses.items()))
        print(f"\n2,000 forked command lines in {time.monotonic() - begun:,.0f} s ({counts}): {len(found)} wrong")
    assert found == []


@pytest.mark.hostile
def test_hostile_command_lines_end_in_processes_of_their_own(
    places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    dice, statuses, found = random.Random(SEED + 1), Counter[int](), []
    while statuses.total() < 60:
        words = command_line(dice, places, 100_000 + statuses.total())
        if any("\0" in word for word in words):
            continue  # no process can be started with one
        ended = in_process(words, places.folder, ENCODINGS[statuses.total() % len(ENCODINGS)])
        statuses[ended.status] += 1
        if said := wrong(ended):
            found.append(f"{[word[:80] for word in words]}: {said}")
    with capsys.disabled():
        counts = ", ".join(f"{count:,} with status {status}" for status, count in sorted(statuses.items()))
        print(f"\n60 command lines as processes ({counts}): {len(found)} wrong")
    assert found == []


@pytest.mark.parametrize("encoding", ["ascii", pytest.param("cp1252", marks=pytest.mark.hostile)])
def test_every_command_writes_in_a_narrow_encoding(places: Places, encoding: str) -> None:
    run = str(places.run)
    for words in (
        ["tasks"], ["tasks", "dyck_k"], ["predict", "majority"], ["predict", "parity", "--program"], ["show", run], ["check", run],
        ["measure", run, "--only", "behaviour", "--sequences", "8"], ["train", "--help"], ["--help"],
        ["compile", "majority", "--up-to", "12", "--lengths", "1-5", "--out", str(places.folder / f"compiled-{encoding}")],
        ["train", "majority", *TRAIN, "--out", str(places.folder / f"\u00fcn\u00ef-{encoding}")],
    ):  # fmt: skip
        ended = forked(words, places.folder, encoding)
        assert (ended.status, wrong(ended)) == (0, ""), words


def test_what_ascii_lacks_is_written_with_what_looks_like_it(places: Places) -> None:
    said = forked(["show", str(places.run)], places.folder, "ascii").said
    assert "1.7 x N" in said
    assert "majority - 1 layers, 2 heads, d_model 8 - positions none" in said
