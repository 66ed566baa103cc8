"""Training that changes on the way, ended at an operation on a file or at any time, and given again: same bits."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest

from tests.campaign import kills
from tests.campaign.faults import Fault
from tests.campaign.forked import warm

SEED = 20261122
CHANGING = (
    ("growing", ["--curriculum", "growing", "--set", "training.curriculum.start=3", "--set", "training.curriculum.over=16"]),
    ("exponential", ["--curriculum", "growing", "--set", "training.curriculum.start=2", "--set", "training.curriculum.over=20",
                     "--set", "training.curriculum.growth=exponential"]),
    ("mixture", ["--curriculum", "mixture", "--set", "training.curriculum.weights=[1,2]", "--set",
                 'training.curriculum.components=[{"law":"growing","start":3,"over":10},{"law":"fixed"}]']),
    ("early stop", ["--curriculum", "growing", "--set", "training.curriculum.start=3", "--set", "training.curriculum.over=6",
                    "--set", "training.early_stop.accuracy=0.01", "--set", "training.early_stop.every=4"]),
)  # fmt: skip
"""What is trained, and how it changes from step to step."""


@pytest.fixture(scope="module", autouse=True)
def _warm() -> None:
    warm()


def wrong_after(more: list[str], dice: random.Random, count: int) -> tuple[Counter[str], list[str]]:
    """Kill a training so many times; how often of each kind, and what is wrong, a line each."""
    whole = kills.undisturbed(kills.Work("training", options=tuple(more)))
    found, kinds = [], Counter[str]()
    for number in range(count):
        kind = ("SIGKILL", "SIGKILL", "SIGTERM", "time", "again and again")[number % 5]
        kinds[kind] += 1
        if kind == "time":
            said = kills.at_time(whole, dice.uniform(0, whole.seconds))
        elif kind == "again and again":
            said = kills.again_and_again(whole, dice)
        else:
            said = kills.at_operation(whole, Fault(kind, dice.randrange(len(whole.operations))))
        if said:
            found.append(f"{kind}: {said}")
    return kinds, found


def test_a_growing_curriculum_goes_on_after_kills() -> None:
    _, found = wrong_after(CHANGING[0][1], random.Random(SEED), 3)
    assert found == []


@pytest.mark.hostile
def test_curricula_go_on_after_kills(capsys: pytest.CaptureFixture[str]) -> None:
    dice, begun, all_kinds, found = random.Random(SEED), time.monotonic(), Counter[str](), []
    for name, more in CHANGING:
        kinds, wrong = wrong_after(more, dice, 25)
        all_kinds += kinds
        found += [f"{name}: {line}" for line in wrong]
    with capsys.disabled():
        counts = ", ".join(f"{kind} {count}" for kind, count in all_kinds.items())
        print(
            f"\n{all_kinds.total()} kills of changing trainings ({counts}) in {time.monotonic() - begun:,.0f} s: {len(found)} wrong"
        )
    assert found == []
