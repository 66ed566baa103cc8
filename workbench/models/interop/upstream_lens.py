"""Converts our models to TransformerLens's own HookedTransformer, and its configs and weights to ours.

TransformerLens 3.9 still has the class, version 4 does not. Both sides share names and shapes of weights, so only the
config is translated. A model that one side cannot express is refused, never approximated.
"""

from __future__ import annotations

import math
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor

from workbench.core.errors import LensError
from workbench.models.errors import PositionError
from workbench.models.positions.encoding import Encoding
from workbench.models.positions.registry import ENCODINGS
from workbench.models.transformer.config import ModelConfig

if TYPE_CHECKING:
    from workbench.models.transformer.model import HookedTransformer

HOW = (
    "TransformerLens 4 has no HookedTransformer any more; use version 3.9, in another environment "
    "(the extra lens3 installs it) or first on the path (`make upstream`, then PYTHONPATH=.upstream)"
)
SHARED = (
    "d_model", "n_layers", "n_heads", "d_head", "d_vocab", "d_vocab_out", "n_ctx", "act_fn", "normalization_type",
    "attn_only", "eps",
)  # fmt: skip
"""Fields with the same name and meaning on both sides."""

FOLDED = (
    "its LayerNorms were folded into the weights (process_weights_, or fold_ln when it was loaded); "
    "adopt the raw checkpoint"
)

NEUTRAL: dict[str, tuple[Any, ...]] = {
    "attention_dir": ("causal",), "attn_scores_soft_cap": (-1.0, None), "attn_types": (None,), "clip_qkv": (None,),
    "experts_per_token": (None,), "final_rms": (False,), "gated_mlp": (False,), "layer_norm_folding": (False,),
    "load_in_4bit": (False,), "n_key_value_heads": (None,), "norm_topk_prob": (False,), "num_experts": (None,),
    "output_logits_soft_cap": (-1.0, None), "parallel_attn_mlp": (False,), "post_embedding_ln": (False,),
    "relative_attention_max_distance": (None,), "relative_attention_num_buckets": (None,),
    "rotary_adjacent_pairs": (False,), "rotary_base_local": (None,), "scale_attn_by_inverse_layer_idx": (False,),
    "use_NTK_by_parts_rope": (False,), "use_attention_sinks": (False,), "use_attn_scale": (True,),
    "use_dynamic_ntk_rope": (False,), "use_local_attn": (False,), "use_logn_attn": (False,),
    "use_normalization_before_and_after": (False,), "use_qk_norm": (False,), "use_yarn_rope": (False,),
    "uses_rms_norm": (False,),
}  # fmt: skip
"""Fields that change what a model computes -> the values at which they do not."""

UNREAD = frozenset({
    "NTK_by_parts_factor", "NTK_by_parts_high_freq_factor", "NTK_by_parts_low_freq_factor", "NTK_original_ctx_len",
    "attn_scale", "checkpoint_index", "checkpoint_label_type", "checkpoint_value", "d_mlp", "decoder_start_token_id",
    "default_prepend_bos", "device", "dtype", "from_checkpoint", "init_mode", "init_weights", "initializer_range",
    "model_name", "n_devices", "n_params", "original_architecture", "positional_embedding_type",
    "quantization_method", "rotary_base", "rotary_dim", "rotary_scaling_factor", "seed", "tie_word_embeddings",
    "tokenizer_name", "tokenizer_prepends_bos", "train_seq_length", "trust_remote_code",
    "ungroup_grouped_query_attention", "use_attn_in", "use_attn_result", "use_hook_mlp_in", "use_hook_tokens",
    "use_split_qkv_input", "window_size", "yarn_attention_factor", "yarn_beta_fast", "yarn_beta_slow", "yarn_factor",
    "yarn_global_attn_only", "yarn_original_max_position_embeddings", "yarn_truncate",
})  # fmt: skip
"""Fields that change nothing by themselves, or that are read by name."""


class UpstreamError(LensError, ValueError):
    """A model that the other side cannot express; the message names the part that is missing there."""


