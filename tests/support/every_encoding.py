"""The encodings there are, by their registry: what is true of each is asked of each, also of the next one."""

from __future__ import annotations

from typing import Any

from workbench.models.positions import ENCODINGS

EXAMPLES: list[dict[str, Any]] = [example.model_dump() for kind in ENCODINGS.values() for example in kind.examples()]
"""Settings of the examples of every encoding."""


def said(settings: dict[str, Any]) -> str:
    """An example as the name of a test."""
    return " ".join(str(value) for value in settings.values())
