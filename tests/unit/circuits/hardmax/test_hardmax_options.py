"""circuits.hardmax under biases, log scaling and attention that is no softmax: closed forms, and what does not apply."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from circuits import Hardmax, hardmax_statistics
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.transformers import key_head
from workbench.tasks.base import Batch

Make = Callable[..., Batch]
LENGTHS = (12, 25, 50, 100)


def with_options(model: HookedTransformer, **options: Any) -> HookedTransformer:
    """The same weights in a model of other options."""
    made = HookedTransformer(ModelConfig(**{**model.cfg.model_dump(), **options})).eval()
    state = {**made.state_dict(), **model.state_dict()}
    made.load_state_dict(state)
    return made


def read(model: Any, batches: list[Batch], **settings: Any) -> pd.DataFrame:
    return hardmax_statistics(model, batches, **{"trained": 50, "window": 1, **settings}).frame()


def row(frame: pd.DataFrame, quantity: str, length: int, head: int = 0) -> pd.Series:
    return frame[(frame.quantity == quantity) & (frame.length == length) & (frame["head"] == head)].iloc[0]


def test_alibi_alone_has_the_weights_of_a_geometric_row(asked: Make) -> None:
    cfg = ModelConfig(d_vocab=2, n_layers=1, d_model=4, n_heads=2, n_ctx=8, positions="alibi")
    model = HookedTransformer(cfg)
    with torch.no_grad():
        model.blocks[0].attn.W_Q.zero_()
    frame = read(model, [asked(torch.zeros(3, n + 1, dtype=torch.long)) for n in LENGTHS])
    for n in LENGTHS:
        for head, slope in enumerate((2**-4, 2**-8)):
            total = (1 - math.exp(-slope * (n + 1))) / (1 - math.exp(-slope))
            assert row(frame, "support_inf", n, head).value == pytest.approx(total, rel=1e-5)


def test_a_local_bias_makes_a_point(asked: Make) -> None:
    limit = {"name": "limit", "period": 2, "locality": 3}
    cfg = ModelConfig(d_vocab=2, n_layers=1, d_model=4, n_heads=1, n_ctx=8, positions=limit)
    model = HookedTransformer(cfg)
    with torch.no_grad():
        model.blocks[0].attn.W_Q.zero_()
        model.blocks[0].attn.phi[0, 2] = 9.0
    frame = read(model, [asked(torch.zeros(40, n + 1, dtype=torch.long)) for n in LENGTHS])
    for n in LENGTHS:
        assert row(frame, "margin", n).value == pytest.approx(9.0, rel=1e-5)
        assert row(frame, "argmax_mass", n).value == pytest.approx(math.exp(9) / (math.exp(9) + n), rel=1e-6)
    assert row(frame, "hardmax_kind", 100).label == "point"


# ---- log scaling ------------------------------------------------------------------------------------
@pytest.mark.asserts("p_bit_length", "hardmax_length")
@pytest.mark.parametrize("m", [1.5, 2.0, 3.0])
def test_a_log_scaled_point_has_its_lengths(m: float, keyed: Make) -> None:
    """Scores m log K: gamma = m, so 2^(8/m) keys round to a hardmax and 9^(1/(m-1)) hold a tenth outside."""
    frame = read(with_options(key_head(m), log_scaling="all"), [keyed(n, 1) for n in LENGTHS])
    for n in LENGTHS:
        assert row(frame, "margin_min", n).value == pytest.approx(m * math.log(n + 1), rel=1e-5)
        assert row(frame, "p_bit_length", n).value == pytest.approx(2 ** (8 / m), rel=1e-4)
        found = row(frame, "hardmax_length", n)
        if n < 50:
            assert found.status == "undefined", "growth of the tie set needs a quarter of the length"
        else:
            assert found.value == pytest.approx(9 ** (1 / (m - 1)), rel=1e-4)
            assert found.note.startswith(f"gamma = {m:.3g}; for a tie set of 1 keys at every length")


def test_a_log_scaled_point_of_small_margin_hardly_ever_becomes_a_hardmax(keyed: Make) -> None:
    frame = read(with_options(key_head(1.05), log_scaling="all"), [keyed(n, 1) for n in LENGTHS])
    found = row(frame, "hardmax_length", 100)
    assert (found.status, pd.isna(found.value), found.low) == ("censored", True, 101.0)
    assert found.note.startswith("infinite: beyond 1e+15 keys; gamma = 1.05")
    assert row(frame, "p_bit_length", 100).value == pytest.approx(2 ** (8 / 1.05), rel=1e-4)


def test_a_log_scaled_class_has_the_length_of_its_share(keyed: Make) -> None:
    """Half of all keys at margin 2 log K: (9)^(1/2) keys, and the growth of the tie set decides which formula."""
    frame = read(with_options(key_head(2.0), log_scaling="all"), [keyed(n, (n + 1) // 4) for n in (19, 39, 79, 159)])
    found = row(frame, "hardmax_length", 159)
    assert found.value == pytest.approx(math.sqrt(3 * 9), rel=0.05)
    assert "0.25 of all keys" in found.note


def test_the_gain_of_a_head_and_the_bits_enter(keyed: Make) -> None:
    model = with_options(key_head(1.0), log_scaling="learned")
    with torch.no_grad():
        model.blocks[0].attn.log_gain.fill_(2.0)
    frame = read(model, [keyed(n, 1) for n in LENGTHS], bits=16)
    assert row(frame, "p_bit_length", 50).value == pytest.approx(2 ** (16 / 2), rel=1e-4)


@pytest.mark.parametrize("scaling", ["none", "local"])
def test_unscaled_scores_say_so(scaling: str, keyed: Make) -> None:
    limit = {"name": "limit", "period": 1, "locality": 0}
    model = with_options(key_head(3.0), log_scaling=scaling, positions=limit if scaling == "local" else "none")
    frame = read(model, [keyed(n, 1) for n in LENGTHS])
    assert set(frame[frame.quantity == "p_bit_length"].status) == {"not_applicable"}


def test_a_critical_length_takes_its_set_from_within_training(keyed: Make) -> None:
    """Uniform up to N, where no string holds the key, and a point beyond: what beyond N looks like sets no length."""
    frame = read(key_head(6.0), [keyed(n, keys) for n, keys in ((25, 0), (50, 0), (100, 1))])
    for n in (25, 50, 100):
        found = row(frame, "critical_length", n)
        assert (found.status, found.note.split(":")[0]) == ("censored", "infinite")
        assert "all keys for most queries at every length within training" in found.note
    assert row(frame, "tie_size", 100).value == pytest.approx(1.0)
    beyond = read(key_head(6.0), [keyed(n, keys) for n, keys in ((50, 0), (100, 1))], trained=100)
    assert row(beyond, "critical_length", 100).value == pytest.approx(1 + math.exp(6), rel=1e-5)


# ---- attention that is no softmax -------------------------------------------------------------------
@pytest.mark.parametrize("attention", ["linear", "hardmax"])
def test_what_is_no_softmax_is_not_applicable(attention: str, keyed: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    model = with_options(key_head(3.0), attention=attention)
    monkeypatch.setattr("workbench.measure.model_study.forward", lambda *_: pytest.fail("no forward pass is needed"))
    frame = read(model, [keyed(n, 1) for n in LENGTHS])
    assert set(frame.quantity) == {q.name for q in Hardmax().spec.quantities}
    assert set(frame.status) == {"not_applicable"}
    assert frame.value.isna().all()
    assert set(frame.note) == {f"defined for attention by softmax; this model's is {attention}"}
    measurement = Hardmax()
    assert measurement.hooks(model.cfg) == []
    batch = keyed(12, 1)
    measurement.observe("matched", 12, batch, {"logits": model(batch.tokens)})
    assert {r["status"] for r in measurement.rows(50, np.random.default_rng(0))} == {"not_applicable"}
