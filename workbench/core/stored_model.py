"""The kind, position encoding and ids of a model, read from the ``model`` part of a run's config."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

TRANSFORMER = "transformer"
STATE_SPACE = "ssm"


@dataclass(frozen=True)
class Family:
    """An architecture without attention and positions, in words.

    Attributes:
        title: its name in sentences.
        short: its name in tables.
        field: the field of its config that distinguishes its models most.
    """

    title: str
    short: str
    field: str


WITHOUT_ATTENTION: Mapping[str, Family] = {
    STATE_SPACE: Family("state-space model", "SSM", "gates"),
    "rnn": Family("recurrent network", "RNN", "cell"),
}
"""The architectures without attention by name."""


def component_name(component: Any) -> Any:
    """Return the name of a component that a config gives by its name, or as an object with ``name`` and settings.

    A value that is neither is returned as it is.
    """
    return component.get("name") if isinstance(component, Mapping) else component


def component_settings(component: Any) -> dict[str, Any]:
    """Return the settings of a component without its name; empty if the config gives only its name."""
    return {key: value for key, value in component.items() if key != "name"} if isinstance(component, Mapping) else {}


@dataclass(frozen=True)
class StoredModel:
    """The ``model`` part of a config. A config may leave out fields that have their usual value.

    Attributes:
        part: the ``model`` part of a run's config, as stored.
    """

    part: Mapping[str, Any]

    @property
    def architecture(self) -> str:
        """The architecture's name, for example ``transformer``, ``ssm`` or ``rnn``."""
        return str(self.part.get("architecture", TRANSFORMER))

    @property
    def is_state_space(self) -> bool:
        return self.architecture == STATE_SPACE

    @property
    def gates(self) -> str:
        """The sign of the gates of a state-space model; "" for other models."""
        return str(self.part["gates"]) if self.is_state_space else ""

    @property
    def kind(self) -> str:
        """The kind of model in theory and claims: its architecture, and ``-`` and its gates or cell if it has any."""
        family = self.family
        return self.architecture if family is None else f"{self.architecture}-{self.part[family.field]}"

    @property
    def family(self) -> Family | None:
        """The kind of architecture if it has no attention; None for other models."""
        return WITHOUT_ATTENTION.get(self.architecture)

    @property
    def variant(self) -> str:
        """The gates or the cell of a model without attention in words, ``signed gates``; "" for other models."""
        family = self.family
        return "" if family is None else f"{self.part.get(family.field)} {family.field}"

    @property
    def positions(self) -> str:
        """The name of the position encoding; ``none`` if the config states none."""
        return str(component_name(self.part.get("positions", "none")))

    @property
    def position_settings(self) -> dict[str, Any]:
        """The settings of the position encoding."""
        return component_settings(self.part.get("positions"))

    @property
    def ids(self) -> str:
        """The name of the id sampler; ``arange`` if the config states none."""
        return str(component_name(self.part.get("ids", "arange")))
