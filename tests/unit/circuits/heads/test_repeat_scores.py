"""Heads on random repeats at every length: a head that copies holds on, one that its window cuts off lets go."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from circuits.heads.head_scores import head_statistics
from circuits.heads.repeat_scores import KINDS, Repeats, displaced_scores, displacements
from workbench.measure.model_study import run
from workbench.models.handmade import attention_heads as handmade
from workbench.models.handmade.attention_heads import induction_model
from workbench.models.transformer.model import HookedTransformer
from workbench.tasks import TaskError, make_task
from workbench.tasks.random_tokens import repeats, token_weights

SYMBOLS, SCORE = 64, 12.0
LENGTHS = (40, 100, 200)


@pytest.mark.asserts(
    "repeats_induction", "repeats_induction_mass", "repeats_previous_token", "repeats_previous_token_mass"
)
def test_an_induction_head_is_one_at_every_length() -> None:
    """But for a token that stands twice in a row by chance: the key behind its first occurrence is the query itself."""
    task, model = make_task("kgram_retrieval", symbols=SYMBOLS), induction_model(SYMBOLS, SCORE)
    rows = run(Repeats(token_laws=("uniform",)), model, task, trained=40, lengths=LENGTHS, sequences=32).rows
    found = {(r["length"], r["layer"], r["quantity"]): r for r in rows}
    assert {length for length, _, _ in found} == set(LENGTHS)
    for n in LENGTHS:
        assert found[n, 1, "repeats_induction_mass"]["value"] == pytest.approx(1, abs=0.02)
        assert found[n, 1, "repeats_induction"]["value"] == pytest.approx(1, abs=0.02)
        assert found[n, 0, "repeats_previous_token_mass"]["value"] == pytest.approx(1, abs=1e-6)
        assert found[n, 0, "repeats_previous_token"]["value"] == pytest.approx(1, abs=1e-6)
        assert found[n, 0, "repeats_induction_mass"]["value"] < 0.2
        assert found[n, 1, "repeats_induction_mass"]["n"] == 32


def test_it_asks_what_circuits_heads_asks_of_repeats() -> None:
    task, model = make_task("kgram_retrieval", symbols=SYMBOLS), induction_model(SYMBOLS, 3.0)
    own = run(Repeats(token_laws=("uniform",)), model, task, trained=40, lengths=(40, 80), sequences=32).rows
    heads = head_statistics(model, task, trained=40, lengths=(40, 80), sequences=32).rows
    theirs = {(r["quantity"], r["layer"]): r["value"] for r in heads if r["mode"] == "repeats"}
    for r in own:
        kind = r["quantity"].removeprefix("repeats_")
        if r["length"] == 40 and kind in KINDS:
            assert r["value"] == pytest.approx(theirs[kind, r["layer"]], abs=0.05), "other strings, the same law"


def displaced_model(places: int) -> HookedTransformer:
    """An induction model whose first layer carries the token ``places`` back, so that its head looks so far behind."""
    model = handmade._heads(SYMBOLS, layers=2, locality=places)
    own, before, _ = handmade._places(SYMBOLS)
    with torch.no_grad():
        first, second = (block.attn for block in model.blocks)
        first.phi[0, places] = handmade.SURE
        handmade._copy(first, own, before)
        handmade._identity(second.W_Q[0], own, SCORE * model.cfg.attn_scale)
        handmade._identity(second.W_K[0], before)
    return model


@pytest.mark.asserts("repeats_displaced_induction", "repeats_displacement")
@pytest.mark.parametrize("places", [1, 3, 8])
def test_a_head_that_looks_further_behind_is_found_where_it_looks(places: int) -> None:
    task = make_task("kgram_retrieval", symbols=SYMBOLS)
    rows = run(
        Repeats(token_laws=("uniform",)), displaced_model(places), task, trained=40, lengths=(100,), sequences=32
    ).rows
    found = {(r["layer"], r["quantity"]): r for r in rows}
    assert found[1, "repeats_displacement"]["value"] == places
    score = found[1, "repeats_displaced_induction"]
    # Less than all, where an occurrence is so near that its key behind is not visible, or another's token.
    assert score["value"] == pytest.approx(1, abs=0.06)
    assert score["n"] == 16, "the other half of the strings chose the place"
    plain = found[1, "repeats_induction"]["value"]
    assert plain == pytest.approx(1, abs=0.06) if places == 1 else plain < 0.2


def test_the_place_is_chosen_on_one_half_of_the_strings_and_scored_on_the_other() -> None:
    scores = {f"behind_{d}": np.zeros((6, 2)) for d in range(1, 9)}
    scores["behind_2"][:3, 0] = [0.5, np.nan, 0.7]  # a mean of 0.6 over those that have such a key
    scores["behind_2"][3:, 0] = [0.1, 0.2, np.nan]
    scores["behind_5"][:3, 0] = 0.4
    scores["behind_5"][3:, 0] = 0.9
    scores["behind_8"][:, 1] = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert displacements(scores).tolist() == [2, 8]
    other = displaced_scores(scores)["displaced_induction"]
    assert np.isnan(other[:3]).all()
    np.testing.assert_array_equal(other[3:], [[0.1, 0.4], [0.2, 0.5], [np.nan, 0.6]])


def test_held_out_passages_are_asked_too(tmp_path: Path) -> None:
    """A head with a fixed lag of one attends so in passages as elsewhere; rows tell the laws apart by their mode."""
    for i in range(12):
        (tmp_path / f"{i}.txt").write_text(" ".join(f"{'abcdefgh'[j % 8]}{j % 31}" for j in range(i, 900)))
    task = make_task("next_token", folder=str(tmp_path), tokens=512)
    rows = run(Repeats(), induction_model(512, SCORE), task, trained=40, lengths=(40,), sequences=8).rows
    found = {(r["mode"], r["layer"], r["quantity"]): r["value"] for r in rows}
    for law in ("uniform", "unigram", "passages"):
        assert found[law, 0, "repeats_previous_token_mass"] == pytest.approx(1, abs=1e-6)
        assert found[law, 0, "repeats_displacement"] >= 1
    assert found["uniform", 1, "repeats_induction_mass"] > 0.9


def test_a_law_that_the_task_does_not_have_is_said_in_the_rows() -> None:
    task, model = make_task("kgram_retrieval", symbols=8), induction_model(8, 3.0)
    rows = run(Repeats(token_laws=("unigram",)), model, task, trained=10, lengths=(10,), sequences=4).rows
    assert {r["status"] for r in rows} == {"not_applicable"}
    assert all("kgram_retrieval has no text whose tokens could be counted" in r["note"] for r in rows)
    with pytest.raises(TaskError, match="uniform"):
        token_weights(task, "observed")


def test_repeats_by_a_law_hold_its_tokens_alone() -> None:
    weights = torch.tensor([0.0, 0, 1, 0, 3, 0])
    tokens = repeats(200, 61, 6, torch.Generator().manual_seed(0), weights=weights)
    assert tokens[:, 0].eq(0).all()
    assert set(tokens[:, 1:].flatten().tolist()) == {2, 4}
    assert tokens[:, 1:].eq(4).double().mean() == pytest.approx(0.75, abs=0.03)
