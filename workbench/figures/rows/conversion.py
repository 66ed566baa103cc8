"""Conversion of rows: callers pass a DataFrame, a table or a frame, and the functions of figures get a frame.

Rows come back in the kind they came in: frames as frames, all else as DataFrames.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, overload, runtime_checkable

import pandas as pd

from workbench.figures.offered import register_public
from workbench.figures.rows.frame import Frame, Rows

P = ParamSpec("P")
R = TypeVar("R")


@runtime_checkable
class RowsOfRows(Protocol[P]):
    """A function that selects rows from the rows of one run or table, and returns them in the type that was passed
    in.
    """

    @overload
    def __call__(self, frame: Frame, /, *args: P.args, **kwargs: P.kwargs) -> Frame: ...
    @overload
    def __call__(self, frame: Rows, /, *args: P.args, **kwargs: P.kwargs) -> pd.DataFrame: ...


@runtime_checkable
class RowsOfTwo(Protocol[P]):
    """A function that selects rows from the rows of two runs, and returns them in the type that was passed in."""

    @overload
    def __call__(self, frame_a: Frame, frame_b: Frame, /, *args: P.args, **kwargs: P.kwargs) -> Frame: ...
    @overload
    def __call__(self, frame_a: Rows, frame_b: Rows, /, *args: P.args, **kwargs: P.kwargs) -> pd.DataFrame: ...


@overload
def of_rows(function: Callable[Concatenate[Frame, Frame, P], Frame]) -> RowsOfTwo[P]: ...  # type: ignore[overload-overlap]
@overload
def of_rows(function: Callable[Concatenate[Frame, P], Frame]) -> RowsOfRows[P]: ...
@overload
def of_rows(function: Callable[Concatenate[Frame, Frame, P], R]) -> Callable[Concatenate[Rows, Rows, P], R]: ...
@overload
def of_rows(function: Callable[Concatenate[Frame, P], R]) -> Callable[Concatenate[Rows, P], R]: ...
def of_rows(function: Any) -> Any:
    """Offer a function of rows, which callers may pass as any kind of :data:`Rows`."""
    return register_public(accept_rows(function))


def accept_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the function with any kind of rows accepted for each of its parameters of type Frame."""
    names = frame_parameters(function)

    @wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        inputs = [*args[: len(names)], *(kwargs[name] for name in names if name in kwargs)]
        positional = (Frame.of(rows) for rows in args[: len(names)])
        keywords = {name: Frame.of(rows) if name in names else rows for name, rows in kwargs.items()}
        return in_kind_of(inputs, function(*positional, *args[len(names) :], **keywords))

    return wrapper


def frame_parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the parameters of a function that take a frame."""
    parameters = inspect.signature(function).parameters.values()
    return tuple(parameter.name for parameter in parameters if parameter.annotation in ("Frame", Frame))


def in_kind_of(inputs: Iterable[Any], result: Any) -> Any:
    """The result of a function; a frame becomes a DataFrame unless all its inputs are frames."""
    convert = isinstance(result, Frame) and not all(isinstance(rows, Frame) for rows in inputs)
    return result.to_pandas() if convert else result
