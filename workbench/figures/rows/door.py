"""The door at which rows become a frame: a reader hands in a DataFrame, a table or a frame, and functions get a frame.

Rows come back in the kind they came in: frames as frames, all else as DataFrames.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload, runtime_checkable

import pandas as pd

from workbench.figures.offered import offered
from workbench.figures.rows.frame import Frame, Rows

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


@runtime_checkable
class OfRows(Protocol[P, R_co]):
    """Made of the rows of one run or table."""

    __name__: str

    def __call__(self, frame: Rows, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


@runtime_checkable
class OfTwo(Protocol[P, R_co]):
    """Made of the rows of two runs."""

    __name__: str

    def __call__(self, frame_a: Rows, frame_b: Rows, /, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


@runtime_checkable
class RowsOfRows(Protocol[P]):
    """Rows of rows, in the kind they came in."""

    __name__: str

    @overload
    def __call__(self, frame: Frame, /, *args: P.args, **kwargs: P.kwargs) -> Frame: ...
    @overload
    def __call__(self, frame: Rows, /, *args: P.args, **kwargs: P.kwargs) -> pd.DataFrame: ...


@runtime_checkable
class RowsOfTwo(Protocol[P]):
    """Rows of the rows of two runs, in the kind they came in."""

    __name__: str

    @overload
    def __call__(self, frame_a: Frame, frame_b: Frame, /, *args: P.args, **kwargs: P.kwargs) -> Frame: ...
    @overload
    def __call__(self, frame_a: Rows, frame_b: Rows, /, *args: P.args, **kwargs: P.kwargs) -> pd.DataFrame: ...


@overload
def of_rows(function: Callable[Concatenate[Frame, Frame, P], R]) -> OfTwo[P, R]: ...
@overload
def of_rows(function: Callable[Concatenate[Frame, P], R]) -> OfRows[P, R]: ...
def of_rows(function: Any) -> Any:
    """Offer a function of rows, which may be handed in as any kind of :data:`Rows`."""
    return offered(door(function))


@overload
def rows_of_rows(function: Callable[Concatenate[Frame, Frame, P], Frame]) -> RowsOfTwo[P]: ...
@overload
def rows_of_rows(function: Callable[Concatenate[Frame, P], Frame]) -> RowsOfRows[P]: ...
def rows_of_rows(function: Any) -> Any:
    """Offer a function that makes rows of rows, and gives them in the kind it was given."""
    return offered(door(function, back=True))


def door(function: Any, back: bool = False) -> Any:
    """A function whose parameters of type Frame may be handed in as anything that has rows.

    Args:
        function: what is behind the door.
        back: whether frames that it gives leave as DataFrames where none came in.
    """
    parameters = inspect.signature(function).parameters.values()
    taken = tuple(one.name for one in parameters if one.annotation in ("Frame", Frame))
    if not taken:
        return function

    @wraps(function)
    def open_to_rows(*args: Any, **kwargs: Any) -> Any:
        given = [*args[: len(taken)], *(kwargs[name] for name in taken if name in kwargs)]
        if all(isinstance(one, Frame) for one in given):
            return function(*args, **kwargs)
        frames = [Frame.of(one) for one in args[: len(taken)]]
        named = {name: Frame.of(kwargs[name]) for name in taken if name in kwargs}
        made = function(*frames, *args[len(taken) :], **(kwargs | named))
        return made.to_pandas() if back and isinstance(made, Frame) else made

    return open_to_rows
