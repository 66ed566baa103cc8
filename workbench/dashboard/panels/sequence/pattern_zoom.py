"""Zooming into an attention pattern: the ranges of a link, and buttons in addition to keys and mouse.

A part is named by the positions of its queries and keys, ``q512-1023k0-511``, first and last. The browser makes the
name from a drag or a key (``assets/js/zoom.js``). The worker then pools only that part, down to single tokens.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html
from dash.exceptions import PreventUpdate

from workbench.dashboard.components.icons import icon
from workbench.figures.sequence.sequence_window import window_of
from workbench.measure.edits.reading import SequenceReading

_NAMED = re.compile(r"q(\d{1,6})-(\d{1,6})k(\d{1,6})-(\d{1,6})", re.ASCII)
CONFIG = {"doubleClick": False, "showTips": False}
"""Plotly settings of the board's graphs: the page explains the double click itself."""
KEYS = "+ and \u2212 zoom around the chosen query and the key it attends to most, 0 shows all; on these buttons arrow "
KEYS += "keys move the part. Dragging over the pattern zooms, a double click on it shows all."


@dataclass(frozen=True)
class Zoom:
    """A part of the pattern.

    Attributes:
        queries: first position, and the one after the last.
        keys: likewise.
    """

    queries: tuple[int, int]
    keys: tuple[int, int]

    @property
    def text(self) -> str:
        """Return the part of the pattern as an address writes it."""
        return f"q{self.queries[0]}-{self.queries[1] - 1}k{self.keys[0]}-{self.keys[1] - 1}"

    @property
    def last(self) -> int:
        """The last position that this part of the pattern contains."""
        return max(self.queries[1], self.keys[1]) - 1


def parse_zoom(text: str) -> Zoom | None:
    """Return the part of the pattern that an address gives; None if it gives none."""
    named = _NAMED.fullmatch(text)
    if named is None:
        return None
    first, last, left, right = map(int, named.groups())
    return Zoom((first, last + 1), (left, right + 1)) if first <= last and left <= right else None


def tools(ident: str, shown: bool) -> list[Any]:
    """Return the zoom buttons and the visible range; hidden if there is no pattern."""

    def button(action: str, name: str) -> html.Button:
        label = {"aria-label": name, "data-zoom": action}
        return html.Button(icon(f"zoom-{action}"), className="ib", type="button", title=name, **label)

    return [
        dcc.Store(id=f"{ident}-zoom"),
        html.Div(
            [
                button("in", "Zoom in"),
                button("out", "Zoom out"),
                html.Button(
                    "All tokens", id=f"{ident}-zoom-all", className="button", type="button", **{"data-zoom": "all"}
                ),
                html.Span(id=f"{ident}-zoom-said", className="sr", role="status"),
            ],
            className="zoom-tools",
            role="group",
            title=KEYS,
            hidden=not shown,
            **{"aria-label": "Part of the pattern"},
        ),
    ]


def connect(app: Dash, ident: str, graphs: list[str]) -> None:
    """Register a board's callbacks: what is dragged, what is in view, what stands in the link."""
    app.clientside_callback(
        ClientsideFunction("zoom", "dragged"),
        *[Input(graph, "relayoutData") for graph in graphs],
        prevent_initial_call=True,
    )
    app.clientside_callback(
        ClientsideFunction("zoom", "shown"),
        Output(f"{ident}-zoom-said", "children"),
        Output(f"{ident}-zoom-said", "className"),
        Output(f"{ident}-zoom-all", "disabled"),
        Input(f"{ident}-tokens", "data"),
    )

    @app.callback(
        Output("extras", "data", allow_duplicate=True),
        Input(f"{ident}-zoom", "data"),
        State("extras", "data"),
        prevent_initial_call=True,
    )
    def write_extras(zoom: dict[str, Any] | None, extras: dict[str, str]) -> Any:
        if zoom is None or zoom["part"] == extras.get("zoom", ""):
            raise PreventUpdate
        return extras | {"zoom": zoom["part"]}


def in_view(found: SequenceReading, beyond: str) -> dict[str, Any]:
    """Return what the browser needs to know about the visible part of the pattern.

    Args:
        found: what the worker answered.
        beyond: a part that a link names and the sequence does not have, or "".
    """
    window = window_of(found)
    cells = "every token a cell" if window.pool == 1 else f"{window.pool} \u00d7 {window.pool} positions a cell"
    text = f"{window.range_text} \u00b7 {cells}" if window.range_text else ""
    if beyond and window.whole:
        text = f"The part {beyond} is not in this sequence. The page shows all tokens."
    place = {"queries": list(found.queries), "keys": list(found.keys), "whole": window.whole}
    # What is in view stands in the panels' headers; what could not be shown stands beside the buttons.
    return place | {"said": text, "class": "soft num" if beyond else "sr"}
