"""What tests of several tiers share. Training that changes on the way, ended at an operation on a file or at any time, and given again: same bits."""

from __future__ import annotations

import random
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
def warm_up() -> None:
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
