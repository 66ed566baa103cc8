"""Target keys, tables by position, critical lengths, edits and exchanges of given models: held, and at their bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from circuits.attention.all_queries import COPIES, block_size
from circuits.attention.attention_scores import score_inputs
from circuits.attention.row_statistics import entropy, log_mass, margin, margin_min, tie_uniformity
from circuits.attention.target_keys import (
    KINDS,
    anti_induction,
    counted_keys,
    induction,
    named_positions,
    previous_token,
)
from circuits.hardmax.critical_lengths import (
    critical_length,
    growth_exponent,
    hardmax_length,
    log_critical_length,
    p_bit_length,
    scaling_exponent,
)
from circuits.hardmax.failure_relation import concordance, runs_from_table
from circuits.hardmax.reduction import LengthRecord, TieSet, _query_mean, carried_values, length_record, row_values
from circuits.hardmax.rows import HardmaxRows
from circuits.hardmax.verdict import hardmax_kind, hardmax_verdict, least_hardmax_count, power
from circuits.head_rows import head_rows, ratio_row
from circuits.heads.repeat_scores import BEHIND, _behind, _mean, displaced_scores, displacements
from circuits.interchange.prefix_exchange import NONE, agreement, choose_donors, exchange, random_donors
from circuits.interchange.residual_patching import residual_interchange, tautological
from circuits.interchange.summary_subspace import exchanged_within, random_subspace, summary_subspace
from circuits.interventions.ablate_components import Ablator, counted_queries, roles
from circuits.interventions.replaced_attention import log_scaled, replaced_attention, tie_set, within
from circuits.passes import clean_pass, evaluation_ids, layer_of, pieces
from circuits.positional.position_tables import _reach, _shared_out, position_tables
from circuits.positional.translation_fit import gauge, locality, positional_share, row_residual
from circuits.sensitivity import model_answers, sensitivity, sharpness, task_answers
from circuits.sparsity.few_tokens import expected_overlap, few_tokens, overlaps, random_tokens
from circuits.sparsity.influence import earlier_positions, influential_tokens, recall
from tests.support.held import Held
from tests.support.measure.held_rows import held_rows, short
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.transformer.tie_sets import nearest_hardmax, sort_rows
from workbench.tasks import make_task
from workbench.tasks.random_generator import generator

EPS = 1e-9


def model_for(task: Any, **options: Any) -> HookedTransformer:
    sizes: dict[str, Any] = {"n_layers": 2, "d_model": 8, "n_heads": 2, "n_ctx": 64, "initializer_range": 0.7}
    cfg = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, **{**sizes, **options})
    return HookedTransformer(cfg, seed=2).double().eval()


def strings(task: Any, length: int, count: int = 6, law: Any = "matched") -> Any:
    return task.sample(count, length, generator("circuits", length), law)


# ---- keys ----------------------------------------------------------------------------------------
def test_target_keys_of_every_kind(held: Held) -> None:
    """With a BOS and without, of the last queries and of all."""
    found: dict[str, Any] = {}
    for name in ("kgram_retrieval", "flip_flop", "majority", "mod_p_mean", "uf", "dyck_1"):
        batch = strings(make_task(name), make_task(name).next_length(11), 4)
        for queries in (torch.arange(batch.tokens.shape[1]), torch.tensor([2, 5])):
            kinds = {kind: make(batch.tokens, queries) for kind, make in KINDS.items()}
            kinds |= {f"anti {d}": anti_induction(batch.tokens, queries, d) for d in ("same", "before")}
            kinds |= {f"behind {d}": induction(batch.tokens, queries, d) for d in (2, 3)}
            kinds["two back"] = previous_token(batch.tokens, queries, 2)
            kinds["named"] = named_positions(batch, queries, ("answer_position",))
            kinds["counted"] = counted_keys(batch, queries)
            found[f"{name} {len(queries)}"] = short(
                np.concatenate([[-1.0] if made is None else made.numpy().ravel() for made in kinds.values()])
            )
    held(found)


def test_statistics_of_rows_of_scores(held: Held) -> None:
    """Ties, single keys, keys without weight, and weights that no float holds."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(12, 9)) * np.array([0.1, 1, 3, 30] * 3)[:, None]
    scores[0] = 1.0
    scores[1, 4:] = -np.inf
    scores[2, :3] = scores[2].max() + 1
    scores[3, 1:] -= 2000
    keys = np.array([9, 9, 9, 9, 1, 2, 5, 9, 9, 3, 9, 8])
    rows = sort_rows(scores, keys)
    nearest = nearest_hardmax(rows)
    found = {"size": short(nearest.size), "distance": short(nearest.distance), "to all": short(nearest.distance_to_all)}
    for size in (1, 2):
        own = np.minimum(np.full(12, size), keys)
        found |= {
            f"mass {size}": short(log_mass(rows, own)), f"margin {size}": short(margin(rows, own)),
            f"uniformity {size}": short(tie_uniformity(rows, own)),
        }  # fmt: skip
    found |= {f"margin_min {d}": short(margin_min(rows, d)) for d in (0.0, 1.0, 1e9)}
    found |= {f"row {name}": short(v) for name, v in row_values(rows, 0.5).items()}
    for share in (0.1, 0.5):
        sizes = np.where(np.arange(12) % 4 == 3, np.nan, 2.5)
        found |= {f"{name} {share}": short(v) for name, v in carried_values(rows, sizes, np.full(12, share)).items()}
    held({**found, "entropy": short(entropy(rows))})


