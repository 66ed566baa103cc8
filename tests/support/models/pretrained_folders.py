"""Tiny folders of pretrained models of every family, with weights drawn here, and a tokenizer of words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

LAYERS, HEADS, WIDTH, VOCABULARY, WINDOW = 2, 4, 32, 40, 5
COMMON = {
    "vocab_size": VOCABULARY, "hidden_size": WIDTH, "intermediate_size": 48, "num_hidden_layers": LAYERS,
    "num_attention_heads": HEADS, "max_position_embeddings": 64, "initializer_range": 0.3, "pad_token_id": 0,
    "bos_token_id": 0, "eos_token_id": 0,
}  # fmt: skip
GROUPED = {**COMMON, "num_key_value_heads": 2}
CONFIGS = {
    "gpt2": {"vocab_size": VOCABULARY, "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS, "n_positions": 64,
             "initializer_range": 0.3},
    "gpt_neox": {**COMMON, "use_parallel_residual": True},
    "gpt_neox sequential": {**COMMON, "use_parallel_residual": False},
    "llama": GROUPED,
    "mistral": {**GROUPED, "sliding_window": WINDOW},
    "olmo": GROUPED,
    "phi3": GROUPED,
    "qwen2": {**GROUPED, "use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1},
    "qwen3": {**GROUPED, "head_dim": 8},
    "smollm3": GROUPED,
    "gemma2": {**GROUPED, "head_dim": 8, "sliding_window": WINDOW, "attn_logit_softcapping": 2.0,
               "final_logit_softcapping": 5.0, "query_pre_attn_scalar": 16},
    "gemma3_text": {**GROUPED, "head_dim": 8, "sliding_window": WINDOW, "query_pre_attn_scalar": 16,
                    "layer_types": ["sliding_attention", "full_attention"]},
    "olmo2": GROUPED,
    "olmo3": {**GROUPED, "sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"]},
}  # fmt: skip

VARIANTS = {
    "gpt2 scaled by layer": {**CONFIGS["gpt2"], "scale_attn_by_inverse_layer_idx": True},
    "gpt2 unscaled": {**CONFIGS["gpt2"], "scale_attn_weights": False},
    "gpt_neox without biases": {**CONFIGS["gpt_neox"], "attention_bias": False},
    "gpt_neox all turned": {**CONFIGS["gpt_neox"], "rope_parameters": {
        "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 1.0}},
    "llama linear": {**GROUPED, "rope_parameters": {"rope_type": "linear", "rope_theta": 1e4, "factor": 4.0}},
    "llama dynamic": {**GROUPED, "rope_parameters": {"rope_type": "dynamic", "rope_theta": 1e4, "factor": 4.0}},
    "llama yarn": {**GROUPED, "rope_parameters": {
        "rope_type": "yarn", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16}},
    "llama llama3": {**GROUPED, "rope_parameters": {
        "rope_type": "llama3", "rope_theta": 1e4, "factor": 4.0, "original_max_position_embeddings": 16,
        "low_freq_factor": 1.0, "high_freq_factor": 4.0}},
    "llama with biases": {**GROUPED, "attention_bias": True, "mlp_bias": True},
    "llama tied": {**GROUPED, "tie_word_embeddings": True},
    "llama one key head": {**COMMON, "num_key_value_heads": 1},
    "llama wide heads": {**GROUPED, "head_dim": 16},
    "mistral without a window": {**GROUPED, "sliding_window": None},
    "qwen2 without a window": GROUPED,
    "qwen3 with biases": {**CONFIGS["qwen3"], "attention_bias": True},
    "phi3 partly turned": {**GROUPED, "rope_parameters": {
        "rope_type": "default", "rope_theta": 1e4, "partial_rotary_factor": 0.5}},
    "olmo clipped": {**GROUPED, "clip_qkv": 0.5},
    "olmo2 ungrouped": {**COMMON, "num_key_value_heads": HEADS},
    "gemma2 without caps": {**CONFIGS["gemma2"], "attn_logit_softcapping": None, "final_logit_softcapping": None},
    "gemma3_text two windows": {**CONFIGS["gemma3_text"], "layer_types": ["sliding_attention"] * 2},
    "smollm3 a layer without positions": {**GROUPED, "no_rope_layers": [1, 0]},
}  # fmt: skip
"""Options of the same families, each of which changes attention or positions."""

WORDS = ("<s>", "</s>", ":", "\u010a", *(f"\u0120{a}{b}{c}" for a in "bdg" for b in "aeiu" for c in ("rt", "nd", "lk")))
"""Tokens: the beginning, the end, a colon, a line's end, and thirty-six words behind a space."""


def save_folder(name: str, folder: Path, tokenizer: bool = False, seed: int = 0, **changed: Any) -> Path:
    """Save a model of one of :data:`CONFIGS` or :data:`VARIANTS`; ``changed`` are fields of its config."""
    from transformers import AutoConfig, AutoModelForCausalLM

    torch.manual_seed(seed)
    config = AutoConfig.for_model(name.split()[0], **{**{**CONFIGS, **VARIANTS}[name], **changed})
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():  # what starts at 0 or 1 would hide a norm or a bias that was left out
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter += 0.2 * torch.randn(parameter.shape)
    model.save_pretrained(folder)
    if tokenizer:
        save_tokenizer(folder)
    return folder


def save_tokenizer(folder: Path) -> None:
    """Save the tokenizer of :data:`WORDS`."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    made = Tokenizer(models.WordLevel({word: i for i, word in enumerate(WORDS)}, unk_token="</s>"))
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    PreTrainedTokenizerFast(tokenizer_object=made, bos_token="<s>", eos_token="</s>").save_pretrained(folder)
