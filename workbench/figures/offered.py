"""What :mod:`workbench.figures` offers to its readers, registered where it is defined; no import but this is needed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

One = TypeVar("One", bound=Callable[..., Any])

OFFERED: dict[str, Any] = {}
"""Everything on offer by name; complete once :mod:`workbench.figures` has imported its modules."""


def register_public(one: One) -> One:
    """Register a function or class as public, under its own name."""
    OFFERED[one.__name__] = one
    return one
