"""Interventions as entries: which models have a place for each, and the ids that those of family P make, by hand."""

from __future__ import annotations

import ast
import math
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from tests.support.places import ROOT
from workbench.measure.edits.edit import SINGLE_PASS
from workbench.measure.edits.interventions.all_interventions import (
    DIAGNOSED,
    INTERVENTIONS,
    by_name,
    interventions_on,
    members,
)
from workbench.measure.edits.interventions.intervention import FAMILIES, IdEdit, TrainedIds
from workbench.measure.edits.interventions.sharpening import adaptive_factor


def config(
    attention: str = "softmax", reads: bool = True, coupled: bool = False, before: bool = False, table: bool = False,
    absolute: bool = False,
) -> Any:  # fmt: skip
    encoding = SimpleNamespace(name="some", reads_ids=reads, before_attention=before, table=table, absolute=absolute)
    mixes_by = "scan" if attention == "none" else "attention"
    ids = SimpleNamespace(coupled=coupled)
    return SimpleNamespace(attention=attention, mixes_by=mixes_by, positions=encoding, ids=ids, n_layers=2)


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
def test_models_that_have_a_place_for_an_intervention(name: str, cfg: Any, why: str) -> None:
    assert by_name(name).no_place(cfg) == why
    assert by_name(name).control.no_place(cfg) == why
    assert by_name("C.pool1").no_place(cfg) == ""


def ids_under(intervention: Any, ids: torch.Tensor, trained: TrainedIds) -> torch.Tensor:
    """Ids under an intervention; one that edits scores leaves them as they are."""
    return intervention.edit(ids, trained) if isinstance(intervention, IdEdit) else ids


@pytest.mark.parametrize(("name", "between", "made"), [
    ("P.int", False, [0, 0, 1, 1, 2, 2, 3]), ("P.int", True, [0, 0.5, 1, 1.5, 2, 2.5, 3]), ("P.clip", False, [0, 1, 2, 3, 3, 3, 3]),
    ("P.low", False, [0, 0, 0, 0, 1, 2, 3]), ("P.lag", False, [0, 1, 2, 3, 4, 5, 6]), ("P.row", False, [0, 1, 2, 3, 4, 3, 4]),
])  # fmt: skip
def test_ids_under_an_intervention(name: str, between: bool, made: list[float]) -> None:
    """Seven ids; 3 is the last at N, 4 the largest that was seen."""
    ids = torch.arange(7)[None]
    for absolute in (False, True):
        assert ids_under(by_name(name), ids, TrainedIds(3, 4, between, absolute))[0].tolist() == made
    assert ids_under(by_name(name), ids, TrainedIds(6, 9, between, False)) is ids
    changed = ids_under(by_name(name), ids, TrainedIds(5, 5, between, False))
    assert torch.equal(changed, ids) == (name == "P.lag")


@pytest.mark.parametrize(("name", "absolute", "between", "made"), [
    ("P.clip", True, False, [0, 4, 5, 6, 6, 6, 6]), ("P.low", True, False, [0, 3, 3, 3, 4, 5, 6]), ("P.clip", False, False, [0, 2, 4, 6, 6, 6, 6]),
    ("P.clip", False, True, [0, 2, 4, 6, 6, 6, 6]), ("P.int", False, True, [0, 1, 2, 3, 4, 5, 6]),
])  # fmt: skip
def test_ids_under_the_wrong_constant(name: str, absolute: bool, between: bool, made: list[float]) -> None:
    found = ids_under(by_name(name).control, torch.arange(7)[None], TrainedIds(3, 3, between, absolute))
    assert found[0].tolist() == made


def test_a_stretch_of_whole_ids_is_rounded_up() -> None:
    found = ids_under(by_name("P.clip").control, torch.arange(8)[None], TrainedIds(3, 3, False, False))
    assert found[0].tolist() == [0, 3, 6, 9, 9, 9, 9, 9]
    between = ids_under(by_name("P.clip").control, torch.arange(8)[None], TrainedIds(3, 3, True, False))
    assert between[0].tolist() == pytest.approx([0, 7 / 3, 14 / 3, 7, 7, 7, 7, 7])
    two = ids_under(by_name("P.clip"), torch.tensor([[0, 1, 2], [0, 3, 9]]), TrainedIds(2, 2, False, False))
    assert two.tolist() == [[0, 1, 2], [0, 2, 2]]


