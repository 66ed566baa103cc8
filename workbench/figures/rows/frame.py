"""Rows as figures take them: columns of one length, each a numpy array, with where, sort and group.

A move of a slider picks, sorts and groups twenty rows hundreds of times, and a DataFrame takes about a millisecond for
each, whatever there is to do. Numbers that are missing are NaN, texts None. :mod:`workbench.figures.rows.conversion`
turns the tables and DataFrames of callers into a :class:`Frame`. The functions of figures receive nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar, cast, runtime_checkable

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

T = TypeVar("T")
Values: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]
Indices: TypeAlias = NDArray[np.intp]

#: Up to this many rows texts are held as they are, beyond it as codes.
FEW = 4096
#: Picks of up to so many rows are kept for the next who asks the same, as panels do many times; so many of them.
FEW_INDICES, MOST_KEPT = 256, 8192
#: Columns by which rows are picked again and again.
GROUPED = ("measurement", "quantity")


@runtime_checkable
class ToPandas(Protocol):
    """An object with a method that returns it as a DataFrame, such as a table of pyarrow."""

    def to_pandas(self) -> pd.DataFrame: ...


@runtime_checkable
class HasFrame(Protocol):
    """An object that returns its rows as a DataFrame, such as :class:`workbench.table.Table`."""

    def frame(self) -> pd.DataFrame: ...


class _Codes:
    """Texts as indices into a list of distinct texts, to store a text column of many rows."""

    __slots__ = ("codes", "texts")

    def __init__(self, codes: Values, texts: Values) -> None:
        self.codes, self.texts = codes, texts

    def take(self, indices: Indices) -> Values | _Codes:
        """Some rows: as texts where they are few."""
        codes = self.codes[indices]
        return self.texts[codes] if len(codes) <= FEW else _Codes(codes, self.texts)

    def __len__(self) -> int:
        return len(self.codes)


class Frame:
    """An immutable table: columns of equal length, by name.

    Args:
        columns: name -> one value per row.
        attrs: facts about the rows as a whole, e.g. how those of two runs were paired.
    """

    __slots__ = ("_columns", "_kept", "_length", "_source", "attrs")

    def __init__(self, columns: Mapping[str, Values], attrs: Mapping[str, Any] | None = None) -> None:
        self._columns: dict[str, Values | _Codes | None] = dict(columns)
        self._source: tuple[Frame, Indices] | None = None
        self._length = len(next(iter(columns.values()))) if columns else 0
        self._kept: dict[Hashable, Any] = {}
        self.attrs = dict(attrs or {})

    @classmethod
    def _of(
        cls, columns: Mapping[str, Values | _Codes | None], length: int, source: tuple[Frame, Indices] | None = None
    ) -> Frame:
        """With columns that are taken from the rows of ``source`` once they are looked at (None)."""
        made = cls({})
        made._columns, made._source, made._length = dict(columns), source, length
        return made

    @classmethod
    def of(cls, rows: Rows) -> Frame:
        """Convert a DataFrame or a table to a frame; a frame is returned unchanged. Numbers and codes are shared, not
        copied.
        """
        if isinstance(rows, Frame):
            return rows
        if isinstance(rows, pa.Table):
            # Not by way of a DataFrame, whose categories are sought anew in every column.
            whole = rows.unify_dictionaries()
            return cls._of({name: _held_column(whole[name]) for name in whole.column_names}, whole.num_rows)
        if not isinstance(rows, pd.DataFrame):
            rows = rows.to_pandas() if isinstance(rows, ToPandas) else rows.frame()
        made = cls._of({str(name): _stored(rows[name]) for name in rows.columns}, len(rows))
        made.attrs = dict(rows.attrs)
        return made

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]], names: Sequence[str] = ()) -> Frame:
        """Make a frame from a list of rows that all have the keys of the first. If the list is empty, ``names`` are its
        columns.
        """
        listed = list(rows[0]) if rows else list(names)
        return cls({name: column([row[name] for row in rows]) for name in listed})

    @staticmethod
    def concat(parts: Sequence[Frame]) -> Frame:
        """Return the rows of several frames, one frame below the other. A column that a frame lacks has missing values
        there.
        """
        names = list(dict.fromkeys(name for part in parts for name in part.names))
        return Frame({name: _joined([_or_empty(part, name) for part in parts]) for name in names})

    def to_pandas(self) -> pd.DataFrame:
        """Return the frame as a DataFrame."""
        made = pd.DataFrame({name: self[name] for name in self._columns})
        made.attrs = dict(self.attrs)
        return made

    # ---- reading -------------------------------------------------------------------------------
    def __len__(self) -> int:
        return self._length

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    @property
    def names(self) -> list[str]:
        """Return the names of the columns."""
        return list(self._columns)

    def __getitem__(self, name: str) -> Values:
        """One column."""
        held = self._column(name)
        return held.texts[held.codes] if isinstance(held, _Codes) else held

    def row(self, index: int) -> dict[str, Any]:
        """Return one row as plain Python values, by column name."""
        return {name: _plain(self[name][index]) for name in self._columns}

    def rows(self) -> list[dict[str, Any]]:
        """Return all rows as plain Python values, one dict per row."""
        names, lists = list(self._columns), [self[name].tolist() for name in self._columns]
        return [dict(zip(names, one, strict=True)) for one in zip(*lists, strict=True)]

    def distinct(self, name: str) -> NDArray[np.float64]:
        """Return the different numbers of a column, ascending. The result is cached."""
        return self.cache(("distinct", name), lambda: np.unique(numbers(self[name])))

    def cache(self, key: Hashable, make: Callable[[], T]) -> T:
        """Return ``make()``, cached in the frame under ``key``. A frame never changes, so the cached value stays
        valid.
        """
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    # ---- where, sort, group --------------------------------------------------------------------
    def where(self, mask: Mask | None = None, /, **equals: Any) -> Frame:
        """Return the rows where a mask is true and columns equal the given values. A list of values means any of
        them.
        """
        found = self if mask is None else self.take(np.flatnonzero(mask))
        return found.take(found.indices(equals)) if equals else found

    def take(self, indices: Indices | Sequence[int]) -> Frame:
        """Return the rows with the given indices. A column is copied only when it is first used."""
        chosen = np.asarray(indices, dtype=np.intp)
        made = Frame._of(dict.fromkeys(self._columns), len(chosen), (self, chosen))
        made.attrs = self.attrs
        return made

    def indices(self, equals: Mapping[str, Any]) -> Indices:
        """Return the indices of the rows whose columns equal the given values, ascending. A list of values means any of
        them.

        Each condition is evaluated only on the rows that passed those before it. In large frames the rows of a
        measurement and of a quantity are looked up only once.
        """
        if self._length <= FEW:
            return self._narrowed(np.arange(self._length), equals)
        key = ("where", *((name, tuple(v) if isinstance(v, list) else v) for name, v in equals.items()))
        if key in self._kept:
            return cast("Indices", self._kept[key])
        group = tuple((name, equals[name]) for name in GROUPED if isinstance(equals.get(name), str))
        others = {name: value for name, value in equals.items() if (name, value) not in group}
        found = self._narrowed(self._group(group), others)
        if len(found) <= FEW_INDICES and len(self._kept) < MOST_KEPT:
            self._kept[key] = found
        return found

    def sort(self, *by: str) -> Frame:
        """Return the rows sorted by numeric columns, ascending, the most important first. Missing values come last; the
        sort is stable.
        """
        return self.take(np.lexsort([self[name].astype(float) for name in reversed(by)]))

    def group(self, *by: str) -> list[tuple[tuple[Any, ...], Frame]]:
        """Return groups of rows with equal values in the given columns: pairs of values and rows, in the order of first
        appearance.

        Missing values are None, and equal to each other.
        """
        indices: dict[tuple[Any, ...], list[int]] = {}
        for index, key in enumerate(self.keys(*by)):
            indices.setdefault(key, []).append(index)
        return [(key, self.take(held)) for key, held in indices.items()]

    def keys(self, *by: str) -> list[tuple[Any, ...]]:
        """Return, for each row, the tuple of its values in the given columns; missing values are None."""
        return list(zip(*(_keys(self[name]) for name in by), strict=True))

    def repeats(self, *by: str) -> Mask:
        """Return a mask of the rows that repeat the values of an earlier row in the given columns."""
        seen: set[tuple[Any, ...]] = set()
        made = np.zeros(self._length, dtype=bool)
        for index, key in enumerate(self.keys(*by)):
            made[index] = key in seen
            seen.add(key)
        return made

    # ---- columns -------------------------------------------------------------------------------
    def with_columns(self, **values: Any) -> Frame:
        """Return the frame with some columns set, each to one value or to one value per row."""
        made: dict[str, Any] = {name: _filled(value, self._length) for name, value in values.items()}
        return Frame._of(self._columns | made, self._length, self._source)

    def only(self, names: Iterable[str]) -> Frame:
        """Return the frame with only the given columns, in the given order."""
        return Frame._of({name: self._columns[name] for name in names}, self._length, self._source)

    def without(self, *names: str) -> Frame:
        """Return the frame without the given columns."""
        return self.only(name for name in self._columns if name not in names)

    # ---- how it is held ------------------------------------------------------------------------
    def _column(self, name: str) -> Values | _Codes:
        stored = self._columns[name]
        if stored is None:
            assert self._source is not None
            source, indices = self._source
            whole = source._column(name)
            stored = self._columns[name] = whole.take(indices) if isinstance(whole, _Codes) else whole[indices]
        return stored

    def _narrowed(self, indices: Indices, equals: Mapping[str, Any]) -> Indices:
        for name, value in equals.items():
            indices = indices[_equal(self._column(name), indices, value)]
        return indices

    def _group(self, group: tuple[tuple[str, str], ...]) -> Indices:
        def find() -> Indices:
            return self._narrowed(self._group(group[:-1]), dict(group[-1:])) if group else np.arange(self._length)

        return self.cache(("group", *group), find)


Rows: TypeAlias = Frame | pd.DataFrame | ToPandas | HasFrame
"""What a figure may be given: a frame, a DataFrame, or a table that turns into one."""


# ---- columns of numbers and texts ------------------------------------------------------------------
def absent(values: Values) -> Mask:
    """Return a mask of the missing values: NaN among numbers, None among texts."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "O":
        return np.fromiter((one is None or one != one for one in values.tolist()), dtype=bool, count=len(values))
    return np.zeros(len(values), dtype=bool)


