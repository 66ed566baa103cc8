"""Commands killed at an operation on a file or at any time, and given again: the same bits, and nothing left over."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest

from tests.campaign.kills import Work
from tests.support.hostile import command_kills
from tests.support.hostile.effort import AddTally, effort
from tests.support.hostile.kills import (
    CHANGING,
    SEED,
    warm_up,  # noqa: F401 - fixtures
    wrong_after,
)


def test_curricula_go_on_after_kills(tally: AddTally, capsys: pytest.CaptureFixture[str]) -> None:
    dice, begun, all_kinds, found = random.Random(SEED), time.monotonic(), Counter[str](), []
    for name, more in CHANGING:
        kinds, wrong = wrong_after(more, dice, effort(25))
        all_kinds += kinds
        found += [f"{name}: {line}" for line in wrong]
    with capsys.disabled():
        counts = ", ".join(f"{kind} {count}" for kind, count in all_kinds.items())
        print(
            f"\n{all_kinds.total()} kills of changing trainings ({counts}) in {time.monotonic() - begun:,.0f} s: {len(found)} wrong"
        )
    tally("kills: train", all_kinds.total(), found)
    assert found == []


COMMANDS = ("diagnosis", "publish", "export", "fetch", "report", "reproduce")
KILLS_PER_COMMAND = 10


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Work]:
    """The commands by name, with the run that they read."""
    command_kills.warm_commands()
    root = tmp_path_factory.mktemp("kills").resolve() / "runs"
    root.mkdir()
    return {work.name: work for work in command_kills.commands(root)}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_continues_after_kills(
    name: str, works: dict[str, Work], tally: AddTally, capsys: pytest.CaptureFixture[str]
) -> None:
    begun = time.monotonic()
    ways, wrong = command_kills.wrong_after(works[name], random.Random(f"{SEED} {name}"), effort(KILLS_PER_COMMAND))
    with capsys.disabled():
        counts = ", ".join(f"{way} {count}" for way, count in ways.items())
        print(f"\n{name}: {ways.total()} kills ({counts}) in {time.monotonic() - begun:,.0f} s: {len(wrong)} wrong")
    tally(f"kills: {name}", ways.total(), wrong)
    assert wrong == []
