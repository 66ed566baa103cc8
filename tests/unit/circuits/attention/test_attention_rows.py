"""Where statistics of attention become rows: typical sizes, kinds at their bounds, whose set, which length."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from circuits.hardmax.measurement import hardmax_statistics
from circuits.hardmax.reduction import length_record
from circuits.hardmax.verdict import hardmax_kind
from circuits.positional.measurement import Positional, positional_statistics, weight_tables
from circuits.positional.translation_fit import gauge
from circuits.sparsity.measurement import OF_WINDOWS, sparsity_statistics
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.attention_heads import induction_model
from workbench.models.handmade.blank import blank
from workbench.models.transformer.tie_sets import nearest_hardmax, sort_rows
from workbench.tasks import make_task
from workbench.tasks.base import Batch

Make = Callable[..., Batch]


def test_of_sets_that_are_equally_near_the_smallest_counts() -> None:
    """p = (3/4, 1/4) is 1/4 away from its first key and from both; (1, 1, 1)/3 is its own set."""
    found = nearest_hardmax(sort_rows(np.log([[3.0, 1.0]])))
    assert found.size.tolist() == [1]
    assert found.distance.tolist() == pytest.approx([0.25])
    assert found.distance_to_all.tolist() == pytest.approx([0.25])
    assert nearest_hardmax(sort_rows(np.zeros((1, 3)))).size.tolist() == [3]


@pytest.mark.parametrize(("sizes", "carried"), [((1, 1, 1, 9), 1.0), ((1, 1, 9, 9), 5.0), ((2, 9, 9, 9), 9.0)])
def test_the_set_that_is_carried_has_the_median_size(sizes: tuple[int, ...], carried: float, asked: Make) -> None:
    batch = asked(torch.ones(4, 13, dtype=torch.long))

    def carried_of(*found: int) -> float:
        layer = {"sizes": np.array(found, dtype=np.float64)[:, None, None]}
        return length_record([layer], batch, np.array([12])).tie_set.size.item()

    assert carried_of(*sizes) == carried
    # Half of the queries see a set that is everything (0): the other half still decides, fewer do not.
    assert carried_of(sizes[0], sizes[0], 0, 0) == sizes[0]
    assert np.isnan(carried_of(sizes[0], 0, 0, 0))


@pytest.mark.parametrize(
    ("growth", "kind"), [(0.24, "point"), (0.26, "growing"), (0.74, "growing"), (0.76, "class"), (1.0, "class")]
)
def test_kinds_of_a_hardmax_part_at_a_quarter_and_three_quarters(growth: float, kind: str) -> None:
    assert hardmax_kind(0.0, 0.5, growth) == kind
    assert hardmax_kind(0.9, 0.5, growth) == kind
    assert hardmax_kind(0.91, 0.5, growth) == "sink"
    assert hardmax_kind(0.0, 0.1, growth) == "uniform"


def late_key(first: int, margin: float = 10.0) -> HookedTransformer:
    """Uniform over keys of small ids, and sharp on the key of id ``first`` once that is seen."""
    model = blank(
        ModelConfig(
            d_vocab=3, d_vocab_out=2, n_layers=1, d_model=3, n_heads=1, d_head=1, n_ctx=128, attn_only=True,
            normalization_type=None, positions="learned",
        )
    )  # fmt: skip
    with torch.no_grad():
        model.embed.W_E[:, 0] = 1.0
        model.pos_embed.W_pos[first, 1] = 1.0
        model.blocks[0].attn.W_Q[0, 0, 0] = 1.0
        model.blocks[0].attn.W_K[0, 1, 0] = margin * model.cfg.attn_scale
    return model


def test_no_set_from_beyond_training_makes_a_critical_length(asked: Make) -> None:
    """Up to N the set is everything, so nothing is outvoted at any length, whatever attention does past N."""
    batches = [asked(torch.ones(40, n + 1, dtype=torch.long)) for n in (8, 32, 64)]
    for first, infinite in ((40, True), (5, False)):
        found = hardmax_statistics(late_key(first), batches, trained=32)
        rows = {r["length"]: r for r in found.rows if r["quantity"] == "critical_length"}
        sizes = {r["length"]: r["value"] for r in found.rows if r["quantity"] == "tie_size"}
        assert sizes[64] == pytest.approx(1.0)
        assert (sizes[32] > 20) == infinite
        assert (rows[64]["status"] == "censored") == infinite
        if infinite:
            assert rows[64]["note"].startswith(
                "infinite: the tie set is all keys for most queries at every length within"
            )
        else:
            assert rows[64]["value"] == pytest.approx(1 + np.exp(10.0), rel=1e-3)


@pytest.mark.asserts("sparse_gap")
def test_windows_are_compared_past_training_alone() -> None:
    task, model = make_task("kgram_retrieval", symbols=8), induction_model(8, 9.0)
    at_n = sparsity_statistics(model, task, trained=16, lengths=[8, 16], sequences=8)
    of_windows = [r for r in at_n.rows if r["quantity"] in OF_WINDOWS]
    assert {(r["status"], r["value"]) for r in of_windows} == {("not_applicable", None)}
    assert {r["quantity"] for r in of_windows} == set(OF_WINDOWS)
    past = sparsity_statistics(model, task, trained=16, lengths=[8, 16, 17, 24], sequences=8)
    found = {r["quantity"]: r for r in past.rows if r["quantity"] in OF_WINDOWS}
    assert {r["length"] for r in found.values()} == {24}
    gap = found["loss_sparse"]["value"] - found["loss_long"]["value"]
    assert found["sparse_gap"]["value"] == pytest.approx(gap, abs=1e-6)
    assert found["loss_short"]["value"] > found["loss_long"]["value"]


def test_the_variance_of_a_period_is_that_of_the_period() -> None:
    """Scores M[i mod 3, j mod 3]: lags explain nothing of them, lags within each residue everything."""
    cfg = ModelConfig(
        d_vocab=3, d_vocab_out=2, n_layers=1, d_model=6, n_heads=1, d_head=6, n_ctx=64, attn_only=True,
        normalization_type=None, positions={"name": "limit", "period": 3, "locality": 0},
    )  # fmt: skip
    model = HookedTransformer(cfg, seed=0).double().eval()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        model.pos_embed.W_pos.copy_(torch.randn(3, 6, generator=generator))
        for weight in (model.blocks[0].attn.W_Q, model.blocks[0].attn.W_K):
            weight.copy_(torch.randn(1, 6, 6, generator=generator))
    found = positional_statistics(model, make_task("parity"), trained=16, lengths=[16], sequences=4)
    rows: dict[str, Any] = {
        r["target"]: r for r in found.rows if r["mode"] == "weights" and r["quantity"] == "translation_variance"
    }
    table = weight_tables(model, 0, Positional().span)
    assert table is not None
    expected = gauge(table[0]).variance
    assert rows["period 1"]["value"] == pytest.approx(float(expected[0]))
    assert rows["period 1"]["value"] > 0.3
    assert rows["period 3"]["value"] == pytest.approx(0.0, abs=1e-9)
    assert found.value("period", mode="weights") == 3.0
    assert found.value("period_strength", mode="weights") == pytest.approx(1.0)
    assert rows["period 3"]["low"] is None
