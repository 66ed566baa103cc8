"""A frame as light as figures need: what pandas' frames answer, for the few rows of one panel.

Picking, sorting and joining twenty rows costs pandas about a millisecond each time, whatever there is to do; a move of
a slider asks for hundreds of that. :class:`Frame` holds each column as one array (texts as codes, as long as rows are
many) and answers the questions of :mod:`workbench.figures` alone, with pandas' names. Positions are its only index.
The tests ask both kinds the same.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, cast

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from workbench.figures.column import Array, Column, keys, plain, repeated, same

T = TypeVar("T")

#: Up to this many rows texts are held as they are, beyond it as codes.
FEW = 4096
#: Picks of up to so many rows are kept for the next who asks the same, as panels do many times; so many of them.
FEW_PLACES, MOST_KEPT = 256, 8192
#: Columns by which rows are picked again and again.
GROUPED = ("measurement", "quantity")


class _Codes:
    """Texts as numbers into a list: what a column of many rows is held as."""

    __slots__ = ("codes", "texts")

    def __init__(self, codes: Array, texts: Array) -> None:
        self.codes, self.texts = codes, texts

    def take(self, places: Any) -> Array | _Codes:
        """Some rows: as texts where they are few."""
        codes = self.codes[places]
        return self.texts[codes] if len(codes) <= FEW else _Codes(codes, self.texts)

    def __len__(self) -> int:
        return len(self.codes)


class Frame:
    """Columns of one length under their names.

    Args:
        columns: name -> values; None for a column that is taken from ``rows`` once it is looked at.
        rows: the frame that this one is a part of, and at which places; None = every column is given.
    """

    __slots__ = ("_columns", "_kept", "_length", "_rows")

    def __init__(
        self, columns: Mapping[str, Array | _Codes | None], rows: tuple[Frame, NDArray[np.intp]] | None = None
    ) -> None:
        self._columns = dict(columns)
        self._rows = rows
        first = rows[1] if rows else next(iter(self._columns.values()), None)
        self._length = 0 if first is None else len(first)
        self._kept: dict[Hashable, Any] = {}

    @classmethod
    def of(cls, frame: pd.DataFrame) -> Frame:
        """What a pandas frame holds; numbers and codes are shared with it, not copied."""
        return cls({str(name): _held(frame[name]) for name in frame.columns})

    def to_pandas(self) -> pd.DataFrame:
        """The same rows in pandas' frame."""
        return pd.DataFrame({name: self[name].values for name in self._columns})

    # ---- what there is -------------------------------------------------------------------------
    def __len__(self) -> int:
        return self._length

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    @property
    def columns(self) -> list[str]:
        """Names."""
        return list(self._columns)

    @property
    def empty(self) -> bool:
        """Whether there is no row."""
        return not self._length

    # ---- picking -------------------------------------------------------------------------------
    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str):
            held = self._held(key)
            return Column(held.texts[held.codes] if isinstance(held, _Codes) else held)
        if isinstance(key, list):
            return Frame({name: self._columns[name] for name in key}, self._rows)
        return self._take(plain(key))

    def distinct(self, name: str) -> Array:
        """Every different number of a column, ascending; found once."""

        def find() -> Array:
            values = self[name].values.astype(float)
            return np.unique(values[~np.isnan(values)])

        return self.kept(("distinct", name), find)

    def kept(self, key: Hashable, make: Callable[[], T]) -> T:
        """What has been found of these rows before under a key; they never change."""
        if key not in self._kept:
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def _held(self, name: str) -> Array | _Codes:
        held = self._columns[name]
        if held is None:
            assert self._rows is not None
            source, places = self._rows
            whole = source._held(name)
            held = self._columns[name] = whole.take(places) if isinstance(whole, _Codes) else whole[places]
        return held

    def _take(self, places: Any) -> Frame:
        """Some rows. Most columns of them are never looked at: each is taken when it is."""
        if isinstance(places, slice):
            places = np.arange(self._length)[places]
        elif places.dtype == bool:
            places = np.flatnonzero(places)
        return Frame(dict.fromkeys(self._columns), (self, places))

    def places(self, equals: Mapping[str, Any]) -> NDArray[np.intp]:
        """Where every named column equals its value, or one of a list of values; ascending.

        Each condition is asked of the rows that the ones before it left, and where many rows are held those of a
        measurement and of a quantity are found once.
        """
        if self._length <= FEW:
            return self._narrowed(np.arange(self._length), equals)
        key = ("places", *((name, tuple(v) if isinstance(v, list) else v) for name, v in equals.items()))
        if key in self._kept:
            return cast("NDArray[np.intp]", self._kept[key])
        group = tuple((name, equals[name]) for name in GROUPED if isinstance(equals.get(name), str))
        others = {name: value for name, value in equals.items() if (name, value) not in group}
        found = self._narrowed(self._group(group), others)
        if len(found) <= FEW_PLACES and len(self._kept) < MOST_KEPT:
            self._kept[key] = found
        return found

    def _narrowed(self, places: NDArray[np.intp], equals: Mapping[str, Any]) -> NDArray[np.intp]:
        for name, value in equals.items():
            places = places[_equal(self._held(name), places, value)]
        return places

    def _group(self, group: tuple[tuple[str, str], ...]) -> NDArray[np.intp]:
        def find() -> NDArray[np.intp]:
            return self._narrowed(self._group(group[:-1]), dict(group[-1:])) if group else np.arange(self._length)

        return self.kept(("group", *group), find)

    @property
    def iloc(self) -> _Places:
        """Rows by position."""
        return _Places(self)

    @property
    def loc(self) -> _Places:
        """As ``iloc``, for positions are the index; with a second key, a column of the rows."""
        return _Places(self)

    def row(self, place: int) -> dict[str, Any]:
        """One row."""
        return {name: self[name].values[place] for name in self._columns}

    def head(self, count: int) -> Frame:
        """The first rows."""
        return self._take(slice(0, count))

    # ---- reading -------------------------------------------------------------------------------
    def to_dict(self, kind: str = "records") -> list[dict[str, Any]]:
        """All rows."""
        lists = [self[name].values.tolist() for name in self._columns]
        names = list(self._columns)
        return [dict(zip(names, one, strict=True)) for one in zip(*lists, strict=True)]

    def iterrows(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Positions and rows."""
        return enumerate(self.to_dict())

    # ---- making others -------------------------------------------------------------------------
    def assign(self, **values: Any) -> Frame:
        """With some columns set: to one value, or a value per row."""
        made: dict[str, Any] = {name: _filled(value, self._length) for name, value in values.items()}
        return Frame(self._columns | made, self._rows)

    def drop(self, columns: Sequence[str]) -> Frame:
        """Without some columns."""
        return Frame({name: held for name, held in self._columns.items() if name not in columns}, self._rows)

    def reset_index(self, drop: bool = True) -> Frame:
        """Itself: positions are the index."""
        return self

    def sort_values(self, by: str | Sequence[str], kind: str = "stable") -> Frame:
        """Ascending by numbers, missing ones last; equal rows keep their order."""
        keys = [by] if isinstance(by, str) else list(by)
        return self._take(np.lexsort([self[key].values.astype(float) for key in reversed(keys)]))

    def duplicated(self, names: Sequence[str], keep: str = "first") -> Column:
        """Where the named columns repeat an earlier row (a later one, to ``keep`` the last)."""
        rows = list(zip(*(keys(self[name].values) for name in names), strict=True))
        return Column(repeated(rows) if keep == "first" else repeated(rows[::-1])[::-1])

    def drop_duplicates(self, names: Sequence[str], keep: str = "first") -> Frame:
        """One row for each combination of the named columns."""
        return self._take(~self.duplicated(names, keep).values)

    def groupby(self, by: str | Sequence[str], sort: bool = True, dropna: bool = True) -> Iterator[tuple[Any, Frame]]:
        """Groups of equal rows, under the value of one column or the values of several."""
        names = [by] if isinstance(by, str) else list(by)
        places: dict[tuple[Any, ...], list[int]] = {}
        for place, key in enumerate(zip(*(keys(self[name].values) for name in names), strict=True)):
            if not dropna or None not in key:
                places.setdefault(key, []).append(place)
        order = sorted(places, key=_sortable) if sort else list(places)
        for key in order:
            yield key[0] if isinstance(by, str) else key, self._take(np.array(places[key]))

    @staticmethod
    def concat(parts: Sequence[Frame]) -> Frame:
        """Rows of several frames below each other; a column that one lacks is empty there."""
        names = list(dict.fromkeys(name for part in parts for name in part))
        return Frame({name: _joined([_column(part, name) for part in parts]) for name in names})


class _Places:
    """Rows by position or mask, ``frame.loc[rows, column]`` one column of them."""

    __slots__ = ("_frame",)

    def __init__(self, frame: Frame) -> None:
        self._frame = frame

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, tuple):
            return self._frame[[key[1]]][key[0]][key[1]]
        if isinstance(key, int | np.integer):
            return self._frame.row(int(key))
        return self._frame._take(plain(key))


def _equal(held: Array | _Codes, places: NDArray[np.intp], value: Any) -> NDArray[np.bool_]:
    """Which of some rows of a column hold a value, or one of a list of values."""
    many = isinstance(value, list | tuple)
    if isinstance(held, _Codes):
        wanted = set(value) if many else {value}
        codes = [code for code, text in enumerate(held.texts.tolist()) if text in wanted]
        own = held.codes[places]
        return own == codes[0] if len(codes) == 1 else np.isin(own, codes)
    own = held[places]
    return Column(own).isin(value).values if many else same(own, value)


def _held(column: pd.Series) -> Array | _Codes:
    """A pandas column as held here."""
    if isinstance(column.dtype, pd.CategoricalDtype):
        texts = np.array([*column.cat.categories, None], dtype=object)  # the code of what is missing is -1
        held = _Codes(column.cat.codes.to_numpy(), texts)
        return held if len(held) > FEW else texts[held.codes]
    kind = column.dtype.kind
    if kind in "fib":
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan) if column.hasnans else column.to_numpy())
    texts = column.to_numpy(dtype=object)
    return np.asarray(np.where(pd.isna(texts), None, texts) if len(texts) else texts)


def _filled(value: Any, count: int) -> Array | _Codes:
    """A column from one value or from a value per row."""
    if isinstance(value, Column):
        return value.values
    if isinstance(value, str) or value is None:
        return np.full(count, value, dtype=object)
    if isinstance(value, int | float):
        return np.full(count, value)
    listed = list(value)
    made = np.array(listed, dtype=object if any(isinstance(one, str) for one in listed) else None)
    return made if len(made) else np.empty(0, dtype=object)


def _column(part: Frame, name: str) -> Array:
    return part[name].values if name in part else np.full(len(part), None, dtype=object)


def _joined(arrays: Sequence[Array]) -> Array:
    texts = any(one.dtype.kind == "O" for one in arrays)
    return np.concatenate([one.astype(object) if texts else one for one in arrays])


def _sortable(key: tuple[Any, ...]) -> tuple[Any, ...]:
    """What sorts keys in which some values are missing: those come last."""
    return tuple((one is None, "" if one is None else one) for one in key)
