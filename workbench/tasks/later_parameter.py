"""Parameters that tasks came to have when there were runs of them."""

from __future__ import annotations

from typing import Any

from pydantic import Field


def later(default: Any, **bounds: Any) -> Any:
    """A parameter of a task that there were runs of before there was one.

    It is written down only where it differs from what was so until then, and those runs keep their ids.

    Args:
        default: what was so until then.
        bounds: as of :func:`pydantic.Field`.
    """
    return Field(default, exclude_if=lambda value: value == default, **bounds)
