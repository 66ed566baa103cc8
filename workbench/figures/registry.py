"""The decorator ``@figure(rows=...)``: it registers a function that draws, with the function that selects its rows."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import update_wrapper
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Protocol, cast, overload, runtime_checkable

import pandas as pd
import plotly.graph_objects as go

from workbench.figures.arguments import with_arguments
from workbench.figures.export.titled_figure import TitledFigure
from workbench.figures.look import with_look
from workbench.figures.offered import register_public
from workbench.figures.rows.conversion import frame_parameters, in_kind_of
from workbench.figures.rows.frame import Frame, Rows
from workbench.figures.style.plain_figure import Drawing, drawing_plainly, plain_figures
from workbench.figures.usual_arguments import required_parameters, rows_of_run, usual_arguments

P = ParamSpec("P")
Q = ParamSpec("Q")


class Figure(Generic[Q]):
    """A figure that is drawn when it is called; :meth:`data` returns exactly the rows that it draws.

    Each of both functions is passed the arguments that it names. Callers may pass any kind of rows, and ``theme`` and
    ``size`` in place of ``look``. A figure of the rows of one run also takes ``run``, the name of the run to draw, and
    needs no argument that the rows state, see :mod:`workbench.figures.usual_arguments`.

    Args:
        draw: draws the figure. Its parameters are those of the figure, and ``data``, the rows, if it draws these.
        rows: returns the rows.
    """

    __name__: str

    def __init__(self, draw: Callable[..., Drawing], rows: Callable[..., Frame | pd.DataFrame]) -> None:
        update_wrapper(self, draw)
        self._draw, self._rows = draw, rows
        self._frames = frame_parameters(rows)
        self._drawing, row_arguments = (inspect.signature(function).parameters for function in (draw, rows))
        frames = [row_arguments[name].replace(annotation="Rows") for name in self._frames]
        options = [option for name, option in self._drawing.items() if name not in ("data", *self._frames)]
        self.__signature__ = inspect.Signature([*frames, *options], return_annotation="go.Figure")
        self.__doc__ = with_arguments(draw.__doc__, self.__signature__.parameters)
        self._picking = inspect.Signature([*frames, *(option for option in options if option.name in row_arguments)])

    def __call__(self, *args: Q.args, **kwargs: Q.kwargs) -> go.Figure:
        """The figure."""
        keywords = with_look(kwargs) if "look" in self._drawing else kwargs
        values = self._bound(self.__signature__, args, keywords)
        values |= {name: Frame.of(values[name]) for name in self._frames}
        if "data" in self._drawing:
            values["data"] = self._rows(**{name: values[name] for name in self._picking.parameters})
        drawing = self._draw(**{name: values[name] for name in self._drawing})
        if isinstance(drawing, TitledFigure) and len(self._frames) == 1:
            self._state_place(drawing, values)
        return drawing

    def _state_place(self, drawing: TitledFigure, values: Mapping[str, Any]) -> None:
        """Note the run and the step in the figure, for its title in notebooks and files."""
        frame = values[self._frames[0]]
        runs = {str(run) for run in frame["run"]} if "run" in frame.names else set()
        step, length = values.get("step"), values.get("length")
        parts = [
            next(iter(runs)) if len(runs) == 1 else "",
            "" if step is None else f"step {step:,}",
            "" if length is None else f"length {length:,}",
        ]
        drawing._place = ", ".join(part for part in parts if part)

    @overload
    def data(self, frame: Frame, /, *args: Any, **kwargs: Any) -> Frame: ...
    @overload
    def data(self, *args: Any, **kwargs: Any) -> pd.DataFrame: ...
    def data(self, *args: Any, **kwargs: Any) -> Any:
        """Return exactly the rows that the figure draws, as a table of the type that was passed in.

        Takes the arguments of the figure. Those that only the drawing needs are optional.
        """
        unused = {"theme", "size", *self.__signature__.parameters} - {*self._picking.parameters}
        keywords = {name: value for name, value in kwargs.items() if name not in unused}
        values = self._bound(self._picking, args, keywords)
        frames = {name: values[name] for name in self._frames}
        rows = self._rows(**values | {name: Frame.of(frame) for name, frame in frames.items()})
        return in_kind_of(frames.values(), rows)

    def plain(self, *args: Any, **kwargs: Any) -> Drawing:
        """Draw the figure without plotly's checks, see :mod:`workbench.figures.style.plain_figure`."""
        with plain_figures():
            return self(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<figure {self.__name__}{self.__signature__}>"

    def _bound(self, signature: inspect.Signature, args: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            bound = self._bound_by_rows(signature, args, dict(kwargs), TypeError(f"{self.__name__}: {error}"))
        bound.apply_defaults()
        return bound.arguments

    def _bound_by_rows(
        self, signature: inspect.Signature, args: Any, kwargs: dict[str, Any], error: TypeError
    ) -> inspect.BoundArguments:
        """The arguments, with ``run`` applied to the rows and with what the rows state.

        Raises:
            TypeError: ``error``, if an argument is still missing.
        """
        run = None if "run" in signature.parameters else kwargs.pop("run", None)
        try:
            bound = signature.bind_partial(*args, **kwargs)
        except TypeError as unknown:
            raise TypeError(f"{self.__name__}: {unknown}") from None
        # Pages pass every argument, so that one left out there is an error and no default.
        if self._frames != ("frame",) or "frame" not in bound.arguments or drawing_plainly():
            raise error from None
        rows = bound.arguments["frame"]
        if run is not None:
            bound.arguments["frame"] = rows_of_run(self.__name__, rows, run)
        missing = [name for name in required_parameters(signature) if name not in bound.arguments]
        bound.arguments |= usual_arguments(self.__name__, missing, rows, bound.arguments["frame"])
        if any(name not in bound.arguments for name in missing):
            raise error from None
        return bound


@runtime_checkable
class OfRows(Protocol):
    """Makes the figure of the rows of one run or table."""

    def __call__(self, draw: Callable[Concatenate[Frame, Frame, P], Drawing], /) -> Figure[Concatenate[Rows, P]]: ...


@runtime_checkable
class OfTwo(Protocol):
    """Makes the figure of the rows of two runs."""

    def __call__(
        self, draw: Callable[Concatenate[Frame, Frame, Frame, P], Drawing], /
    ) -> Figure[Concatenate[Rows, Rows, P]]: ...


@runtime_checkable
class OfPass(Protocol):
    """Makes the figure of one pass through a model."""

    def __call__(self, draw: Callable[P, Drawing], /) -> Figure[P]: ...


@overload
def figure(*, rows: Callable[Concatenate[Frame, Frame, ...], Frame]) -> OfTwo: ...
@overload
def figure(*, rows: Callable[Concatenate[Frame, ...], Frame]) -> OfRows: ...
def figure(*, rows: Any) -> Any:
    """Register the decorated function as a figure of the rows of one run or of two.

    The drawing takes the rows that it draws as ``data``, then all rows of each run, as ``rows`` does.

    Args:
        rows: returns exactly the rows that the figure draws.
    """
    return lambda draw: register_public(Figure(draw, rows))


def figure_of_pass(*, rows: Callable[..., pd.DataFrame]) -> OfPass:
    """Register the decorated function as a figure of one forward pass of a model.

    The drawing takes arrays and no rows.

    Args:
        rows: returns exactly the numbers that the figure draws, of the same arrays.
    """
    return cast(OfPass, lambda draw: register_public(Figure(draw, rows)))


class Lines(Generic[Q]):
    """A figure of lines that exists over training and over prefix length; :meth:`over` makes both figures from it.

    Both functions take ``step`` and ``length``, and one of the two is None: lines over training are at one prefix
    length, lines over prefix length at one step.

    Args:
        draw: the drawing. Its name ends in ``_lines``. Its docstring has ``{over}`` in place of the axis and the
            selected value.
        rows: the rows.
    """

    def __init__(self, draw: Callable[..., Drawing], rows: Callable[..., Frame]) -> None:
        self.draw, self.rows = draw, rows

    def over(self, axis: Literal["step", "length"]) -> Figure[Q]:
        """Register and return the figure over ``step`` (at one prefix length) or over ``length`` (at one step)."""
        place, ending, words = _OVER[axis]
        signature = inspect.signature(self.draw)
        parameters = dict(signature.parameters)
        del parameters[axis]
        parameters[place] = parameters[place].replace(default=inspect.Parameter.empty, annotation="int")

        def draw(**arguments: Any) -> Drawing:
            return self.draw(**arguments)

        update_wrapper(draw, self.draw)
        draw.__name__ = draw.__qualname__ = self.draw.__name__.removesuffix("_lines") + ending
        draw.__doc__ = (self.draw.__doc__ or "").format(over=words)
        vars(draw)["__signature__"] = signature.replace(parameters=[*parameters.values()])
        figure: Figure[Q] = register_public(Figure(draw, self.rows))
        return figure


_OVER = {
    "step": ("length", "_over_training", "over training at one prefix length"),
    "length": ("step", "_over_length", "over prefix length at one step"),
}
"""Axis -> the parameter that selects the lines, the end of the figure's name, and words for its docstring."""


@runtime_checkable
class OfLines(Protocol):
    """Describes the lines of the rows of one run."""

    def __call__(self, draw: Callable[Concatenate[Frame, Frame, P], Drawing], /) -> Lines[Concatenate[Rows, P]]: ...


def lines(*, rows: Callable[Concatenate[Frame, ...], Frame]) -> OfLines:
    """Describe lines over both axes, see :class:`Lines`."""
    return cast(OfLines, lambda draw: Lines(draw, rows))
