"""The encodings by name. No torch: a name is known before its file is read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.models.positions.encoding import Encoding

NONE = "none"
"""The encoding of a model that reads no position."""


class Encodings(Mapping[str, "type[Encoding]"]):
    """Classes of encodings by the name that a config says, in the order in which they are listed.

    Args:
        homes: by name, ``module:class`` within :mod:`workbench.models.positions`; read when first asked for.
    """

    def __init__(self, homes: Mapping[str, str]) -> None:
        self._homes = dict(homes)
        self._classes: dict[str, type[Encoding]] = {}

    def __getitem__(self, name: str) -> type[Encoding]:
        if name not in self._classes:
            module, _, attribute = self._homes[name].partition(":")
            self._classes[name] = getattr(import_module(f"workbench.models.positions.{module}"), attribute)
        return self._classes[name]

    def __contains__(self, name: object) -> bool:
        return name in self._homes or name in self._classes

    def __iter__(self) -> Iterator[str]:
        return iter({**self._homes, **self._classes})

    def __len__(self) -> int:
        return len({*self._homes, *self._classes})

    def register(self, cls: type[Encoding]) -> type[Encoding]:
        """Add an encoding of one's own, under its name; usable as a decorator.

        It is known to this process alone: whatever opens a run that has it must import its file first.

        Raises:
            ValueError: for a name that another encoding has.
        """
        name = str(cls.model_fields["name"].default)
        if name in self and self[name] is not cls:
            raise ValueError(f"there is an encoding {name} already ({self[name].__module__}); choose another name")
        self._classes[name] = cls
        return cls


ENCODINGS = Encodings(
    {
        NONE: "none:NoPositions",
        "learned": "learned:Learned",
        "sinusoidal": "sinusoidal:Sinusoidal",
        "rotary": "rotary:Rotary",
        "alibi": "alibi:Alibi",
        "limit": "limit:Limit",
        "relative": "relative:Relative",
    }
)


def make_encoding(value: str | Mapping[str, Any] | Encoding) -> Encoding:
    """The encoding of that name (with parameters, if a mapping).

    Raises:
        PositionError: for an unknown name, with the nearest ones, or a parameter that does not fit.
    """
    from workbench.models.schemes import named

    return named("position scheme", ENCODINGS, value)


def those_with(holds: Callable[[type[Encoding]], bool]) -> str:
    """The encodings for which something holds, as a list in words: ``none, learned or rotary``."""
    *most, last = [name for name, cls in ENCODINGS.items() if holds(cls)]
    return f"{', '.join(most)} or {last}" if most else last


def in_words(name: str) -> str:
    """An encoding by name, as a page says it."""
    return "no positions" if name == NONE else name
