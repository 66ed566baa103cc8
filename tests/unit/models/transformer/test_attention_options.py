"""Log scaling, local bias, hardmax and linear attention against closed forms."""

from __future__ import annotations

import itertools
import math

import pytest
import torch

from tests.support.models.reference import build, tokens
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.positions import Alibi
from workbench.models.transformer import kernels
from workbench.models.transformer.kernels import attend
from workbench.models.transformer.scores import ScoreInputs, feature_map, hardmax

SCORES, PATTERN = "blocks.0.attn.hook_attn_scores", "blocks.0.attn.hook_pattern"


def blank(phi: list[float], **options: object) -> HookedTransformer:
    """One head whose scores are its local bias alone."""
    limit = {"name": "limit", "period": 1, "locality": len(phi) - 1}
    cfg = ModelConfig(d_vocab=2, n_layers=1, d_model=2, n_heads=1, n_ctx=8, positions=limit, **options)
    model = HookedTransformer(cfg)
    with torch.no_grad():
        model.blocks[0].attn.W_Q.zero_()
        model.blocks[0].attn.phi.copy_(torch.tensor([phi]))
    return model


def last_row(model: HookedTransformer, keys: int) -> torch.Tensor:
    """Weights of the query that sees ``keys`` keys, by lag."""
    _, cache = model.run_with_cache(torch.zeros(1, keys, dtype=torch.long), names_filter=PATTERN)
    return cache[PATTERN][0, 0, -1].flip(0)


@pytest.mark.parametrize("b", [2.0, 8.0, 60.0])
def test_an_offset_head_has_its_closed_form(b: float) -> None:
    model = blank([0.0, 0.0, b])
    for keys in (3, 10, 100):
        row = last_row(model, keys)
        assert row[2].item() == pytest.approx(math.exp(b) / (math.exp(b) + keys - 1), rel=1e-5)
        assert row[1].item() == pytest.approx(row[0].item())
    assert last_row(model, 2).tolist() == pytest.approx([0.5, 0.5]), "no key that far back: uniform"


# Weight of one local key of score m log K among K: K^m / (K^m + K - 1).
REGIMES = [
    (0.5, {10: 0.260, 100: 0.092, 1000: 0.031}),
    (1.0, {10: 0.526, 100: 0.503, 1000: 0.500}),
    (1.5, {10: 0.778, 100: 0.910, 1000: 0.969}),
    (2.0, {10: 0.917, 100: 0.990, 1000: 0.999}),
]


@pytest.mark.parametrize(("m", "weights"), REGIMES)
@pytest.mark.parametrize("scaling", ["all", "local", "learned"])
def test_log_scaled_local_keys_have_the_three_regimes(scaling: str, m: float, weights: dict[int, float]) -> None:
    model = blank([m], log_scaling=scaling)
    for keys, weight in weights.items():
        assert last_row(model, keys)[0].item() == pytest.approx(weight, abs=6e-4)


def test_log_scaling_multiplies_each_row_by_the_log_of_what_it_sees() -> None:
    x, row = tokens(), torch.arange(1, 13).double().log()[:, None]
    plain = build("alibi/none").double()
    scaled = build("alibi/all").double()
    scaled.load_state_dict(plain.state_dict())
    (_, a), (_, b) = (m.run_with_cache(x, names_filter=SCORES) for m in (plain, scaled))
    seen = torch.ones(12, 12, dtype=torch.bool).tril()
    assert torch.allclose(b[SCORES][..., seen], (a[SCORES] * row)[..., seen], atol=1e-10)


def test_the_only_key_of_the_first_row_has_weight_one() -> None:
    for name in ("none/all", "limit/learned", "limit/local", "alibi/all"):
        _, cache = build(name).run_with_cache(tokens(), names_filter=PATTERN)
        assert bool((cache[PATTERN][:, :, 0, 0] == 1).all())
        assert bool(cache[PATTERN].isfinite().all())


