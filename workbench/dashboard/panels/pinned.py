"""Panels that a reader pins to the top of the Run page, in an order that the address of the page keeps.

The browser changes the address (``assets/js/pins.js``), and the page is drawn again. A pinned panel leaves its row.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from workbench.dashboard.state.cursor import Notice

KEY = "panels"
"""Key of the address: the ids of pinned panels, in their order, with commas between them."""
FEWER = "fewer"
"""CSS class of a row that a panel has left. The other panels share the place (assets/css/run.css)."""
MOST_NAMED = 40
"""Characters of an unknown name that a notice repeats."""


def check(text: str, known: Collection[str]) -> tuple[str, list[Notice]]:
    """Return the known panels of a link, each once, and a notice for each other name.

    Args:
        text: what the link has under :data:`KEY`.
        known: ids of the panels that can be pinned.
    """
    names = list(dict.fromkeys(name for name in text.split(",") if name))
    notices = [
        Notice(
            f"This link pins the panel \u201c{name[:MOST_NAMED]}\u201d, which does not exist.",
            "It is left out.",
            "Keep",
        )
        for name in names
        if name not in known
    ]
    return ",".join(name for name in names if name in known), notices


def with_pinned(parts: list[Any], text: str, late: Collection[str]) -> list[Any]:
    """Return the parts of the page with the pinned panels in a row above them.

    Args:
        parts: what is below the headline. The pinned panels are taken out of it.
        text: ids of the pinned panels. Panels that this run does not have are left out.
        late: ids of panels that follow the sliders later while nothing of their row is in view.
    """
    names = [name for name in text.split(",") if name]
    panels = {name: panel for name in names if (panel := _taken(parts, f"{name}-panel")) is not None}
    if not panels:
        return parts
    for panel in panels.values():
        panel.style = {}
    row = html.Section(
        list(panels.values()),
        className="matrix pinned" + " late" * any(name in late for name in panels),
        **{"aria-label": "Pinned panels"},
    )
    return [row, *parts]


def _taken(parts: Sequence[Any], ident: str) -> Any:
    """The component of that id, taken out of the list that holds it; None if there is none."""
    for part in parts:
        children = getattr(part, "children", None)
        inside = children if isinstance(children, list) else [children] if isinstance(children, Component) else []
        for place, child in enumerate(inside):
            if getattr(child, "id", None) == ident and isinstance(children, list):
                _close_gap(part)
                return children.pop(place)
        if (panel := _taken(inside, ident)) is not None:
            return panel
    return None


def _close_gap(row: Any) -> None:
    """Let the panels of a row stand next to each other, in place of in the areas that their columns name."""
    row.className = f"{row.className.removesuffix(f' {FEWER}')} {FEWER}"
    for child in row.children:
        if "pan" in str(getattr(child, "className", "")).split():
            child.style = {}
