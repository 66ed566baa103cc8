"""Tables of scores by position with known structure, and their estimates from activations."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from circuits.attention.attention_scores import score_inputs
from circuits.positional.measurement import Positional, _ends, positional_statistics, weight_tables
from circuits.positional.position_tables import PositionTables, position_tables
from circuits.positional.translation_fit import (
    Gauge,
    _agree,
    _period,
    _still_slopes,
    gauge,
    locality,
    positional_share,
    row_residual,
    translation_variances,
)
from workbench.measure.intervals import jackknife
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.handmade.attention_heads import fixed_lag_model
from workbench.models.positions import ENCODINGS
from workbench.tasks import make_task

N = 48
QUERY, KEY = np.indices((N, N))
RNG = np.random.default_rng(7)
PERIODIC = np.array([[1.0, 1.2, -0.3], [0.4, -0.9, -1.2], [-0.2, 0.9, -1.1]])[QUERY % 3, KEY % 3]
MAJORITY = make_task("majority")


@pytest.mark.parametrize(
    ("table", "variance"),
    [
        (-0.5 * (QUERY - KEY), 0.0),
        (-0.5 * (QUERY - KEY) + RNG.normal(size=N)[:, None], 0.0),
        (1.0 * (QUERY - KEY == 1), 0.0),
        (1.0 * ((QUERY - KEY) % 3 == 0), 0.0),
        (1.0 * (KEY == 0), 0.94),
        (RNG.normal(size=(N, N)), 1.0),
    ],
    ids=["alibi", "alibi and row constants", "previous token", "i = j mod 3", "first token", "noise"],
)
def test_translation_variance_of_known_tables(table: np.ndarray, variance: float) -> None:
    found = gauge(np.where(KEY <= QUERY, table, 1e9))
    assert found.variance[0] == pytest.approx(variance, abs=0.05 if variance else 1e-9)
    assert found.period is None


@pytest.mark.parametrize(("noise", "left"), [(0.0, 0.0), (0.3, 0.1)])
def test_a_period_is_found_through_noise(noise: float, left: float) -> None:
    found = gauge(PERIODIC + noise * np.random.default_rng(1).normal(size=(N, N)))
    assert found.period == 3
    assert found.variance[0] > 0.5
    assert found.variance[[2, 5]] == pytest.approx([left, left], abs=0.06)
    assert found.strength > 0.8


def test_no_constant_per_query_and_no_masked_score_matters() -> None:
    shifted = gauge(np.where(KEY <= QUERY, PERIODIC + 5.0 * RNG.normal(size=N)[:, None], np.inf))
    plain = gauge(PERIODIC)
    assert shifted.variance == pytest.approx(plain.variance, abs=1e-9)
    assert row_residual(PERIODIC + np.arange(N)[:, None]) == pytest.approx(row_residual(PERIODIC))
    with pytest.raises(ValueError, match="NaN"):
        gauge(np.where(KEY < QUERY, PERIODIC, np.nan))
    with pytest.raises(ValueError, match="4 positions"):
        gauge(np.zeros((3, 3)))


def test_two_halves_remove_the_bias_of_noise() -> None:
    """A lag table under noise: one estimate calls the noise translation variance, two do not."""
    rng = np.random.default_rng(0)
    clean = np.exp(-(QUERY - KEY) / 4.0)
    halves = [clean + 0.3 * rng.normal(size=(N, N)) for _ in range(2)]
    assert gauge(halves[0]).variance[0] > 0.5
    assert gauge(*halves).variance[0] < 0.15


def bias(of_lag: np.ndarray) -> Gauge:
    return gauge(of_lag[np.abs(QUERY - KEY)])


def test_locality_is_the_window_or_unbounded() -> None:
    lags = np.arange(N)
    assert locality(bias(1.0 * (lags <= 5)).local_bias) in (5, 6)
    assert locality(bias(1.0 * (lags == 1)).local_bias) == 1
    assert locality(bias(-0.5 * lags).local_bias) is None
    assert locality(bias(0.0 * lags).local_bias) == 0
    assert locality(bias(1.0 * (lags % 3 == 0)).local_bias) > 30  # type: ignore[operator]


def test_share_of_variance() -> None:
    assert positional_share(4.0, 1.0) == 0.25
    assert positional_share(0.0, 0.0) is None


@pytest.mark.asserts("positional_share")
def test_where_all_scores_of_a_window_are_equal_no_share_of_their_variance_is_defined() -> None:
    """0 of 0: the head averages evenly over all keys."""
    model = model_of("none")
    with torch.no_grad():
        for name in ("W_Q", "b_Q"):
            getattr(model.blocks[0].attn, name).zero_()
        model.blocks[0].attn.b_Q[1] = 1.0  # scores of the second head differ by content
    found = positional_statistics(model, MAJORITY, trained=41, lengths=[41], sequences=16).frame()
    of_share = found[(found["quantity"] == "positional_share")].set_index("head")
    assert of_share["status"].to_dict() == {0: "undefined", 1: "ok"}
    assert "equal among the last positions" in of_share["note"][0]
    shape = found[found["quantity"].isin(["translation_variance", "period", "locality"]) & (found["head"] == 0)]
    assert set(shape[shape["mode"] == "activations"]["status"]) == {"undefined"}
    assert "equal" in shape[shape["quantity"] == "translation_variance"]["note"].iloc[0]


def test_a_constant_that_is_not_zero_is_no_variance_either() -> None:
    """The fit of a constant leaves rounding, whose ratio says nothing."""
    for constant in (0.0, -30.1, 0.1):
        table = np.full((32, 32), constant) + np.arange(32.0)[:, None]
        assert gauge(table).equal
        assert np.isnan(translation_variances(table)).all()
        assert gauge(table, table).equal
    assert not gauge(PERIODIC).equal


def test_a_share_that_one_group_of_sequences_makes_alone_has_no_interval() -> None:
    sums = np.zeros((2, 4, 1, 8, 8))
    sums[0, 0, 0, -1, 0] = 1.0
    within = np.zeros((2, 4, 1))
    within[0, 0] = 1.0
    tables = PositionTables(sums, np.full((2, 4), 4), within, np.zeros((32, 1)))
    assert tables.share(0) == 0.0
    assert tables.share(0, leave=(0, 0)) is None
    assert _ends(0.0, [tables.share(0, leave=group) for group in tables.groups]) == {}


@pytest.mark.asserts("translation_variance", "period", "period_strength")
def test_the_rows_of_a_table_of_period_3() -> None:
    """KNOWN: translation variance 1.02 at period 1, 0 at 3; the strength is what is explained of it."""
    table = np.random.default_rng(0).normal(size=(3, 3))[QUERY % 3, KEY % 3]
    found = gauge(table)
    rows = {(r["quantity"], r["target"]): r for r in Positional()._gauge_rows(found, {"layer": 0, "head": 1})}
    assert rows["translation_variance", "period 1"]["value"] == pytest.approx(found.variance[0])
    assert rows["translation_variance", "period 1"]["value"] > 0.2
    assert rows["translation_variance", "period 3"]["value"] == pytest.approx(0.0, abs=1e-12)
    assert rows["period", ""]["value"] == 3
    assert rows["period_strength", ""]["value"] == pytest.approx(1.0)
    assert {r["head"] for r in rows.values()} == {1}


# ---- models ---------------------------------------------------------------------------------------
def model_of(positions: object, scale: float = 0.5) -> HookedTransformer:
    sizes = {"d_vocab": 3, "d_vocab_out": 2, "n_layers": 1, "d_model": 16, "n_heads": 2, "n_ctx": 64}
    cfg = ModelConfig(**sizes, positions=positions, initializer_range=scale)
    return HookedTransformer(cfg, seed=0).double().eval()


@pytest.mark.parametrize(("name", "share"), [("alibi", 0.5), ("rotary", 0.0), ("none", 0.0)])
def test_encodings_by_lag_have_no_translation_variance_on_activations(name: str, share: float) -> None:
    found = positional_statistics(model_of(name, scale=0.15), MAJORITY, trained=41, lengths=[41], sequences=256)
    place = {"head": 0, "mode": "activations"}
    if name == "none":  # with exchangeable tokens position says nothing at all
        assert abs(found.value("positional_share", **place)) < 0.05
    else:
        assert found.value("positional_share", **place) > share
        assert found.value("translation_variance", target="period 1", **place) < 0.25


@pytest.mark.asserts("locality", "positional_share", "attention_locality")
def test_a_fixed_lag_is_local_and_lag_alone() -> None:
    task = make_task("kgram_retrieval", symbols=6)
    found = positional_statistics(fixed_lag_model(6, 3), task, trained=40, lengths=[40], sequences=64)
    for mode in ("activations", "weights"):
        assert found.value("translation_variance", mode=mode, target="period 1") == pytest.approx(0.0, abs=1e-6)
        assert found.value("locality", mode=mode) == 3
    assert found.value("positional_share") == pytest.approx(1.0, abs=1e-6)
    assert found.value("attention_locality") == 3


def test_weights_give_the_table_that_activations_of_empty_tokens_have() -> None:
    """Oracle: with all token embeddings 0 and no LayerNorm, the model's own scores are the table."""
    relative = {"name": "relative", "buckets": 6, "max_distance": 9}
    for positions in ("learned", "sinusoidal", "alibi", {"name": "limit", "period": 3, "locality": 4}, relative):
        cfg = ModelConfig(
            d_vocab=3, n_layers=1, d_model=16, n_heads=2, n_ctx=32, positions=positions, normalization_type=None,
            initializer_range=0.5,
        )  # fmt: skip
        model = HookedTransformer(cfg, seed=3).double()
        with torch.no_grad():
            model.embed.W_E.zero_()
            for name, parameter in model.named_parameters():
                # Without vectors, the biases of q and k are content: a constant that no position moves.
                if name.endswith(("b_Q", "b_K", "phi") if cfg.positions.added else "phi"):
                    parameter.normal_(generator=torch.Generator().manual_seed(1))
        _, cache = model.run_with_cache(torch.zeros(1, 20, dtype=torch.long))
        own = cache["blocks.0.attn.hook_attn_scores"][0].numpy()
        table = weight_tables(model, 0, 20)
        assert table is not None
        lower = np.tril_indices(20)
        assert table[:, lower[0], lower[1]] == pytest.approx(own[:, lower[0], lower[1]], abs=1e-9)
    assert weight_tables(model_of("rotary"), 0, 20) is None


