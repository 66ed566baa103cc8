"""All panels of a page in one request, whose answer contains only what has changed.

Every request and every value of an answer costs the browser time, changed or not. With one request per panel,
distributing the answers takes longer than drawing them. The browser therefore stores a mark for each panel (selection,
rows, look) and for each of its values, and sends the marks with a request. It then does not matter which request led to
what is on screen, or whether an answer was dropped because a later request overtook it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import orjson
from dash import dcc, no_update
from plotly.io.json import to_json_plotly

from workbench.dashboard.panels.panel_frame import STATE
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.render import render_panel

Shown = Mapping[str, Sequence[int]]
"""Panel -> the mark of what it shows, then one of each of its values."""
SPEAKS, SILENT = f"{STATE} speaks", f"{STATE} silent"
"""CSS class of a body that shows the common message of all panels of its row, and of the hidden others."""


def memory(group: Sequence[Panel]) -> dcc.Store:
    """Return the store in which the browser keeps what the panels of a group show. It must be on their page."""
    return dcc.Store(id=memory_id(group), data={})


def memory_id(group: Sequence[Panel]) -> str:
    """Return the id of the store of a group of panels."""
    return f"{group[0].id}-shown"


def values(one: Panel) -> list[tuple[str, str]]:
    """Return component and property of everything that a panel shows, in the order of the server's answers."""
    common = [(f"{one.id}-{name}", "children") for name in ("table", "state", "slice")]
    body = (f"{one.id}-body", "className")
    if one.form == "heads":
        return [(f"{one.id}-grid", "children"), (f"{one.id}-grid", "style"), *common, body]
    return [(f"{one.id}-graph", "figure"), *common, (f"{one.id}-figure", "aria-label"), body]


class Encoded:
    """A value as JSON, encoded once: later requests for it get the same bytes.

    Plotly's encoder reads a figure through, number by number, before orjson writes it. It takes what has a
    ``tolist`` for an array, which it leaves to orjson.
    """

    __slots__ = ("json",)

    def __init__(self, value: Any) -> None:
        self.json: bytes = to_json_plotly(value).encode()

    def tolist(self) -> orjson.Fragment:
        """Return a fragment that orjson writes unchanged."""
        return orjson.Fragment(self.json)


class Drawing(NamedTuple):
    """The content of a panel at a selection: its values, and a mark for each value that changes with it."""

    values: tuple[Any, ...]
    marks: tuple[int, ...]


def drawing(one: Panel, at: PanelCursor, look: Mapping[str, Any], mode: str = "figure") -> Drawing:
    """Return a panel's content as it is sent to the browser. Figures are cached for readers who return to a
    selection.
    """
    return _drawing(one, at, look, mode, _mark(one, at, look, mode))


def _drawing(one: Panel, at: PanelCursor, look: Mapping[str, Any], mode: str, mark: int) -> Drawing:
    def make() -> Drawing:
        drawn = render_panel(one, at, look, mode)
        first = 0 if drawn[0] is no_update else mark  # to read it all through would take longer than to draw it
        marks = (first, *(0 if value is no_update else _mark_of(value) for value in drawn[1:]))
        return Drawing((drawn[0] if drawn[0] is no_update else Encoded(drawn[0]), *drawn[1:]), marks)

    return one.place(at).run.memo(("sent", mark), make) if mode == "figure" else make()


def redraw_panels(
    group: Sequence[Panel], at: PanelCursor, look: Mapping[str, Any], modes: Sequence[str], shown: Shown
) -> tuple[list[Any], dict[str, list[int]]]:
    """Return the values of all panels (``no_update`` for those that are already on screen), and what is on screen
    afterwards.

    Args:
        group: the panels.
        at: where.
        look: theme and type size.
        modes: figure or table, for each panel.
        shown: what is on screen.
    """
    updates: list[Any] = []
    now: dict[str, list[int]] = {}
    for panel, mode in zip(group, modes, strict=True):
        count = len(values(panel))
        mark = _mark(panel, at, look, mode)
        before = list(shown.get(panel.id, ()))
        if len(before) != 1 + count:  # nothing yet, or a page of another version
            before = [0] * (1 + count)
        if before[0] == mark:
            updates += [no_update] * count
            now[panel.id] = before
            continue
        drawn = _drawing(panel, at, look, mode, mark)
        # A mark of 0 stands for what an answer leaves alone, so that is still as it was.
        marks = [new or old for new, old in zip(drawn.marks, before[1:], strict=True)]
        pairs = zip(drawn.values, marks, before[1:], strict=True)
        updates += [no_update if new == old else value for value, new, old in pairs]
        now[panel.id] = [mark, *marks]
    _say_once(group, updates, now, shown)
    return updates, now


def _say_once(group: Sequence[Panel], made: list[Any], now: dict[str, list[int]], shown: Shown) -> None:
    """If all panels of a row show the same message in place of a figure, the first shows it across the row."""
    end = 0
    body = {panel.id: (end := end + len(values(panel))) - 1 for panel in group}
    for row in dict.fromkeys(panel.row for panel in group):
        mine = [panel for panel in group if panel.row == row]
        states = {now[panel.id][1 + values(panel).index((f"{panel.id}-state", "children"))] for panel in mine}
        alike = len(mine) > 1 and len(states) == 1 and all(now[panel.id][-1] in STATED for panel in mine)
        for panel in mine:
            if now[panel.id][-1] in STATED:
                said = STATE if not alike else SPEAKS if panel is mine[0] else SILENT
                now[panel.id][-1] = _mark_of(said)
                same = now[panel.id][-1:] == list(shown.get(panel.id, ()))[-1:]
                made[body[panel.id]] = no_update if same else said


def _mark_of(value: Any) -> int:
    return crc32(repr(value).encode())


def _mark(one: Panel, at: PanelCursor, look: Mapping[str, Any], mode: str) -> int:
    """Equal where a panel would show the same; the run is named, since two may have the same rows."""
    place = one.place(at)
    other = place.other.name if place.other is not None else ""
    return crc32(repr((place.run.name, other, one.key(at), sorted(look.items()), mode)).encode())


STATED = {_mark_of(one) for one in (STATE, SPEAKS, SILENT)}
"""Marks of the classes of a body that shows a message in place of a figure."""
