"""Module paths in each family of Hugging Face's transformers for TransformerLens's hook names. Plain data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from workbench.core.errors import LensError, quoted_value
from workbench.core.suggest import nearest


class PretrainedError(LensError, ValueError):
    """A folder of weights that cannot be opened or must not be trusted; the message explains why and what to do."""


@dataclass(frozen=True)
class Family:
    """Module paths of models with the same structure.

    Attributes:
        title: the name in sentences.
        base: the stack without its read-out.
        embed, blocks, final: below the base: token embedding, list of blocks, last normalization.
        attention, mlp: in a block.
        attention_out, mlp_out: in a block; the modules whose outputs are added to the residual stream.
        turned: whether positions rotate queries and keys, so that hooks read them after the rotation.
    """

    title: str
    base: str
    embed: str
    blocks: str
    final: str
    attention: str
    mlp: str
    attention_out: str
    mlp_out: str
    turned: bool = True


GPT2 = Family("GPT-2", "transformer", "wte", "h", "ln_f", "attn", "mlp", "attn", "mlp", turned=False)
GPT_NEOX = Family(
    "GPT-NeoX", "gpt_neox", "embed_in", "layers", "final_layer_norm", "attention", "mlp", "attention", "mlp"
)
LLAMA = Family("Llama", "model", "embed_tokens", "layers", "norm", "self_attn", "mlp", "self_attn", "mlp")
POST_NORM = Family(
    "post-norm", "model", "embed_tokens", "layers", "norm", "self_attn", "mlp",
    "post_attention_layernorm", "post_feedforward_layernorm",
)  # fmt: skip

FAMILIES: Mapping[str, Family] = {
    "gpt2": GPT2,
    "gpt_neox": GPT_NEOX,
    **dict.fromkeys(("llama", "mistral", "olmo", "phi3", "qwen2", "qwen3", "smollm3"), LLAMA),
    **dict.fromkeys(("gemma2", "gemma3_text", "olmo2", "olmo3"), POST_NORM),
}
"""``model_type`` of a config -> its family."""

WITHOUT_INTERFACE = ("bloom", "codegen", "falcon", "gpt_neo", "gptj", "mpt")
"""Model types whose attention transformers does not let other code replace."""
STATE_SPACES = ("falcon_mamba", "mamba", "mamba2")


def family_of(model_type: object) -> Family:
    """The family of a model type.

    Raises:
        PretrainedError: for a type that is not supported, with the reason.
    """
    if isinstance(model_type, str) and model_type in FAMILIES:
        return FAMILIES[model_type]
    if model_type in WITHOUT_INTERFACE:
        why = "its attention is written into its own code in transformers, where no hook sees or edits it"
    elif model_type in STATE_SPACES:
        why = "transformers shows neither its states nor its gates"
    elif known_to_transformers(model_type):
        why = f"transformers knows it, but its hooks are not described here; types that are: {', '.join(FAMILIES)}"
    else:
        why = f"transformers does not know it either; {nearest(model_type, FAMILIES)}"
    raise PretrainedError(f"a model of the type {quoted_value(model_type)} is not opened: {why}")


def known_to_transformers(model_type: object) -> bool:
    """Whether the installed transformers has an architecture of this type."""
    from transformers.models.auto.configuration_auto import CONFIG_MAPPING

    return isinstance(model_type, str) and model_type in CONFIG_MAPPING
