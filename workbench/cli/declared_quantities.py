"""Measurements, quantities and terms of the Glossary as rows that can be searched."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from workbench.cli.errors import UsageError
from workbench.core.suggest import nearest

Rows = list[dict[str, Any]]


def measurement_rows() -> Rows:
    """Rows of :data:`~workbench.cli.output.table_kinds.MEASUREMENTS`, in the order of the registry."""
    from workbench.measure.registry import measurements

    return [
        {
            "measurement": name,
            "title": cls.title,
            "default": "no" if cls.on_request else "yes",
            "quantities": ", ".join(quantity.name for quantity in cls.quantities),
        }
        for name, cls in measurements().items()
    ]


def quantity_rows() -> Rows:
    """Rows of :data:`~workbench.cli.output.table_kinds.QUANTITIES`, in the order of the registry."""
    from workbench.measure.registry import measurements

    return [
        {
            "quantity": quantity.name,
            "measurement": name,
            "unit": quantity.unit,
            "low": quantity.low,
            "high": quantity.high,
            "definition": quantity.definition,
        }
        for name, cls in measurements().items()
        for quantity in cls.quantities
    ]


def term_rows() -> Rows:
    """Rows of :data:`~workbench.cli.output.table_kinds.GLOSSARY`: words, verdicts, measurements and quantities."""
    from workbench.core.verdicts import VERDICTS
    from workbench.dashboard.components.terms import TERMS

    rows: Rows = [{"term": term, "kind": "word", "meaning": text} for term, text in TERMS.items()]
    rows += [{"term": label, "kind": "verdict", "meaning": kind.meaning} for label, kind in VERDICTS.items()]
    rows += [{"term": row["measurement"], "kind": "measurement", "meaning": row["title"]} for row in measurement_rows()]
    rows += [
        {"term": row["quantity"], "kind": "quantity", "meaning": f"{row['definition']} (`{row['measurement']}`)"}
        for row in quantity_rows()
    ]
    return rows


def matching(rows: Rows, word: str | None, names: Sequence[str], command: str) -> Rows:
    """The rows that contain a word, in any column and any letter case; all rows without a word.

    If a row has exactly that name, only such rows are returned.

    Args:
        rows: all rows.
        word: what to look for.
        names: the columns that contain names, from which near ones are suggested.
        command: the command that lists everything.

    Raises:
        UsageError: if no row contains it.
    """
    if word is None:
        return rows
    text = _comparable(word)
    if exact := [row for row in rows if any(_comparable(row[name]) == text for name in names)]:
        return exact
    if found := [row for row in rows if any(text in _comparable(value) for value in _texts(row))]:
        return found
    known = {str(row[name]).lower() for row in rows for name in names}
    everything = f"lengthlens {command} lists all"
    raise UsageError(f"nothing here contains {word[:60]!r}; {nearest(word.lower(), known, everything)}")


def _texts(row: Mapping[str, Any]) -> Iterable[str]:
    return (value for value in row.values() if isinstance(value, str))


def _comparable(text: str) -> str:
    return text.lower().replace("_", " ").replace("-", " ").strip()
