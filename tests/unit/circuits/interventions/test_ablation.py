"""Ablations on circuits made by hand: what must be lost is lost, what must not is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from circuits.interventions.ablate_components import Ablator
from circuits.interventions.ablate_edges import Edges, cut, edge_edits, edges_between, without_circuit
from circuits.interventions.ablation import ablation_statistics
from circuits.passes import clean_pass, edited_pass, evaluation_ids
from tests.support.every_encoding import EXAMPLES, said
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.attention_heads import induction_model, left_neighbour_model
from workbench.tasks import make_task
from workbench.tasks.base import Batch

RIGHT = make_task("kgram_retrieval", symbols=12)


def sample(task: object, length: int, count: int = 64) -> Batch:
    return task.sample(count, length, torch.Generator().manual_seed(length), "matched")  # type: ignore[attr-defined]


def model_of(layers: int = 2, **options: object) -> HookedTransformer:
    sizes = {"d_vocab": 13, "d_vocab_out": 12, "n_layers": layers, "d_model": 16, "n_heads": 2, "n_ctx": 64}
    return HookedTransformer(ModelConfig(**{**sizes, "initializer_range": 0.5, **options}), seed=2).double().eval()


# ---- heads and MLPs -------------------------------------------------------------------------------
@pytest.mark.parametrize("mode", ["zero", "mean", "resample"])
def test_ablations_are_what_a_loop_over_hooks_makes(mode: str) -> None:
    model, batch = model_of(), sample(RIGHT, 14, 20)
    ablator = Ablator(model, batch, RIGHT)
    names = [f"blocks.{layer}.attn.hook_z" for layer in range(2)]
    logits, clean = model.run_with_cache(batch.tokens, names_filter=[*names, "blocks.1.hook_mlp_out"])

    def hook(value: torch.Tensor, hook: object) -> torch.Tensor:
        own = clean[hook.name]  # type: ignore[attr-defined]
        new = {"zero": 0 * own, "mean": own.mean(0, keepdim=True).expand_as(own), "resample": own.roll(1, 0)}[mode]
        if value.ndim == 4:
            value = value.clone()
            value[:, :, 1] = new[:, :, 1]
            return value
        return new.clone()

    for layer in range(2):
        with torch.no_grad():
            expected = model.run_with_hooks(batch.tokens, fwd_hooks=[(names[layer], hook)])
        loss = RIGHT.losses(expected, batch)[:, -1].numpy()
        assert ablator.without([(layer, 1)], (), mode).loss == pytest.approx(loss, abs=1e-9)
    with torch.no_grad():
        expected = model.run_with_hooks(batch.tokens, fwd_hooks=[("blocks.1.hook_mlp_out", hook)])
    loss = RIGHT.losses(expected, batch)[:, -1].numpy()
    assert ablator.without((), [1], mode).loss == pytest.approx(loss, abs=1e-9)
    assert ablator.clean().loss == pytest.approx(RIGHT.losses(logits, batch)[:, -1].numpy(), abs=1e-12)


def test_what_cannot_be_ablated_is_refused() -> None:
    ablator = Ablator(model_of(), sample(RIGHT, 10, 4), RIGHT)
    with pytest.raises(ValueError, match="layer 0"):
        ablator.without([(0, 2)])
    with pytest.raises(ValueError, match="layer 5"):
        ablator.without((), [5])
    with pytest.raises(ValueError, match="'freeze'"):
        ablator.without([(0, 0)], (), "freeze")
    with pytest.raises(ValueError, match="ablate"):
        ablator.without()


def test_both_halves_of_the_handmade_circuit_are_necessary() -> None:
    found = ablation_statistics(induction_model(12, 9.0), RIGHT, trained=16, lengths=[16, 64], modes=["zero"])
    assert found.value("ablated_accuracy", target="nothing", length=64) == 1.0
    for name in ("matching heads", "previous-token heads"):
        assert found.value("ablated_accuracy", target=name, length=64) < 0.4
    none = [r for r in found.rows if r["target"] == "all other heads"]
    assert {r["status"] for r in none} == {"undefined"}
    notes = {r["target"]: r["note"] for r in found.rows if r["length"] == 16 and "heads" in r["target"]}
    assert notes["matching heads"] == "L1.0"
    assert notes["previous-token heads"] == "L0.0"
    drop = found.value("accuracy_drop", target="head", layer=1, head=0, length=16)
    assert drop == found.value("accuracy_drop", target="matching heads", length=16)


# ---- edges ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("positions", EXAMPLES, ids=said)
@pytest.mark.parametrize("log_scaling", ["none", "learned"])
def test_a_cut_edge_is_what_a_changed_key_would_be_for_that_query_alone(positions: object, log_scaling: str) -> None:
    """Oracle: change the key for everybody, and take only the chosen query's output."""
    model, batch = model_of(1, positions=positions, log_scaling=log_scaling), sample(RIGHT, 9, 3)
    clean = clean_pass(model, batch.tokens, evaluation_ids(model, batch))
    k_name, pattern = model.cfg.score_hooks(0)[1], "blocks.0.attn.hook_pattern"
    _, cache = model.run_with_cache(batch.tokens, names_filter=[pattern])
    most = int(cache[pattern][1, :, 6, :6].sum(0).argmax())  # a key that counts
    sequence, query, key = torch.tensor([1]), torch.tensor([6]), torch.tensor([most])
    edges = edges_between(batch.tokens, sequence, query, key)
    for part, name in (("k", k_name), ("v", "blocks.0.attn.hook_v")):

        def zero(value: torch.Tensor, hook: object) -> torch.Tensor:
            value[1, most] = 0
            return value

        with torch.no_grad():
            everywhere = model.run_with_hooks(batch.tokens, fwd_hooks=[(name, zero)])
        found = cut(model, clean, [0], edges, **{part: "zero"})
        assert torch.allclose(found[1, 6], everywhere[1, 6], atol=1e-10)
        assert not torch.allclose(found[1, 6], clean.outputs[1, 6], atol=1e-6)
        untouched = torch.ones(3, 10, dtype=torch.bool)
        untouched[1, 6] = False
        assert torch.allclose(found[untouched], clean.outputs[untouched], atol=1e-12)


