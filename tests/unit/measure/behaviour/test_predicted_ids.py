"""Predictive position coupling: what is asked, what is fed back, and when an answer counts as right."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F

from workbench.cli.options import suggestions
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.measure.behaviour.free_running import free_run
from workbench.measure.behaviour.observed import reduce_batch
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.positions import Coupled, PositionError, Predicted, id_sampler
from workbench.models.transformer.predicted_ids import ID_LOGITS, NEXT_IDS, id_loss, ids_right, outputs_and_ids
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator
from workbench.training.regularizers import outputs_and_penalty

TASK = make_task("parity_scratchpad", jump=2)


def batch_of(length: int = 13, sequences: int = 6) -> Any:
    return TASK.sample(sequences, length, generator("coupled", length), "matched")


def model_of(ids: Any = "predicted", seed: int = 0, n_ctx: int = 24) -> HookedTransformer:
    return HookedTransformer(
        ModelConfig(
            d_vocab=TASK.d_vocab, d_vocab_out=TASK.d_vocab_out, n_layers=1, d_model=16, n_heads=2, n_ctx=n_ctx,
            positions="learned", ids=ids, initializer_range=1.0,
        ),
        seed=seed,
    )  # fmt: skip


def test_the_worked_vector() -> None:
    """1 0 1 1 <sep> 1 1: at <sep> the id 1 is asked for, at p_1 the id 2, and at p_2, where the end is, none."""
    batch = TASK.label(torch.tensor([[2, 1, 2, 2, 3, 2, 2]]))
    assert batch.position_ids.tolist() == [[0, 1, 1, 2, 2, 0, 1, 2]]
    said = torch.tensor([[9, 9, 9, 9, 9, 1, 2, 9]])
    assert ids_right(said, batch.position_ids, batch.mask).tolist() == [[True] * 8]
    for place in (5, 6):
        wrong = said.clone()
        wrong[0, place] = 7
        assert ids_right(wrong, batch.position_ids, batch.mask)[0].tolist() == [i != place for i in range(8)]


def test_the_loss_is_the_mean_over_the_ids_asked_for() -> None:
    batch, scores = batch_of(), torch.randn(6, 14, 24, generator=torch.Generator().manual_seed(0))
    one_by_one = [
        F.cross_entropy(scores[b, i], batch.position_ids[b, i + 1])
        for b in range(6) for i in range(13) if batch.mask[b, i]
    ]  # fmt: skip
    assert torch.allclose(id_loss(scores, batch.position_ids, batch.mask), torch.stack(one_by_one).mean())


@pytest.mark.parametrize("weight", [0.25, 2.0])
def test_training_adds_the_weighted_loss_of_ids_and_its_gradient(weight: float) -> None:
    model, batch = model_of({"name": "predicted", "weight": weight}), batch_of()
    outputs, penalty = outputs_and_penalty(model, batch, batch.position_ids, {})
    _, cache = model.run_with_cache(batch.tokens, batch.position_ids, names_filter=[ID_LOGITS])
    assert torch.allclose(penalty, weight * id_loss(cache[ID_LOGITS], batch.position_ids, batch.mask))
    assert torch.equal(outputs, model(batch.tokens, batch.position_ids))
    penalty.backward()
    assert model.unembed_ids.W_U.grad.abs().max() > 0
    assert model.embed.W_E.grad.abs().max() > 0
    assert model.unembed.W_U.grad is None, "tokens are asked for by the task's own loss"


def test_training_ids_are_the_coupled_ones_with_an_offset_that_spares_the_special_tokens() -> None:
    batch = batch_of()
    ids = Predicted().training(6, 14, 24, torch.Generator().manual_seed(3), batch.position_ids)
    offset = (ids - batch.position_ids)[:, 1]
    assert len(offset.unique()) > 2
    assert torch.equal(ids, torch.where(batch.position_ids == 0, 0, batch.position_ids + offset[:, None]))
    assert torch.equal(Predicted().evaluation(14, 24, batch.position_ids), batch.position_ids)


@pytest.mark.parametrize("law", [Coupled, Predicted])
def test_the_offset_of_training_can_be_left_out_and_is_named_only_then(law: type[Coupled | Predicted]) -> None:
    batch = batch_of()
    ids = law(offset=False).training(6, 14, 24, torch.Generator().manual_seed(3), batch.position_ids)
    assert torch.equal(ids, batch.position_ids.expand(6, -1))
    assert law(offset=False).model_dump()["offset"] is False
    assert "offset" not in law().model_dump()
    assert id_sampler(law(offset=False).model_dump()) == law(offset=False)
    settings = {"positions": "learned", "ids": "predicted", "lengths": "3-9", "n_ctx": 24}
    plain, fixed = (
        build(TrainRequest("parity_scratchpad", settings, given)).as_json()
        for given in ([], [(["model", "ids", "offset"], False)])
    )
    assert "offset" not in plain["model"]["ids"]
    assert plain["id"] != fixed["id"]


class Scripted:
    """A model that answers with the parity so far and says the next id, unless it slips at one answer."""

    cfg = SimpleNamespace(ids=Predicted(), n_ctx=24, positions=SimpleNamespace(absolute=True))

    def __init__(self, slip: int | None = None) -> None:
        self.slip = slip

    def run_with_cache(self, tokens: Tensor, ids: Tensor, **_: Any) -> tuple[Tensor, dict[str, Tensor]]:
        place = int((tokens[0] == 3).nonzero()[0, 0])
        out, said = torch.zeros(*tokens.shape, 3), torch.zeros_like(tokens)
        for b in range(len(tokens)):
            for i in range(place, tokens.shape[1]):
                # Reads the bits whose id is one more than its own: what is fed back decides what is read.
                own = int(ids[b, i])
                bits = [int(t) - 1 for t, k in zip(tokens[b, 1:place], ids[b, 1:place], strict=True) if k == own + 1]
                before = int(tokens[b, i]) - 1 if i > place else 0
                answer = (before + sum(bits)) % 2 if bits else 2
                out[b, i, answer] = 1
                said[b, i] = own + 1 + (self.slip == i - place)
        return out, {NEXT_IDS: said}


def by_hand(model: Scripted, batch: Any) -> list[list[tuple[int, int]]]:
    """Feed back (token, id) one at a time, as anybody would write it."""
    answers: list[list[tuple[int, int]]] = []
    for b in range(len(batch)):
        tokens, ids = batch.tokens[b : b + 1, : batch.prompt], batch.position_ids[b : b + 1, : batch.prompt]
        answers.append([])
        while tokens.shape[1] <= batch.tokens.shape[1]:
            out, cache = model.run_with_cache(tokens, ids)
            answer, said = int(out[0, -1].argmax()), int(cache[NEXT_IDS][0, -1])
            answers[-1].append((answer, said))
            tokens = torch.cat([tokens, torch.tensor([[TASK.answer_tokens[answer]]])], 1)
            ids = torch.cat([ids, torch.tensor([[said]])], 1)
    return answers


@pytest.mark.parametrize("slip", [None, 0, 1, 3])
def test_free_running_feeds_back_both(slip: int | None) -> None:
    model, batch = Scripted(slip), batch_of()
    outputs, next_ids = outputs_and_ids(model, batch.tokens, batch.position_ids)
    found = free_run(model, TASK, batch, outputs, next_ids)
    wanted = torch.tensor([[answer for answer, _ in row] for row in by_hand(model, batch)])
    assert torch.equal(found.answers[:, batch.prompt - 1 :], wanted)
    exact = (found.right | ~batch.mask).all(1)
    assert bool(exact.all()) if slip is None else not bool(exact.any())


def test_a_wrong_id_makes_a_right_token_wrong() -> None:
    """Fed the right ids, every token is right; but the model would not have had them."""
    batch = batch_of()
    study = SimpleNamespace(task=TASK, cfg=Scripted.cfg)
    for slip, share in ((None, 1.0), (1, 0.0)):
        outputs, next_ids = outputs_and_ids(Scripted(slip), batch.tokens, batch.position_ids)
        seen = reduce_batch(study, 13, batch, {"logits": outputs, NEXT_IDS: next_ids})
        assert seen.correct.mean() == share
        assert seen.parts["tokens"].mean() == 1.0
        assert seen.parts["ids"].mean() == share
        assert seen.tokens.mean() == pytest.approx(1.0 if slip is None else 4 / 5)


def test_the_fixed_point_is_the_greedy_answer_of_a_real_model() -> None:
    model, batch = model_of(seed=4), batch_of(31, 12)
    with torch.no_grad():
        found = free_run(model, TASK, batch, *outputs_and_ids(model, batch.tokens, batch.position_ids))
        wanted = torch.tensor([[answer for answer, _ in row] for row in by_hand(model, batch)])
    assert torch.equal(found.answers[:, batch.prompt - 1 :], wanted)
    assert found.passes > 1


def test_other_models_are_left_as_they_were() -> None:
    names = {ids: dict(model_of(ids).named_parameters()) for ids in ("coupled", "predicted")}
    assert names["predicted"].keys() - names["coupled"].keys() == {"unembed_ids.W_U", "unembed_ids.b_U"}
    for name, weight in names["coupled"].items():
        assert torch.equal(weight, names["predicted"][name]), name


def test_a_task_without_coupled_ids_is_told_what_would_fit() -> None:
    with pytest.raises(PositionError) as refused:
        build(TrainRequest("majority", {"ids": "predicted", "positions": "learned"}))
    assert str(refused.value) == (
        "majority couples no position ids, so ids predicted has nothing to predict; choose arange, random_offset, pose, "
        "random_subset, or a task that couples them: uf, ub, nf, nb, reverse, duplicate_string, odds_first, addition, "
        "parity_scratchpad, variable_assignment"
    )


@pytest.mark.parametrize("name", ["parity_scratchpad", "variable_assignment"])
def test_each_ablation_is_one_option(name: str) -> None:
    task = make_task(name)
    assert suggestions(task, {})["ids"] == "predicted"
    without = build(TrainRequest(name, {"ids": "random_offset"})).model
    assert (without.positions.name, without.ids.name) == ("learned", "random_offset")
    rotary = build(TrainRequest(name, {"positions": "rotary"})).model
    assert (rotary.positions.name, rotary.ids.name) == ("rotary", "pose")
    assert build(TrainRequest(name, {"positions": "rotary", "ids": "arange"})).model.ids.name == "arange"
