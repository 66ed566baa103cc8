"""What a panel is called, what its quantities are, and why it is empty, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from workbench.dashboard.panels.panel_spec import Panel
from workbench.dashboard.panels.run_panels import COLUMNS
from workbench.figures.errors import NotApplicable, NotMeasured, NotShared, Undefined
from workbench.table.wording import quantity_label

Said = tuple[str, str]
"""One line of an explanation: the term it defines, or "", and the text."""


def accessible_name(panel: Panel) -> str:
    """Return a panel's name with its column, which distinguishes panels with the same title."""
    return f"{panel.title}, {COLUMNS.get(panel.column, panel.column).lower()}"


def definition(panel: Panel, specs: Mapping[str, Any]) -> list[Said]:
    """Return the definitions of a panel's quantities, from the descriptions that are stored with the rows."""
    known = {q["name"]: q for spec in specs.values() for q in spec.get("quantities", ())}
    lines: list[Said] = []
    for name in panel.quantities:
        if name in known:
            quantity = known[name]
            lines.append((quantity_label(name), definition_text(quantity)))
    return [*lines, ("", panel.about)]


def definition_text(quantity: Mapping[str, Any]) -> str:
    """Return a quantity's definition as plain text, with its unit and range at the end."""
    said, span = quantity["definition"].replace("`", "").rstrip(". "), span_of(quantity)
    return f"{said}. Unit and range: {span}." if span else f"{said}."


def span_of(quantity: Mapping[str, Any]) -> str:
    """Unit and range of a quantity, in a few words; empty where it has neither."""
    low, high, unit = quantity.get("low"), quantity.get("high"), quantity.get("unit", "")
    unit_name = "" if unit in ("", "label") else unit
    if low is None and high is None:
        return unit_name
    limits = (
        f"{low:g} to {high:g}" if None not in (low, high) else f"{low:g} or more" if high is None else f"up to {high:g}"
    )
    return f"{unit_name}, {limits}" if unit_name else limits


def why_empty(error: NotMeasured) -> Said:
    """Return why a panel is empty, as a heading and a sentence."""
    if isinstance(error, NotShared):
        head, _, rest = error.message.partition(": ")
        return head, rest[:1].upper() + rest[1:]
    if isinstance(error, NotApplicable):
        return "Does not apply here", error.message
    if isinstance(error, Undefined):
        return "Undefined here", error.message
    return "Not measured yet" if error.helps else "Not measured here", error.message
