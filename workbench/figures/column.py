"""One column of a light frame: what pandas' series of that name answers, over one array."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Column:
    """One column: comparisons give masks, the rest what pandas' series of that name give."""

    __slots__ = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values.tolist())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        return np.asarray(self.values, dtype=dtype)

    def __eq__(self, other: object) -> Column:  # type: ignore[override]
        return Column(same(self.values, other))

    def __ne__(self, other: object) -> Column:  # type: ignore[override]
        return Column(~same(self.values, other))

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> Column:
        return Column(self.values < plain(other))

    def __le__(self, other: Any) -> Column:
        return Column(self.values <= plain(other))

    def __gt__(self, other: Any) -> Column:
        return Column(self.values > plain(other))

    def __ge__(self, other: Any) -> Column:
        return Column(self.values >= plain(other))

    def __and__(self, other: Any) -> Column:
        return Column(self.values & plain(other))

    def __or__(self, other: Any) -> Column:
        return Column(self.values | plain(other))

    def __invert__(self) -> Column:
        return Column(~self.values)

    @property
    def iloc(self) -> Array:
        """Values by position."""
        return self.values

    @property
    def empty(self) -> bool:
        """Whether there is no row."""
        return not len(self.values)

    def to_numpy(self, dtype: Any = None, na_value: Any = None) -> Array:
        """The values; missing ones of texts are None, of numbers NaN."""
        return self.values if dtype is None else self.values.astype(dtype, copy=False)

    def astype(self, kind: Any) -> Column:
        """As another type; texts by ``str``."""
        return Column(self.values.astype(object if kind is str else kind))

    def isna(self) -> Column:
        """Where nothing is."""
        return Column(missing(self.values))

    def notna(self) -> Column:
        """Where something is."""
        return Column(~missing(self.values))

    def dropna(self) -> Column:
        """What is there."""
        return Column(self.values[~missing(self.values)])

    def fillna(self, other: Column) -> Column:
        """With another column's values where nothing is."""
        return Column(np.where(missing(self.values), other.values, self.values))

    def where(self, mask: Column) -> Column:
        """NaN outside the mask."""
        return Column(np.where(mask.values, self.values, np.nan))

    def isin(self, values: Iterable[Any]) -> Column:
        """Where one of the values stands."""
        held = set(values)
        return Column(np.fromiter((one in held for one in self.values.tolist()), dtype=bool, count=len(self.values)))

    def clip(self, lower: float | None = None, upper: float | None = None) -> Column:
        """Held between two limits."""
        return Column(np.clip(self.values.astype(float), lower, upper))

    def unique(self) -> Array:
        """Each value once, in the order of appearance."""
        made = list(dict.fromkeys(self.values.tolist()))
        return np.array(made, dtype=self.values.dtype)

    def nunique(self, dropna: bool = True) -> int:
        """How many different values."""
        found = set(keys(self.values))
        return len(found) - int(dropna and None in found)

    def min(self) -> Any:
        """The lowest value there is; NaN without any."""
        held = self.dropna().values
        return held.min() if len(held) else np.nan

    def max(self) -> Any:
        """The highest value there is; NaN without any."""
        held = self.dropna().values
        return held.max() if len(held) else np.nan

    def idxmin(self) -> int:
        """Position of the lowest value."""
        return int(np.nanargmin(self.values.astype(float)))

    def idxmax(self) -> int:
        """Position of the highest value."""
        return int(np.nanargmax(self.values.astype(float)))

    def any(self) -> bool:
        """Whether any is true."""
        return bool(self.values.any())

    def all(self) -> bool:
        """Whether all are true."""
        return bool(self.values.all())

    def tolist(self) -> list[Any]:
        """As a list."""
        return list(self.values.tolist())

    def duplicated(self) -> Column:
        """Where a value has stood before."""
        return Column(repeated([(one,) for one in self.values.tolist()]))


def missing(values: Array) -> NDArray[np.bool_]:
    """Where nothing is: NaN among numbers, None among texts."""
    if values.dtype.kind == "f":
        return np.isnan(values)
    if values.dtype.kind == "O":
        return np.fromiter((one is None or one != one for one in values.tolist()), dtype=bool, count=len(values))
    return np.zeros(len(values), dtype=bool)


def same(values: Array, other: Any) -> NDArray[np.bool_]:
    """Where values equal another."""
    made = values == plain(other)
    return np.full(len(values), bool(made)) if isinstance(made, bool) else np.asarray(made, dtype=bool)


def repeated(rows: Sequence[Hashable]) -> NDArray[np.bool_]:
    """Where a row has stood before."""
    seen: set[Hashable] = set()
    made = np.zeros(len(rows), dtype=bool)
    for place, row in enumerate(rows):
        made[place] = row in seen
        seen.add(row)
    return made


def plain(value: Any) -> Any:
    """What a column holds; a list of positions as an array."""
    if isinstance(value, Column):
        return value.values
    return np.array(value, dtype=np.intp) if isinstance(value, list) else value


def keys(values: Array) -> list[Hashable]:
    """Values as keys: every missing one is None."""
    return [None if gone else one for one, gone in zip(values.tolist(), missing(values).tolist(), strict=True)]
