"""Every figure, registered where it is defined: ``@figure`` the figure, ``@data_of(it)`` exactly the rows it draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload, runtime_checkable

import plotly.graph_objects as go

from workbench.figures.offered import One, offered
from workbench.figures.rows.door import OfRows, OfTwo, RowsOfRows, RowsOfTwo, door
from workbench.figures.rows.frame import Frame, Rows
from workbench.figures.style.plain_figure import Drawing, plain_figures

P = ParamSpec("P")
R = TypeVar("R")


@dataclass
class Registered:
    """A figure and its data.

    Attributes:
        draw: gives plotly's figure.
        data: gives exactly the rows that it draws; None where no function does.
    """

    draw: Callable[..., go.Figure]
    data: Callable[..., Any] | None = None

    def plain(self, *frames: Rows, **given: Any) -> Drawing:
        """The figure without plotly's checks, see :mod:`workbench.figures.style.plain_figure`."""
        with plain_figures():
            return self.draw(*frames, **given)


FIGURES: dict[str, Registered] = {}
"""Every figure by name; complete once the modules that :mod:`workbench.figures` lists are imported."""


@overload
def figure(function: Callable[Concatenate[Frame, Frame, P], Drawing]) -> OfTwo[P, go.Figure]: ...
@overload
def figure(function: Callable[Concatenate[Frame, P], Drawing]) -> OfRows[P, go.Figure]: ...
def figure(function: Any) -> Any:
    """Register a figure of rows, and offer it."""
    made = offered(door(function))
    FIGURES[function.__name__] = Registered(made)
    return made


def figure_of_pass(function: Callable[P, Drawing]) -> Callable[P, go.Figure]:
    """Register a figure of one pass through a model, which takes arrays and no rows, and offer it."""
    FIGURES[function.__name__] = Registered(function)
    return offered(function)


@runtime_checkable
class _Twin(Protocol):
    @overload
    def __call__(self, function: Callable[Concatenate[Frame, Frame, P], Frame]) -> RowsOfTwo[P]: ...
    @overload
    def __call__(self, function: Callable[Concatenate[Frame, P], Frame]) -> RowsOfRows[P]: ...


def data_of(drawn: Callable[..., go.Figure]) -> _Twin:
    """Register the function that gives exactly the rows a figure draws, as ``<name of the figure>_data``.

    Raises:
        ValueError: under another name.
    """

    def register(function: Any) -> Any:
        return _twin(drawn.__name__, door(function, back=True))

    return cast(_Twin, register)


def data_of_pass(drawn: Callable[..., go.Figure]) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """As :func:`data_of`, of a figure of one pass through a model."""

    def register(function: Callable[P, R]) -> Callable[P, R]:
        return _twin(drawn.__name__, function)

    return register


def _twin(name: str, function: One) -> One:
    if function.__name__ != f"{name}_data":
        raise ValueError(f"the rows of {name} are given by {name}_data, not by {function.__name__}")
    FIGURES[name].data = function
    return offered(function)
