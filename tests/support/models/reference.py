"""The model in plain numpy loops, from its definition and sharing no code with it; and models to try it on."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import torch

from workbench.models import HookedTransformer, ModelConfig
from workbench.models.positions import ENCODINGS as REGISTERED
from workbench.models.positions import make_encoding

LIMIT = {"name": "limit", "period": 3, "locality": 2}
ENCODINGS: dict[str, Any] = {
    name if number == 0 else f"{name}-{number}": example.model_dump()
    for name, kind in REGISTERED.items()
    for number, example in enumerate(kind.examples())
}
"""The examples of every encoding."""
OPTIONS: dict[str, dict[str, Any]] = {
    **{
        f"{name}/{scaling}": {"positions": positions, "log_scaling": scaling}
        for name, positions in ENCODINGS.items()
        for scaling in ("none", "all", "learned")
    },
    "limit/local": {"positions": LIMIT, "log_scaling": "local"},
    **{
        f"{name}/linear": {"positions": positions, "attention": "linear"}
        for name, positions in ENCODINGS.items()
        if make_encoding(positions).before_attention
    },
    **{f"{name}/hardmax": {"positions": positions, "attention": "hardmax"} for name, positions in ENCODINGS.items()},
    "limit/all/hardmax": {"positions": LIMIT, "log_scaling": "all", "attention": "hardmax"},
    "bare": {"normalization_type": None, "act_fn": "relu", "d_head": 6, "d_mlp": (3, 7)},
    "tied": {"positions": "rotary", "tied": True},
}
"""Every encoding with every log scaling, every attention, and what else a config can say."""


def build(options: dict[str, Any] | str = "none", seed: int = 3, **changes: Any) -> HookedTransformer:
    """A small model, named as in OPTIONS or by its encoding, whose every parameter is away from its first value."""
    if isinstance(options, str):
        options = OPTIONS.get(options) or {"positions": options}
    fields = {"d_vocab": 5, "n_layers": 2, "d_model": 16, "n_heads": 2, "n_ctx": 24, "d_vocab_out": 3}
    model = HookedTransformer(ModelConfig(**{**fields, **options, **changes}), seed=seed)
    generator = torch.Generator().manual_seed(11)
    with torch.no_grad():  # biases, gains and phi start at 0 or 1, where a forgotten one would not show
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn(parameter.shape, generator=generator))
    return model


def tokens(batch: int = 3, pos: int = 12, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 5, (batch, pos), generator=torch.Generator().manual_seed(seed))


def numpy_forward(model: HookedTransformer, x: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Outputs ``[batch, pos, out]`` for tokens and position ids ``[batch, pos]``."""
    w = {k: v.detach().double().numpy() for k, v in model.state_dict().items()}
    return np.stack([_sequence(w, model.cfg, row, list(map(int, of_row))) for row, of_row in zip(x, ids, strict=True)])


def _sequence(w: dict[str, np.ndarray], cfg: ModelConfig, row: np.ndarray, ids: list[int]) -> np.ndarray:
    resid = [w["embed.W_E"][t] + _vector(w, cfg, i) for t, i in zip(row, ids, strict=True)]
    for layer in range(cfg.n_layers):
        a, m = f"blocks.{layer}.attn.", f"blocks.{layer}.mlp."
        normed = [_norm(w, cfg, r, f"blocks.{layer}.ln1") for r in resid]
        added = [np.array(w[a + "b_O"]) for _ in resid]
        for h in range(cfg.n_heads):
            q, k, v = ([n @ w[f"{a}W_{c}"][h] + w[f"{a}b_{c}"][h] for n in normed] for c in "QKV")
            for i in range(len(row)):
                p = _weights(w, cfg, a, h, [q[i], *k[: i + 1]], ids[: i + 1])
                added[i] = added[i] + sum(pj * v[j] for j, pj in enumerate(p)) @ w[a + "W_O"][h]
        resid = [r + d for r, d in zip(resid, added, strict=True)]
        for i, r in enumerate(resid):
            pre = _norm(w, cfg, r, f"blocks.{layer}.ln2") @ w[m + "W_in"] + w[m + "b_in"]
            act = [max(u, 0.0) if cfg.act_fn == "relu" else 0.5 * u * (1 + math.erf(u / math.sqrt(2))) for u in pre]
            resid[i] = r + np.array(act) @ w[m + "W_out"] + w[m + "b_out"]
    # Tied: of five tokens the first is BOS, and the three outputs are those behind it.
    out = w["embed.W_E"][1:4].T if cfg.tied else w["unembed.W_U"]
    return np.stack([_norm(w, cfg, r, "ln_final") @ out + w["unembed.b_U"] for r in resid])


