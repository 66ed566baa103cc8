"""Figures as plain dictionaries: what a server draws by the hundred, without plotly's checks of every property.

Checking takes plotly several times as long as drawing takes us and finds the same nothing each time: the tests draw
every panel both ways and compare. Notebooks and exports get the checked kind, plotly's own figure.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeAlias

import numpy as np
import plotly.graph_objects as go

_PLAIN: ContextVar[bool] = ContextVar("plain figures", default=False)
#: Properties that figures here set as ``line_width=0``; any other name with an underscore is itself.
_NESTED = frozenset({"line", "margin", "title"})


@contextmanager
def plain_figures() -> Iterator[None]:
    """Make figures drawn inside the ``with`` block plain (:class:`PlainFigure`), without plotly's checks."""
    before = _PLAIN.set(True)
    try:
        yield
    finally:
        _PLAIN.reset(before)


def drawing_plainly() -> bool:
    """Whether new figures are plain ones (:class:`PlainFigure`)."""
    return _PLAIN.get()


class FigureNode(dict[str, Any]):
    """A part of a figure whose entries can be read as attributes, too. A missing entry is None, as in plotly."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return self.get(name)

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def merge(self, given: dict[str, Any]) -> None:
        """Set properties recursively: values of existing nodes are merged, others are replaced."""
        for name, value in _nested(given).items():
            held = self.get(name)
            if isinstance(held, FigureNode) and isinstance(value, dict) and name != "meta":
                held.merge(value)
            else:
                self[name] = _node(value)


class PlainFigure:
    """A figure as plain dictionaries, with the methods of plotly's figure that :mod:`workbench.figures` uses.

    Args:
        layout: its layout; a template is taken as it is.
    """

    def __init__(self, layout: dict[str, Any]) -> None:
        template = layout.pop("template")
        self.layout = _node(layout)
        self.layout |= {"template": template, "shapes": [], "annotations": []}
        self.data: list[FigureNode] = []

    def add_scatter(self, **given: Any) -> None:
        """Add a trace of points or lines."""
        self._add("scatter", given)

    def add_heatmap(self, **given: Any) -> None:
        """Add a heatmap."""
        self._add("heatmap", given)

    def add_bar(self, **given: Any) -> None:
        """Add a trace of bars."""
        self._add("bar", given)

    def add_shape(self, **given: Any) -> None:
        """Add a shape."""
        self.layout["shapes"].append(_node(_nested(given)))

    def add_annotation(self, **given: Any) -> None:
        """Add a text."""
        self.layout["annotations"].append(_node(_nested(given)))

    def update_layout(self, **given: Any) -> None:
        """Set properties of the layout."""
        self.layout.merge(given)

    def update_xaxes(self, **given: Any) -> None:
        """Set properties of every x axis."""
        self._update_axes("xaxis", given)

    def update_yaxes(self, **given: Any) -> None:
        """Set properties of every y axis."""
        self._update_axes("yaxis", given)

    def to_plotly_json(self) -> dict[str, Any]:
        """Return the figure as the data that the browser draws."""
        return {"data": self.data, "layout": {name: one for name, one in self.layout.items() if one != []}}

    def _add(self, kind: str, given: dict[str, Any]) -> None:
        self.data.append(_node(_nested({"type": kind} | given)))

    def _update_axes(self, kind: str, given: dict[str, Any]) -> None:
        for name in [name for name in self.layout if name.startswith(kind)]:
            self.layout[name].merge(given)


Drawing: TypeAlias = go.Figure | PlainFigure
"""What figures draw on: plotly's figure, or within :func:`plain_figures` a plain one."""


def _nested(given: dict[str, Any]) -> dict[str, Any]:
    """``line_width=0`` as ``line={"width": 0}``; what is None is not set."""
    nested: dict[str, Any] = {}
    for name, value in given.items():
        first, _, rest = name.partition("_")
        if rest and first in _NESTED:
            nested[first] = {**nested.get(first, {}), rest: value}
        elif value is not None:
            nested[name] = value
    return nested


def _node(value: Any) -> Any:
    """Values as they are sent: dictionaries as nodes, arrays of numbers in base 64, other arrays as lists."""
    if isinstance(value, dict):
        return FigureNode({name: _node(one) for name, one in value.items() if one is not None})
    if isinstance(value, np.ndarray):
        return _typed(value) if value.dtype.kind == "f" else value.tolist()
    if isinstance(value, list | tuple):
        return [_node(one) for one in value] if any(isinstance(one, dict | np.ndarray) for one in value) else value
    return value


def _typed(values: np.ndarray) -> dict[str, Any]:
    """An array of numbers as plotly.js takes it fastest."""
    flat = np.ascontiguousarray(values)
    made = {"dtype": f"f{flat.dtype.itemsize}", "bdata": base64.b64encode(flat.tobytes()).decode()}
    return made if flat.ndim == 1 else made | {"shape": ", ".join(map(str, flat.shape))}
