"""The table of measurements: shards on disk, compaction, and the readers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.lazy import face

if TYPE_CHECKING:
    from workbench.table.errors import TableError as TableError
    from workbench.table.query import Table as Table

__all__ = ["Table", "TableError"]

__getattr__, __dir__ = face(
    __name__,
    {
        "Table": "query",
        "TableError": "errors",
    },
)