# ---- ours -> TransformerLens ------------------------------------------------------------------------
def to_upstream(model: HookedTransformer) -> Any:
    """TransformerLens's HookedTransformer with the same weights and the same outputs (for ids 0, 1, 2, ...).

    Raises:
        UpstreamError: if the installed TransformerLens has no such class, or it cannot express the model.
    """
    fields = upstream_fields(model.cfg)
    try:
        from transformer_lens import HookedTransformer as Upstream
        from transformer_lens import HookedTransformerConfig
    except ImportError:
        raise UpstreamError(HOW) from None
    device = model.embed.W_E.device
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        config = HookedTransformerConfig(**fields, dtype=model.embed.W_E.dtype, device=str(device), init_weights=False)
        upstream_model = Upstream(config)
    weights = {name: value.detach().clone() for name, value in model.state_dict().items()}
    weights["unembed.W_U"] = model.W_U.detach().clone()  # on its own there, also where it is that of the embedding here
    if "pos_embed.W_pos" in upstream_model.state_dict() and "pos_embed.W_pos" not in weights:
        weights["pos_embed.W_pos"] = torch.zeros(config.n_ctx, config.d_model)  # none: zeros; alibi: unread
    found = upstream_model.load_state_dict(weights, strict=False)
    missing = [name for name in found.missing_keys if not is_buffer(name)]
    if missing or found.unexpected_keys:
        raise UpstreamError(f"TransformerLens's model has other weights: {[*missing, *found.unexpected_keys]}")
    return upstream_model.eval()


def upstream_fields(cfg: ModelConfig) -> dict[str, Any]:
    """Return the arguments of ``HookedTransformerConfig`` for the config of one of our models.

    Raises:
        UpstreamError: if the model has a feature that TransformerLens's class does not have.
    """
    lacking = []
    if not cfg.positions.upstream:
        lacking.append(f"positions {cfg.positions.name}")
    if cfg.log_scaling != "none":
        lacking.append(f"log_scaling {cfg.log_scaling}")
    if cfg.attention != "softmax":
        lacking.append(f"{cfg.attention} attention")
    if cfg.norm_after_attention:
        lacking.append(
            "norm after attention alone (its use_normalization_before_and_after adds one after the MLP, too)"
        )
    if isinstance(cfg.d_mlp, tuple) and len(set(cfg.d_mlp)) > 1:
        lacking.append("MLPs of different widths")
    if lacking:
        raise UpstreamError(f"TransformerLens's HookedTransformer has no {' and no '.join(lacking)}")
    fields = {name: getattr(cfg, name) for name in SHARED}
    return fields | {"d_mlp": cfg.mlp_width(0)} | cfg.positions.upstream_fields(cfg.d_head)


