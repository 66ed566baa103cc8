"""The models that are trained and analysed, their configurations, and models built by hand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.models.config import ModelConfig
    from workbench.models.ssm import HookedSSM
    from workbench.models.ssm_config import SSMConfig
    from workbench.models.transformer import HookedTransformer

__all__ = ["HookedSSM", "HookedTransformer", "ModelConfig", "SSMConfig"]

_HOME = {"HookedSSM": "ssm", "HookedTransformer": "transformer", "ModelConfig": "config", "SSMConfig": "ssm_config"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
