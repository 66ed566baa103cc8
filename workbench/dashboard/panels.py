"""Which panels the Run page has, and which figure, rows and snippet each one stands for.

A panel draws nothing itself: it names a function of :mod:`workbench.figures` and what of the cursor
that function takes. The same names make the table, the CSV, the exported picture and the snippet.
"""

from __future__ import annotations

import inspect
from dataclasses import dataclass
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from workbench import figures
from workbench.dashboard.cursor import Cursor
from workbench.dashboard.runview import RunView

BASE_SIZE = 11
"""Type size the figures' margins are made for."""

Row = Literal["behaviour", "representation", "mechanism", "optimisation"]
Column = Literal["training", "length", "cursor"]


@dataclass(frozen=True)
class Panel:
    """One panel of the 3 x 3 matrix.

    Attributes:
        id: prefix of its component ids, and its name in export links.
        row: kind of evidence.
        column: over training, over prefix length, or at the cursor.
        title: as on screen.
        figure: name of the function in :mod:`workbench.figures`.
        takes: what of the run and the cursor that function is given.
        needs: parts of the cursor whose change redraws it.
        measurement: whose rows it shows; names the command that would make them.
        quantities: entries of the measurements' specs that define it.
        about: how to read the drawing, one or two sentences.
        source: ``frame`` (the run's rows) or ``log`` (its training log), which the figure is drawn from.
    """

    id: str
    row: Row
    column: Column
    title: str
    figure: str
    takes: tuple[str, ...]
    needs: tuple[str, ...]
    measurement: str
    quantities: tuple[str, ...]
    about: str
    source: Literal["frame", "log"] = "frame"

    def version(self, run: RunView) -> str:
        """Changes whenever what the figure is drawn from does."""
        return run.log_signature if self.source == "log" else run.signature

    def rows(self, run: RunView) -> pd.DataFrame:
        """What the figure is drawn from."""
        return run.log if self.source == "log" else run.frame

    def arguments(self, run: RunView, cursor: Cursor) -> dict[str, Any]:
        """Keywords of the figure function at this cursor."""
        have = {
            "trained": run.trained,
            "step": cursor.step,
            "length": cursor.length,
            "layer": cursor.layer,
            "head": cursor.head,
        }
        return {name: have[name] for name in self.takes}

    def draw(self, run: RunView, cursor: Cursor, theme: str, size: int, line: bool = False) -> go.Figure:
        """The figure; raises :class:`workbench.figures.NotMeasured` without rows.

        Args:
            run: whose rows.
            cursor: where.
            theme: light or dark.
            size: base text size.
            line: draw the cursor line into the figure, for pictures outside the dashboard.
        """
        function = getattr(figures, self.figure)
        at = {"cursor": {"step": cursor.step, "length": cursor.length}} if line and _has(function, "cursor") else {}
        figure = function(self.rows(run), **self.arguments(run, cursor), theme=theme, size=size, **at)
        if size > BASE_SIZE and self.column != "cursor":  # line-end labels grow with the type
            figure.update_layout(margin_r=round(figure.layout.margin.r * size / BASE_SIZE) + 2)
        return figure

    def data(self, run: RunView, cursor: Cursor) -> pd.DataFrame:
        """Exactly the rows that the figure draws."""
        function = getattr(figures, f"{self.figure}_data")
        given = {k: v for k, v in self.arguments(run, cursor).items() if _has(function, k)}
        return function(self.rows(run), **given)

    def snippet(self, run: RunView, cursor: Cursor) -> str:
        """Python that draws the same figure in a notebook."""
        given = self.arguments(run, cursor)
        if _has(getattr(figures, self.figure), "cursor"):
            given["cursor"] = {"step": cursor.step, "length": cursor.length}
        arguments = "".join(f", {name}={value!r}" for name, value in given.items())
        if self.source == "log":
            return (
                f"from workbench.figures import {self.figure}\n"
                "from workbench.runs.log import read_log\n\n"
                f'{self.figure}(read_log("{run.shown_path}"){arguments})\n'
            )
        return (
            f"from workbench.figures import {self.figure}\n"
            "from workbench.table import Table\n\n"
            f'frame = Table.load("{run.shown_path}").frame()\n'
            f"{self.figure}(frame{arguments})\n"
        )


