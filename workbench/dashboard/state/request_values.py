"""Types of the values that the browser sends, and the registry in which components declare them.

A module that makes a component also declares what each of its properties may contain when a callback reads it. The
check of every request (:mod:`workbench.dashboard.request_check`) reads the registry.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, with_config

from workbench.dashboard.state.cursor import MOST_DIGITS, VIEWS

LONGEST = 300_000
"""Characters of a typed text, as many as its input takes."""

exact = with_config(ConfigDict(extra="forbid"))
"""Decorator of a ``TypedDict`` without further keys."""

Text = Annotated[str, Field(max_length=LONGEST)]
Name = Annotated[str, Field(max_length=4096)]
Whole = Annotated[int, Field(ge=0, le=10**MOST_DIGITS - 1)]
Head = Annotated[str, Field(pattern=r"^(all|[0-9]{1,6}\.[0-9]{1,6})\z")]
View = Literal[VIEWS]  # type: ignore[valid-type]
"""A view of a sequence."""
Session = Annotated[str, Field(max_length=64)]

VALUES: dict[str, Any] = {}
"""Component and property, ``id.property`` -> the type of what it may hold."""
ENDINGS: dict[str, Any] = {".n_intervals": Whole | None, ".n_clicks": Whole | None, ".n_submit": Whole | None}
"""The same for every ``id.property`` with this ending."""


def declare(values: Mapping[str, Any]) -> None:
    """Declare which values properties of components may have in a request, by ``id.property``, or ``-ending.property``
    for several components.

    Raises:
        ValueError: for a property that was declared with another type before.
    """
    for name, value_type in values.items():
        registry = ENDINGS if name.startswith("-") else VALUES
        if registry.setdefault(name, value_type) != value_type:
            raise ValueError(f"the values of {name} are declared twice, with different types")


def type_of(name: str) -> Any:
    """Return the declared type of a property's values, by ``id.property``; None if it is not declared."""
    endings = [value_type for ending, value_type in ENDINGS.items() if name.endswith(ending)]
    return VALUES.get(name, endings[0] if endings else None)
