"""The models that are trained and analysed, their configurations, and models built by hand."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.models.config import ModelConfig
    from workbench.models.positions.encoding import Encoding
    from workbench.models.positions.registry import ENCODINGS, make_encoding
    from workbench.models.ssm import HookedSSM
    from workbench.models.ssm_config import SSMConfig
    from workbench.models.testing import check_encoding
    from workbench.models.transformer import HookedTransformer
    from workbench.models.upstream import to_upstream

__all__ = [
    "ENCODINGS",
    "Encoding",
    "HookedSSM",
    "HookedTransformer",
    "ModelConfig",
    "SSMConfig",
    "check_encoding",
    "make_encoding",
    "to_upstream",
]

_HOME = {
    "ENCODINGS": "positions.registry",
    "Encoding": "positions.encoding",
    "HookedSSM": "ssm",
    "HookedTransformer": "transformer",
    "ModelConfig": "config",
    "SSMConfig": "ssm_config",
    "check_encoding": "testing",
    "make_encoding": "positions.registry",
    "to_upstream": "upstream",
}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
