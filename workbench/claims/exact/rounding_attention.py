"""Attention at p bits, and the three regimes of a log-scaled local term."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import torch

from workbench.claims.claim import Row
from workbench.models import HookedTransformer, ModelConfig
from workbench.theory.limit_transformers.limit_heads import limit_heads
from workbench.theory.limit_transformers.precision import (
    argmax_mass,
    hardmax_weights,
    local_share,
    log10_p_bit_length,
    p_bit_weights,
)

BITS = (4, 8, 12)
GAMMAS = (0.5, 1.0, 2.0)
ROWS = 1_000
SIZES = (0.5, 1.0, 1.5, 2.0)
KEYS = (10, 100, 1_000, 10_000, 100_000)
FORWARD = 1_000
"""Keys up to which the model itself is run; beyond, its tables are read."""


def thresholds() -> list[Row]:
    """The number of keys from which p bits round every sub-maximal weight away, found by trying, beside 2^(p/gamma)."""
    rows = []
    for bits in BITS:
        for gamma in GAMMAS:
            power = bits / gamma
            wanted = 2 ** math.ceil(power) if power == int(power) else math.ceil(2**power)
            found = _first_hard(bits, gamma, wanted)
            rows.append(Row("threshold", f"p {bits}, gamma {gamma:g}", float(found), expected=float(wanted)))
    return rows


def _first_hard(bits: int, gamma: float, near: int) -> int:
    """The least number of keys, among those from near - 2 on, at which two scores at a gap gamma round to a hardmax.

    What is rounded away at some number of keys is so at all larger ones.
    """
    scores = np.array([0.0, -gamma])
    low = max(near - 2, 2)
    return next(
        k for k in range(low, near + 3) if np.array_equal(p_bit_weights(scores, k, bits), hardmax_weights(scores))
    )


def distances() -> list[Row]:
    """Total variation between rounded attention and hardmax at and above the threshold, on random rows of scores."""
    rng = np.random.default_rng(0)
    worst, held = 0.0, []
    for _ in range(ROWS):
        gaps = np.concatenate([[0.0], np.sort(rng.choice(np.arange(1, 40), rng.integers(2, 8))) / 8.0])
        scores = rng.normal() + rng.permutation(-np.repeat(gaps, rng.integers(1, 4, len(gaps))))
        bits, gamma = int(rng.choice(BITS)), float(np.min(gaps[gaps > 0]))
        keys = math.ceil(10 ** log10_p_bit_length(bits, gamma) * (1 + 1e-9)) * int(rng.integers(1, 5))
        best = hardmax_weights(scores, 1e-9)
        worst = max(worst, 0.5 * float(np.abs(p_bit_weights(scores, keys, bits) - best).sum()))
        held.append(argmax_mass(keys, gamma, 1.0))
    return [
        Row("total variation", "largest", worst, n=ROWS),
        Row("true weight of one best key", "least", min(held), n=ROWS),
        Row("true weight of one best key", "gamma 1, p 8, 256 keys", argmax_mass(256, 1.0)),
        Row("true weight of one best key", "gamma 0.5, p 8, 65,536 keys", argmax_mass(65_536, 0.5)),
    ]


def regimes() -> list[Row]:
    """Weight of a key whose log-scaled local term is m: in the model, beside K^m / (K^m + K - 1)."""
    rows = []
    for m in SIZES:
        for keys in KEYS:
            value = _model_share(m, keys, "local")
            rows.append(Row("weight of the local key", f"m {m:g}, K {keys:,}", value, expected=local_share(m, keys)))
        limit = 0.0 if m < 1 else 0.5 if m == 1 else 1.0
        distance = [abs(_model_share(m, k, "local") - limit) for k in KEYS]
        falls = all(later < earlier for earlier, later in pairwise(distance))
        rows.append(Row("nears its limit", f"m {m:g}, limit {limit:g}", float(falls)))
    return rows


def unscaled() -> list[Row]:
    """The same key without the log factor: the slope of log weight on log K."""
    rows = []
    for m in SIZES:
        weights = [_model_share(m, keys, "none") for keys in KEYS]
        rows += [
            Row(
                "weight of the local key",
                f"m {m:g}, K {keys:,}",
                value,
                expected=math.exp(m) / (math.exp(m) + keys - 1),
            )
            for keys, value in zip(KEYS, weights, strict=True)
        ]
        far = [math.log(weight) for weight in weights[2:]]
        slope = float(np.polyfit(np.log(KEYS[2:]), far, 1)[0])
        rows.append(Row("slope of log weight on log K", f"m {m:g}, K from 1,000", slope))
    return rows


def _model_share(m: float, keys: int, scaling: str) -> float:
    """The weight of the key one back, at the last query, in a head that likes lag 1 by m and nothing else."""
    cfg = ModelConfig(
        d_vocab=2, n_layers=1, d_model=2, n_heads=1, d_head=2, n_ctx=keys, d_vocab_out=2, attn_only=True,
        normalization_type=None, positions={"name": "limit", "period": 1, "locality": 1}, log_scaling=scaling,
    )  # fmt: skip
    model = HookedTransformer(cfg).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.zero_()
        model.blocks[0].attn.phi[0, 1] = m  # type: ignore[union-attr,operator,index]
        if keys <= FORWARD:
            tokens = torch.zeros(1, keys, dtype=torch.long)
            _, cache = model.run_with_cache(tokens, names_filter=["blocks.0.attn.hook_pattern"])
            return float(cache["blocks.0.attn.hook_pattern"][0, 0, -1, -2])
    (head,) = limit_heads(model, None)
    scores = head.scores(np.zeros(keys, dtype=np.int64))
    weights = np.exp(scores - scores.max())
    return float(weights[-2] / weights.sum())
