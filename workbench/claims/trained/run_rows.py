"""The table of runs: what was measured of each run of a trained claim, reduced; all that verdicts are made from.

Rows are keyed by the run's recipe and what was asked of it. The runs themselves may be gone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from workbench.claims.errors import ClaimError
from workbench.storage import bounded
from workbench.storage.atomic import replacing
from workbench.storage.bounded import read_bytes
from workbench.table.parquet import read_columns

FILE = "runs.parquet"


@dataclass(frozen=True)
class RunRow:
    """One number of one run.

    Attributes:
        recipe: what the run was made from, as its cell states it: what a cell finds its rows by, so that settings that
            come up later, with the value they had until then, leave them where they are.
        run: id of the run: task, model, training and seeds, in full.
        step: of the checkpoint.
        cell: what the run is one of.
        seed: of weights and data.
        asked: key of what was asked; see :attr:`workbench.claims.trained_cells.Asked.key`.
        version: of what measured it.
        quantity: what it is a value of.
        setting: law, task parameters or component that it is about; "" for the usual one.
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
        """The interval; of a number that was counted, the number twice."""
        if self.value is None:
            raise ClaimError(f"{self.quantity} of {self.cell}, seed {self.seed}, has no value")
        return (self.value if self.low is None else self.low, self.value if self.high is None else self.high)

    @property
    def told(self) -> str:
        """The quantity with its setting, as conditions name it."""
        return f"{self.quantity}, {self.setting}" if self.setting else self.quantity


_TYPES = {"str": pa.string(), "float": pa.float64(), "int": pa.int64()}
SCHEMA = pa.schema([pa.field(f.name, _TYPES[str(f.type).split(" ")[0]]) for f in fields(RunRow)])
Key = tuple[str, str, int]
"""Recipe, what was asked of it, and the version of that."""


class RunTable:
    """The rows of runs, in the order in which they came.

    Args:
        rows: what is there.
    """

    def __init__(self, rows: Iterable[RunRow] = ()) -> None:
        self._rows: dict[Key, tuple[RunRow, ...]] = {}
        self.add(rows)

    def __iter__(self) -> Iterator[RunRow]:
        return (row for rows in self._rows.values() for row in rows)

    def __len__(self) -> int:
        return sum(map(len, self._rows.values()))

    def add(self, rows: Iterable[RunRow]) -> None:
        """Take rows in; whatever was asked of a run again replaces what was there."""
        found: dict[Key, list[RunRow]] = {}
        for row in rows:
            found.setdefault((row.recipe, row.asked, row.version), []).append(row)
        self._rows.update({key: tuple(rows) for key, rows in found.items()})

    def has(self, recipe: str, asked: str, version: int) -> bool:
        """Whether it was asked of the run of a recipe."""
        return (recipe, asked, version) in self._rows

    def of(self, recipe: str) -> list[RunRow]:
        """The rows of the run of a recipe."""
        return [row for (own, _, _), rows in self._rows.items() if own == recipe for row in rows]

    def write(self, folder: Path) -> None:
        """Write the table; whoever reads sees the old one or the new one."""
        ordered = sorted(self._rows)
        rows = [asdict(row) for key in ordered for row in self._rows[key]]
        with replacing(folder / FILE) as stream:
            pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), stream, compression="zstd")


def read_runs(folder: Path) -> RunTable:
    """The table of runs of a folder; empty where there is none.

    Raises:
        ClaimError: for a file that is no table of runs.
    """
    return read_table(folder / FILE)


def read_table(path: Path) -> RunTable:
    """The table of runs that a file holds; empty where there is none.

    Raises:
        ClaimError: for a file that is no table of runs.
    """
    try:
        # Not pq.read_table, which loads pandas.
        found = read_columns(read_bytes(path, bounded.SHARD), SCHEMA.names)
        return RunTable(RunRow(**row) for row in found.to_pylist())
    except FileNotFoundError:
        return RunTable()
    except (pa.ArrowException, OSError, ValueError, TypeError, KeyError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise ClaimError(f"{path} is no table of runs ({reason}); move it away and reproduce again") from error


def take_in(path: Path, folder: Path) -> int:
    """Add the rows of a table that was made elsewhere to a folder's; returns how many rows it has.

    Raises:
        ClaimError: for a file that does not exist or is no table of runs.
    """
    if not path.exists():
        raise ClaimError(f"there is no file {path}; give a runs.parquet that `lengthlens reproduce` wrote")
    more, table = read_table(path), read_runs(folder)
    table.add(more)
    table.write(folder)
    return len(more)
