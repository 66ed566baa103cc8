"""The theorems with numbers in them: stated values, scaling laws, and what they say about architectures."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from tests.support.theory.limit_models import limit_model
from workbench.models.handmade.transformers import key_head
from workbench.theory.errors import TheoryError
from workbench.theory.limit_transformers.bounds import (
    PAPERS,
    Bound,
    citation,
    one_layer_average_case,
    one_layer_worst_case,
    sparse_attention_error,
    two_layers,
)
from workbench.theory.limit_transformers.checkpoint_bounds import NotCovered, checkpoint_bound, composite, norms


def worst(lipschitz: float, period: int, alphabet: int, locality: int, epsilon: float, **more: float) -> Bound:
    return one_layer_worst_case(
        lipschitz=lipschitz, period=period, alphabet=alphabet, locality=locality, epsilon=epsilon,
        gamma=more.get("gamma", math.inf), bits=more.get("bits", 8.0),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "value"), [((1, 1, 2, 1, 0.1), 6400), ((1, 2, 2, 1, 0.1), 819_200), ((2, 1, 2, 1, 0.1), 25_600)]
)
def test_the_counting_term_of_theorem_4_1(arguments: tuple[float, int, int, int, float], value: float) -> None:
    assert worst(*arguments).value == pytest.approx(value)


def test_each_theorem_is_cited_with_the_paper_of_its_bound() -> None:
    bounds = [
        worst(1, 1, 2, 1, 0.1),
        one_layer_average_case(epsilon=0.1, prior=1.0),
        two_layers(log10_complexity=1, epsilon=0.1, gamma=1),
        sparse_attention_error(length=40, longest=80, local=10, coverage=1, coverage_longest=1, realizability=0),
    ]
    assert {bound.theorem: bound.source for bound in bounds} == PAPERS
    assert citation("theorem 4.3") == "theorem 4.3 of Golowich et al., arXiv 2502.16792"
    assert citation("theorem 9.9") == "theorem 9.9", "a row of a later version keeps its name"


def test_how_the_counting_term_grows() -> None:
    base = worst(1, 1, 2, 1, 0.1).value
    assert worst(1, 1, 2, 1, 0.05).value == pytest.approx(4 * base)
    assert worst(1, 1, 2, 2, 0.1).value == pytest.approx(4 * base)
    assert worst(1, 1, 4, 1, 0.1).value == pytest.approx(64 * base)
    assert worst(1, 1, 2, 0, 0.1).value == pytest.approx(base)  # a locality of 0 counts as 1


def test_the_larger_term_counts() -> None:
    assert worst(1, 1, 2, 1, 0.1, gamma=0.5, bits=8).value == pytest.approx(65_536)
    assert worst(1, 1, 2, 1, 0.1, gamma=2.0, bits=8).value == pytest.approx(6400)
    tiny = worst(1, 1, 2, 1, 0.1, gamma=1e-3, bits=24)
    assert tiny.value == math.inf
    assert tiny.log10 == pytest.approx(24_000 * math.log10(2))


def test_theorem_4_2() -> None:
    assert one_layer_average_case(epsilon=0.1, prior=1.0).value == pytest.approx(1e4)
    assert one_layer_average_case(epsilon=0.1, prior=0.5).value == pytest.approx(1e6)


def test_theorem_5_2_and_its_two_readings() -> None:
    inside = two_layers(log10_complexity=2, epsilon=0.1, gamma=0.25)
    outside = two_layers(log10_complexity=2, epsilon=0.1, gamma=0.25, reading="outside")
    assert (inside.log10, outside.log10) == (pytest.approx(12), pytest.approx(6))
    assert two_layers(log10_complexity=0, epsilon=0.1, gamma=2.0).log10 == pytest.approx(3)  # never below the cube
    assert inside.log10 == pytest.approx(4 * (2 + 1))  # (C / epsilon)^4
    assert any("read inside" in text for text in inside.unknown)


def test_theorem_4_3_of_the_sparsity_paper() -> None:
    found = sparse_attention_error(
        length=40, longest=80, local=10, coverage=40, coverage_longest=80, realizability=1e-9
    )
    assert found.value == pytest.approx(40 * 80 * 40 * 80**2 * 1e-9)
    assert found.quantity == "error"
    exact = sparse_attention_error(length=40, longest=80, local=10, coverage=40, coverage_longest=80, realizability=0)
    assert exact.value == 0.0
    with pytest.raises(TheoryError, match="L_local"):
        sparse_attention_error(length=39, longest=80, local=10, coverage=1, coverage_longest=1, realizability=0)
    with pytest.raises(TheoryError, match="L_local"):
        sparse_attention_error(length=40, longest=85, local=10, coverage=1, coverage_longest=1, realizability=0)


def test_every_bound_lists_what_entered_and_what_is_not_known() -> None:
    for found in (
        worst(1, 1, 2, 1, 0.1),
        one_layer_average_case(epsilon=0.1, prior=1),
        two_layers(log10_complexity=0, epsilon=0.1, gamma=1),
    ):
        assert "epsilon" in found.parts
        assert any("constant" in text for text in found.unknown)


def test_impossible_parameters_are_refused() -> None:
    with pytest.raises(TheoryError, match="epsilon"):
        worst(1, 1, 2, 1, 0.0)
    with pytest.raises(TheoryError, match="inside or outside"):
        two_layers(log10_complexity=0, epsilon=0.1, gamma=1, reading="above")  # type: ignore[arg-type]


# ---- on weights ----------------------------------------------------------------------------------
def test_the_composite_bounds_how_far_outputs_move() -> None:
    """No change of attention weights moves the output by more than L times its l1 size."""
    model = limit_model(2, 1, act_fn="relu", log_scaling="all", seed=4)
    limit = composite(norms(model))
    generator = torch.Generator().manual_seed(0)
    tokens = torch.randint(1, 4, (1, 12), generator=generator)
    tokens[:, 0] = 0
    other = torch.rand(1, 2, 12, 12, generator=generator, dtype=torch.float64).tril()
    other = other / other.sum(-1, keepdim=True)
    plain, cache = model.run_with_cache(tokens)
    moved = model.run_with_hooks(tokens, fwd_hooks=[("blocks.0.attn.hook_pattern", lambda p, hook: other)])
    change = (cache["blocks.0.attn.hook_pattern"] - other).abs().sum(-1).max(1).values  # the worst head
    assert ((moved - plain).norm(dim=-1) <= limit * change + 1e-9).all()
    assert ((moved - plain).norm(dim=-1)).max() > 0.01 * limit * change.min()


def test_norms_are_operator_norms() -> None:
    model = limit_model(1, 0, attn_only=True, n_heads=1)
    found = norms(model)
    attn = model.blocks[0].attn
    assert found["scores_1"] == pytest.approx(
        float(torch.linalg.svdvals((attn.W_Q[0] @ attn.W_K[0].T).detach())[0]) / model.cfg.attn_scale
    )
    assert found["values_1"] == pytest.approx(float(torch.linalg.svdvals((attn.W_V[0] @ attn.W_O[0]).detach())[0]))
    assert found["mlp_1"] == 1.0


def test_one_layer_uses_the_margin_of_these_weights() -> None:
    head = key_head(0.7)
    covered = type(head)(head.cfg.model_copy(update={"log_scaling": "all"}))
    covered.load_state_dict(head.state_dict())
    bound, parts = checkpoint_bound(covered, 0, epsilon=0.1, bits=14)
    assert isinstance(bound, Bound)
    assert parts["gamma_top"] == pytest.approx(0.7, abs=1e-6)
    assert bound.parts["log10_hardmax_term"] == pytest.approx(20 * math.log10(2), abs=1e-4)
    assert bound.parts["alphabet"] == 2  # BOS is no symbol


def test_two_layers_use_the_position_margin() -> None:
    model = limit_model(2, 1, n_layers=2, log_scaling="local")
    model.blocks[0].attn.phi.data[:] = torch.tensor([[1.5, 0.0], [1.25, 0.0]])
    bound, parts = checkpoint_bound(model, 0, epsilon=0.1, bits=24)
    assert isinstance(bound, Bound)
    assert parts["position_margin"] == pytest.approx(0.25)
    assert bound.parts["exponent"] == pytest.approx(4.0)


def test_a_relative_bias_is_covered_with_the_lags_before_its_last_bucket() -> None:
    model = limit_model(positions={"name": "relative", "buckets": 6, "max_distance": 9}, log_scaling="all")
    bound, parts = checkpoint_bound(model, 0, epsilon=0.1, bits=24)
    assert isinstance(bound, Bound)
    assert (parts["period"], parts["locality"]) == (1, 6)
    found = norms(model)
    assert found["residual"] == pytest.approx(float(model.W_E.detach().norm(dim=-1).max())), (
        "nothing is added to the embedding"
    )


@pytest.mark.parametrize(
    ("config", "why"),
    [
        (
            {"positions": "learned", "log_scaling": "all"},
            "periodic and local positions (none, limit or relative), not learned",
        ),
        ({"positions": "relative", "n_layers": 2}, "the local term"),
        ({"log_scaling": "none"}, "log_scaling is none"),
        ({"log_scaling": "all", "normalization_type": "LN"}, "LayerNorm"),
        ({"log_scaling": "all", "n_layers": 2}, "the local term"),
        ({"log_scaling": "local", "n_layers": 3}, "not 3"),
        ({"positions": "none", "attention": "linear"}, "linear"),
    ],
)
def test_what_no_theorem_covers_is_said(config: dict[str, object], why: str) -> None:
    found, parts = checkpoint_bound(limit_model(2, 1, **config), 0, epsilon=0.1, bits=24)  # type: ignore[arg-type]
    assert isinstance(found, NotCovered)
    assert why in found.reason
    assert parts["unembedding"] > 0


def test_hardmax_needs_no_length_to_become_one() -> None:
    bound, _ = checkpoint_bound(limit_model(1, 0, attention="hardmax"), 0, epsilon=0.1, bits=24)
    assert isinstance(bound, Bound)
    assert bound.parts["log10_hardmax_term"] == 0.0


WORST = {"lipschitz": 1.0, "period": 1, "alphabet": 1, "locality": 1, "epsilon": 1.0, "gamma": math.inf, "bits": 8.0}


@pytest.mark.parametrize(("change", "log10"), [
    ({}, 0.0), ({"lipschitz": 10.0}, 2.0), ({"period": 10}, 7.0), ({"alphabet": 10}, 6.0), ({"locality": 10}, 2.0), ({"locality": 0}, 0.0),
    ({"epsilon": 0.1}, 2.0), ({"gamma": 2.0}, 4 * math.log10(2)), ({"gamma": 0.0}, math.inf), ({"lipschitz": 0.0, "gamma": 8.0}, math.log10(2)),
])  # fmt: skip
def test_each_exponent_of_theorem_4_1(change: dict[str, float], log10: float) -> None:
    assert one_layer_worst_case(**{**WORST, **change}).log10 == pytest.approx(log10)  # type: ignore[arg-type]


def test_exponents_of_the_other_theorems() -> None:
    assert one_layer_average_case(epsilon=0.1, prior=1.0).log10 == pytest.approx(4)
    assert one_layer_average_case(epsilon=0.1, prior=0.5).log10 == pytest.approx(6)
    for gamma, power in ((1.0, 3), (1 / 3, 3), (0.25, 4), (0.1, 10), (math.inf, 3)):
        assert two_layers(log10_complexity=2.0, epsilon=0.1, gamma=gamma).log10 == pytest.approx(3 * power)
        assert two_layers(log10_complexity=2.0, epsilon=0.1, gamma=gamma, reading="outside").log10 == pytest.approx(
            2 + power
        )
    assert two_layers(log10_complexity=0.0, epsilon=0.1, gamma=0.0).log10 == math.inf
    assert two_layers(log10_complexity=100.0, epsilon=0.1, gamma=1.0).value == pytest.approx(1e303)
    assert two_layers(log10_complexity=308 / 3 - 1, epsilon=0.1, gamma=1.0).value in (math.inf, pytest.approx(1e308))
    assert two_layers(log10_complexity=102.0, epsilon=0.1, gamma=1.0).value == math.inf


@pytest.mark.parametrize(("change", "refused"), [
    ({}, ""), ({"length": 23}, "L >= 4 L_local"), ({"local": 0}, "L >= 4 L_local"), ({"longest": 24}, ""), ({"longest": 23}, "multiple"),
    ({"longest": 31}, "multiple"), ({"coverage": 1.0}, ""), ({"coverage": 0.99}, "eta"), ({"coverage_longest": 0.99}, "eta"),
    ({"realizability": 0.0}, ""), ({"realizability": -0.01}, "loss"), ({"length": 4, "local": 1, "longest": 5}, ""),
])  # fmt: skip
def test_what_theorem_4_3_asks_for(change: dict[str, Any], refused: str) -> None:
    given = {
        "length": 24,
        "longest": 30,
        "local": 6,
        "coverage": 2.0,
        "coverage_longest": 3.0,
        "realizability": 0.5,
        **change,
    }
    if refused:
        with pytest.raises(TheoryError, match=refused):
            sparse_attention_error(**given)
        return
    found = sparse_attention_error(**given)
    wanted = (
        given["coverage"] * given["coverage_longest"] * given["length"] * given["longest"] ** 2 * given["realizability"]
    )
    assert found.log10 == (pytest.approx(math.log10(wanted)) if wanted else -math.inf)
