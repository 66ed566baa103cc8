"""Inputs of the theorems from a checkpoint's actual weights: norms, composites of them, and margins."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from workbench.theory.limit_transformers.bounds import Bound, Reading, one_layer_worst_case, two_layers
from workbench.theory.limit_transformers.limit_heads import LimitHead, limit_heads, limit_positions, margins
from workbench.theory.limit_transformers.precision import position_margin

if TYPE_CHECKING:
    from workbench.models.transformer.config import ModelConfig
    from workbench.models.transformer.model import HookedTransformer

SLOPES = {"relu": 1.0, "gelu": 1.12891, "gelu_new": 1.129, "silu": 1.09984}
"""Largest slope of each activation, rounded up."""
COMPOSITE = "L as the product of operator norms through which attention weights reach the output"
COMPLEXITY = "C(f) as exp(2 max_h |K^T Q|_h r^2) times the norms of everything else, exponents and constants 1"


@dataclass(frozen=True)
class NotCovered:
    """The reason why no theorem covers an architecture.

    Attributes:
        theorem: the nearest one.
        reason: one clause.
    """

    theorem: str
    reason: str


def coverage(cfg: ModelConfig) -> NotCovered | None:
    """Return why no theorem of arXiv 2510.27015 is about this architecture; None if one is."""
    theorem = "theorem 4.1" if cfg.n_layers == 1 else "theorem 5.2"
    covered = ("all", "learned") if cfg.n_layers == 1 else ("local",)
    why = ""
    if cfg.n_layers > 2:
        why = f"the theorems are about one and two layers, not {cfg.n_layers}"
    elif cfg.attention == "linear":
        why = "they are about softmax attention, not linear"
    elif not cfg.positions.limit:
        why = f"they are about periodic and local positions ({limit_positions()}), not {cfg.positions.name}"
    elif cfg.normalization_type is not None or cfg.norm_after_attention:
        why = "they are about models without LayerNorm"
    elif cfg.attention == "softmax" and cfg.log_scaling not in covered:
        scaled = "scores" if cfg.n_layers == 1 else "the local term"
        why = f"it multiplies {scaled} by log K, and log_scaling is {cfg.log_scaling}"
    return NotCovered(theorem, why) if why else None


def norms(model: HookedTransformer) -> dict[str, float]:
    """Return operator norms of a model's parts; those of scores are in nats.

    ``residual`` is the largest norm of a first-layer input, and ``unembedding`` is |W_U|. Per layer l:

    - ``scores_l``: the largest |W_Q W_K^T| of a head over the attention scale;
    - ``values_l``: the sum over heads of |W_V W_O|;
    - ``mlp_l``: 1 + slope |W_in| |W_out|.
    """
    import torch

    def largest(matrix: Any) -> float:
        return float(torch.linalg.matrix_norm(matrix.detach().double(), 2).max())

    cfg = model.cfg
    inputs = model.W_E.detach().double()[:, None]
    terms = cfg.positions.limit_terms(model, 0)
    if terms is not None:
        inputs = inputs + terms.vectors[None]
    sizes = {"residual": float(inputs.norm(dim=-1).max()), "unembedding": largest(model.W_U)}
    for layer in range(cfg.n_layers):
        block: Any = model.blocks[layer]
        attn = block.attn
        sizes[f"scores_{layer + 1}"] = largest(attn.W_Q @ attn.W_K.transpose(1, 2)) / cfg.attn_scale
        sizes[f"values_{layer + 1}"] = sum(largest(v @ o) for v, o in zip(attn.W_V, attn.W_O, strict=True))
        sizes[f"mlp_{layer + 1}"] = 1.0
        if not cfg.attn_only:
            sizes[f"mlp_{layer + 1}"] += SLOPES[cfg.act_fn] * largest(block.mlp.W_in) * largest(block.mlp.W_out)
    return sizes


def composite(found: Mapping[str, float]) -> float:
    """Return L of one layer: the largest change of the output when attention weights change by 1 in l1.

    The paper's composite is not stated; this is the product residual x values x mlp x unembedding.
    """
    return found["residual"] * found["values_1"] * found["mlp_1"] * found["unembedding"]


def log10_complexity(found: Mapping[str, float]) -> float:
    """Return log10 of C(f) for two layers: exponential in the first layer's scores, a product of all other norms.

    The paper's polynomials are not stated; every exponent and constant here is 1.
    """
    exponent = 2 * found["scores_1"] * found["residual"] ** 2
    others = [found[name] for name in ("residual", "values_1", "mlp_1", "scores_2", "values_2", "mlp_2", "unembedding")]
    return exponent / math.log(10) + sum(math.log10(max(value, 1.0)) for value in others)


def checkpoint_bound(
    model: HookedTransformer, bos: int | None, *, epsilon: float, bits: float, reading: Reading = "inside"
) -> tuple[Bound | NotCovered, dict[str, float]]:
    """Return the bound of the theorem that covers a model, computed from its weights, and all of its parts.

    Returns:
        the bound, or why there is none, and named quantities of the weights. These are the norms; if the first layer
        is that of a limit transformer, also period, locality, gamma_top, gamma_pair and position_margin. Margins are
        infinite if no score differs from another.
    """
    refused = coverage(model.cfg)
    parts = norms(model)
    heads: list[LimitHead] = []
    if model.cfg.attention != "linear" and model.cfg.positions.limit:
        heads = limit_heads(model, bos)
        head_margins = [margins(head) for head in heads]
        parts |= {
            "period": heads[0].period,
            "locality": heads[0].locality,
            "alphabet": len(heads[0].tokens),
            "gamma_top": min(m.top for m in head_margins),
            "gamma_pair": min(m.pair for m in head_margins),
            "position_margin": position_margin([head.phi for head in heads]),
        }
    if refused is not None:
        return refused, parts
    if model.cfg.n_layers == 1:
        parts["lipschitz"] = composite(parts)
        bound = one_layer_worst_case(
            lipschitz=parts["lipschitz"],
            period=int(parts["period"]),
            alphabet=int(parts["alphabet"]),
            locality=int(parts["locality"]),
            epsilon=epsilon,
            gamma=parts["gamma_top"],
            bits=0.0 if model.cfg.attention == "hardmax" else bits,
        )
    else:
        parts["log10_complexity"] = log10_complexity(parts)
        bound = two_layers(
            log10_complexity=parts["log10_complexity"],
            epsilon=epsilon,
            gamma=parts["position_margin"],
            reading=reading,
        )
    return bound, parts