def test_a_learned_gain_scales_its_head_alone() -> None:
    x, model = tokens(), build("none/learned").double()
    gain = model.blocks[0].attn.log_gain
    _, before = model.run_with_cache(x, names_filter=SCORES)
    with torch.no_grad():
        gain[1] *= 3
    _, after = model.run_with_cache(x, names_filter=SCORES)
    seen = torch.ones(12, 12, dtype=torch.bool).tril()
    assert torch.equal(after[SCORES][:, 0], before[SCORES][:, 0])
    assert torch.allclose(after[SCORES][:, 1][:, seen], 3 * before[SCORES][:, 1][:, seen], rtol=1e-10)


# ---- hardmax ----------------------------------------------------------------------------------------
def test_hardmax_is_uniform_over_exact_ties_and_nothing_else() -> None:
    scores = torch.tensor([[1.0, 1.0, 0.0, 1.0, 1.0], [2.0, 2.0 + 2.4e-7, 0.0, -math.inf, 2.0]])
    assert hardmax(scores).tolist() == [[0.25, 0.25, 0, 0.25, 0.25], [0, 1, 0, 0, 0]]


def test_hardmax_passes_the_gradient_of_softmax_and_keeps_its_value() -> None:
    raw, weight = torch.randn(5, 7, generator=torch.Generator().manual_seed(0)), torch.arange(7.0)
    gradients = []
    for function in (hardmax, lambda s: s.softmax(-1)):
        scores = raw.clone().requires_grad_()
        out = function(scores)
        (out * weight).sum().backward()
        gradients.append(scores.grad)
    assert torch.allclose(*gradients, atol=1e-6)
    assert set(hardmax(raw.requires_grad_()).flatten().tolist()) == {0.0, 1.0}


@pytest.mark.parametrize("pos", [5, 13, 20, 64, 65])
@pytest.mark.parametrize(("d_model", "heads"), [(16, 2), (32, 1), (64, 4)])
def test_equal_keys_tie_whatever_the_shape_of_the_matrices(pos: int, d_model: int, heads: int) -> None:
    """Without positions the first layer's keys are functions of their token, so equal tokens must tie."""
    cfg = ModelConfig(
        d_vocab=3, n_layers=1, d_model=d_model, n_heads=heads, n_ctx=64, attention="hardmax", initializer_range=0.6
    )
    x = torch.randint(0, 3, (4, pos), generator=torch.Generator().manual_seed(pos))
    _, cache = HookedTransformer(cfg, seed=1).run_with_cache(x, names_filter=PATTERN)
    for b, h, q in itertools.product(range(4), range(heads), range(pos)):
        row = cache[PATTERN][b, h, q, : q + 1]
        top = int(x[b, row.argmax()])
        expected = (x[b, : q + 1] == top).float()
        assert torch.allclose(row, expected / expected.sum()), (b, h, q)