@pytest.mark.parametrize("name", ENCODINGS)
def test_weights_are_said_to_say_nothing_only_where_they_do(name: str) -> None:
    model, cls = model_of(ENCODINGS[name].examples()[0].model_dump()), ENCODINGS[name]
    rows = positional_statistics(model, MAJORITY, trained=41, lengths=[41], sequences=4).frame()
    rows = rows[(rows["mode"] == "weights") & rows["quantity"].isin(["translation_variance", "locality"])]
    silent = set(rows[rows["note"].str.contains("say nothing without content", na=False)]["status"])
    assert silent == (set() if cls.added or cls.biased else {"not_applicable"})
    if cls.biased and not cls.added:  # by lag alone
        variances = rows[(rows["quantity"] == "translation_variance") & (rows["target"] == "period 1")]
        assert len(variances) == 2
        assert variances["value"].tolist() == pytest.approx([0.0, 0.0], abs=1e-9)


def test_a_relative_bias_has_the_locality_of_its_last_bucket() -> None:
    """Buckets begin at 0, 1, 2, 3, 5, 7: a bias that differs in the bucket of lags 5 and 6 alone ends at lag 6."""
    model = model_of({"name": "relative", "buckets": 6, "max_distance": 9})
    with torch.no_grad():
        model.pos_bias["W_bias"].zero_()
        model.pos_bias["W_bias"][:, 4] = 1.0
    found = positional_statistics(model, MAJORITY, trained=41, lengths=[41], sequences=4)
    assert found.value("locality", mode="weights", head=0) == found.value("locality", mode="weights", head=1) == 6


