"""A plotly figure that shows its title in notebooks and writes itself to a file."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import plotly.graph_objects as go

from workbench.core.former_names import FormerName
from workbench.figures.errors import ExportError
from workbench.figures.export.layout import SIZE, TITLE_HEIGHT, laid_out
from workbench.figures.export.pdf import to_pdf
from workbench.figures.export.picture import Picture
from workbench.figures.export.png import to_png
from workbench.figures.export.svg import to_svg
from workbench.figures.labels import line_name_heights

AXIS_TITLE_WIDTH = 16
"""Room for the title of an upright axis, pixels."""
END_LABEL = "end label"
"""Name of the annotations that are names of lines."""
LEADER = "leader"
"""Name of the shapes that lead a line to its name."""
WIDEST_FONT = 1.25
"""Width of the widest usual sans-serif font, as a multiple of Inter's."""
_WRITERS: Mapping[str, Callable[[Picture], bytes]] = {".svg": to_svg, ".pdf": to_pdf, ".png": to_png}
FORMATS = (*_WRITERS, ".html")
"""Endings of files that a figure can be saved to."""


class TitledFigure(go.Figure):  # type: ignore[misc]  # plotly has no types
    """Plotly's figure. Pages write its title above it; notebooks and files get the title inside.

    Example:

        >>> TitledFigure(layout={"meta": {"title": "Accuracy"}}).with_titles().layout.title.text
        '<b>Accuracy</b>'
    """

    _place = ""
    """The run, step and length that the figure is drawn at, for its title in notebooks and files."""
    line_ends: tuple[float, ...] = ()
    """Where the lines with names end, in the order of the names. The names are placed for the smallest panel."""

    def with_titles(self, height: float | None = None) -> go.Figure:
        """Return a copy of the figure with its title, a line on the origin of the values, and the names of both
        axes.

        Args:
            height: of the figure in pixels; None = as the figure has it, else 400. The more height, the closer the
                names of lines are to the ends of their lines.
        """
        figure = go.Figure(self)
        meta = self.layout.meta or {}
        title = str(meta.get("title", ""))
        if not title or figure.layout.title.text:
            return figure
        below = " · ".join(part for part in (self._place, str(meta.get("slice", ""))) if part)
        text = f"<b>{escape(title)}</b>" + (f"<br><span style='font-size:11px'>{escape(below)}</span>" if below else "")
        margin = figure.layout.margin
        figure.update_layout(
            title={"text": text, "x": 0.01, "xanchor": "left", "y": 0.97, "yanchor": "top", "font": {"size": 13}},
            margin_t=(margin.t or 0) + TITLE_HEIGHT,
        )
        _place_line_names(figure, self.line_ends, height or figure.layout.height or SIZE[1])
        axis = figure.layout.yaxis
        if axis.title.text is None and axis.visible is not False and counts(axis.ticktext):
            figure.update_layout(yaxis={"title": {"text": title}}, margin_l=(margin.l or 0) + AXIS_TITLE_WIDTH)
        return figure

    titled = FormerName("with_titles")

    def save(self, path: str | os.PathLike[str], width: float | None = None, height: float | None = None) -> Path:
        """Write the figure to a file, without a browser; return its path.

        Args:
            path: the file; its extension chooses the format: .svg, .pdf, .png or .html.
            width, height: size in pixels (96 of an inch); None = as the figure has it, else 640 by 400.

        Raises:
            ExportError: for another ending, or for a PNG without Pillow.
            StorageError: if the file cannot be written.
        """
        return save(self, path, width, height)

    def _in_browser(self) -> go.Figure:
        """The titled figure with room for the names of lines in any font.

        The right margin is measured in Inter. Without this font, a browser may take one that is a quarter wider.
        """
        figure = self.with_titles()
        return figure.update_layout(margin_r=WIDEST_FONT * (figure.layout.margin.r or 0))

    def _ipython_display_(self) -> None:
        self._in_browser()._ipython_display_()

    def _repr_mimebundle_(self, *args: Any, **kwargs: Any) -> Any:
        return self._in_browser()._repr_mimebundle_(*args, **kwargs)

    def _repr_html_(self) -> Any:
        return self._in_browser()._repr_html_()

    def show(self, *args: Any, **kwargs: Any) -> Any:
        """Show the figure with its title, as plotly's ``show`` does."""
        return self._in_browser().show(*args, **kwargs)


def save(
    figure: go.Figure, path: str | os.PathLike[str], width: float | None = None, height: float | None = None
) -> Path:
    """Write any plotly figure to a file, see :meth:`TitledFigure.save`."""
    from workbench.storage.atomic import write_named

    file = Path(path)
    refuse_ending(file)
    if file.suffix.lower() == ".html":
        titled = figure.with_titles(height) if isinstance(figure, TitledFigure) else figure
        data = str(titled.to_html(include_plotlyjs=True, full_html=True, config={"displaylogo": False})).encode()
    else:
        data = _WRITERS[file.suffix.lower()](picture_of(figure, width, height))
    write_named(file, data)
    return file


def picture_of(figure: go.Figure, width: float | None = None, height: float | None = None) -> Picture:
    """Return the figure with its title as lines, areas and words, which need no browser to be drawn."""
    titled = figure.with_titles(height) if isinstance(figure, TitledFigure) else figure
    content = titled.to_dict()
    if isinstance(figure, TitledFigure):
        content["layout"]["margin"]["t"] = (figure.layout.margin.t or 0) if figure.layout.margin else 0
    return laid_out(content, width, height)


def _place_line_names(figure: go.Figure, ends: Sequence[float], height: float) -> None:
    """Move the names of lines to the ends of their lines, as far as the height of the figure permits."""
    names = [note for note in figure.layout.annotations if note.name == END_LABEL]
    bounds = figure.layout.yaxis.range
    if not ends or len(names) != len(ends) or bounds is None:
        return
    margin = figure.layout.margin
    pixels = height - (margin.t or 0) - (margin.b or 0)
    leaders = {shape.path.rpartition(",")[2]: shape for shape in figure.layout.shapes if shape.name == LEADER}
    for name, at in zip(names, line_name_heights(ends, float(bounds[0]), float(bounds[1]), pixels), strict=True):
        if (leader := leaders.get(f"{name.y:g}")) is not None:
            leader.path = leader.path.replace(f",{name.y:g}", f",{at:g}")
        name.y = at


def refuse_ending(file: Path) -> None:
    """Refuse a file with an ending that no figure is saved to.

    Raises:
        ExportError: naming the endings there are.
    """
    if file.suffix.lower() not in FORMATS:
        raise ExportError(
            f"a figure is saved as {', '.join(FORMATS)}, not as {file.name!r}; choose one of these endings"
        )


def counts(ticks: Any) -> bool:
    """Whether the texts of ticks are numbers. The names of categories need no axis title."""

    def is_number(text: str) -> bool:
        return text.strip("+\u2212-0123456789.,kMe") == ""

    return all(is_number(str(text)) for text in ticks or ())
