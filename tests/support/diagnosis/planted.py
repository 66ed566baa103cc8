"""Models whose flaw is planted, what blind repairs show of them, and what must come out."""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.diagnosis.bench.needle_models import TRAINED, NeedleNumbers, WrittenBit
from workbench.diagnosis.cause import Entry, name_entry
from workbench.diagnosis.intervened_pass import IntervenedPass, inside_of
from workbench.diagnosis.recovered_share import refusal
from workbench.diagnosis.tried_interventions import Findings, Trials
from workbench.models.base.protocol import HookedModel
from workbench.tasks.base import Batch
from workbench.tasks.random_generator import generator


def found_in(model: HookedModel, length: int, strings: int = 320, task: WrittenBit | None = None) -> Findings | str:
    """What blind repairs show at a length, or why nothing is asked."""
    asked = task or WrittenBit()

    def draw(word: str, n: int, of: int = strings) -> Batch:
        return asked.sample(of, n, generator(word, n), "matched", window=TRAINED)

    inside = inside_of(model, draw("inside", TRAINED, 128))
    reference, batch = draw("reference", TRAINED), draw("at", length)
    clean = IntervenedPass(model, inside)
    at_reference, at = clean.judge(asked, reference), clean.judge(asked, batch)
    if why := refusal(at_reference, at, length):
        return why
    trials = Trials(model, asked, inside, reference, at_reference)
    return trials.at(batch, at, draw("fit", length, 128), np.random.default_rng(0), 200)


def named(length: int, strings: int = 320, **numbers: Any) -> tuple[Entry, dict[str, float]]:
    """The entry of a planted model, and the share of each repair that is applicable."""
    found = found_in(NeedleNumbers(**numbers).build(), length, strings)
    assert not isinstance(found, str), found
    return name_entry(found), {one.name: one.share.value for one in found.members if one.share is not None}


POSITION = [
    ({"row_scores": 6.0}, 128),
    ({"row_values": 12.0}, 128),
    ({"row_output": 0.5}, 128),
    ({"lag_speed": 0.025}, 128),
    ({"first_keys": 32}, 128),
]
KEYS = [
    ({"match": 2.3}, 256, "D"),
    ({"match": 2.6, "carried": 0.0, "bias_of_ignored": 0.16}, 128, "D"),
    ({"match": 7.0, "drift": 12.0}, 128, "K"),
    ({"offset": -2.0}, 128, "K"),
    ({"unembedded": 12.0}, 128, "K"),
    ({"match": 0.0, "carried": 0.0, "threshold": 0.02}, 128, "K"),
]


def ids(plant: Any) -> str:
    return " ".join(map(str, plant)) if isinstance(plant, dict) else str(plant)


def assert_position(numbers: dict[str, Any], length: int) -> None:
    """Ids inside training restore what positions broke."""
    entry, shares = named(length, 400, **numbers)
    assert (entry.label, entry.grade) == ("position", "strong")
    assert all(value > 0.8 for name, value in shares.items() if name.startswith("P.")), shares
    assert all(value < 0.5 for name, value in shares.items() if name[0] in "K"), shares


def assert_keys(numbers: dict[str, Any], length: int, family: str) -> None:
    """What holds the weight of keys restores what their number broke."""
    entry, shares = named(length, 512 if length == 256 else 320, **numbers)
    assert (entry.label, entry.grade) == ("keys", "strong")
    assert entry.by is not None
    assert entry.by.name[0] == family
    assert all(abs(value) < 0.2 for name, value in shares.items() if name.startswith("P.")), shares