def _has(function: Any, name: str) -> bool:
    return name in inspect.signature(function).parameters


_BAND = "Bands and whiskers are 95 % intervals; the sequence is the unit."
_CODES = (
    "Summary solid: one probe fitted at trained lengths and then frozen, so that it asks for one code at every "
    "length; dotted: refitted at each length. Position: refitted at each length, so that it asks whether position "
    "can be read at all. Dashed grey: the highest control. "
)

PANELS: tuple[Panel, ...] = (
    Panel(
        "accuracy-training",
        "behaviour",
        "training",
        "Accuracy",
        "accuracy_heatmap",
        ("trained",),
        (),
        "behaviour",
        ("accuracy",),
        "Every checkpoint and prefix length, from chance to 1. Below the dashed line: trained lengths.",
    ),
    Panel(
        "accuracy-length",
        "behaviour",
        "length",
        "Accuracy",
        "accuracy_over_length",
        ("trained", "step"),
        ("step",),
        "behaviour",
        ("accuracy",),
        "Matched and challenge strings. The grey band is the accuracy a scale-robust run must keep. " + _BAND,
    ),
    Panel(
        "failure",
        "behaviour",
        "cursor",
        "Failure length",
        "failure_length",
        ("trained", "step", "layer", "head"),
        ("step", "head"),
        "behaviour",
        ("failure_length",),
        "An arrow into the grey zone: no failure up to the longest length measured.",
    ),
    Panel(
        "decodability-training",
        "representation",
        "training",
        "Decodability",
        "decodability_over_training",
        ("trained", "length"),
        ("length",),
        "probes.summary",
        ("summary_decodability", "position_decodability"),
        _CODES + _BAND,
    ),
    Panel(
        "decodability-length",
        "representation",
        "length",
        "Decodability",
        "decodability_over_length",
        ("trained", "step"),
        ("step",),
        "probes.summary",
        ("summary_decodability", "position_decodability"),
        _CODES + _BAND,
    ),
    Panel(
        "layers",
        "representation",
        "cursor",
        "By layer",
        "decodability_by_layer",
        ("step", "length"),
        ("step", "length"),
        "probes.summary",
        ("summary_decodability", "position_decodability"),
        "The residual stream before the first block and after each. Dashed grey: the highest control.",
    ),
    Panel(
        "heads-training",
        "mechanism",
        "training",
        "Hardmax distance",
        "head_over_training",
        ("trained", "length", "layer", "head"),
        ("length", "head"),
        "circuits.hardmax",
        ("hardmax_distance",),
        "The chosen head in ink, the others grey. 0: uniform on a set of keys and zero elsewhere. " + _BAND,
    ),
    Panel(
        "heads-length",
        "mechanism",
        "length",
        "Hardmax distance",
        "head_over_length",
        ("trained", "step", "layer", "head"),
        ("step", "head"),
        "circuits.hardmax",
        ("hardmax_distance",),
        "The chosen head in ink, the others grey. " + _BAND,
    ),
    Panel(
        "head-grid",
        "mechanism",
        "cursor",
        "Hardmax distance by head",
        "head_grid_figure",
        ("step", "length", "layer", "head"),
        ("step", "length", "head"),
        "circuits.hardmax",
        ("hardmax_distance",),
        "One cell per head; the small line runs over prefix length. A click chooses the head.",
    ),
    Panel(
        "loss",
        "optimisation",
        "training",
        "Loss and accuracy",
        "loss_over_training",
        (),
        (),
        "training",
        (),
        "As logged while training: the loss above; below, accuracy at the longest trained length (inside) and at twice "
        "it (outside), 128 strings each. Nothing is selected on either.",
        source="log",
    ),
)

BY_ID = {panel.id: panel for panel in PANELS}
GRAPHS = tuple(panel for panel in PANELS if panel.id != "head-grid")

ROWS: dict[Row, tuple[str, str]] = {
    "behaviour": ("Behaviour", "Does it keep working?"),
    "representation": ("Representation", "What does it carry?"),
    "mechanism": ("Mechanism", "Does its attention keep its shape?"),
}
COLUMNS: dict[Column, str] = {
    "training": "Over training",
    "length": "Over prefix length",
    "cursor": "At the cursor",
}