# ---- TransformerLens -> ours ------------------------------------------------------------------------
def fields_of_config(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of our ModelConfig for a ``HookedTransformerConfig`` given as its ``to_dict()``.

    Raises:
        UpstreamError: naming the first field that our model does not have, or that is unknown.
    """
    if str(config.get("normalization_type")).endswith("Pre"):
        raise UpstreamError(f"normalization_type is {config['normalization_type']}: {FOLDED}")
    for name, value in config.items():
        if name in NEUTRAL and value not in NEUTRAL[name]:
            raise UpstreamError(f"it has {name} = {value!r}, which our model does not have")
        if name not in NEUTRAL and name not in UNREAD and name not in SHARED:
            raise UpstreamError(f"it has a field {name!r} that is not known here; take it out if it changes no output")
    fields = {name: config[name] for name in SHARED if name in config}
    if fields.get("d_vocab_out") == -1:
        del fields["d_vocab_out"]
    if fields.get("attn_only"):
        fields.pop("act_fn", None)
    elif config.get("d_mlp") is not None:
        fields["d_mlp"] = config["d_mlp"]
    fields["positions"] = _positions(config)
    scale = config.get("attn_scale", -1.0)
    expected = math.sqrt(int(config["d_head"])) if "d_head" in config else scale
    if scale != -1.0 and not math.isclose(scale, expected, rel_tol=1e-6):
        raise UpstreamError(f"it divides scores by attn_scale = {scale:g}, not by sqrt(d_head) = {expected:g}")
    return fields


def _positions(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of the encoding that a config states."""
    # One that reads no ids has a table of zeros there, which its config does not tell.
    expressible = (cls for cls in ENCODINGS.values() if cls.upstream and cls.reads_ids)
    by_name: dict[str, type[Encoding]] = {cls.upstream: cls for cls in expressible}
    theirs = str(config.get("positional_embedding_type", "standard"))
    if theirs not in by_name:
        raise UpstreamError(f"it has positional_embedding_type = {theirs!r}; known here: {', '.join(by_name)}")
    try:
        return by_name[theirs].settings_of_upstream(config)
    except PositionError as error:
        raise UpstreamError(str(error)) from None


NEEDED = ("embed.W_E", "blocks.0.attn.W_Q", "unembed.W_U")
RANKS = {
    **dict(zip(NEEDED, (2, 3, 2), strict=True)), "blocks.0.mlp.W_in": 2, "pos_embed.W_pos": 2,
    "blocks.0.attn.rotary_cos": 2, "blocks.0.attn.mask": 2,
}  # fmt: skip
"""Axes of the tensors whose shapes are read."""


def fields_of_weights(weights: Mapping[str, Tensor]) -> dict[str, Any]:
    """The fields of our ModelConfig that follow from the shapes of a state dict, buffers included.

    Some fields do not follow from shapes: the activation, the rotary base, and whether ``W_pos`` is read (standard) or
    not (ALiBi). A model without LayerNorm weights may have no LayerNorm, or its weights may have been folded into
    others.

    Raises:
        UpstreamError: if it is not a state dict of a HookedTransformer.
    """
    for name, axes in RANKS.items():
        if name not in weights and name in NEEDED:
            raise UpstreamError(f"it contains no tensor {name}, so it is not a state dict of a HookedTransformer")
        # TransformerLens saves the mask of some encodings as a buffer without entries.
        empty_mask = name.endswith(".mask") and name in weights and list(weights[name].shape) == [0, 0]
        if name in weights and not empty_mask and (weights[name].ndim != axes or not weights[name].numel()):
            raise UpstreamError(
                f"its tensor {name} has the shape {list(weights[name].shape)}, so it is not a state dict of a "
                f"HookedTransformer: there it has {axes} axes"
            )
    layers = {int(match[1]) for name in weights if (match := re.match(r"blocks\.([0-9]{1,9})\.", name))}
    d_vocab, d_model = weights["embed.W_E"].shape
    n_heads, _, d_head = weights["blocks.0.attn.W_Q"].shape
    fields: dict[str, Any] = {
        "d_vocab": d_vocab,
        "d_model": d_model,
        "n_layers": max(layers) + 1,
        "n_heads": n_heads,
        "d_head": d_head,
        "d_vocab_out": weights["unembed.W_U"].shape[1],
        "attn_only": "blocks.0.mlp.W_in" not in weights,
    }
    if "blocks.0.mlp.W_in" in weights:
        fields["d_mlp"] = weights["blocks.0.mlp.W_in"].shape[1]
    if "blocks.0.ln1.w" in weights:
        fields["normalization_type"] = "LN"
    for name in ("pos_embed.W_pos", "blocks.0.attn.rotary_cos", "blocks.0.attn.mask"):
        if name in weights and len(weights[name]):
            fields["n_ctx"] = len(weights[name])
            break
    return fields


def our_weights(cfg: ModelConfig, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return a state dict without its buffers, in the form that our model with this config loads.

    Raises:
        UpstreamError: if it contains positions that the config does not have: a ``W_pos`` that is not zero although
            positions are ``none``, or rotary tables with other angles.
    """
    our_names = {name: value for name, value in weights.items() if not is_buffer(name)}
    try:
        cfg.positions.check_upstream_buffers({n: v for n, v in weights.items() if n not in our_names}, cfg.d_head)
    except PositionError as error:
        raise UpstreamError(str(error)) from None
    if cfg.positions.rows(cfg.n_ctx) is None and "pos_embed.W_pos" in our_names:
        table = our_names.pop("pos_embed.W_pos")
        if not cfg.positions.ignores_upstream_table and bool(table.any()):
            raise UpstreamError(f"it contains a W_pos that is not 0, so its positions are not {cfg.positions.name}")
    return our_names


def is_buffer(name: str) -> bool:
    """Whether an entry of a state dict is a table or a mask rather than a weight."""
    return name.rpartition(".")[2] in ("mask", "IGNORE", "rotary_sin", "rotary_cos", "alibi")