def present(values: Values) -> Mask:
    """Return a mask of the values that are not missing."""
    return ~absent(values)


def missing(value: Any) -> bool:
    """Whether a single value is missing (NaN or None)."""
    return value is None or bool(value != value)


def is_in(values: Values, wanted: Iterable[Hashable]) -> Mask:
    """Return a mask of the values that are among ``wanted``."""
    held = set(wanted)
    return np.fromiter((one in held for one in values.tolist()), dtype=bool, count=len(values))


def numbers(values: Values) -> NDArray[np.float64]:
    """Return the numbers of a column without its missing values."""
    found = values.astype(float)
    return cast("NDArray[np.float64]", found[~np.isnan(found)])


def unique(values: Values) -> list[Any]:
    """Return each value once, in the order of appearance; missing values become None."""
    return list(dict.fromkeys(_keys(values)))


def column(values: Iterable[Any]) -> Values:
    """Convert values to a column: to floats with NaN for missing values if all are numbers, otherwise unchanged."""
    listed = list(values)
    if listed and all(isinstance(value, bool | np.bool_) for value in listed):
        return np.array(listed, dtype=bool)
    if listed and all(isinstance(value, int | np.integer) and not isinstance(value, bool) for value in listed):
        return np.array(listed, dtype=np.int64)
    if any(isinstance(value, float | np.floating | int) for value in listed) and all(
        value is None or (isinstance(value, float | int | np.number) and not isinstance(value, bool))
        for value in listed
    ):
        return np.array(listed, dtype=float)
    made = np.empty(len(listed), dtype=object)
    for index, value in enumerate(listed):  # at once, lists of one length would become further axes
        made[index] = value
    return made


