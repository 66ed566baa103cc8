"""Blind repairs as data: which models have a place for each, and the ids that those of family P make, by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from workbench.measure.edits.repairs import (
    FAMILIES,
    blind_repairs,
    by_name,
    members,
    no_place,
    pooled_rows,
    repaired_ids,
)


def config(
    attention: str = "softmax", reads: bool = True, coupled: bool = False, before: bool = False, table: bool = False,
    absolute: bool = False,
) -> Any:  # fmt: skip
    encoding = SimpleNamespace(name="some", reads_ids=reads, before_attention=before, table=table, absolute=absolute)
    return SimpleNamespace(attention=attention, positions=encoding, ids=SimpleNamespace(coupled=coupled), n_layers=2)


NO_IDS, ROLES = "the model reads no position ids", "its ids are roles that the task gives, not places"
NO_LAGS, NO_ROWS = (
    "positions some enter before queries meet keys, so that scores have no lags",
    "positions some have no table of rows",
)
NO_STATE, NO_ATTENTION = "the model keeps no state from step to step", "the model has no attention"


@pytest.mark.parametrize(("name", "cfg", "why"), [
    ("P.int", config(), ""), ("P.clip", config(reads=False), NO_IDS), ("P.low", config(coupled=True), ROLES), ("P.int", config(reads=False, coupled=True), NO_IDS),
    ("P.lag", config(), ""), ("P.lag", config(before=True), NO_LAGS), ("P.int", config(before=True), ""), ("P.row", config(table=True, absolute=True), ""),
    ("P.row", config(table=True), NO_ROWS), ("P.row", config(absolute=True), NO_ROWS), ("P.row", config(), NO_ROWS), ("P.low", config("none"), ""),
    ("T.slow", config(), NO_STATE), ("T.slow", config("none"), ""), ("D.logn", config(), ""), ("D.logn", config("none"), NO_ATTENTION),
    ("D.beta2", config("linear"), "its attention is linear, not by softmax"), ("K.sink", config("hardmax"), "its attention is hardmax, not by softmax"),
    ("K.scale", config("linear"), ""), ("K.scale", config("none"), NO_ATTENTION), ("K.sink", config(), ""), ("D.gap", config(reads=False), ""),
])  # fmt: skip
def test_models_that_have_a_place_for_a_repair(name: str, cfg: Any, why: str) -> None:
    assert no_place(by_name(name), cfg) == why
    assert no_place(by_name(name).control, cfg) == why
    assert no_place(pooled_rows(1), cfg) == ""


@pytest.mark.parametrize(("name", "between", "made"), [
    ("P.int", False, [0, 0, 1, 1, 2, 2, 3]), ("P.int", True, [0, 0.5, 1, 1.5, 2, 2.5, 3]), ("P.clip", False, [0, 1, 2, 3, 3, 3, 3]),
    ("P.low", False, [0, 0, 0, 0, 1, 2, 3]), ("P.lag", False, [0, 1, 2, 3, 4, 5, 6]), ("P.row", False, [0, 1, 2, 3, 4, 3, 4]),
])  # fmt: skip
def test_ids_under_a_repair(name: str, between: bool, made: list[float]) -> None:
    """Seven ids; 3 is the last at N, 4 the largest that was seen."""
    ids = torch.arange(7)[None]
    for absolute in (False, True):
        assert repaired_ids(by_name(name), ids, 3, between, absolute, 4)[0].tolist() == made
    assert repaired_ids(by_name(name), ids, 6, between, False, 9) is ids
    changed = repaired_ids(by_name(name), ids, 5, between, False, 5)
    assert torch.equal(changed, ids) == (name == "P.lag")


@pytest.mark.parametrize(("name", "absolute", "between", "made"), [
    ("P.clip", True, False, [0, 4, 5, 6, 6, 6, 6]), ("P.low", True, False, [0, 3, 3, 3, 4, 5, 6]), ("P.clip", False, False, [0, 2, 4, 6, 6, 6, 6]),
    ("P.clip", False, True, [0, 2, 4, 6, 6, 6, 6]), ("P.int", False, True, [0, 1, 2, 3, 4, 5, 6]),
])  # fmt: skip
def test_ids_under_the_wrong_constant(name: str, absolute: bool, between: bool, made: list[float]) -> None:
    found = repaired_ids(by_name(name).control, torch.arange(7)[None], 3, between, absolute, 3)
    assert found[0].tolist() == made


def test_a_stretch_of_whole_ids_is_rounded_up() -> None:
    found = repaired_ids(by_name("P.clip").control, torch.arange(8)[None], 3, False, False, 3)
    assert found[0].tolist() == [0, 3, 6, 9, 9, 9, 9, 9]
    between = repaired_ids(by_name("P.clip").control, torch.arange(8)[None], 3, True, False, 3)
    assert between[0].tolist() == pytest.approx([0, 7 / 3, 14 / 3, 7, 7, 7, 7, 7])
    two = repaired_ids(by_name("P.clip"), torch.tensor([[0, 1, 2], [0, 3, 9]]), 2, False, False, 2)
    assert two.tolist() == [[0, 1, 2], [0, 2, 2]]


def test_repairs_by_name_and_family() -> None:
    every = blind_repairs(config())
    assert [one.name for one in every[-2:]] == ["C.pool0", "C.pool1"]
    assert {family: len(members(every, family)) for family in FAMILIES} == {"P": 5, "D": 5, "K": 2, "T": 1, "C": 2}
    assert all(by_name(one.name) is one and not one.wrong and one.control.wrong for one in every[:-2])
    assert (by_name("D.beta2").factor, by_name("D.beta4").factor, pooled_rows(1).layer) == (2.0, 4.0, 1)