def _norm(w: dict[str, np.ndarray], cfg: ModelConfig, v: np.ndarray, name: str) -> np.ndarray:
    if cfg.normalization_type is None:
        return v
    v = v - v.mean()
    return v / math.sqrt((v**2).mean() + cfg.eps) * w[f"{name}.w"] + w[f"{name}.b"]


def _vector(w: dict[str, np.ndarray], cfg: ModelConfig, i: int) -> np.ndarray:
    """What position id i adds to the embedding."""
    scheme: Any = cfg.positions
    if scheme.name == "learned":
        return w["pos_embed.W_pos"][i]
    if scheme.name == "limit":
        return w["pos_embed.W_pos"][i % scheme.period]
    vector = np.zeros(cfg.d_model)
    if scheme.name == "sinusoidal":
        for c in range(0, cfg.d_model, 2):
            angle = i / scheme.base ** (c / cfg.d_model)
            vector[c], vector[c + 1] = scheme.scale * math.sin(angle), scheme.scale * math.cos(angle)
    return vector


def _weights(
    w: dict[str, np.ndarray], cfg: ModelConfig, a: str, h: int, q_and_keys: list[np.ndarray], ids: list[int]
) -> np.ndarray:
    """Attention weights of the last of these positions over all of them."""
    q, keys = q_and_keys[0], q_and_keys[1:]
    if cfg.attention == "linear":
        raw = np.array([sum(_feature(x) * _feature(y) for x, y in zip(q, k, strict=True)) for k in keys])
        return raw / raw.sum()
    scheme: Any = cfg.positions
    if scheme.name == "rotary":
        q, keys = _turned(q, ids[-1], scheme), [_turned(k, i, scheme) for k, i in zip(keys, ids, strict=True)]
    log_keys = math.log(len(keys))
    scores = np.array([q @ k for k in keys]) / math.sqrt(cfg.d_head)
    for j, i in enumerate(ids):
        lag = ids[-1] - i
        if scheme.name == "alibi":
            scores[j] -= 2 ** (-8 * (h + 1) / cfg.n_heads) * abs(lag)
        if scheme.name == "relative":
            scores[j] += w["pos_bias.W_bias"][h, _bucket(lag, scheme.buckets, scheme.max_distance)]
        if scheme.name == "limit" and 0 <= lag <= scheme.locality:
            scores[j] += w[a + "phi"][h, lag] * (log_keys if cfg.log_scaling == "local" else 1.0)
    if cfg.log_scaling in ("all", "learned"):
        scores = scores * log_keys * (w[a + "log_gain"][h] if cfg.log_scaling == "learned" else 1.0)
    p = (scores >= scores.max() - 1e-9) if cfg.attention == "hardmax" else np.exp(scores - scores.max())
    return p / p.sum()


def _bucket(lag: int, buckets: int, max_distance: int) -> int:
    """By the logarithm, which is kept 1e-9 away from whole numbers."""
    half = buckets // 2
    if lag < half:
        return max(lag, 0)
    wide = math.log(lag / half) / math.log(max_distance / half) * (buckets - half)
    return min(half + int(wide + 1e-9), buckets - 1)


def _feature(x: float) -> float:
    return x + 1.0 if x > 0 else math.exp(x)


def _turned(v: np.ndarray, i: int, scheme: Any) -> np.ndarray:
    half, d = len(v) // 2, len(v)
    base = scheme.base * (scheme.factor ** (d / (d - 2)) if scheme.scaling == "ntk" else 1.0)
    at = i / scheme.factor if scheme.scaling == "linear" else float(i)
    z = v[:half] + 1j * v[half:]
    z = z * np.exp(1j * at * np.array([base ** (-2 * p / d) for p in range(half)]))
    return np.concatenate([z.real, z.imag])
