"""The one model that is trained and analysed, its configuration, and models built by hand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.models.config import ModelConfig
    from workbench.models.transformer import HookedTransformer

__all__ = ["HookedTransformer", "ModelConfig"]


def __getattr__(name: str) -> Any:
    if name == "ModelConfig":
        from workbench.models.config import ModelConfig

        return ModelConfig
    if name == "HookedTransformer":
        from workbench.models.transformer import HookedTransformer

        return HookedTransformer
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
