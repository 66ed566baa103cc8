"""The table of measurements: shards on disk, compaction, and the readers."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.table.errors import TableError as TableError
    from workbench.table.query import Table as Table

_HOMES = {"Table": "workbench.table.query", "TableError": "workbench.table.errors"}
__all__ = ["Table", "TableError"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
