"""What tests of several tiers share. Hostile command lines: each ends by itself, with a sentence where it is refused, and never with a traceback."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from tests.campaign.forked import warm
from tests.support.hostile.command_lines import TRAIN, Places, command_line, forked, make_places, wrong

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


def every_command_writes(places: Places, encoding: str) -> None:
    """Assert that no command fails where its output has a narrow encoding."""
    run = str(places.run)
    for words in (
        ["tasks"], ["tasks", "dyck_k"], ["predict", "majority"], ["predict", "parity", "--program"], ["show", run], ["check", run],
        ["measure", run, "--only", "behaviour", "--sequences", "8"], ["train", "--help"], ["--help"],
        ["compile", "majority", "--up-to", "12", "--lengths", "1-5", "--out", str(places.folder / f"compiled-{encoding}")],
        ["train", "majority", *TRAIN, "--out", str(places.folder / f"\u00fcn\u00ef-{encoding}")],
    ):  # fmt: skip
        ended = forked(words, places.folder, encoding)
        assert (ended.status, wrong(ended)) == (0, ""), words
