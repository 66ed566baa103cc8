"""How a figure looks besides its data: theme and base text size."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

Theme = Literal["light", "dark"]


class Look(NamedTuple):
    """The look of a figure: theme, and base text size in pixels."""

    theme: Theme = "light"
    size: int = 11


LIGHT = Look()
"""The look of a figure unless another one is given."""


def with_look(keywords: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keyword arguments of a figure with ``theme`` and ``size``, if given, combined into one ``look``."""
    look = keywords.get("look", LIGHT)
    theme, size = keywords.get("theme", look.theme), keywords.get("size", look.size)
    return {
        **{name: value for name, value in keywords.items() if name not in ("theme", "size")},
        "look": Look(theme, size),
    }