@pytest.mark.asserts("positional_regularizer")
def test_the_regularizer_has_the_values_of_its_closed_forms() -> None:
    """M = 1[j = i - 1]: (N - 1) / N; a constant 1: (N + 1) / 2; sums over heads are those of training."""
    model = model_of("learned")
    n = 16
    cfg = model.cfg.model_copy(update={"n_ctx": n})
    shift = HookedTransformer(ModelConfig(**{**cfg.model_dump(), "d_model": 16, "n_heads": 1, "d_head": 16})).double()
    with torch.no_grad():
        shift.pos_embed.W_pos.copy_(torch.eye(n))
        shift.blocks[0].attn.W_Q[0] = torch.eye(n)
        shift.blocks[0].attn.W_K[0] = torch.eye(n).roll(1, 1)
    found = positional_statistics(shift, MAJORITY, trained=15, lengths=[15], sequences=8)
    assert found.value("positional_regularizer") == pytest.approx((n - 1) / n)
    rows = positional_statistics(model_of("none"), MAJORITY, trained=15, lengths=[15], sequences=8).frame()
    assert set(rows[rows.quantity == "positional_regularizer"].status) == {"not_applicable"}


def test_intervals_cover_the_truth_at_their_rate() -> None:
    """Tables of a known mean, partly of lags and partly absolute, with noise of its own in every sequence."""
    size, sequences, trials = 8, 32, 150
    truth = np.random.default_rng(3).normal(size=(size, size)) * 0.4 - 0.3 * np.subtract.outer(*2 * [np.arange(size)])
    mask = np.tril(np.ones((size, size)))
    variance = translation_variances(truth)[0]
    shared = float((row_residual(truth) ** 2).sum())
    # Noise of variance 1 in each of K entries of a row leaves K - 1 around their mean.
    share = shared / (shared + (mask.sum(1) - 1).sum())
    held = np.zeros(2)
    for trial in range(trials):
        scores = truth + np.random.default_rng(trial).normal(size=(sequences, size, size))
        squares = np.array([(row_residual(table) ** 2).sum() for table in scores])
        tables = PositionTables(
            scores.reshape(2, 4, sequences // 8, 1, size, size).sum(2),
            np.full((2, 4), sequences // 8),
            squares.reshape(2, 4, sequences // 8, 1).sum(2),
            np.zeros((sequences, 1)),
        )
        of_variance = [translation_variances(*tables.halves(0, leave=group))[0] for group in tables.groups]
        of_share = [tables.share(0, leave=group) for group in tables.groups]
        found = translation_variances(*tables.halves(0))[0], tables.share(0)
        held += np.abs(np.array(found) - [variance, share]) <= [jackknife(of_variance), jackknife(of_share)]
    assert (held / trials > 0.9).all()


def test_parts_add_up_to_the_halves() -> None:
    """An odd number of sequences: no part is lost or counted twice."""
    task, cfg = MAJORITY, ModelConfig(d_vocab=3, d_vocab_out=2, n_layers=1, d_model=8, n_heads=2, n_ctx=32)
    model = HookedTransformer(cfg, seed=0).eval()
    batch = task.sample(11, 9, torch.Generator().manual_seed(0), "matched")
    inputs = score_inputs(model, batch)[0]
    found = position_tables(inputs, batch, span=6, eps=0.1)
    whole = inputs.scores(range(4, 10))[..., 4:].double().masked_fill(torch.ones(6, 6).triu(1) > 0, 0.0)
    for head in range(2):
        first, second = found.halves(head)
        assert first == pytest.approx(whole[:5, head].mean(0).numpy())
        assert second == pytest.approx(whole[5:, head].mean(0).numpy())
        without, _ = found.halves(head, leave=(0, 0))
        assert without == pytest.approx(whole[int(found.counts[0, 0]) : 5, head].mean(0).numpy())
    assert found.counts.sum() == 11


@pytest.mark.parametrize(
    ("variance", "period", "strength"),
    [
        ([0.01, 0.0], 2, 1.0), ([0.0099, 0.0], None, 0.0),  # hardly anything to explain
        ([1.0, 0.1, 0.0], 2, 0.9), ([1.0, 0.27, 0.2], 2, 0.73), ([1.0, 0.2805, 0.2], 3, 0.8),  # a tenth above the best
        ([1.0, 0.5], 2, 0.5), ([1.0, 0.51], None, 0.49), ([1.0, 1.0, 1.0], None, 0.0), ([1.0, 0.9, 0.3], 3, 0.7),
    ],
)  # fmt: skip
def test_the_smallest_period_that_leaves_hardly_more_than_the_best(
    variance: list[float], period: int | None, strength: float
) -> None:
    assert _period(np.array(variance)) == (period, pytest.approx(strength))


FAR_MEDIAN = [5.0, 0, 0, 0, 1, 9, 1, 1]
"""The median of the far half is 1, so that squares are 16, 1, 1, 1, 0, 64, 0, 0."""


@pytest.mark.parametrize(
    ("bias", "eps", "reach"),
    [
        ([3.0, 1, 0, 0, 0, 0, 0, 0], 0.1001, 0), ([3.0, 1, 0, 0, 0, 0, 0, 0], 0.0999, 1), ([2.0, 0, 1, 0, 0, 0], 0.25, 0),
        (FAR_MEDIAN, 0.05, 5), (FAR_MEDIAN, 0.8, 1), (FAR_MEDIAN, 0.81, 0),
        (np.full(8, 1e6) + 0.1 * (np.arange(8) == 1), 0.05, 0),  # rounding of large numbers
        ([0.0, 1e-7, 0, 0, 0, 0], 0.05, 0), ([0.0, 1.5e-6, 0, 0, 0, 0], 0.05, 1),
        (-0.5 * np.arange(8), 0.05, None), ([9.0, 0, 0, 0, 0.1, 0.2, 0.3, 0.4], 0.05, 0),
    ],
)  # fmt: skip
def test_locality_by_hand(bias: list[float], eps: float, reach: int | None) -> None:
    assert locality(np.asarray(bias, dtype=float), eps) == reach


LINE, BEND = np.array([-1.5, -0.5, 0.5, 1.5]), np.array([1.0, -1.0, -1.0, 1.0])


@pytest.mark.parametrize(
    ("far", "span", "slopes"),
    [
        (LINE, 39.0, True), (LINE, 41.0, False), (-LINE, 39.0, True), (LINE + 7, 10.0, True), (0 * LINE, 1.0, False),
        (LINE + 1.0742 * BEND, 1.0, True), (LINE + 1.1637 * BEND, 1.0, False),  # it leaves 48 and 52 % of the squares
    ],
)  # fmt: skip
def test_a_far_half_that_is_mostly_a_line_and_steep_still_slopes(far: np.ndarray, span: float, slopes: bool) -> None:
    assert _still_slopes(far, span) is slopes


def row(size: int, *values: float) -> np.ndarray:
    """A table whose last row begins like that, as its entries j <= i."""
    table = np.zeros((size, size))
    table[-1, : len(values)] = values
    return table[np.tril_indices(size)]


@pytest.mark.parametrize(
    ("size", "share", "agrees"), [(6, 1.0, True), (6, 0.8, True), (6, 0.75, False), (6, -0.9, False), (4, 1.0, False)]
)
def test_two_estimates_agree_beyond_three_standard_errors(size: int, share: float, agrees: bool) -> None:
    """Of 6 positions 15 degrees of freedom are left by rows: 3 / sqrt(15) = 0.775; of 4 positions 6, of which none is enough."""
    one, other = row(size, 1, -1), row(size, 0, 0, 1, -1)
    assert _agree(size, [one, share * one + np.sqrt(1 - share**2) * other]) is agrees
    assert _agree(size, [0 * one, 0 * one])


def test_periods_that_are_tried_and_tables_without_anything() -> None:
    i, j = np.indices((12, 12))
    table = (i % 2) * np.exp(-(i - j) / 3.0)
    assert len(translation_variances(table)) == 8
    assert len(translation_variances(table, periods=2)) == 2
    assert np.isnan(translation_variances(np.zeros((12, 12)))).tolist() == [True] * 8
    small = translation_variances(np.sin(np.arange(16.0)).reshape(4, 4))
    assert 1 <= len(small) < 8
    flat = gauge(np.zeros((5, 5)))
    assert (flat.period, flat.strength, flat.above_noise, flat.local_bias.tolist()) == (None, 0.0, True, [0.0] * 5)
    assert gauge(np.zeros((5, 5)), np.zeros((5, 5))).above_noise
    assert not gauge(table, -table).above_noise
    assert gauge(table, -table).period is None
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match="NaN"):
            gauge(table, np.where(i == j, bad, table))
    assert gauge(np.where(j > i, np.nan, table)).period == 2


def test_a_share_of_nothing() -> None:
    assert [positional_share(*pair) for pair in ((0.0, 2.0), (-1.0, 2.0), (0.5, 0.25), (4.0, -1.0))] == [
        None,
        None,
        0.5,
        -0.25,
    ]
