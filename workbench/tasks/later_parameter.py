"""Fields for parameters that were added to a task after runs of it had been stored."""

from __future__ import annotations

from typing import Any

from pydantic import Field


def later(default: Any, **bounds: Any) -> Any:
    """Return a field for a parameter that was added to a task after runs of it had been stored.

    The parameter is stored only if it differs from ``default``. So the ids of the earlier runs do not change.

    Args:
        default: the value that describes what the task did before it had the parameter.
        bounds: as for :func:`pydantic.Field`.
    """
    return Field(default, exclude_if=lambda value: value == default, **bounds)