def test_interventions_by_name_and_family() -> None:
    every = interventions_on(config())
    assert [one.name for one in every[-2:]] == ["C.pool0", "C.pool1"]
    assert {family: len(members(every, family)) for family in FAMILIES} == {"P": 5, "D": 5, "K": 2, "T": 1, "C": 2}
    assert all(by_name(one.name) == one and not one.wrong and one.control.wrong for one in every)
    with pytest.raises(KeyError, match="intervention"):
        by_name("P.new")


def test_one_entry_says_all_of_an_intervention() -> None:
    """A new entry brings its name and words; figures, dashboard, edits and diagnosis read them from the entry."""
    for texts in zip(*((entry.name, entry.words, entry.description) for entry in INTERVENTIONS), strict=True):
        assert len(set(texts)) == len(INTERVENTIONS)
        assert all(texts)
    assert (by_name("C.pool1").words, by_name("C.pool1").description) == (
        "rows moved, block 1",
        "rows moved to where they lay at N",
    )
    assert FAMILIES["C"].of(False) != FAMILIES["C"].of(True)
    assert {family for family in FAMILIES if FAMILIES[family].of(False) == FAMILIES[family].of(True)} == {*"PDKT"}


def test_try_it_offers_the_interventions_of_a_single_pass() -> None:
    assert SINGLE_PASS == ("P.int", "P.clip", "P.low", "P.row", "D.logn", "D.beta2", "D.beta4", "D.adaptive")


def test_a_diagnosis_tests_all_but_adaptive_temperature() -> None:
    """Its factor is not derived from N, and another tested intervention would change stored diagnoses."""
    assert {entry.name for entry in INTERVENTIONS} - {entry.name for entry in DIAGNOSED} == {"D.adaptive"}
    assert "D.adaptive" not in [each.name for each in interventions_on(config())]
    assert by_name("D.adaptive").no_place(config("none")) == NO_ATTENTION


def polynomial(entropy: float) -> float:
    """The factor of adaptive temperature in the paper, before it is bounded below by 1."""
    terms = (-0.037 * entropy**4, 0.481 * entropy**3, -2.3 * entropy**2, 4.917 * entropy, -1.791)
    return sum(terms)


def test_adaptive_temperature_is_the_polynomial_of_the_entropy() -> None:
    """Uniform weights on k keys have the entropy log k; unseen keys do not count."""
    for keys in (3, 8, 100, 380):
        assert polynomial(math.log(keys)) > 1
        scores = torch.cat([torch.full((keys,), 2.5), torch.full((5,), -math.inf)]).double()
        assert float(adaptive_factor(scores)) == pytest.approx(polynomial(math.log(keys)), rel=1e-9)
    two = torch.tensor([[math.log(4), 0.0]]).double()  # weights 0.8 and 0.2
    assert float(adaptive_factor(two)) == 1.0 > polynomial(-0.8 * math.log(0.8) - 0.2 * math.log(0.2))
    assert float(adaptive_factor(torch.zeros(1, 390).double())) == 1.0 > polynomial(math.log(390))
    nearly_hard = torch.tensor([9.0, 0.0, 0.0]).double()  # an entropy below 0.5, where no factor is computed
    assert float(adaptive_factor(nearly_hard)) == 1.0
    rows = torch.zeros(2, 3, 4, 8)
    assert adaptive_factor(rows).shape == (2, 3, 4)


def test_the_control_of_adaptive_temperature_is_the_inverse() -> None:
    scores, visible = torch.randn(2, 3, 4, 8, generator=torch.Generator().manual_seed(0)), torch.ones(4)
    entry = by_name("D.adaptive")
    full, inverse = (each.factor(scores, visible, 8) for each in (entry, entry.control))
    assert (full > 1).any()
    torch.testing.assert_close(full * inverse, torch.ones_like(full))


def test_no_other_file_names_an_intervention() -> None:
    """So that a new one is one entry."""
    home, names = ROOT / "workbench" / "measure" / "edits" / "interventions", {entry.name for entry in INTERVENTIONS}
    places = set()
    for package in ("workbench", "probes", "circuits", "lengthlens"):
        for file in (ROOT / package).rglob("*.py"):
            nodes = ast.walk(ast.parse(file.read_text()))
            if any(isinstance(node, ast.Constant) and node.value in names for node in nodes):
                places.add(file.parent)
    assert places == {home}
