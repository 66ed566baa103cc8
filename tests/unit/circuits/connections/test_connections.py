"""Connections of models made by hand: those that are there cost what is known, and no other costs anything."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from circuits.connections.cut_connections import PARTS, ConnectionCutter
from circuits.connections.measurement import RANDOM, connection_statistics
from circuits.interventions.ablate_components import Ablator, answers
from tests.support.circuits.rows_by_hand import drawn
from workbench.measure.intervals import tango
from workbench.measure.result import Result
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.base.graph import Component, Connection
from workbench.models.handmade.attention_heads import SURE, induction_model
from workbench.models.handmade.transformers import majority
from workbench.tasks import make_task

KGRAM = make_task("kgram_retrieval", symbols=6)
MAJORITY = make_task("majority")
RNG = np.random.default_rng


def drops(found: Result, quantity: str = "connection_drop", **where: object) -> dict[str, float]:
    """By connection, the value of a quantity."""
    chosen = {"mode": "", "control": "", **where}
    rows = [r for r in found.rows if r["quantity"] == quantity and all(r[k] == v for k, v in chosen.items())]
    return {r["target"]: r["value"] for r in rows}


@pytest.mark.asserts("connected_accuracy", "connection_drop", "connection_drop_p")
def test_a_counter_loses_what_its_four_connections_carry_and_nothing_by_any_other() -> None:
    """Whatever is cut of the counter leaves one answer to all strings: that of the mean difference of counts."""
    found = connection_statistics(majority(), MAJORITY, trained=15, lengths=[15], factors=[1], sequences=61)
    batch = drawn(MAJORITY, 15, 61)
    last = batch.targets[:, -1]
    difference = (2 * (batch.tokens[:, 1:] == 2).double() - 1).sum(1)
    assert abs(float(difference.mean()) - 0.5) > 0.1  # the one answer is no tie
    lost = {answer: float((last != answer).double().mean()) for answer in (0, 1)}
    carried = lost[int(difference.mean() > 0.5)]
    by_bit = lost[int(last.double().mean() > 0.5)]
    assert min(carried, by_bit) > 0.3
    counted = {"embedding -> L0.0": carried, "L0.0 -> MLP 0": carried}
    counted |= {"MLP 0 -> MLP 1": by_bit, "MLP 1 -> unembedding": by_bit}
    counted |= {name.split(" -> ")[0]: value for name, value in counted.items()}  # each sends by one connection alone
    assert found.value("connected_accuracy") == 1.0
    values = drops(found)
    assert len(values) == 6 * 5 / 2 + 5  # embedding, two blocks of a head and an MLP, unembedding; the senders
    assert values == pytest.approx({name: counted.get(name, 0.0) for name in values}, abs=1e-12)
    wrong = {name: round(61 * value) for name, value in values.items()}
    for r in found.rows:
        if r["quantity"] == "connection_drop" and not r["control"]:
            assert (r["low"], r["high"], r["n"]) == (*tango(wrong[r["target"]], 0, 61), 61)
    chances = drops(found, "connection_drop_p")
    assert all((chances[name] < 1e-5) == (name in counted) and chances[name] <= 1.0 for name in chances)
    dead = {name: value for name, value in drops(found, control=RANDOM).items() if "L1.0 ->" in name}
    assert dead
    assert set(dead.values()) == {0.0}


@pytest.mark.asserts("connection_loss_rise")
def test_an_induction_circuit_is_its_four_connections_in_the_parts_that_read_them() -> None:
    model = induction_model(6, SURE)
    found = connection_statistics(model, KGRAM, trained=12, lengths=[12], factors=[1], sequences=96, split=True)
    batch = drawn(KGRAM, 12, 96)
    answer = batch.targets[:, -1].numpy()
    shares = np.bincount(answer, minlength=6) / 96
    # Logits are one-hot; without the last connection they are what they are on the mean: the shares of the answers.
    without = np.log(np.exp(shares).sum()) - shares[answer]
    rise = float(without.mean()) - (np.log(np.e + 5) - 1)
    values = drops(found, "connection_loss_rise")
    assert values["L1.0 -> unembedding"] == pytest.approx(rise, abs=1e-6)
    there = {"embedding -> L0.0", "embedding -> L1.0", "L0.0 -> L1.0", "L1.0 -> unembedding"}
    none = {"embedding -> unembedding", "L0.0 -> unembedding"}
    assert {*values} == there | none | {"embedding", "L0.0", "L1.0"}
    for name, only in {"L0.0": "L0.0 -> L1.0", "L1.0": "L1.0 -> unembedding"}.items():
        assert values[name] == pytest.approx(values[only], abs=1e-6)
    assert all(values[name] > 0.1 for name in there)
    assert all(abs(values[name]) < 1e-9 for name in none)
    read = {
        (name, part): drops(found, "connection_loss_rise", mode=part)[name]
        for name in there - {"L1.0 -> unembedding"}
        for part in PARTS
    }
    assert {at for at, value in read.items() if value > 0.1} == {
        ("embedding -> L0.0", "v"), ("L0.0 -> L1.0", "k"), ("embedding -> L1.0", "q"), ("embedding -> L1.0", "v"),
    }  # fmt: skip
    assert all(abs(value) < 1e-6 for value in read.values() if value <= 0.1)


def model_of(**options: object) -> HookedTransformer:
    sizes = {"d_vocab": 7, "d_vocab_out": 6, "n_layers": 3, "d_model": 16, "n_heads": 2, "n_ctx": 64}
    return HookedTransformer(ModelConfig(**{**sizes, "initializer_range": 0.5, **options}), seed=2).double().eval()


@pytest.mark.parametrize("options", [{"positions": "learned"}, {"positions": "rotary", "attn_only": True}])
def test_cutting_all_connections_out_of_a_component_is_its_ablation(options: dict[str, object]) -> None:
    model = model_of(**options)
    batch = KGRAM.sample(20, 10, torch.Generator().manual_seed(1), "matched")
    cutter, ablator = ConnectionCutter(model, batch, KGRAM, RNG(0)), Ablator(model, batch, KGRAM)

    def cut(sender: Component) -> np.ndarray:
        return cutter.without([one for one in cutter.connections if one.sender == sender]).loss

    whole = cutter.clean().loss
    for layer, head in ablator.heads:
        assert cut(Component("head", layer, head)) == pytest.approx(ablator.without([(layer, head)]).loss, abs=1e-9)
    for layer in ablator.mlp if not model.cfg.attn_only else ():
        assert cut(Component("MLP", layer)) == pytest.approx(ablator.without((), [layer]).loss, abs=1e-9)

    def mean(value: Tensor, hook: object) -> Tensor:
        return value.mean(0, keepdim=True).expand_as(value)

    with torch.no_grad():
        outputs = model.run_with_hooks(batch.tokens, fwd_hooks=[("blocks.0.hook_resid_pre", mean)])
    assert cut(Component("embedding")) == pytest.approx(answers(KGRAM, outputs, batch).loss, abs=1e-9)
    assert float(np.abs(cut(Component("embedding")) - whole).max()) > 0.1


def test_one_connection_is_what_hooks_on_the_receiver_alone_make_of_it() -> None:
    model = model_of(positions="rotary")
    batch = KGRAM.sample(20, 10, torch.Generator().manual_seed(1), "matched")
    cutter = ConnectionCutter(model, batch, KGRAM, RNG(0))
    _, cache = model.run_with_cache(batch.tokens)
    wrote = cache["blocks.0.attn.hook_z"][:, :, 1] @ model.blocks[0].attn.W_O[1]
    block = model.blocks[2]
    read = block.attn.project(block.ln1(cache["blocks.2.hook_resid_pre"] + wrote.mean(0) - wrote))
    changed = dict(zip(PARTS, block.attn.parts(read), strict=True))

    def replace(value: Tensor, hook: object) -> Tensor:
        part = hook.name[-1]  # type: ignore[attr-defined]
        value = value.clone()
        value[:, :, 0] = changed[part][:, :, 0]
        return value

    for parts in (PARTS, ("q",), ("k",), ("v",)):
        with torch.no_grad():
            outputs = model.run_with_hooks(
                batch.tokens, fwd_hooks=[(f"blocks.2.attn.hook_{part}", replace) for part in parts]
            )
        found = cutter.without([Connection.from_name("L0.1 -> L2.0")], parts)
        assert found.loss == pytest.approx(answers(KGRAM, outputs, batch).loss, abs=1e-9)


def test_the_control_changes_as_much_in_other_directions() -> None:
    cutter = ConnectionCutter(
        model_of(), KGRAM.sample(20, 8, torch.Generator().manual_seed(1), "matched"), KGRAM, RNG(0)
    )
    change = torch.randn(20, 9, 16, generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    turned = cutter._turned(change)
    assert torch.allclose(turned.norm(dim=-1), change.norm(dim=-1), atol=1e-9)
    cosines = torch.cosine_similarity(turned, change, dim=-1)
    assert abs(float(cosines.mean())) < 0.2
    assert float(cosines.abs().max()) < 0.999


def test_what_cannot_be_cut_is_said_in_a_sentence() -> None:
    cutter = ConnectionCutter(
        model_of(), KGRAM.sample(4, 8, torch.Generator().manual_seed(1), "matched"), KGRAM, RNG(0)
    )
    with pytest.raises(ValueError, match=r"L0\.0"):
        cutter.without([Connection.from_name("L0.0 -> L5.0")])
    with pytest.raises(ValueError, match="connection"):
        cutter.without([])
    with pytest.raises(ValueError, match=r"'L1\.0 -> L0\.0'"):
        Connection.from_name("L1.0 -> L0.0")
    with pytest.raises(ValueError, match="'head 3'"):
        Component.from_name("head 3")
    found = connection_statistics(model_of().float(), KGRAM, trained=8, lengths=[8], most=30)
    assert {r["status"] for r in found.rows} == {"not_applicable"}
    why = "the model has 52 connections, and at most 30 are cut: --set circuits.connections.most=52 cuts them all"
    assert {r["note"] for r in found.rows} == {why}
