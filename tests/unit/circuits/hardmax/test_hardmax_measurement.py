"""The whole path, from a model through hooks and fused attention to rows, on heads known by formula."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

import circuits.hardmax.reduction
import workbench.measure.study
from circuits import Hardmax, HardmaxResult, hardmax_statistics
from circuits.hardmax.rows import ALL_KEYS
from workbench.figures.heads import head_curves
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.transformers import key_head, uniform_head
from workbench.table.schema import FIELDS, to_arrow
from workbench.tasks.base import Batch

Make = Callable[..., Batch]
GRID = (12, 25, 50, 100, 200, 400)
N = 50


def head(frame: pd.DataFrame, quantity: str, length: int, layer: int = 0, index: int = 0) -> pd.Series:
    """The one row of a quantity at a length."""
    rows = frame[
        (frame.quantity == quantity) & (frame.length == length) & (frame.layer == layer) & (frame["head"] == index)
    ]
    assert len(rows) == 1
    return rows.iloc[0]


def read(model: Any, batches: list[Batch], **settings: Any) -> pd.DataFrame:
    return hardmax_statistics(model, batches, **{"trained": N, "window": 1, **settings}).frame()


# ---- known heads ----------------------------------------------------------------------------------
@pytest.mark.asserts(
    "hardmax_distance",
    "tie_size",
    "argmax_mass",
    "margin",
    "margin_min",
    "support_inf",
    "effective_support",
    "dispersion_exponent",
    "leak_exponent",
    "critical_length",
)
@pytest.mark.parametrize("m", [6.0, 10.0])
def test_a_point_head_gives_its_closed_forms(m: float, keyed: Make) -> None:
    frame = read(key_head(m), [keyed(n, 1) for n in GRID])
    log_support = {}
    for n in GRID:
        keys = n + 1
        z = math.exp(m) + keys - 1
        q = math.exp(m) / z
        log_support[n] = math.log(1 / q)
        expected = {
            "hardmax_distance": min(1 - q, q - 1 / keys),
            "tie_size": 1.0,
            "argmax_mass": q,
            "margin": m,
            "margin_min": m,
            "effective_support": math.exp(math.log(z) - m * q),
            "support_inf": 1 / q,
            "critical_length": 1 + math.exp(m),
        }
        for quantity, value in expected.items():
            found = head(frame, quantity, n)
            assert found.value == pytest.approx(value, rel=2e-6), (quantity, n)
            assert (found.status, found.n) == ("ok", 40)
        assert head(frame, "tie_uniformity", n).status == "undefined"
    for before, n in itertools.pairwise(GRID):
        beta = (log_support[n] - log_support[before]) / math.log((n + 1) / (before + 1))
        found = head(frame, "dispersion_exponent", n)
        assert found.value == pytest.approx(beta, abs=1e-6)
        leak = head(frame, "leak_exponent", n)
        if n <= N:
            assert (leak.status, pd.isna(leak.value)) == ("undefined", True)
        else:
            assert leak.value == pytest.approx(beta, abs=1e-6)
            assert leak.note.startswith(f"from prefix length {before}; set: top 1 keys, as at prefix length 50")
    assert head(frame, "dispersion_exponent", GRID[0]).status == "undefined"


@pytest.mark.asserts("hardmax_verdict", "hardmax_kind")
def test_a_sharp_point_head_is_a_point_hardmax(keyed: Make) -> None:
    frame = read(key_head(10.0), [keyed(n, 1) for n in GRID])
    for n in GRID:
        verdict = head(frame, "hardmax_verdict", n)
        assert (verdict.label, verdict.value, verdict.high) == ("hardmax", 1.0, 1.0)
        assert verdict.low == pytest.approx(0.025 ** (1 / 40))
    kinds = [head(frame, "hardmax_kind", n) for n in GRID]
    assert [k.label for k in kinds] == ["", "", "point", "point", "point", "point"]
    assert kinds[0].status == "undefined"
    assert "at most 3" in kinds[0].note


def test_a_blunt_point_head_is_soft_and_has_no_kind(keyed: Make) -> None:
    frame = read(key_head(6.0), [keyed(n, 1) for n in GRID])
    assert head(frame, "hardmax_verdict", 200).label == "soft"
    kind = head(frame, "hardmax_kind", 200)
    assert (kind.status, kind.label) == ("not_applicable", "")
    assert "soft" in kind.note


def test_a_uniform_head_is_a_hardmax_over_everything(keyed: Make) -> None:
    frame = read(uniform_head(), [keyed(n, 1) for n in GRID])
    for n in GRID:
        assert head(frame, "hardmax_distance", n).value == pytest.approx(0.0, abs=1e-12)
        assert head(frame, "tie_size", n).value == pytest.approx(n + 1)
        assert head(frame, "argmax_mass", n).value == 1.0
        assert head(frame, "effective_support", n).value == pytest.approx(n + 1)
        assert head(frame, "support_inf", n).value == pytest.approx(n + 1)
        assert head(frame, "tie_uniformity", n).value == pytest.approx(1.0)
        for quantity in ("margin", "margin_min"):
            found = head(frame, quantity, n)
            assert (found.status, pd.isna(found.value)) == ("undefined", True)
        critical = head(frame, "critical_length", n)
        assert (critical.status, pd.isna(critical.value), critical.low) == ("censored", True, 401.0)
        assert critical.note.startswith("infinite: ")
        assert head(frame, "hardmax_kind", n).label == "uniform"
    assert head(frame, "hardmax_kind", 400).note == "the tie set grows like K to the power 1.00"
    for n in GRID[1:]:
        assert head(frame, "dispersion_exponent", n).value == pytest.approx(1.0)
    for n in (100, 200, 400):
        assert head(frame, "leak_exponent", n).value == 0.0


@pytest.mark.asserts("tie_uniformity")
def test_tied_keys_of_fixed_number(keyed: Make) -> None:
    k, m = 4, 9.0
    frame = read(key_head(m), [keyed(n, k) for n in GRID])
    for n in (50, 100, 400):
        z = k * math.exp(m) + n + 1 - k
        assert head(frame, "tie_size", n).value == pytest.approx(4.0)
        assert head(frame, "argmax_mass", n).value == pytest.approx(k * math.exp(m) / z, rel=1e-6)
        assert head(frame, "margin", n).value == pytest.approx(m, rel=1e-6)
        assert head(frame, "tie_uniformity", n).value == pytest.approx(1.0)
        assert head(frame, "critical_length", n).value == pytest.approx(k * (1 + math.exp(m)), rel=1e-5)
        assert head(frame, "hardmax_kind", n).label == "point"


def test_a_class_grows_with_the_length_and_never_dissolves(keyed: Make) -> None:
    frame = read(key_head(8.0), [keyed(n, n // 3) for n in (24, 48, 96, 192, 384)], trained=96)
    for n in (96, 192, 384):
        assert head(frame, "tie_size", n).value == pytest.approx(n // 3)
        assert head(frame, "hardmax_kind", n).label == "class"
        critical = head(frame, "critical_length", n)
        assert (critical.status, critical.low) == ("censored", 385.0)
        assert "grows like K to the power 1.0" in critical.note
    for n in (192, 384):
        leak = head(frame, "leak_exponent", n)
        assert leak.value == pytest.approx(0.0, abs=0.02)
        assert "of all keys" in leak.note


def test_critical_length_is_read_where_the_head_still_is_a_point(keyed: Make) -> None:
    """Margin 3 dissolves at 21 keys: at N = 50 the nearest set is everything, at 12 it is the key."""
    frame = read(key_head(3.0), [keyed(n, 1) for n in GRID])
    assert head(frame, "tie_size", 12).value == pytest.approx(1.0)
    assert head(frame, "tie_size", 50).value == pytest.approx(51.0)
    for n in GRID:
        assert head(frame, "critical_length", n).value == pytest.approx(21.0855, rel=1e-5)
    assert "top 1 keys, as at prefix length 12" in head(frame, "critical_length", 50).note
    assert head(frame, "margin", 50).status == "undefined"


def test_a_sink_is_a_point_on_bos_only(keyed: Make, asked: Make) -> None:
    model = key_head(9.0)
    with torch.no_grad():
        model.embed.W_E[0, 1], model.embed.W_E[2, 1] = 1.0, 0.0
    batches = [keyed(n, 1) for n in (11, 50)]
    assert head(read(model, batches), "hardmax_kind", 50).label == "sink"
    without = [asked(b.tokens, bos=False) for b in batches]
    frame = read(model, without)
    assert head(frame, "hardmax_kind", 51).label == "point"
    assert head(frame, "effective_support", 51).value == pytest.approx(
        head(read(model, batches), "effective_support", 50).value
    )
    assert head(read(uniform_head(), batches), "hardmax_kind", 50).label == "uniform"


def test_a_sink_counts_queries_not_sequences(asked: Make) -> None:
    """35 sequences of 16 queries rest on BOS, 5 of one query on a key: 99 % of queries, 87 % of sequences."""
    model = key_head(9.0)
    with torch.no_grad():
        model.embed.W_E[0, 1], model.embed.W_E[2, 1] = 1.0, 3.0
    batches = []
    for n in (12, 50):
        tokens = torch.ones(40, n + 1, dtype=torch.long)
        tokens[:, 0], tokens[:5, 1] = 0, 2
        batches.append(asked(tokens))
        batches[-1].mask[:5, :-1] = False
    assert head(read(model, batches, window=16), "hardmax_kind", 50).label == "sink"


def test_a_huge_margin_stays_finite(keyed: Make) -> None:
    frame = read(key_head(120.0), [keyed(n, 1) for n in (12, 50)])
    assert head(frame, "margin", 50).value == pytest.approx(120.0)
    assert head(frame, "argmax_mass", 50).value == 1.0
    critical = head(frame, "critical_length", 50)
    assert (critical.status, critical.note) == ("censored", "infinite: beyond 1e+15 keys")


def test_the_window_averages_over_its_queries(keyed: Make) -> None:
    frame = read(key_head(4.0), [keyed(100, 1)], window=16)
    q = np.array([math.exp(4) / (math.exp(4) + k - 1) for k in range(86, 102)])
    keys = np.arange(86, 102)
    assert head(frame, "hardmax_distance", 100).value == pytest.approx(np.minimum(1 - q, q - 1 / keys).mean(), rel=1e-6)
    assert head(frame, "support_inf", 100).value == pytest.approx(math.exp(-np.log(q).mean()), rel=1e-6)


# ---- against brute force on explicit patterns ---------------------------------------------------
@pytest.mark.parametrize("positions", ["none", "learned", "rotary"])
def test_rows_agree_with_brute_force_on_the_pattern(positions: str, asked: Make) -> None:
    cfg = ModelConfig(
        d_vocab=5, n_layers=2, d_model=16, n_heads=2, n_ctx=64, positions=positions, initializer_range=0.8
    )
    model = HookedTransformer(cfg, seed=1)
    batch = asked(torch.randint(0, 5, (6, 31), generator=torch.Generator().manual_seed(2)))
    frame = read(model, [batch], window=4, trained=30)
    names = [f"blocks.{layer}.attn.hook_pattern" for layer in range(2)]
    _, cache = model.run_with_cache(batch.tokens, names_filter=names)
    for layer, index in np.ndindex(2, 2):
        per_sequence = []
        for pattern in cache[names[layer]][:, index].double().numpy():
            per_sequence.append([brute(pattern[i, : i + 1]) for i in range(27, 31)])
        expected = np.array(per_sequence)
        distance = head(frame, "hardmax_distance", 30, layer, index)
        assert distance.value == pytest.approx(expected[:, :, 0].mean(), abs=2e-6)
        means = expected[:, :, 0].mean(1)
        assert means.min() <= distance.low <= distance.value <= distance.high <= means.max()
        assert head(frame, "effective_support", 30, layer, index).value == pytest.approx(
            math.exp(expected[:, :, 1].mean()), rel=1e-5
        )
        assert head(frame, "argmax_mass", 30, layer, index).value == pytest.approx(expected[:, :, 2].mean(), abs=1e-5)


def brute(p: np.ndarray) -> tuple[float, float, float]:
    """Distance, entropy and mass on the nearest set, by trying every k."""
    ordered = np.sort(p)[::-1]
    distances = [
        np.abs(ordered - np.r_[np.full(k, 1 / k), np.zeros(len(p) - k)]).sum() / 2 for k in range(1, len(p) + 1)
    ]
    k = int(np.argmin(distances)) + 1
    return float(min(distances)), float(-(p * np.log(p)).sum()), float(ordered[:k].sum())


# ---- supervision --------------------------------------------------------------------------------
def test_only_supervised_queries_count(keyed: Make) -> None:
    batch = keyed(60, 1)
    only_last = torch.zeros_like(batch.mask)
    only_last[:, -1] = True
    sparse = Batch(batch.tokens, batch.targets, only_last, batch.output_summary, None, 60, True, "matched")
    frame = read(key_head(4.0), [sparse], window=16)
    q = math.exp(4) / (math.exp(4) + 60)
    assert head(frame, "argmax_mass", 60).value == pytest.approx(q if 1 - q < q - 1 / 61 else 1.0, rel=1e-6)
    assert head(frame, "support_inf", 60).value == pytest.approx(1 / q, rel=1e-6)


def test_sequences_without_a_supervised_query_are_not_counted(keyed: Make) -> None:
    batch = keyed(60, 1)
    batch.mask[:10] = False
    frame = read(key_head(4.0), [batch], window=16)
    assert head(frame, "hardmax_distance", 60).n == 30
    assert head(frame, "hardmax_verdict", 60).n == 30


def test_a_length_without_supervised_queries_is_undefined(keyed: Make) -> None:
    batches = [keyed(n, 1) for n in (12, 50)]
    batches[0].mask[:] = False
    frame = read(key_head(4.0), batches)
    rows = frame[frame.length == 12]
    assert set(rows.status) == {"undefined"}
    assert rows.note.str.contains("supervised").all()
    assert head(frame, "hardmax_distance", 50).status == "ok"


# ---- plumbing -----------------------------------------------------------------------------------
def test_chunks_change_nothing(keyed: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    cfg = ModelConfig(d_vocab=3, n_layers=2, d_model=8, n_heads=2, n_ctx=64, initializer_range=0.8)
    model = HookedTransformer(cfg, seed=3)
    batches = [keyed(n, 2) for n in (12, 50)]
    whole = read(model, batches)
    monkeypatch.setattr(circuits.hardmax.reduction, "CHUNK", 300)
    monkeypatch.setattr(circuits.hardmax.reduction, "BLOCK", 40)
    monkeypatch.setattr(workbench.measure.study, "CHUNK_TOKENS", 150)
    pieces = read(model, batches)
    columns = ["value", "low", "high"]
    assert np.allclose(whole[columns].astype(float), pieces[columns].astype(float), atol=1e-6, equal_nan=True)
    assert (whole.label == pieces.label).all()


def test_the_measurement_and_the_function_share_one_path(keyed: Make) -> None:
    model, batches = key_head(5.0), [keyed(n, 1, sequences=8) for n in (12, 50, 100)]
    measurement = Hardmax()
    names = measurement.hooks(model.cfg)
    assert names == ["blocks.0.attn.hook_q", "blocks.0.attn.hook_k"]
    for batch in batches:
        _, cache = model.run_with_cache(batch.tokens, names_filter=names)
        measurement.observe("matched", batch.length, batch, cache)
    study = SimpleNamespace(grid=SimpleNamespace(trained=N), rng=lambda *parts: np.random.default_rng(0))
    rows = measurement.finish(study)  # type: ignore[arg-type]
    result = hardmax_statistics(model, batches, trained=N)
    filled = ("run", "step", "measurement", "setting")
    assert [{k: v for k, v in r.items() if k not in filled} for r in rows] == [
        {k: v for k, v in r.items() if k not in filled} for r in result.rows
    ]


def test_rows_are_complete_and_storable(keyed: Make) -> None:
    result = hardmax_statistics(key_head(5.0), [keyed(n, 1) for n in (12, 50)], trained=N)
    spec = Hardmax().spec
    assert list(result.frame().columns) == list(FIELDS)
    assert set(result.frame().quantity) == {q.name for q in spec.quantities}
    assert to_arrow(result.rows).num_rows == len(result.rows)
    for r in result.rows:
        assert (r["value"] is None) or math.isfinite(r["value"])
        assert r["status"] == "ok" or r["note"]
        if r["status"] == "ok" and r["value"] is not None:
            assert (r["low"] is None) == (r["high"] is None)
            if r["low"] is None:
                assert f"all {r['n']} equal" in r["note"] or "by definition" in r["note"]
            else:
                assert r["low"] <= r["value"] <= r["high"]
                assert r["low"] < r["high"], "an interval of no width"
    scaled = result.frame().query("quantity in ('p_bit_length', 'hardmax_length')")
    assert set(scaled.status) == {"not_applicable"}


def test_rotary_models_are_read_after_the_rotation() -> None:
    cfg = ModelConfig(d_vocab=3, n_layers=2, d_model=8, n_heads=2, n_ctx=16, positions="rotary")
    assert Hardmax().hooks(cfg)[2:] == ["blocks.1.attn.hook_rot_q", "blocks.1.attn.hook_rot_k"]


def test_without_a_training_length_nothing_is_carried(keyed: Make) -> None:
    frame = read(key_head(6.0), [keyed(n, 1) for n in (50, 100)], trained=None)
    assert head(frame, "leak_exponent", 100).note == "the training length is not known"
    assert head(frame, "critical_length", 100).value == pytest.approx(1 + math.exp(6), rel=1e-5)


def test_one_batch_is_enough(keyed: Make) -> None:
    result = hardmax_statistics(key_head(6.0), keyed(50, 1))
    assert isinstance(result, HardmaxResult)
    assert head(result.frame(), "margin", 50).value == pytest.approx(6.0)


def test_the_figure_is_drawn_from_the_rows(keyed: Make) -> None:
    result = hardmax_statistics(key_head(6.0), [keyed(n, 1) for n in GRID], trained=N)
    figure = result.figure(quantity="argmax_mass")
    assert len(figure.data) > 0


@pytest.mark.parametrize(("trained", "marked"), [(N, "trained \u2264 50"), (None, "trained \u2264 400")])
def test_the_figure_marks_the_training_length_or_else_the_longest(
    keyed: Make, trained: int | None, marked: str
) -> None:
    result = hardmax_statistics(key_head(6.0), [keyed(n, 1) for n in GRID], trained=trained)
    texts = [note.text for note in result.figure(quantity="argmax_mass").layout.annotations]
    assert [text for text in texts if text.startswith("trained")] == [marked]


def test_few_sequences_are_said_to_be_too_few(keyed: Make) -> None:
    frame = read(key_head(10.0), [keyed(50, 1, sequences=8)])
    verdict = head(frame, "hardmax_verdict", 50)
    assert verdict.label == "undecided"
    assert "too few" in verdict.note


def test_lengths_out_of_order_are_refused(keyed: Make) -> None:
    model, measurement = key_head(5.0), Hardmax()
    for n in (50, 12):
        batch = keyed(n, 1)
        _, cache = model.run_with_cache(batch.tokens, names_filter=measurement.hooks(model.cfg))
        if n == 50:
            measurement.observe("matched", n, batch, cache)
        else:
            with pytest.raises(ValueError, match=r"\b12\b"):
                measurement.observe("matched", n, batch, cache)


def test_bad_input_is_refused(keyed: Make) -> None:
    with pytest.raises(ValueError, match="batch"):
        hardmax_statistics(key_head(1.0), [])
    with pytest.raises(ValueError, match="test set"):
        hardmax_statistics(key_head(1.0), [keyed(12, 1), keyed(12, 1)])
    with pytest.raises(ValueError, match=r"hardmax\.window"):
        Hardmax(window=0)
    with pytest.raises(ValueError, match="delta"):
        Hardmax(delta=-1.0)
    with pytest.raises(ValueError, match="length 13"):
        Hardmax().observe("matched", 13, keyed(12, 1), {})
    with pytest.raises(ValueError, match=r"hooks\(cfg\)"):
        Hardmax().observe("matched", 12, keyed(12, 1), {})


def test_importing_the_package_needs_no_torch() -> None:
    import subprocess
    import sys

    code = "import sys, circuits; assert 'torch' not in sys.modules; assert 'Hardmax' in circuits.__all__"
    subprocess.run([sys.executable, "-c", code], check=True)
    with pytest.raises(AttributeError, match="'Softmax'"):
        circuits.Softmax  # type: ignore[attr-defined]  # noqa: B018


def test_the_mass_on_a_tie_set_that_is_everything_is_labelled(keyed: Make) -> None:
    """Margin 3 has K* = 21.1 keys: the set is one key up to there, and all keys, with mass 1, beyond."""
    result = hardmax_statistics(key_head(3.0), [keyed(n, 1) for n in (12, 50)], trained=12)
    rows = {r["length"]: r for r in result.rows if r["quantity"] == "argmax_mass"}
    assert (rows[12]["label"], rows[50]["label"]) == ("", "all keys")
    assert rows[50]["value"] == pytest.approx(1.0)
    assert "the tie set is all keys for 100% of queries, whose mass is 1 by definition" in rows[50]["note"]
    assert rows[12]["value"] < 0.9
    assert "by definition" not in rows[12]["note"]
    assert ALL_KEYS == head_curves.ALL_KEYS