def _keys(values: Values) -> list[Hashable]:
    """Values as keys: every missing one is None."""
    return [None if gone else one for one, gone in zip(values.tolist(), absent(values).tolist(), strict=True)]


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _equal(held: Values | _Codes, indices: Indices, value: Any) -> Mask:
    """Which of some rows of a column hold a value, or one of a list of values."""
    many = isinstance(value, list | tuple)
    if isinstance(held, _Codes):
        wanted = set(value) if many else {value}
        codes = [code for code, text in enumerate(held.texts.tolist()) if text in wanted]
        own = held.codes[indices]
        return np.asarray(own == codes[0]) if len(codes) == 1 else np.isin(own, codes)
    values = held[indices]
    if many:
        return is_in(values, value)
    same = values == value
    return np.asarray(same, dtype=bool) if isinstance(same, np.ndarray) else np.full(len(values), bool(same))


def _stored(series: pd.Series) -> Values | _Codes:
    """A pandas column in the form that a frame stores."""
    if isinstance(series.dtype, pd.CategoricalDtype):
        texts = np.array([*series.cat.categories, None], dtype=object)  # the code of what is missing is -1
        held = _Codes(series.cat.codes.to_numpy(), texts)
        return held if len(held) > FEW else texts[held.codes]
    if series.dtype.kind in "fiub":
        return np.asarray(series.to_numpy(dtype=float, na_value=np.nan) if series.hasnans else series.to_numpy())
    texts = series.to_numpy(dtype=object)
    return np.asarray(np.where(pd.isna(texts), None, texts) if len(texts) else texts)


def _held_column(column: pa.ChunkedArray) -> Values | _Codes:
    """A column of an Arrow table in the form that a frame stores; equal to :func:`_held` of the same pandas column."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        whole = column.combine_chunks()
        whole = whole.chunk(0) if isinstance(whole, pa.ChunkedArray) else whole
        texts = np.array([*whole.dictionary.to_pylist(), None], dtype=object)  # the code of what is missing is -1
        codes = whole.indices.fill_null(-1).to_numpy().astype(np.min_scalar_type(-len(texts)))
        return _Codes(codes, texts) if len(codes) > FEW else texts[codes]
    if pa.types.is_integer(kind) and not column.null_count:
        return np.asarray(column.to_numpy(), dtype=np.int64)  # the narrow ones would overflow in arithmetic
    return _stored(column.to_pandas())


def _filled(value: Any, count: int) -> Values:
    """A column from one value or from a value per row."""
    if isinstance(value, np.ndarray):
        return value
    if isinstance(value, str) or value is None:
        return np.full(count, value, dtype=object)
    if isinstance(value, int | float | np.number):
        return np.full(count, value)
    return column(value)


def _or_empty(part: Frame, name: str) -> Values:
    return part[name] if name in part else np.full(len(part), None, dtype=object)


def _joined(arrays: Sequence[Values]) -> Values:
    texts = any(one.dtype.kind == "O" for one in arrays)
    return np.concatenate([one.astype(object) if texts else one for one in arrays])
