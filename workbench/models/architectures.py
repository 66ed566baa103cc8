"""The architectures by name: from the fields of a run's model to its config, and from a config to a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.core.errors import LensError, shown
from workbench.models.config import Architecture, ModelConfig
from workbench.models.hooked import Hooked
from workbench.models.ssm import HookedSSM
from workbench.models.ssm_config import SSMConfig
from workbench.models.transformer import HookedTransformer


class ArchitectureError(LensError, ValueError):
    """An architecture that does not exist."""


ARCHITECTURES: Mapping[str, type[Architecture]] = {cls.kind: cls for cls in (ModelConfig, SSMConfig)}


def config_class(fields: Mapping[str, Any]) -> type[Architecture]:
    """The class of a config with these fields; one that names no architecture is a transformer's.

    Raises:
        ArchitectureError: for an architecture that does not exist.
    """
    name = fields.get("architecture", ModelConfig.kind)
    if not isinstance(name, str) or name not in ARCHITECTURES:
        raise ArchitectureError(f"unknown architecture {shown(name)}; there are {' and '.join(ARCHITECTURES)}")
    return ARCHITECTURES[name]


def make_config(fields: Mapping[str, Any]) -> Architecture:
    """The config with these fields.

    Raises:
        ValueError: for an architecture that does not exist, or fields that do not fit it.
        PositionError: for positions that do not exist or fit.
    """
    return config_class(fields)(**fields)


def make_model(cfg: Architecture, seed: int = 0) -> Hooked:
    """A freshly initialised model of any architecture."""
    if isinstance(cfg, SSMConfig):
        return HookedSSM(cfg, seed=seed)
    assert isinstance(cfg, ModelConfig), "every architecture has a model"
    return HookedTransformer(cfg, seed=seed)
