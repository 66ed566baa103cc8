"""The table of all measurements of all runs below some folders, kept in memory and queried with SQL."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa

from workbench.core.failures import isolate_errors
from workbench.core.former_names import FormerName
from workbench.core.suggest import nearest
from workbench.table.errors import TableError
from workbench.table.folder_state import run_state
from workbench.table.layout import read_config, run_folders
from workbench.table.parquet import ENCODED
from workbench.table.reading import READERS, merged_specs, newest_versions, read_run, without_former
from workbench.table.runs_view import RUNS, describe_run, to_runs
from workbench.table.schema import SCHEMA

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from workbench.table.reading import TableReading

#: columns of the runs that rows have too, with other meanings, and what they are called in ``joined``
RENAMED = {"low": "trained_low", "high": "trained_high"}
#: columns of the view ``joined``
JOINED = (*SCHEMA.names, *(RENAMED.get(name, name) for name in RUNS.names if name != "run"))

_JOINED_VIEW = (
    "CREATE TEMP VIEW joined AS SELECT * FROM rows JOIN (SELECT "
    + ", ".join(f"{name} AS {RENAMED.get(name, name)}" for name in RUNS.names)
    + " FROM runs) USING (run)"
)

#: A query reads the table and never the network; SQL names are views, never Python variables.
_CONFIG: dict[str, Any] = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "python_enable_replacements": "false",
}


MOST_PIECES = 1000


class Table:
    """Measured rows of one or many runs, with the runs.

    Made by :meth:`load`. A table is a snapshot: it does not change while it is used, and several threads may query it
    at once.

    Attributes:
        specs: measurement -> its spec (as :class:`workbench.measure.measurement.Spec`, but plain data).
        problems: one sentence for each file that was damaged, stale or unreadable, and left out.
        stamp: the :meth:`signature` of the folders at the time of loading.
    """

    def __init__(
        self,
        rows: pa.Table,
        runs: pa.Table,
        *,
        specs: Mapping[str, Any],
        problems: Sequence[str],
        stamp: str,
    ) -> None:
        self.specs = dict(specs)
        self.problems = list(problems)
        self.stamp = stamp
        # Thousands of small pieces, each with its own dictionaries, would be slow to scan at every query.
        many = rows.num_columns and rows.column(0).num_chunks > MOST_PIECES
        self._rows = rows.unify_dictionaries().combine_chunks() if many else rows
        self._runs = runs
        self._lock = threading.Lock()
        self._connection = duckdb.connect(":memory:", config=_CONFIG)

    @classmethod
    def load(
        cls,
        *dirs: str | Path,
        evaluation_seed: int | None = None,
        task_parameters: Mapping[str, Any] | None = None,
    ) -> Table:
        """Read every run at or below the folders: its ``table.parquet``, and newer shards.

        A run's name is its path relative to the given folder. The name that it had when it was measured does not
        matter.

        Args:
            dirs: the folders.
            evaluation_seed: read rows measured on sequences of this seed (``lengthlens measure --evaluation-seed``);
                None = of each run's own.
            task_parameters: read rows measured on the task with these parameters (``lengthlens measure --task``); None
                = with each run's own. A table never contains rows of two kinds of sequences.

        Raises:
            TableError: for a folder that is missing or has no runs but other files, and for two runs with one name. An
                empty folder gives an empty table.
        """
        stamp = cls.signature(*dirs)
        views: list[pa.Table] = [to_runs([])]
        tables: list[pa.Table] = [ENCODED.empty_table()]
        problems: list[str] = []
        runs = _named_runs(dirs, problems)

        def read(name: str, path: Path) -> tuple[pa.Table, Path, TableReading] | list[str]:
            """The view, the path and the rows of one run, or its problems."""
            messages: list[str] = []
            with isolate_errors(messages.append, f"{path} cannot be read and is left out"):
                view = to_runs([describe_run(name, path, read_config(path))])
                reading = read_run(path, None, evaluation_seed, task_parameters)
                return view, path, replace(reading, rows=_renamed(reading, name))
            return messages

        readings: list[tuple[Path, TableReading]] = []
        with ThreadPoolExecutor(READERS) as pool:  # decoding Parquet leaves the interpreter free
            for result in pool.map(lambda pair: read(*pair), runs):
                if isinstance(result, list):
                    problems += result
                else:
                    views.append(result[0])
                    readings.append((result[1], result[2]))
        newest = newest_versions(reading for _, reading in readings)
        for path, reading in readings:
            kept = without_former(reading, newest, path)
            tables.append(kept.rows)
            problems += kept.problems
        return cls(
            pa.concat_tables(tables),
            pa.concat_tables(views),
            specs=merged_specs(reading for _, reading in readings),
            problems=problems,
            stamp=stamp,
        )

    @staticmethod
    def signature(*dirs: str | Path) -> str:
        """A text that changes when a run, checkpoint or measurement below the folders is added or removed.

        It depends only on names, sizes and times of files and folders, so that it can be computed every second. Raises
        the errors of :meth:`load`.
        """
        parts: list[str] = []
        for name, path in _named_runs(dirs):
            parts += [name, run_state(path)]
        return "\n".join(parts)

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> pd.DataFrame:
        """Answer an SQL query over ``rows``, ``runs`` and ``joined`` (rows with their run's columns).

        In ``joined`` the runs' ``low`` and ``high`` are called ``trained_low`` and ``trained_high``.
        Values for ``?`` in the query come from ``parameters``. The query cannot change the table.
        Integers come as int64, or as float64 with NaN where some are null.

        Raises:
            duckdb.Error: if the query is wrong; its message shows where.
        """
        # A cursor is a connection of its own: views of one query are not seen by any other.
        with self._lock:
            cursor = self._connection.cursor()
        try:
            cursor.register("rows", self._rows)
            cursor.register("runs", self._runs)
            cursor.execute(_JOINED_VIEW)
            cursor.execute("BEGIN TRANSACTION READ ONLY")
            answer = cursor.sql(query, params=list(parameters))
            return to_pandas(pa.table({}) if answer is None else answer.to_arrow_table())
        finally:
            cursor.close()

    def frame(self, **equals: Any) -> pd.DataFrame:
        """Return the rows whose columns equal the given values: a value, a list of values, or None for null.

        Raises:
            TableError: for an unknown column, or a value that the column's type cannot represent.
        """
        frame = self._select("rows", SCHEMA.names, equals)
        trained = dict(zip(self._runs["run"].to_pylist(), self._runs["high"].to_pylist(), strict=True))
        run = equals.get("run", next(iter(trained)) if len(trained) == 1 else None)
        if isinstance(run, str) and trained.get(run) is not None:
            # Figures take N from here if the caller does not pass it.
            frame.attrs["trained"] = int(trained[run])
        return frame

    def reach(self) -> pd.DataFrame:
        """Return reach (:mod:`workbench.core.reach`) of each run at each step with accuracies, computed from the rows.

        The columns are those of :meth:`frame`, and the quantity is ``reach``. A step without a value has the status
        ``undefined``, and its note gives the reason.

        Example:

            >>> reach = Table.load("checkpoints/gallery/majority_nope_s0").reach()
            >>> round(reach["value"].iloc[-1], 2)
            np.float64(1.0)
        """
        from workbench.table.stored_reach import QUANTITIES, WHERE, reach_table

        rows = self.frame(**WHERE, quantity=list(QUANTITIES))
        trained = dict(zip(self._runs["run"].to_pylist(), self._runs["high"].to_pylist(), strict=True))
        return reach_table({str(run): part.to_dict("records") for run, part in rows.groupby("run")}, trained)

    def to_pandas(self) -> pd.DataFrame:
        """All rows as a DataFrame, another name of :meth:`frame` without conditions."""
        return self.frame()

    def frame_with_runs(self, **equals: Any) -> pd.DataFrame:
        """Return the rows of :meth:`frame` with the columns of the row's run added (see :meth:`sql`). These columns can
        be filtered, too.
        """
        return self._select("joined", JOINED, equals)

    joined = FormerName("frame_with_runs")

    def runs(self) -> pd.DataFrame:
        """Return one row per run, with the columns :data:`workbench.table.runs_view.RUNS`, sorted by name."""
        return self.sql("SELECT * FROM runs ORDER BY run")

    def xarray(self, quantity: str, dims: Sequence[str] = ("run", "step", "length"), **equals: Any) -> xr.Dataset:
        """Return one quantity as an xarray Dataset over ``dims``: ``value``, ``low``, ``high``, ``n`` and ``status``.

        ``equals`` selects rows as in :meth:`frame`. At most one row may be left for each cell. Cells without a row have
        the value NaN and the status "".

        Raises:
            TableError: if xarray is not installed, the quantity is not in the table, or a cell has several rows; the
                message names the columns to fix.
        """
        from workbench.table.to_xarray import to_dataset

        frame = self.frame(quantity=quantity, **equals)
        if frame.empty:
            known = self.sql("SELECT DISTINCT quantity FROM rows")["quantity"]
            chosen = f" with {_shown(equals)}" if equals else ""
            hint = "" if quantity in set(known) else f": {nearest(quantity, known)}"
            raise TableError(f"the table has no rows of quantity {quantity!r}{chosen}{hint}")
        return to_dataset(frame, quantity, list(dims), self.specs)

    def __len__(self) -> int:
        """The number of rows."""
        return int(self._rows.num_rows)

    def __repr__(self) -> str:
        return f"Table({self._runs.num_rows} runs, {len(self)} rows, {len(self.problems)} problems)"

    def _repr_html_(self) -> str:
        """Runs, rows and what is measured, as notebooks show them."""
        from workbench.core.html_card import card

        measured = self.sql("SELECT DISTINCT measurement FROM rows ORDER BY measurement")["measurement"]
        facts = [
            ("runs", f"{self._runs.num_rows:,}"),
            ("rows", f"{len(self):,}"),
            ("measurements", ", ".join(measured)),
            ("problems", "; ".join(self.problems)),
            ("next", ".to_pandas(), .frame(quantity=...), .runs(), .sql(...)"),
        ]
        return card("Table of measurements", facts)

    def _select(self, view: str, columns: Sequence[str], equals: Mapping[str, Any]) -> pd.DataFrame:
        for name in equals:
            if name not in columns:
                raise TableError(f"there is no column {name!r}: {nearest(name, columns)}")
        conditions, parameters = [], []
        for name, wanted in equals.items():
            condition, values = _condition(name, wanted)
            conditions.append(condition)
            parameters += values
        where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
        try:
            return self.sql(f"SELECT * FROM {view}{where}", parameters)
        except duckdb.Error as error:
            reason = str(error).splitlines()[0]
            raise TableError(f"no rows can be selected by {_shown(equals)}: {reason}") from error


def _named_runs(dirs: Sequence[str | Path], problems: list[str] | None = None) -> list[tuple[str, Path]]:
    """(name, path) of the runs below all folders. A run that is below two of the folders counts once."""
    if not dirs:
        raise TableError("name at least one folder of runs to load")
    by_name: dict[str, Path] = {}
    resolved: set[Path] = set()
    for root in dirs:
        for name, path in run_folders(Path(root), problems):
            if path.resolve() in resolved:
                continue
            resolved.add(path.resolve())
            if name in by_name:
                both = f"{by_name[name]} and {path}"
                raise TableError(f"{both} would both be named {name!r}: load a folder that contains both instead")
            by_name[name] = path
    return list(by_name.items())


def _renamed(reading: TableReading, name: str) -> pa.Table:
    rows = reading.rows
    codes = pa.repeat(pa.scalar(0, pa.int32()), rows.num_rows)
    column = pa.DictionaryArray.from_arrays(codes, pa.array([name]))
    return rows.set_column(ENCODED.get_field_index("run"), ENCODED.field("run"), column)


def _condition(column: str, wanted: Any) -> tuple[str, list[Any]]:
    """The SQL condition that a column equals a value, or one of several, and the values for its ``?``."""
    if isinstance(wanted, str) or not hasattr(wanted, "__iter__"):
        wanted = [wanted]
    values = [value.item() if hasattr(value, "item") else value for value in wanted]
    present = [value for value in values if value is not None]
    options = [f'"{column}" IN ({", ".join("?" * len(present))})'] if present else []
    options += [f'"{column}" IS NULL'] if len(present) < len(values) else []
    return f"({' OR '.join(options) or 'false'})", present


def _shown(equals: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in equals.items())


def to_pandas(table: pa.Table) -> pd.DataFrame:
    """An Arrow table as pandas itself would read it: integers as int64, or float64 if some are null, and sums as
    floats.

    The narrow integers of the schema would overflow in arithmetic. The masked integers of pandas are objects to numpy
    and plotly. DuckDB's sums of integers have 128 bits, which are objects as well.
    """
    for index, field in enumerate(table.schema):
        column = table.column(index)
        if pa.types.is_decimal(field.type) or (pa.types.is_integer(field.type) and column.null_count):
            column = column.cast(pa.float64(), safe=False)
        elif pa.types.is_integer(field.type) and field.type.bit_width < 64:
            column = column.cast(pa.int64())
        table = table.set_column(index, field.name, column)
    return table.to_pandas()
