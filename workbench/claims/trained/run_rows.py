"""The table of runs: the reduced measurements of each run of a trained claim, from which verdicts are computed.

Rows are keyed by the run's recipe and the request that measured it. The runs themselves may be gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import pyarrow as pa

from workbench.claims.errors import ClaimError
from workbench.claims.sealed_table import read_sealed, write_sealed

FILE = "runs.parquet"


@dataclass(frozen=True)
class RunRow:
    """One statistic of one run, as the table of runs stores it.

    Attributes:
        recipe: what the run was made from, as its cell states it; a cell finds its rows by it. A setting that is added
            later with the value it had until then does not change the recipe.
        run: id of the run: task, model, training and seeds, in full.
        step: the step of the checkpoint.
        cell: what the run is one of.
        seed: the seed of weights and data.
        asked: key of the request; see :attr:`workbench.claims.trained_cells.Request.key`.
        version: the version of what measured it.
        quantity: what it is a value of.
        setting: test set, task parameters or component that it is about; "" for the usual one.
        length: prefix length; -1 where it is about several.
        value: the number; None where there is only a label.
        low: lower end of its 95 % interval over strings; None where all was counted.
        high: upper end of it.
        n: strings behind it.
        spread: standard deviation over strings, where the value is a mean of real numbers.
        label: the value of what is not a number.
    """

    recipe: str
    run: str
    step: int
    cell: str
    seed: int
    asked: str
    version: int
    quantity: str
    setting: str = ""
    length: int = -1
    value: float | None = None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    spread: float | None = None
    label: str = ""

    @property
    def ends(self) -> tuple[float, float]:
        """Return the interval as (low, high); for a number without sampling, the number twice."""
        if self.value is None:
            raise ClaimError(f"{self.quantity} of {self.cell}, seed {self.seed}, has no value, so it has no interval")
        return (self.value if self.low is None else self.low, self.value if self.high is None else self.high)

    @property
    def full_name(self) -> str:
        """Return the quantity with its setting, as the conditions of claims name it."""
        return f"{self.quantity}, {self.setting}" if self.setting else self.quantity


StatisticRows = Iterator[dict[str, Any]]
"""Rows of a run as far as a statistic knows them: fields of :class:`RunRow`."""
_TYPES = {"str": pa.string(), "float": pa.float64(), "int": pa.int64()}
SCHEMA = pa.schema([pa.field(f.name, _TYPES[str(f.type).split(" ")[0]]) for f in fields(RunRow)])
Key = tuple[str, str, int]
"""Recipe, key of the request, and version of the request."""


class RunTable:
    """The statistics of all runs behind the claims.

    Args:
        rows: all rows.
    """

    def __init__(self, rows: Iterable[RunRow] = ()) -> None:
        self._rows: dict[Key, tuple[RunRow, ...]] = {}
        self._keys: dict[str, list[Key]] = {}
        self.add(rows)

    def __iter__(self) -> Iterator[RunRow]:
        return (row for rows in self._rows.values() for row in rows)

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def add(self, rows: Iterable[RunRow]) -> None:
        """Add rows; the rows of a request that was measured again replace the former ones."""
        new_rows: dict[Key, list[RunRow]] = {}
        for row in rows:
            new_rows.setdefault((row.recipe, row.asked, row.version), []).append(row)
        for key in new_rows:
            if key not in self._rows:
                self._keys.setdefault(key[0], []).append(key)
        self._rows.update({key: tuple(rows) for key, rows in new_rows.items()})

    def has(self, recipe: str, asked: str, versions: Iterable[int]) -> bool:
        """Return whether the request was measured on the run of a recipe, in one of these versions."""
        return any((recipe, asked, version) in self._rows for version in versions)

    def of(self, recipe: str) -> list[RunRow]:
        """Return the rows of the run with a key."""
        return [row for key in self._keys.get(recipe, ()) for row in self._rows[key]]

    def write(self, folder: Path) -> None:
        """Write the table to a folder. A reader sees the old table or the complete new one."""
        ordered = sorted(self._rows)
        rows = [asdict(row) for key in ordered for row in self._rows[key]]
        write_sealed(folder, FILE, pa.Table.from_pylist(rows, schema=SCHEMA))


def read_runs(folder: Path) -> RunTable:
    """Return the table of runs in a folder; an empty table if there is no file.

    Raises:
        ClaimError: for a file that is not a table of runs, or that was changed since it was written.
    """
    return read_table(folder / FILE)


def read_table(path: Path) -> RunTable:
    """Return the table of runs in a file; an empty table if the file does not exist.

    Raises:
        ClaimError: for a file that is not a table of runs, or that was changed since it was written.
    """
    found = read_sealed(path, "table of runs", SCHEMA.names)
    return RunTable(RunRow(**row) for row in found.to_pylist()) if found is not None else RunTable()


def take_in(path: Path, folder: Path) -> int:
    """Add the rows of a table from another machine to a folder; returns the number of rows.

    Raises:
        ClaimError: for a file that does not exist or is not a table of runs.
    """
    if not path.exists():
        raise ClaimError(f"there is no file {path}; give a runs.parquet that `lengthlens reproduce` wrote")
    more, table = read_table(path), read_runs(folder)
    table.add(more)
    table.write(folder)
    return len(more)
