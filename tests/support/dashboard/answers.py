"""What tests of several tiers share. What the server answers, asked directly: pages, rows, panels, words."""

from __future__ import annotations

from typing import Any

from dash import no_update

LIGHT = {"theme": "light", "size": 11}


def texts(component: Any) -> str:
    """All text of a component tree."""
    if component is None or component is no_update:
        return ""
    if isinstance(component, str):
        return component
    if isinstance(component, (list, tuple)):
        return " ".join(texts(child) for child in component)
    return texts(getattr(component, "children", None))
