"""The encodings by name. No torch: a name is known before its file is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.core.registry import Registry
from workbench.models.errors import PositionError

if TYPE_CHECKING:
    from workbench.models.positions.encoding import Encoding

NONE = "none"
"""The encoding of a model that reads no position."""


def _an_encoding(name: str, found: object, place: str) -> type[Encoding]:
    from workbench.models.positions.encoding import Encoding

    if not (isinstance(found, type) and issubclass(found, Encoding)):
        raise PositionError(f"{place}, announced as the position scheme {name!r}, is no subclass of Encoding")
    own = found.model_fields["name"].default
    if own != name:
        raise PositionError(f"{place} is announced as the position scheme {name!r} but calls itself {own!r}")
    return found


_HOUSE = "workbench.models.positions"

ENCODINGS: Registry[type[Encoding]] = Registry(
    "position scheme",
    PositionError,
    {
        NONE: f"{_HOUSE}.none:NoPositions",
        "learned": f"{_HOUSE}.learned:Learned",
        "sinusoidal": f"{_HOUSE}.sinusoidal:Sinusoidal",
        "rotary": f"{_HOUSE}.rotary:Rotary",
        "alibi": f"{_HOUSE}.alibi:Alibi",
        "limit": f"{_HOUSE}.limit:Limit",
        "relative": f"{_HOUSE}.relative:Relative",
    },
    group="lengthlens.encodings",
    check=_an_encoding,
)
"""All encodings by name. Other packages announce theirs as entry points of the group ``lengthlens.encodings``; whatever
opens a run then knows them. ``ENCODINGS.add(name, cls)`` adds one for this process alone."""


def make_encoding(value: str | Mapping[str, Any] | Encoding) -> Encoding:
    """The encoding of that name (with parameters, if a mapping).

    Raises:
        PositionError: for an unknown name, with the nearest ones, or a parameter that does not fit.
    """
    from workbench.models.schemes import named

    return named(ENCODINGS, value)


def those_with(holds: Callable[[type[Encoding]], bool]) -> str:
    """The encodings for which something holds, as a list in words: ``none, learned or rotary``."""
    *most, last = [name for name, cls in ENCODINGS.items() if holds(cls)]
    return f"{', '.join(most)} or {last}" if most else last


def in_words(name: str) -> str:
    """An encoding by name, as a page says it."""
    return "no positions" if name == NONE else name
