"""Heads on random repeats at every length: a head that copies holds on, one that its window cuts off lets go."""

from __future__ import annotations

import pytest
import torch

from circuits.heads.head_scores import head_statistics
from circuits.heads.repeat_scores import Repeats
from workbench.measure.model_study import run
from workbench.models.handmade.attention_heads import induction_model
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
    rows = run(Repeats(), model, task, trained=40, lengths=LENGTHS, sequences=32).rows
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
    own = run(Repeats(), model, task, trained=40, lengths=(40, 80), sequences=32).rows
    heads = head_statistics(model, task, trained=40, lengths=(40, 80), sequences=32).rows
    theirs = {(r["quantity"], r["layer"]): r["value"] for r in heads if r["mode"] == "repeats"}
    for r in own:
        if r["length"] == 40 and r["quantity"] in ("induction_mass", "previous_token_mass", "first_token_mass"):
            assert r["value"] == pytest.approx(theirs[r["quantity"], r["layer"]], abs=0.05), (
                "other strings, the same law"
            )


def test_a_law_that_the_task_does_not_have_is_said_in_the_rows() -> None:
    task, model = make_task("kgram_retrieval", symbols=8), induction_model(8, 3.0)
    rows = run(Repeats(token_law="unigram"), model, task, trained=10, lengths=(10,), sequences=4).rows
    assert {r["status"] for r in rows} == {"not_applicable"}
    assert all("kgram_retrieval has no text whose tokens could be counted" in r["note"] for r in rows)
    with pytest.raises(TaskError, match="draw random tokens by law uniform"):
        token_weights(task, "observed")


def test_repeats_by_a_law_hold_its_tokens_alone() -> None:
    weights = torch.tensor([0.0, 0, 1, 0, 3, 0])
    tokens = repeats(200, 61, 6, torch.Generator().manual_seed(0), weights=weights)
    assert tokens[:, 0].eq(0).all()
    assert set(tokens[:, 1:].flatten().tolist()) == {2, 4}
    assert tokens[:, 1:].eq(4).double().mean() == pytest.approx(0.75, abs=0.03)