def test_means_over_the_used_queries() -> None:
    values = np.array([[1.0, np.nan, 3.0], [np.nan, 5.0, 7.0], [1.0, 2.0, 3.0]])
    used = np.array([[True, True, True], [True, False, False], [False, False, False]])
    assert np.array_equal(_query_mean(values, used), [2.0, np.nan, np.nan], equal_nan=True)


def test_a_typical_tie_set_is_that_of_half_of_the_queries_at_least() -> None:
    batch = strings(make_task("flip_flop"), 6, 2)
    queries = np.arange(3, 7)
    used = int(batch.mask[:, queries].sum())
    for partial, known in ((used // 2, True), (used // 2 - 1, False)):
        sizes = np.zeros(2 * 1 * 4)
        sizes[:partial] = np.arange(partial) + 1
        made = length_record([{"sizes": sizes.reshape(2, 1, 4), "x": np.zeros((2, 1))}], batch, queries)
        assert used % 2 == 0
        assert np.isnan(made.tie_set.size).all() != known
        assert made.keys == batch.index(6) + 1
        assert made.log_keys == pytest.approx(np.log(queries + 1).mean())
        assert made.tie_set.keys == np.mean(queries + 1)
        if known:
            assert made.tie_set.size.item() == np.median(np.arange(partial) + 1)


# ---- hardmax -------------------------------------------------------------------------------------
def record(length: int, seed: int, grow: float, heads: int = 4, sequences: int = 12) -> LengthRecord:
    """Random means; the tie sets of the first head are bounded, of the second proportional, of the third between, and of
    the last all keys."""
    rng = np.random.default_rng([length, seed])
    shape = (sequences, 1, heads)
    keys = length + 1
    base = np.log(np.array([2.0, keys / 3, keys**0.5, keys]))[:heads]
    log_size = base + 0.02 * rng.normal(size=shape)
    names = (
        "distance",
        "mass",
        "margin",
        "margin_min",
        "tie_uniformity",
        "entropy",
        "log_support",
        "log_critical",
        "leak",
    )
    values = {name: np.abs(rng.normal(size=shape)) * 0.3 + (2.0 if "margin" in name else 0.05) for name in names}
    values |= {"log_size": log_size, "partial": (rng.random(shape) < 0.8).astype(float), "sink": np.zeros(shape)}
    values["distance"] = np.where(np.arange(heads) % 2 == 0, 0.01, rng.random(shape))
    values["distance_to_all"] = rng.random(shape)
    values["tie_uniformity"][:, 0, 0] = np.nan
    values["margin"][:5, 0, 1] = np.nan
    values["mass"][:, 0, 2] = 0.5
    values["log_critical"][:, 0, 2] = 50.0
    size = np.array([[2.0, keys / 3, keys**0.5, np.nan]])[:, :heads]
    carried = {
        n: {k: rng.random(shape) for k in ("leak_fixed", "leak_share", "log_critical")} for n in (4, 16) if n < length
    }
    queries = np.array([1, 2] * (sequences // 2))
    queries[-1] = 0
    return LengthRecord(length, keys, math.log(keys), queries, values, carried, TieSet(size, float(keys)))


@pytest.mark.parametrize("trained", [16, 3, None])
@pytest.mark.parametrize("bits", [8, None])
def test_rows_of_hardmax_records(trained: int | None, bits: int | None, held: Held) -> None:
    records = [record(n, 0, 1.0) for n in (4, 8, 16, 64)]
    made = HardmaxRows(
        records[::-1], trained=trained, law="matched", rng=np.random.default_rng(0), resamples=25, epsilon=0.1,
        share=0.6, bits=bits,
    )  # fmt: skip
    held(held_rows(made.rows()))


def test_critical_lengths(held: Held) -> None:
    sizes, margins = np.array([1.0, 2, 5]), np.array([-1.0, 0, 3, 800, np.nan])
    held({
        "critical": short(critical_length(sizes[:, None], margins)),
        "log": short(log_critical_length(sizes[:, None], margins)),
        "growth": short([growth_exponent(a, b, c, d) for a in (2, 8) for b in (1, 2) for c, d in ((9, 3), (64, 16))]),
        "hardmax": short([
            *(hardmax_length(g, e, size=k) for g in (1.5, 3) for e in (0.1, 0.5) for k in (1, 4)),
            *(hardmax_length(g, e, share=r) for g in (0.5, 3) for e in (0.1, 0.5) for r in (0.1, 0.9)),
        ]),
        "bits": short([p_bit_length(b, g) for b in (8, 24) for g in (0.5, 2)]),
        "power": short([power(n, s, 0.8) for n in (5, 30, 100) for s in (0.8, 0.95)]),
        "needed": [least_hardmax_count(n, share) for n in (1, 16, 17, 40, 256) for share in (0.6, 0.8, 0.9)],
    })  # fmt: skip
    assert hardmax_length(1.0, size=1) == hardmax_length(0.0, share=0.5) == hardmax_length(-1.0, share=0.5) == math.inf
    assert hardmax_length(1.0 + 1e-6, size=1) == math.inf, "larger than any float"
    assert scaling_exponent(2 * math.log(8), 8) == 2.0


@pytest.mark.parametrize("call", [
    lambda: hardmax_length(2.0), lambda: hardmax_length(2.0, size=1, share=0.5), lambda: hardmax_length(2.0, 0.0, size=1),
    lambda: hardmax_length(2.0, 1.0, size=1), lambda: hardmax_length(2.0, size=0.5), lambda: hardmax_length(2.0, share=0.0),
    lambda: hardmax_length(2.0, share=1.0), lambda: p_bit_length(8, 0.0), lambda: scaling_exponent(1.0, 1),
    lambda: growth_exponent(1, 1, 4, 4), lambda: growth_exponent(1, 1, 4, 0), lambda: hardmax_verdict([]),
    lambda: hardmax_verdict([0.1], share=0.5), lambda: hardmax_verdict([0.1], share=1.0), lambda: hardmax_verdict([np.nan]),
    lambda: hardmax_verdict([[0.1]]),
])  # fmt: skip
def test_what_no_length_or_verdict_follows_from_is_refused(call: Any) -> None:
    with pytest.raises(ValueError, match=r"."):
        call()


@pytest.mark.parametrize(
    ("sink", "to_all", "growth", "kind"),
    [(0.9 + EPS, 0.0, 0.0, "sink"), (0.9, 0.1, 0.0, "uniform"), (0.9, 0.1 + EPS, 0.0, "point"), (0, 1, None, None),
     (0, 1, 0.25 - EPS, "point"), (0, 1, 0.25, "growing"), (0, 1, 0.75, "growing"), (0, 1, 0.75 + EPS, "class"),
     (1, 1, None, "sink"), (0, 0, None, "uniform")],
)  # fmt: skip
def test_kinds_at_their_bounds(sink: float, to_all: float, growth: float | None, kind: str | None) -> None:
    assert hardmax_kind(sink, to_all, growth) == kind


def test_verdicts_at_their_bounds() -> None:
    """Near sequences count up to epsilon itself; labels by the limits of their share."""
    assert hardmax_verdict([0.1] * 40, 0.1).share == 1.0
    assert hardmax_verdict([0.1 + EPS] * 40, 0.1).share == 0.0
    labels = [hardmax_verdict([0.0] * k + [1.0] * (40 - k), 0.1, 0.75).label for k in range(41)]
    changes = [(k, label) for k, label in enumerate(labels) if not k or labels[k - 1] != label]
    assert changes == [(0, "soft"), (5, "undecided"), (17, "mixed"), (24, "undecided"), (36, "hardmax")]


def test_concordance_by_hand(held: Held) -> None:
    low, high = np.array([1.0, 2, 4, 4]), np.array([2.0, 4, 8, np.inf])
    assert concordance(np.array([1.0, 2, 3, 4]), low, high) == 1.0
    assert concordance(np.array([4.0, 3, 2, 1]), low, high) == 0.0
    assert concordance(np.array([1.0, 1, 1, 1]), low, high) == 0.5
    assert math.isnan(concordance(np.array([1.0, 2]), np.array([1.0, 1]), np.array([2.0, 2])))
    columns = ["run", "law", "step", "quantity", "length", "layer", "head", "value", "low", "status"]
    rows = [
        *(("a", "matched", s, "failure_length", 64, None, None, v, 16, "ok") for s, v in ((1, 99.0), (2, 32.0))),
        *(("a", "matched", 2, "critical_length", n, 0, h, v, None, "ok") for n, h, v in ((8, 0, 5.0), (8, 1, 9.0), (16, 0, 1.0))),
        ("a", "challenge", 2, "failure_length", 64, None, None, 8.0, 4, "ok"),
        ("b", "matched", 2, "failure_length", 64, None, None, 32.0, 20, "censored"),
        ("b", "matched", 2, "critical_length", 8, 0, 0, 7.0, None, "ok"),
        ("c", "matched", 2, "failure_length", 64, None, None, None, 20, "ok"),
        ("c", "matched", 2, "critical_length", 8, 0, 0, None, None, "censored"),
    ]  # fmt: skip
    heads = {"a": [(0, 0), (0, 1), (1, 0)], "b": [(0, 0)], "c": [(0, 0)]}
    found = runs_from_table(
        pd.DataFrame(rows, columns=columns), dict.fromkeys("abc", "t"), dict.fromkeys("abc", 8), heads
    )
    assert found.to_dict("records") == [
        {"task": "t", "critical": 7.0, "low": 16.0, "high": 32.0},
        {"task": "t", "critical": 7.0, "low": 20.0, "high": math.inf},
    ]


# ---- rows ----------------------------------------------------------------------------------------
def test_rows_of_heads_and_ratios(held: Held) -> None:
    rng = np.random.default_rng(0)
    found = {"a": rng.random((9, 3)), "b": rng.random((9, 3))}
    found["a"][:, 1] = np.nan
    found["a"][2, 2] = np.nan
    found["b"][:, 0] = 0.5
    above, below = (rng.random((2, 40)) < [[0.5], [0.8]]).astype(float)
    held(held_rows([
        *head_rows(found, np.random.default_rng(1), 30, "none", layer=1, note="n"),
        *head_rows(found, np.random.default_rng(1), 30, "none", {"b": (0, 1)}, layer=1),
        ratio_row(above, below, np.random.default_rng(1), 30, "none", quantity="r"),
        ratio_row(below, below, np.random.default_rng(1), 30, "none", quantity="r"),
        ratio_row(-below, below, np.random.default_rng(1), 30, "none", quantity="r"),
        ratio_row(above, 0 * below, np.random.default_rng(1), 30, "none", quantity="r"),
        ratio_row([], [], np.random.default_rng(1), 30, "none", quantity="r"),
        ratio_row(above, below - (below == 0), np.random.default_rng(1), 30, "none", quantity="r"),
    ]))  # fmt: skip


def test_heads_by_their_roles() -> None:
    scores = [
        {"answer_token": np.array([[0.1, 0.2]]), "previous_token": np.array([[0.3, 0.29]])},
        {"answer_token": np.array([[0.5, np.nan], [0.3, 0.6]]), "previous_token": np.array([[0.9, 0.1], [0.9, 0.1]])},
    ]
    assert roles(scores, 0.4, 0.3) == ([(1, 0), (1, 1)], [(0, 0)])
    assert roles(scores, 0.4 + EPS, 0.3) == ([(1, 1)], [(0, 0)])
    assert roles(scores, 0.2, 0.3) == ([(0, 1), (1, 0), (1, 1)], [(0, 0)])
    assert roles(scores, 0.9, 0.0) == ([], [])


def test_displaced_heads() -> None:
    scores = {_behind(d): np.full((4, 2), 0.1 * d) for d in range(1, BEHIND + 1)}
    scores[_behind(2)][:2, 0] = 9.0
    scores[_behind(2)][2:, 0] = 5.0
    scores[_behind(1)][2:, 1] = 99.0
    assert displacements(scores).tolist() == [2, BEHIND]
    found = displaced_scores(scores)["displaced_induction"]
    assert np.isnan(found[:2]).all()
    assert found[2:].tolist() == [[5.0, pytest.approx(0.1 * BEHIND)]] * 2
    assert _mean(np.array([[np.nan, 0.5], [np.nan, np.nan]])).tolist() == [-1.0, 0.5]


# ---- position ------------------------------------------------------------------------------------
def test_fits_of_tables_by_position(held: Held) -> None:
    rng = np.random.default_rng(0)
    i, j = np.indices((12, 12))
    noise = [0.05 * rng.normal(size=(12, 12)) for _ in range(2)]
    tables = {
        "lag": np.exp(-(i - j) / 3.0), "period": (i % 3) * (i - j) * 0.2 + np.cos(j), "place": np.sin(j) * 1.0,
        "alibi": -0.5 * (i - j), "local": (i - j <= 2) * 1.0, "rows": i * 1.0, "both": (i % 2) * np.exp(-(i - j) / 2.0),
    }  # fmt: skip
    found = {}
    for name, table in tables.items():
        for kind, pair in {"exact": (table,), "noisy": tuple(table + n for n in noise)}.items():
            made = gauge(*pair)
            found[f"{name} {kind}"] = [
                made.period, made.strength, made.above_noise, short(made.variance), short(made.local_bias),
                locality(made.local_bias), locality(made.local_bias, 0.3), short(row_residual(table)),
            ]  # fmt: skip
    found["noise"] = str(gauge(*noise).above_noise)
    held(found)
    assert positional_share(0.0, 1.0) is None
    assert positional_share(2.0, 1.0) == 0.5
    with pytest.raises(ValueError, match="at least 4"):
        gauge(np.zeros((3, 3)))
    assert gauge(np.zeros((4, 4))).period is None
    assert locality(np.zeros(6)) == 0


def test_tables_of_layers(held: Held) -> None:
    found = {}
    for name, count in (("flip_flop", 7), ("majority", 2), ("dyck_1", 1)):
        task = make_task(name)
        batch = strings(task, task.next_length(11), count)
        inputs = score_inputs(model_for(task, positions="alibi"), batch)[1]
        for span in (5, 64):
            made = position_tables(inputs, batch, span, 0.2)
            ends = [made.share(0, leave) for leave in (None, *made.groups[:2])]
            found[f"{name} {span}"] = [
                made.size, made.heads, len(made.groups), made.counts.tolist(), short(made.sums), short(made.within),
                short(made.reach), short([half for head in range(2) for half in made.halves(head)]), short(ends),
            ]  # fmt: skip
    held(found)
    assert _shared_out(7, 4).tolist() == [0, 0, 1, 1, 2, 2, 3]
    assert _shared_out(0, 1).tolist() == []
    weights = torch.tensor([[[0.25, 0.25, 0.5]]], dtype=torch.float64)
    assert [float(_reach(weights, eps)) for eps in (0.6, 0.5, 0.4, 0.25, 0.2)] == [0, 0, 1, 1, 2]


# ---- interventions -------------------------------------------------------------------------------
def test_replaced_attention_of_some_heads(held: Held) -> None:
    task = make_task("kgram_retrieval", symbols=4)
    model, batch = model_for(task, positions="rotary"), strings(task, 13)
    clean = clean_pass(model, batch.tokens, evaluation_ids(model, batch))
    patterns = {"tie": tie_set, "within": within(0.7), "log": log_scaled(5.0), "far": log_scaled(50.0)}
    held({
        f"{name} {heads}": short(replaced_attention(model, clean, pattern, heads)[:, -2:].numpy())
        for name, pattern in patterns.items()
        for heads in ([(0, 0)], [(1, 1)], [(0, 1), (1, 0), (1, 1)])
    })  # fmt: skip
    scores = torch.tensor([[[[2.0, 1.0, 0.999, 0.0]]]], dtype=torch.float64)
    assert within(1.0)(scores, range(3, 4)).tolist() == [[[[0.5, 0.5, 0.0, 0.0]]]]


def test_ablations_of_every_kind(held: Held, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {}
    for name in ("kgram_retrieval", "parity_scratchpad", "mod_p_mean"):
        task = make_task(name)
        batch = strings(task, task.next_length(9))
        made = Ablator(model_for(task), batch, task)
        for mode in ("zero", "mean", "resample"):
            rng = np.random.default_rng(3)
            parts = [
                made.without([(0, 1)], (), mode, rng), made.without((), [1], mode), made.without(made.heads, [0], mode, rng),
            ]  # fmt: skip
            found[f"{name} {mode}"] = [short([one.right, one.loss]) for one in (made.clean(), *parts)]
        found[f"{name} counted"] = short(counted_queries(batch).numpy())
    held(found)
    for heads, mlps, mode, said in (
        ([(2, 0)], (), "mean", "no head 0 in layer 2"), ([(0, 2)], (), "mean", "no head 2 in layer 0"),
        ((), [2], "mean", "layer 2 of this model has no MLP"), ((), (), "mean", "nothing to ablate"),
        ([(0, 0)], (), "some", "no mode of ablation 'some'"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=said):
            made.without(heads, mlps, mode)


def test_pieces_of_a_batch() -> None:
    batch = strings(make_task("flip_flop"), 7, 5)
    assert [len(p) for p in pieces(batch, 16)] == [2, 2, 1]
    assert [len(p) for p in pieces(batch, 15)] == [1] * 5
    assert [len(p) for p in pieces(batch, 1)] == [1] * 5
    assert [layer_of(name) for name in ("blocks.0.hook_z", "blocks.11.attn.hook_z", "hook_embed")] == [0, 11, -1]


def test_donors(held: Held) -> None:
    mine, theirs = torch.tensor([0, 1, 2, 0]), torch.tensor([0, 0, 2, 3])
    found = {
        f"{same} {one}": choose_donors(mine, theirs, np.random.default_rng(0), same=same, one_batch=one).tolist()
        for same in (True, False) for one in (True, False)
    }  # fmt: skip
    assert found["True False"][1] == NONE
    assert found["True True"][2] == NONE, "none is its own donor"
    vectors = torch.tensor([[0.0, 1.0], [1.0, 0.0]])
    found["vectors"] = choose_donors(vectors, vectors.flip(0), np.random.default_rng(0)).tolist()
    found["random"] = random_donors(6, 4, np.random.default_rng(0)).tolist()
    found["random, itself"] = random_donors(6, 6, np.random.default_rng(0), one_batch=True).tolist()
    held(found)
    assert random_donors(3, 1, np.random.default_rng(0), one_batch=True).tolist() == [NONE] * 3
    assert set(random_donors(2, 2, np.random.default_rng(0), one_batch=True)) == {0, 1}


def test_exchanges(held: Held) -> None:
    found: dict[str, Any] = {}
    for name, positions in (("flip_flop", "learned"), ("majority", "rotary"), ("mod_p_mean", "alibi")):
        task = make_task(name)
        model = model_for(task, positions=positions)
        mine, theirs = (strings(task, task.next_length(n)) for n in (9, 13))
        chosen = np.array([3, NONE, 0, 1, NONE, 5])
        made = exchange(model, task, mine, theirs, chosen, 3, layers=True)
        kept = mine.take(torch.as_tensor(made.sequences))
        found[name] = [
            *(short(one.numpy()) for one in (made.own, made.exchanged, made.spliced, *made.by_layer, made.asked)),
            made.sequences.tolist(), short(agreement(task, made.own, made.spliced, made.asked, kept)),
        ]  # fmt: skip
        rows = torch.randn(6, 2, generator=generator("subspace"), dtype=torch.float64)
        bases = {"blocks.0.hook_resid_post": torch.linalg.qr(torch.cat([rows, rows[:2]]))[0]}
        patched = residual_interchange(model, task, mine, theirs, {"a": chosen, "b": chosen}, within={"b": bases})
        found[f"{name} patched"] = {
            f"{choice} {site}": short([one.follows_donor, one.follows_recipient, one.right, one.donors_target,
                                       one.donor_right, one.recipient_right])
            for (choice, site), one in sorted(patched.items())
        }  # fmt: skip
        found[f"{name} tautological"] = [tautological(model, site) for site in sorted({s for _, s in patched})]
    held(found)
    for suffix, rows_of in ((0, chosen), (9, chosen)):
        with pytest.raises(ValueError, match="suffix"):
            exchange(model, task, mine, theirs, rows_of, suffix)
    with pytest.raises(ValueError, match="recipient"):
        exchange(model, task, mine, theirs, np.full(6, NONE), 3)


def test_subspaces(held: Held) -> None:
    g = torch.Generator().manual_seed(0)
    rows = torch.randn(60, 6, generator=g, dtype=torch.float64)
    labels = torch.randint(3, (60,), generator=g)
    rows[:, 1] += 3 * labels
    basis = summary_subspace(rows, labels)
    assert basis is not None
    random = random_subspace(basis, np.random.default_rng(0))
    own, theirs = rows[:4], rows[4:8]
    held([short((basis @ basis.T).numpy()), short((random @ random.T).numpy()),
          short(exchanged_within(own, theirs, basis).numpy()), list(basis.shape)])  # fmt: skip


# ---- few tokens, sensitivity ---------------------------------------------------------------------
def test_influence_and_few_tokens(held: Held) -> None:
    task = make_task("kgram_retrieval", symbols=4)
    model, other, batch = (
        model_for(task, positions="learned"),
        model_for(task, positions="rotary"),
        strings(task, 10, 4),
    )
    found: dict[str, Any] = {}
    for groups in ("token", "type"):
        for window in (0, 3):
            one = influential_tokens(model, task, batch, 2, window, groups)
            found[f"{groups} {window}"] = [
                short(part) for part in (one.rise, one.chosen, one.loss_long, one.loss_short, one.loss_sparse)
            ]
    few = few_tokens(model, task, batch, 3, 2, chosen_by=other)
    found["few"] = [short(part) for part in vars(few).values()]
    found["random"] = short(random_tokens(batch, 3, 2))
    held(found)
    first = int(batch.bos)
    assert (
        earlier_positions(batch, 0).tolist() == earlier_positions(batch, 1).tolist() == [*range(first, 10 + first - 1)]
    )
    assert earlier_positions(batch, 9).tolist() == [first]
    with pytest.raises(ValueError, match=r"\b10\b"):
        earlier_positions(batch, 10)
    assert overlaps(np.array([[1, 2], [3, 4]]), np.array([[2, 9], [4, 3]])).tolist() == [1, 2]
    assert (expected_overlap(2, 8), expected_overlap(3, 3)) == (0.5, 3.0)
    for k in (0, 4):
        with pytest.raises(ValueError, match="k must be from 1 to the number of tokens, 3"):
            expected_overlap(k, 3)
    assert np.array_equal(recall(np.array([[1, 2], [3, 4]]), [{2, 5}, set()]), [0.5, np.nan], equal_nan=True)
    assert len(few_tokens(model, task, batch, 3, 7).chosen[0]) == 7
    with pytest.raises(ValueError, match="8 tokens"):
        few_tokens(model, task, batch, 3, 8)


def test_sensitivity_and_sharpness(held: Held) -> None:
    found = {}
    for name in ("parity", "majority", "flip_flop"):
        task = make_task(name)
        model, batch = model_for(task), strings(task, 9)
        given = batch.tokens[:, int(batch.bos) :]
        alphabet = given.unique()
        found[name] = [
            short(sensitivity(answer, given, np.array([0, 3, 8]), alphabet, np.random.default_rng(0)))
            for answer in (lambda x, m=model, t=task: model_answers(m, t, x), lambda x, t=task: task_answers(t, x))
        ] + [short(sharpness(model, task, batch, 0.05, 3, np.random.default_rng(0)))]
    held(found)
    answers = iter([np.array([0, 1, -1, 0]), np.array([1, 1, 0, -1]), np.array([0, 0, 0, -1])])
    two = torch.zeros(4, 6, dtype=torch.long)
    counted = sensitivity(lambda x: next(answers), two, np.array([0, 1]), torch.arange(2), np.random.default_rng(0))
    assert np.array_equal(counted, [3.0, 3.0, np.nan, np.nan], equal_nan=True)


def test_a_block_of_queries_fits_its_budget() -> None:
    inputs = score_inputs(model_for(make_task("flip_flop")), strings(make_task("flip_flop"), 9))[0]
    batch, size, heads, _ = inputs.q.shape
    one = COPIES * 8 * batch * heads * size
    assert [block_size(inputs, budget) for budget in (0, one - 1, one, 5 * one, 6 * one - 1)] == [1, 1, 1, 5, 5]