def test_edges_between_other_tokens_are_refused() -> None:
    model, batch = model_of(1), sample(RIGHT, 9, 3)
    clean = clean_pass(model, batch.tokens, evaluation_ids(model, batch))
    one = torch.tensor([1])
    token = int(batch.tokens[1, 4])
    wrong = Edges(one, torch.tensor([6]), torch.tensor([4]), batch.tokens[1, 6:7], torch.tensor([(token % 12) + 1]))
    with pytest.raises(ValueError, match="position 4"):
        cut(model, clean, [0], wrong, v="zero")
    later = edges_between(batch.tokens, one, torch.tensor([3]), torch.tensor([4]))
    with pytest.raises(ValueError, match="query 3"):
        cut(model, clean, [0], later, v="zero")
    with pytest.raises(ValueError, match="edge"):
        edge_edits(model, 0, later)
    with pytest.raises(ValueError, match="attention"):
        edge_edits(model_of(1, attention="linear"), 0, later, v="zero")


def test_several_edges_of_one_query_add_up() -> None:
    model, batch = model_of(1), sample(RIGHT, 9, 2)
    clean = clean_pass(model, batch.tokens, evaluation_ids(model, batch))
    keys = torch.tensor([2, 5, 6])
    edges = edges_between(batch.tokens, torch.zeros(3, dtype=torch.long), torch.full((3,), 9), keys)

    def zero(value: torch.Tensor, hook: object) -> torch.Tensor:
        value[0, keys, 1] = 0
        return value

    with torch.no_grad():
        everywhere = model.run_with_hooks(batch.tokens, fwd_hooks=[("blocks.0.attn.hook_v", zero)])
    found, _ = edited_pass(model, clean, edge_edits(model, 0, edges, heads=[1], v="zero"))
    assert torch.allclose(found[0, 9], everywhere[0, 9], atol=1e-10)