# ---- memory -----------------------------------------------------------------------------------------
@pytest.mark.parametrize(("made", "attention"), [("bias", "softmax"), ("scores", "hardmax")])
def test_scores_and_biases_are_made_for_a_block_of_queries_at_a_time(
    made: str, attention: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sizes, original = [], getattr(ScoreInputs, made)

    def spy(self: ScoreInputs, queries: range, keys: int) -> torch.Tensor:
        found = original(self, queries, keys)
        sizes.append((found.numel(), queries))
        return found

    pos, heads, held = 512, 2, 1 << 14
    monkeypatch.setattr("workbench.models.transformer.kernels.SCORES_AT_ONCE", held)
    monkeypatch.setattr(ScoreInputs, made, spy)
    q, k, v = torch.randn(3, 1, pos, heads, 4, generator=torch.Generator().manual_seed(0))
    slopes = Alibi().fixed_weights(heads, q)[None, None]
    attend(ScoreInputs(q, k, Alibi(), torch.arange(pos)[None], slopes, attention=attention), v)
    assert max(size for size, _ in sizes) <= held < pos * pos * heads / 8
    assert sorted(i for _, queries in sizes for i in queries) == list(range(pos))


@pytest.mark.parametrize(("most", "found"), [
    (1, [(4, 5), (3, 4), (2, 3), (1, 2), (0, 1)]), (39, [(4, 5), (3, 4), (2, 3), (1, 2), (0, 1)]), (40, [(4, 5), (2, 4), (0, 2)]),
    (99, [(3, 5), (0, 3)][:0] or [(4, 5), (0, 4)]), (100, [(0, 5)]),
])  # fmt: skip
def test_blocks_of_queries_fit_what_is_held_at_once(
    most: int, found: list[tuple[int, int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two sequences, two heads, five positions: 20 scores for each query."""
    monkeypatch.setattr(kernels, "SCORES_AT_ONCE", most)
    q = torch.zeros(2, 5, 2, 3)
    assert [(block.start, block.stop) for block in kernels.query_blocks(ScoreInputs(q, q))] == found


def test_linear_attention_carries_its_state_over_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    q, k, v = torch.randn(3, 2, 9, 2, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    whole = kernels.linear_attention(q, k, v)
    weights = torch.einsum("bqhe,bkhe->bhqk", feature_map(q), feature_map(k)).tril()
    wanted = torch.einsum("bhqk,bkhe->bqhe", weights / weights.sum(-1, keepdim=True), v)
    for size in (1, 4, 8, 9):
        monkeypatch.setattr(kernels, "LINEAR_BLOCK", size)
        assert torch.allclose(kernels.linear_attention(q, k, v), wanted, atol=1e-10)
    assert torch.allclose(whole, wanted, atol=1e-10)


@pytest.mark.parametrize(
    ("window", "seen"),
    [
        (None, ["1...", "11..", "111.", "1111"]),
        (1, ["1...", ".1..", "..1.", "...1"]),
        (3, ["1...", "11..", "111.", ".111"]),
        (4, ["1...", "11..", "111.", "1111"]),
    ],
)
def test_which_keys_a_query_sees(window: int | None, seen: list[str]) -> None:
    q = torch.ones(1, 4, 1, 2)
    inputs = ScoreInputs(q, q, window=window)
    assert ["".join(".1"[not hidden] for hidden in row) for row in inputs.later(range(4), 4).tolist()] == seen
    assert bool((inputs.scores(range(4)).isfinite() == ~inputs.later(range(4), 4)).all())
    assert inputs.plain == (window is None)


def test_scale_cap_grouped_keys_factor_and_chosen_queries() -> None:
    q, k = torch.randn(2, 2, 5, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    k = k[:, :, :2]
    every = k.repeat_interleave(2, 2)
    products = torch.einsum("bqhe,bkhe->bhqk", q, every)
    seen = torch.ones(5, 5, dtype=torch.bool).tril()
    factor = torch.rand(1, 5, 4, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    for given, wanted in (
        ({}, products / math.sqrt(3)), ({"scale": 0.3}, products * 0.3), ({"soft_cap": 0.7}, 0.7 * (products / math.sqrt(3) / 0.7).tanh()),
        ({"scale": 2.0, "soft_cap": 5.0, "factor": factor}, 5 * (products * 2 / 5).tanh() * factor.transpose(1, 2)[..., None]),
    ):  # fmt: skip
        inputs = ScoreInputs(q, k, **given)
        assert torch.allclose(inputs.scores(range(5))[..., seen], wanted[..., seen])
        assert torch.allclose(inputs.scores([3, 1], 4), inputs.scores(range(5))[:, :, [3, 1], :4])
        assert torch.allclose(inputs.scores(range(1, 4), 3), inputs.scores(range(5))[:, :, 1:4, :3])
        assert torch.allclose(
            inputs.select(slice(1, 2), slice(1, 3)).scores(range(5)), inputs.scores(range(5))[1:2, 1:3]
        )
        assert not inputs.plain, "keys are fewer"
        assert ScoreInputs(q, every, **given).plain == (not given)
    assert ScoreInputs(q, every, factor=factor).plain
    linear = ScoreInputs(q, every, attention="linear").scores(range(5)).softmax(-1)
    weights = torch.einsum("bqhe,bkhe->bhqk", feature_map(q), feature_map(every)).tril()
    assert torch.allclose(linear, weights / weights.sum(-1, keepdim=True))
    assert torch.equal(hardmax(torch.tensor([[1.0, 3.0, 3.0, -math.inf]])), torch.tensor([[0.0, 0.5, 0.5, 0.0]]))
    assert feature_map(torch.tensor([-1.0, 0.0, 2.0])).tolist() == pytest.approx([math.exp(-1), 1.0, 3.0])
