"""Head scores on heads whose attention is a formula, and target sets against loops."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from circuits.attention.attention_scores import score_inputs
from circuits.attention.target_keys import anti_induction, counted_keys, duplicate_token, induction, named_positions
from circuits.heads.head_scores import head_statistics, ov_copying, token_scores
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.attention_heads import anti_induction_model, fixed_lag_model, induction_model
from workbench.models.handmade.transformers import uniform_head
from workbench.tasks import make_task
from workbench.tasks.base import Batch
from workbench.tasks.random_tokens import repeats

Make = Callable[..., Batch]
P, SCORE = 40, 8.0


def twice(asked: Make) -> tuple[Batch, torch.Tensor]:
    """BOS and P different tokens, twice over; the queries of the second round."""
    tokens = torch.cat([torch.zeros(1, dtype=torch.long), torch.arange(1, P + 1), torch.arange(1, P + 1)])[None]
    return asked(tokens), torch.arange(P + 1, 2 * P + 1)


def test_the_induction_head_has_its_closed_form(asked: Make) -> None:
    batch, queries = twice(asked)
    model = induction_model(P, SCORE).double()
    found = token_scores(score_inputs(model, batch)[1], batch.tokens, queries)
    t = queries.numpy()
    mass = math.exp(SCORE) / (math.exp(SCORE) + t)
    assert found["induction_mass"][0, 0] == pytest.approx(mass.mean(), abs=1e-6)
    assert found["induction_mass"][0, 0] == pytest.approx(0.98044, abs=5e-4)
    assert found["induction"][0, 0] == pytest.approx(((mass - 1 / (t + 1)) / (1 - 1 / (t + 1))).mean(), abs=1e-6)
    assert found["anti_induction_mass"][0, 0] < 4e-4
    before = token_scores(score_inputs(model, batch)[0], batch.tokens, queries)
    assert before["previous_token"][0, 0] == pytest.approx(1.0, abs=1e-9)
    assert model(batch.tokens)[0, queries].argmax(-1).tolist() == [*range(1, P), 0]
    assert ov_copying(model)[1, 0] == 1.0


@pytest.mark.parametrize(("itself", "twins"), [("masked", 1), ("seen", 2)])
def test_the_anti_induction_head_has_its_closed_form(itself: str, twins: int, asked: Make) -> None:
    batch, queries = twice(asked)
    model = anti_induction_model(P, SCORE, itself).double()  # type: ignore[arg-type]
    found = token_scores(score_inputs(model, batch)[0], batch.tokens, queries)
    mass = math.exp(SCORE) / (twins * math.exp(SCORE) + queries.numpy() - 1)
    assert found["anti_induction_mass"][0, 0] == pytest.approx(mass.mean(), abs=1e-6)
    assert found["anti_induction_mass"][0, 0] == pytest.approx({1: 0.98077, 2: 0.4951}[twins], abs=5e-4)
    assert found["induction_mass"][0, 0] < 4e-4
    other = token_scores(score_inputs(model, batch)[0], batch.tokens, queries, "before")
    assert other["anti_induction_mass"][0, 0] < 4e-4


@pytest.mark.parametrize(("letters", "mass"), [(2, 0.499), (4, 0.246), (16, 0.062)])
def test_uniform_attention_has_induction_mass_but_no_score(letters: int, mass: float, asked: Make) -> None:
    tokens = torch.randint(1, letters + 1, (64, 400), generator=torch.Generator().manual_seed(letters))
    batch = asked(tokens.clamp(max=2), bos=False)
    inputs = score_inputs(uniform_head(), batch)[0]
    found = token_scores(inputs, tokens, torch.arange(384, 400))
    assert found["induction_mass"].mean() == pytest.approx(mass, abs=0.01)
    assert found["induction"] == pytest.approx(0.0, abs=1e-6)


def test_a_head_of_fixed_lag_passes_on_fixed_repeats_only(asked: Make) -> None:
    generator = torch.Generator().manual_seed(0)
    symbols, period = 64, 40
    model = fixed_lag_model(symbols, period - 1)
    block = 1 + torch.rand(16, symbols, generator=generator).argsort(1)[:, :period]
    fixed = asked(torch.cat([torch.zeros(16, 1, dtype=torch.long), block.repeat(1, 5)], 1))
    found = token_scores(score_inputs(model, fixed)[0], fixed.tokens, torch.arange(185, 201))
    assert found["induction_mass"].mean() > 0.24  # one of the four earlier copies, each of which is a target
    random = asked(repeats(64, 201, symbols + 1, generator))
    lagged = token_scores(score_inputs(model, random)[0], random.tokens, torch.arange(185, 201))
    assert lagged["induction_mass"].mean() < 0.1
    real = token_scores(score_inputs(induction_model(symbols, 12.0), random)[1], random.tokens, torch.arange(185, 201))
    assert np.nanmean(real["induction_mass"]) > 0.9


def test_target_sets_agree_with_loops() -> None:
    tokens = torch.randint(1, 4, (3, 12), generator=torch.Generator().manual_seed(1))
    queries = torch.tensor([0, 3, 7, 11])
    kinds = ((induction, 1), (duplicate_token, 0), (lambda x, q: anti_induction(x, q, "before"), -1))
    for make, offset in kinds:
        found = make(tokens, queries)
        for b in range(3):
            for i, t in enumerate(queries.tolist()):
                twins = [s for s in range(t) if tokens[b, s] == tokens[b, t]]
                wanted = {s + offset for s in twins if 0 <= s + offset < t}
                assert set(torch.nonzero(found[b, i])[:, 0].tolist()) == wanted


def test_the_answers_place_is_the_tasks_own() -> None:
    task = make_task("kgram_retrieval", symbols=8)
    batch = task.sample(20, 12, torch.Generator().manual_seed(0), "matched")
    found = named_positions(batch, torch.tensor([11, 12]), ("answer_position",))
    assert found is not None
    assert not found[:, 0].any()  # not asked there
    places = found[:, 1].int().argmax(1)
    assert (batch.tokens.gather(1, places[:, None])[:, 0] - 1 == batch.targets[:, -1]).all()


def test_the_function_finds_the_circuit_in_a_model_made_by_hand() -> None:
    task = make_task("kgram_retrieval", symbols=12)
    found = head_statistics(induction_model(12, 9.0), task, trained=20, lengths=[10, 20, 60], sequences=24)
    for n in (10, 20, 60):
        place = {"length": n, "mode": "task"}
        assert found.value("answer_token", layer=1, head=0, **place) > 0.9
        assert found.value("previous_token", layer=0, head=0, **place) == pytest.approx(1.0, abs=1e-6)
        assert found.value("answer_token", layer=0, head=0, **place) < 0.3
    assert found.value("induction", layer=1, head=0, mode="repeats") > 0.9
    assert found.value("ov_copying", layer=1, head=0) == 1.0
    statuses = {r["status"] for r in found.rows}
    assert statuses == {"ok"}


def test_a_task_without_keys_says_so() -> None:
    task = make_task("majority")
    model = HookedTransformer(ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=1, d_model=8, n_heads=2, n_ctx=64))
    rows = head_statistics(model, task, trained=9, lengths=[9], sequences=8).frame()
    answers = rows[rows.quantity.isin(["answer_token", "key_token"])]
    assert set(answers.status) == {"not_applicable"}
    assert answers.note.str.contains("names no such key").all()


def test_the_keys_that_an_average_counts_are_named_with_the_query_among_them():
    """Of five tokens behind BOS those at 2 and 4; at the query of length 1 nothing is asked, of length 5 both count."""
    task = make_task("mod_p_mean", p=2, k=0)
    batch = task.sample(1, 5, torch.Generator().manual_seed(0))
    found = counted_keys(batch, torch.tensor([1, 2, 5]))
    assert found is not None
    assert [row.nonzero()[:, 0].tolist() for row in found[0]] == [[], [2], [2, 4]]
    assert counted_keys(make_task("majority").sample(1, 5, torch.Generator().manual_seed(0)), torch.tensor([5])) is None
