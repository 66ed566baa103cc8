"""Blind repairs on models whose flaw is planted: what is named, by which repair, and what restores nothing.

The other plants are in tests/product.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.diagnosis.planted import KEYS, POSITION, assert_keys, assert_position, found_in, ids, named
from workbench.diagnosis.bench.needle_models import TRAINED, NeedleNumbers, WrittenBit
from workbench.diagnosis.cause import name_entry


@pytest.mark.parametrize(("numbers", "length"), [POSITION[0], POSITION[-1]], ids=ids)
def test_ids_inside_training_restore_what_positions_broke(numbers: dict[str, Any], length: int) -> None:
    assert_position(numbers, length)


@pytest.mark.parametrize(("numbers", "length", "family"), [KEYS[1], KEYS[3]], ids=ids)
def test_what_holds_the_weight_of_keys_restores_what_their_number_broke(
    numbers: dict[str, Any], length: int, family: str
) -> None:
    assert_keys(numbers, length, family)


def test_two_flaws_that_must_both_go_are_joint() -> None:
    entry, shares = named(256, row_scores=6.0, offset=-2.0)
    assert (entry.label, entry.grade) == ("joint", "strong")
    assert entry.by is not None
    assert {repair.family for repair in entry.by.interventions} == {"P", "K"}
    assert max(shares.values()) < 0.5, "no repair alone restores half"


def test_a_stronger_decoy_is_mended_by_no_blind_repair() -> None:
    task = WrittenBit(decoys=0.005)
    found = found_in(NeedleNumbers(decoy=12.0).build(), 256, 512, task)
    assert not isinstance(found, str), found
    assert name_entry(found).label == "not explained"
    assert all(one.share is None or one.share.value < 0.2 for one in found.members)


def test_a_healthy_model_has_nothing_to_explain() -> None:
    assert found_in(NeedleNumbers().build(), 256) == ("accuracy drops by less than 0.1: nothing to explain at 256")


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
