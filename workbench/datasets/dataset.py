"""What a published dataset is: its file, its columns with units, and how it was made."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from workbench.core.errors import LensError

Type = Literal["text", "whole", "number", "yes/no", "numbers", "rows"]
"""Types of values: ``numbers`` is a list of numbers, ``rows`` a list of records."""


class DatasetError(LensError, ValueError):
    """Raised for a dataset that does not exist or cannot be read; the message states what to do."""


@dataclass(frozen=True)
class Column:
    """One column of a dataset.

    Attributes:
        name: its name.
        type: the type of its values.
        unit: the unit; "" for text.
        about: what it contains, as a clause.
    """

    name: str
    type: Type
    unit: str
    about: str


@dataclass(frozen=True)
class Dataset:
    """One published table.

    Attributes:
        name: its name.
        title: its title.
        about: what a row is, and what the table is for, in sentences.
        made: how it was made, in sentences.
        command: the command that makes it again.
        page: the page of the documentation with its results, below ``docs``.
        path: returns the path of its file.
        columns: its columns, in the order of the file.
        fields: the fields of the records in a column of type ``rows``.
        sealed: whether the file carries a seal, which detects changes.
    """

    name: str
    title: str
    about: str
    made: str
    command: str
    page: str
    path: Callable[[], Path]
    columns: tuple[Column, ...]
    fields: tuple[Column, ...] = ()
    sealed: bool = False

    @property
    def file(self) -> str:
        """Name of the file in a folder of the dataset."""
        return f"{self.name}.parquet"
