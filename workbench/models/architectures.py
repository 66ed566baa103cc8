"""The architectures by name: makes a config from the fields of a run's model, and a model from a config."""

from __future__ import annotations

from collections.abc import Mapping
from pkgutil import resolve_name
from typing import Any

from workbench.core.registry import Registry
from workbench.models.base.architecture import Architecture
from workbench.models.base.hooked import Hooked
from workbench.models.errors import ArchitectureError
from workbench.models.transformer.config import ModelConfig


def _an_architecture(name: str, found: object, place: str) -> type[Architecture]:
    if not (isinstance(found, type) and issubclass(found, Architecture)):
        raise ArchitectureError(f"{place}, announced as the architecture {name!r}, is not a subclass of Architecture")
    if found.kind != name:
        raise ArchitectureError(f"{place} is announced as the architecture {name!r} but calls itself {found.kind!r}")
    return found


ARCHITECTURES: Registry[type[Architecture]] = Registry(
    "architecture",
    ArchitectureError,
    {
        ModelConfig.kind: ModelConfig,
        "ssm": "workbench.models.ssm.config:SSMConfig",
        "rnn": "workbench.models.rnn.config:RNNConfig",
        "pretrained": "workbench.models.interop.hugging_face.adapter:PretrainedConfig",
    },
    group="lengthlens.architectures",
    check=_an_architecture,
    name_of=lambda config: config.kind,
)
"""Architecture name -> class of its config, which names the class of its models."""


def config_class(fields: Mapping[str, Any]) -> type[Architecture]:
    """The class of a config with these fields. Without an architecture's name, it is the transformer's.

    Raises:
        ArchitectureError: for an architecture that does not exist.
    """
    return ARCHITECTURES.find(fields.get("architecture", ModelConfig.kind))


def make_config(fields: Mapping[str, Any]) -> Architecture:
    """The config with these fields.

    Raises:
        ValueError: for an architecture that does not exist, or fields that do not fit it.
        PositionError: for a position encoding that does not exist or does not fit.
    """
    return config_class(fields)(**fields)


def make_model(cfg: Architecture, seed: int = 0) -> Hooked:
    """A freshly initialised model of any architecture."""
    model: Hooked = resolve_name(cfg.model)(cfg, seed=seed)
    return model
