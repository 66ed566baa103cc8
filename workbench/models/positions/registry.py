"""The encodings and the id samplers by name. Needs no torch: names are known before a class is imported."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from workbench.core.registry import Registry
from workbench.models.errors import PositionError

if TYPE_CHECKING:
    from workbench.models.positions.encoding import Encoding
    from workbench.models.positions.id_samplers import IdSampler

NONE = "none"
"""The encoding of a model that does not read position ids."""


def _own_name(cls: type[Encoding | IdSampler]) -> str:
    return str(cls.model_fields["name"].default)


def _an_encoding(name: str, found: object, place: str) -> type[Encoding]:
    from workbench.models.positions.encoding import Encoding

    if not (isinstance(found, type) and issubclass(found, Encoding)):
        raise PositionError(f"{place}, announced as the encoding {name}, is not a subclass of Encoding")
    if _own_name(found) != name:
        raise PositionError(f"{place} is announced as the encoding {name} but calls itself {_own_name(found)}")
    return found


_HOME = "workbench.models.positions"
ENCODINGS: Registry[type[Encoding]] = Registry(
    "position scheme",
    PositionError,
    {
        NONE: f"{_HOME}.none:NoPositions",
        "learned": f"{_HOME}.learned:Learned",
        "sinusoidal": f"{_HOME}.sinusoidal:Sinusoidal",
        "rotary": f"{_HOME}.rotary:Rotary",
        "alibi": f"{_HOME}.alibi:Alibi",
        "limit": f"{_HOME}.limit:Limit",
        "relative": f"{_HOME}.relative:Relative",
    },
    group="lengthlens.encodings",
    check=_an_encoding,
    name_of=_own_name,
)
"""Name in a config -> class of the encoding. If an encoding was added with ``register``, import its file before you
open a run that uses it. For an installed package the entry point is enough.
"""


def _an_id_law(name: str, found: object, place: str) -> type[IdSampler]:
    from workbench.models.positions.id_samplers import IdSampler

    if not (isinstance(found, type) and issubclass(found, IdSampler)):
        raise PositionError(f"{place}, announced as the id sampler {name}, is not a subclass of IdSampler")
    return found


_SAMPLERS = f"{_HOME}.id_samplers"
ID_SAMPLERS: Registry[type[IdSampler]] = Registry(
    "id sampler",
    PositionError,
    {
        "arange": f"{_SAMPLERS}:Arange",
        "random_offset": f"{_SAMPLERS}:RandomOffset",
        "pose": f"{_SAMPLERS}:Pose",
        "random_subset": f"{_SAMPLERS}:RandomSubset",
        "coupled": f"{_SAMPLERS}:Coupled",
        "predicted": f"{_SAMPLERS}:Predicted",
    },
    group="lengthlens.id_samplers",
    check=_an_id_law,
    name_of=_own_name,
)
"""Name in a config -> class of the id sampler."""


def make_encoding(value: str | Mapping[str, Any] | Encoding) -> Encoding:
    """Return the position encoding of a name, or of a mapping with name and parameters.

    Raises:
        PositionError: for an unknown name, with the nearest ones, or a parameter that does not fit.
    """
    from workbench.models.positions.named_config import object_from_name

    return object_from_name(ENCODINGS, value)


def id_sampler(value: object) -> IdSampler:
    """Return the id sampler of a name, or of a mapping with name and parameters. It assigns position ids to tokens.

    Raises:
        PositionError: for an unknown name, with the nearest ones, or a parameter that does not fit.
    """
    from workbench.models.positions.named_config import object_from_name

    return object_from_name(ID_SAMPLERS, value)


def those_with(holds: Callable[[type[Encoding]], bool]) -> str:
    """Return the names of the encodings for which ``holds`` returns True, as words: ``none, learned or rotary``."""
    *most, last = [name for name, cls in ENCODINGS.items() if holds(cls)]
    return f"{', '.join(most)} or {last}" if most else last


def in_words(name: str) -> str:
    """Return the name of an encoding as pages show it."""
    return "no positions" if name == NONE else name
