"""Converts our transformers to TransformerLens's ``TransformerBridge``, which only version 4 has."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

from torch import nn

from workbench.models.interop.upstream_lens import UpstreamError
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer

ARCHITECTURE = "LengthLensTransformer"
"""The name of our architecture in the entry point ``transformer_lens.architectures`` (``pyproject.toml``)."""
HOW = (
    "the installed TransformerLens takes no architectures of other packages, as version 4.3 does; update it, or use "
    "the model of run.load(), which has TransformerLens's hooks"
)


def to_bridge(model: nn.Module) -> Any:
    """Return TransformerLens's ``TransformerBridge`` of a copy of a model, with the same outputs for ids 0, 1, 2, ...

    It has the hook names of TransformerLens: ``blocks.0.attn.hook_pattern`` and so on. It has no tokenizer:
    ``model.to_tokens`` makes the tokens.

    Raises:
        UpstreamError: for a model that is not a transformer of ours, or if the installed TransformerLens has no bridge.
    """
    if not isinstance(model, HookedTransformer):
        name = getattr(getattr(model, "cfg", None), "title", type(model).__name__)
        raise UpstreamError(f"a bridge takes a transformer of LengthLens, not {name}")
    if model.cfg.norm_after_attention:
        raise UpstreamError("a bridge has no norm after attention; use the model of run.load(), which has all hooks")
    if find_spec("transformer_lens.factories.architecture_adapter_factory") is None:
        raise UpstreamError(HOW)
    from transformer_lens.config import TransformerBridgeConfig
    from transformer_lens.factories.architecture_adapter_factory import ArchitectureAdapterFactory
    from transformer_lens.model_bridge.sources._bridge_builder import build_bridge_from_module

    from workbench.models.interop.bridge_module import BridgeModule, LengthLensAdapter

    ArchitectureAdapterFactory.discover_entry_points()
    if ARCHITECTURE not in ArchitectureAdapterFactory._adapters:  # our package is on the path, but not installed
        ArchitectureAdapterFactory.register_adapter(ARCHITECTURE, LengthLensAdapter)
    config = TransformerBridgeConfig(**bridge_fields(model.cfg), architecture=ARCHITECTURE)
    bridge = build_bridge_from_module(BridgeModule(model), ARCHITECTURE, tl_config=config, model_name="lengthlens")
    return bridge.eval()


def bridge_fields(cfg: ModelConfig) -> dict[str, Any]:
    """The arguments of ``TransformerBridgeConfig`` for the config of one of our transformers."""
    names = ("d_model", "n_layers", "n_heads", "d_head", "d_vocab", "d_vocab_out", "n_ctx", "attn_only", "eps")
    positions = "standard" if cfg.positions.added else cfg.positions.name
    return {name: getattr(cfg, name) for name in names} | {
        "act_fn": None if cfg.attn_only else cfg.act_fn,
        "d_mlp": None if cfg.attn_only else cfg.mlp_width(0),
        "normalization_type": cfg.normalization_type,
        "positional_embedding_type": positions,
    }
