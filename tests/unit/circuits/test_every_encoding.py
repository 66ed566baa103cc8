"""Statistics of attention against plain float64 arithmetic on the model's own pattern, on every encoding there is."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
import torch

from circuits import hardmax_statistics
from circuits.attention.attention_scores import score_inputs
from circuits.heads.head_scores import head_scores
from circuits.sparsity.measurement import keys_needed
from workbench.models import HookedTransformer, ModelConfig
from workbench.models.positions import ENCODINGS
from workbench.tasks.base import Batch

Make = Callable[..., Batch]
LAYERS, HEADS, WINDOW = 2, 2, 4


@pytest.fixture(params=sorted(ENCODINGS))
def case(request: pytest.FixtureRequest, asked: Make) -> tuple[HookedTransformer, Batch, dict[str, np.ndarray]]:
    """A model in double precision, strings, and its own patterns and values."""
    cfg = ModelConfig(
        d_vocab=5, n_layers=LAYERS, d_model=16, n_heads=HEADS, n_ctx=64, positions=request.param, initializer_range=0.8
    )
    model = HookedTransformer(cfg, seed=1)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if name.endswith("phi"):
                parameter.normal_(generator=torch.Generator().manual_seed(5))
    model = model.double()
    batch = asked(torch.randint(0, 5, (6, 31), generator=torch.Generator().manual_seed(2)))
    names = [f"blocks.{layer}.attn.hook_{kind}" for layer in range(LAYERS) for kind in ("pattern", "v")]
    _, cache = model.run_with_cache(batch.tokens, names_filter=names)
    return model, batch, {name: cache[name].numpy() for name in names}


def naive(p: np.ndarray) -> dict[str, float]:
    """Statistics of one row of weights, by definition."""
    ordered = np.sort(p)[::-1]
    size = len(p)
    distances = [np.abs(ordered - np.r_[np.full(k, 1 / k), np.zeros(size - k)]).sum() / 2 for k in range(1, size + 1)]
    k = int(np.argmin(np.round(distances, 12))) + 1
    mass = ordered[:k].sum()
    return {
        "hardmax_distance": min(distances),
        "argmax_mass": mass,
        "log tie_size": math.log(k),
        "log effective_support": -sum(x * math.log(x) for x in p if x > 0),
        "log support_inf": -math.log(ordered[0]),
        "margin": math.log((mass / k) / ((1 - mass) / (size - k))) if k < size else math.nan,
    }


def test_hardmax_statistics(case: tuple[HookedTransformer, Batch, dict[str, np.ndarray]]) -> None:
    model, batch, seen = case
    found = hardmax_statistics(model, [batch], window=WINDOW, trained=30)
    for layer, head in np.ndindex(LAYERS, HEADS):
        pattern = seen[f"blocks.{layer}.attn.hook_pattern"][:, head]
        rows = [[naive(one[i, : i + 1]) for i in range(31 - WINDOW, 31)] for one in pattern]
        for name in rows[0][0]:
            values = np.array([[row[name] for row in of_sequence] for of_sequence in rows])
            per_sequence = [np.nanmean(of) for of in values if not np.isnan(of).all()]
            expected = float(np.mean(per_sequence))
            quantity = name.removeprefix("log ")
            made = next(
                r for r in found.rows if (r["quantity"], r["layer"], r["head"]) == (quantity, layer, head)
            )["value"]  # fmt: skip
            assert made == pytest.approx(math.exp(expected) if name.startswith("log") else expected, abs=1e-6, rel=1e-6)


def test_head_scores(case: tuple[HookedTransformer, Batch, dict[str, np.ndarray]]) -> None:
    model, batch, seen = case
    tokens = batch.tokens.numpy()
    for layer, inputs in enumerate(score_inputs(model, batch)):
        found = head_scores(inputs, batch, WINDOW)
        pattern = seen[f"blocks.{layer}.attn.hook_pattern"]
        for b, head in np.ndindex(len(batch), HEADS):
            masses: dict[str, list[float]] = {"previous_token": [], "induction": [], "duplicate_token": []}
            for t in range(31 - WINDOW, 31):
                twins = [s for s in range(t) if tokens[b, s] == tokens[b, t]]
                targets = {
                    "previous_token": [t - 1],
                    "duplicate_token": twins,
                    "induction": [s + 1 for s in twins if s + 1 < t],
                }
                for kind, keys in targets.items():
                    if keys:
                        base = len(keys) / (t + 1)
                        masses[kind].append((pattern[b, head, t, keys].sum() - base) / (1 - base))
            for kind, values in masses.items():
                expected = np.mean(values) if values else np.nan
                assert found[kind][b, head] == pytest.approx(expected, abs=1e-6, nan_ok=True)


def test_keys_needed(case: tuple[HookedTransformer, Batch, dict[str, np.ndarray]]) -> None:
    model, batch, seen = case
    eps = 0.2
    for layer, inputs in enumerate(score_inputs(model, batch)):
        values = seen[f"blocks.{layer}.attn.hook_v"]
        found = keys_needed(inputs, torch.as_tensor(values), eps)
        assert found is not None
        for head in range(HEADS):
            p = seen[f"blocks.{layer}.attn.hook_pattern"][:, head, -1]
            v = values[:, :, head]
            own = np.einsum("bk,bke->be", p, v)
            bound = eps**2 * ((own - own.mean(0)) ** 2).sum()
            for k in range(1, 32):
                tops = np.argsort(-p, 1)[:, :k]
                parts = [(p[b, top] @ v[b, top]) / p[b, top].sum() for b, top in enumerate(tops)]
                if ((np.array(parts) - own) ** 2).sum() <= bound:
                    break
            assert found[head] == k
