"""What ``lengthlens plot --figure`` draws: a figure of notebooks by its name, of one run."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.cli.errors import UsageError
from workbench.core.suggest import nearest
from workbench.figures import figure_by_name
from workbench.figures.errors import AmbiguousRows, NotMeasured
from workbench.figures.offered import OFFERED
from workbench.figures.registry import Figure
from workbench.table.layout import run_folders
from workbench.table.query import Table

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


class NamedFigure(NamedTuple):
    """A figure of a run, exactly the rows that it draws, and what it shows in one sentence."""

    figure: go.Figure
    rows: pd.DataFrame
    about: str


def named_figure(folder: Path, name: str, step: int | None, length: int | None) -> NamedFigure:
    """Draw a figure of a run by its name.

    Args:
        folder: the run.
        name: of the figure, as in notebooks.
        step: the checkpoint; None = the last one.
        length: the prefix length; None = about twice the longest trained length.

    Raises:
        UsageError: if there is no such figure, or the run has no rows for it.
    """
    if len(run_folders(folder) if folder.is_dir() else []) != 1:
        raise UsageError(f"--figure draws one run, and {folder} is not a run; give the folder of one run")
    figure = _figure(name)
    given = {"step": step, "length": length}
    values: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
    for key in values:
        if key not in inspect.signature(figure).parameters:
            raise UsageError(f"the figure {name} does not take --{key}; leave it out")
    table = Table.load(folder).frame()
    try:
        drawn, rows = figure(table, **values), figure.data(table, **values)
    except NotMeasured as error:
        message = error.message.rstrip(".")
        if not error.helps:
            raise UsageError(f"{message}; choose another figure") from None
        raise UsageError(f"{message}; lengthlens measure {folder} --only {error.measurement} makes its rows") from None
    except (AmbiguousRows, TypeError) as error:
        raise UsageError(f"{error}") from None
    return NamedFigure(drawn, rows, str(drawn.layout.meta["alt"]))


def _figure(name: str) -> Figure[...]:
    """The figure of one run with a name."""
    try:
        figure = figure_by_name(name)
    except KeyError:
        figure = None
    if figure is None or next(iter(inspect.signature(figure).parameters)) != "frame":
        names = [key for key, public in OFFERED.items() if isinstance(public, Figure)]
        raise UsageError(f"there is no figure of a run called {name!r}: {nearest(name, names)}")
    return figure
