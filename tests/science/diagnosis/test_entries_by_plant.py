"""Every blind repair on a model whose flaw is planted: what is named, by which repair, and what restores nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from workbench.diagnosis.bench.needle_models import TRAINED, NeedleNumbers, WrittenBit
from workbench.diagnosis.entry import Entry, name_entry
from workbench.diagnosis.repaired_pass import RepairedPass, inside_of
from workbench.diagnosis.shares import refusal
from workbench.diagnosis.trials import Findings, Trials
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
    clean = RepairedPass(model, inside)
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


@pytest.mark.parametrize(("numbers", "length"), POSITION, ids=ids)
def test_ids_inside_training_restore_what_positions_broke(numbers: dict[str, Any], length: int) -> None:
    entry, shares = named(length, 400, **numbers)
    assert (entry.label, entry.grade) == ("position", "strong")
    assert all(value > 0.8 for name, value in shares.items() if name.startswith("P.")), shares
    assert all(value < 0.5 for name, value in shares.items() if name[0] in "K"), shares


@pytest.mark.parametrize(("numbers", "length", "family"), KEYS, ids=ids)
def test_what_holds_the_weight_of_keys_restores_what_their_number_broke(
    numbers: dict[str, Any], length: int, family: str
) -> None:
    entry, shares = named(length, 512 if length == 256 else 320, **numbers)
    assert (entry.label, entry.grade) == ("keys", "strong")
    assert entry.by is not None
    assert entry.by.name[0] == family
    assert all(abs(value) < 0.2 for name, value in shares.items() if name.startswith("P.")), shares


def test_two_flaws_that_must_both_go_are_joint() -> None:
    entry, shares = named(256, row_scores=6.0, offset=-2.0)
    assert (entry.label, entry.grade) == ("joint", "strong")
    assert entry.by is not None
    assert {repair.family for repair in entry.by.repairs} == {"P", "K"}
    assert max(shares.values()) < 0.5, "no repair alone restores half"


def test_a_stronger_decoy_is_mended_by_no_blind_repair() -> None:
    task = WrittenBit(decoys=0.005)
    found = found_in(NeedleNumbers(decoy=12.0).build(), 256, 512, task)
    assert not isinstance(found, str), found
    assert name_entry(found).label == "not explained"
    assert all(one.share is None or one.share.value < 0.2 for one in found.members)


def test_a_healthy_model_has_nothing_to_explain() -> None:
    assert found_in(NeedleNumbers().build(), 256) == "loss below 0.1: nothing to explain at 256"


def test_a_repair_that_harms_inside_training_is_not_applicable() -> None:
    """Rows beyond 16 as the answer needs them: the model tells a string of 32 by its last id."""
    model = NeedleNumbers(row_output=0.5, match=8.0).build()
    with_rows = dict(model.named_parameters())["pos_embed.W_pos"]
    with_rows.data[:, -1] = 0.0
    with_rows.data[:17, -1] = 4.0  # ids up to 16 add to the output; those above, as trained, do not
    with_rows.data[TRAINED + 1 :, -1] = 4.0
    found = found_in(model, 128)
    assert not isinstance(found, str), found
    why = {one.name: one.why_not for one in found.members}
    assert why["P.clip"] == "it harms inside training: it costs 0.50 at N"
    assert all(why[name].startswith(("it harms", "positions learned")) for name in why if name.startswith("P."))
    assert "P" not in found.families
    assert name_entry(found).label != "position"