@pytest.mark.parametrize(
    ("task", "make", "needs"), [("ur", induction_model, "induction"), ("ul", left_neighbour_model, "anti_induction")]
)
def test_removing_one_circuit_leaves_the_other(task: str, make: Callable[..., HookedTransformer], needs: str) -> None:
    asked = make_task(task, symbols=8)
    model = make(9, 12.0)  # the separator is a token too
    with torch.no_grad():
        model.unembed.W_U.data = model.unembed.W_U[:, :8].clone()
        model.unembed.b_U.data = model.unembed.b_U[:8].clone()
    batch = sample(asked, 24)
    rights = {c: float(np.mean(without_circuit(model, asked, batch, c).right)) for c in ("induction", "anti_induction")}
    assert float(Ablator(model, batch, asked).clean().right.mean()) == 1.0
    other = "anti_induction" if needs == "induction" else "induction"
    assert rights[needs] < 0.35
    assert rights[other] == 1.0


@pytest.mark.parametrize("circuit", ["induction", "anti_induction"])
@pytest.mark.parametrize(("task", "symbols", "layers"), [("uf", 12, 3), ("ub", 12, 3), ("nf", 3, 2)])
def test_of_several_answers_each_loses_its_circuit_as_if_it_were_asked_alone(
    task: str, symbols: int, layers: int, circuit: Any
) -> None:
    """Copies of distinct symbols have one twin a query, so that keys made together are those made one by one."""
    asked = make_task(task, symbols=symbols)
    batch = sample(asked, 9, 6)
    cfg = ModelConfig(
        d_vocab=asked.d_vocab, d_vocab_out=asked.d_vocab_out, n_layers=layers, d_model=16, n_heads=2, n_ctx=24,
        initializer_range=0.9,
    )  # fmt: skip
    model = HookedTransformer(cfg, seed=5).double()
    together = without_circuit(model, asked, batch, circuit)
    clean = Ablator(model, batch, asked).clean()
    alone, count = np.zeros(6), batch.mask.sum(1).numpy()
    assert count.min() > 1
    for place in torch.nonzero(batch.mask.any(0))[:, 0].tolist():
        only = torch.zeros_like(batch.mask)
        only[:, place] = batch.mask[:, place]
        found = without_circuit(model, asked, replace(batch, mask=only), circuit).loss
        alone += np.where(only.any(1).numpy(), found, 0.0)
    assert np.allclose(together.loss, alone / count, rtol=0, atol=1e-9)
    assert np.abs(together.loss - clean.loss).max() > 1e-3, "there is something to lose"


def test_a_copying_model_loses_all_its_copies_without_induction_and_none_without_the_other() -> None:
    asked = make_task("uf", symbols=8)
    model = induction_model(9, 12.0)  # the separator is a token too
    with torch.no_grad():
        model.unembed.W_U.data = torch.cat([model.unembed.W_U[:, :8], torch.zeros_like(model.unembed.W_U[:, :1])], 1)
        model.unembed.b_U.data = torch.cat([model.unembed.b_U[:8], torch.full((1,), -50.0).to(model.unembed.b_U)])
    batch = sample(asked, 13)
    between = batch.mask.clone()
    between[:, batch.tokens.shape[1] - 1] = False  # the end, which no symbol tells
    between &= batch.tokens <= 8  # nor does a separator, what comes first
    batch = replace(batch, mask=between)
    assert float(Ablator(model, batch, asked).clean().right.min()) == 1.0
    rights = {c: without_circuit(model, asked, batch, c).right for c in ("induction", "anti_induction")}
    assert float(rights["induction"].mean()) < 0.35
    assert float(rights["anti_induction"].min()) == 1.0
