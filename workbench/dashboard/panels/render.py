"""What a panel shows at a place, as the values of its components, whatever its rows hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import no_update

from workbench.core.apart import clause
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.panels import head_grid, panel_frame
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured

READY, STATE, TABLE = "body ready", "body stated", "body tabled"


def rendered(one: Panel, at: PanelCursor, look: Mapping[str, Any], mode: str) -> tuple[Any, ...]:
    """The values of a panel, in the order of :func:`workbench.dashboard.panels.panel_updates.values`."""
    return heads(one, at, look, mode) if one.form == "heads" else plot(one, at, look, mode)


def plot(one: Panel, at: PanelCursor, look: Mapping[str, Any], mode: str) -> tuple[Any, ...]:
    """Figure, table, state, slice, spoken description and class of a panel's body."""
    run = one.place(at).run
    try:
        if mode == "table":
            return no_update, panel_frame.as_table(one.data(at), one.title), [], no_update, no_update, TABLE
        figure = dict(one.plain(at, look["theme"], look["size"]).to_plotly_json())
    except NotMeasured as missing:
        state = panel_frame.without_rows(missing, run)
        return no_update, [], state, "", missing.message, STATE
    except Exception as error:  # noqa: BLE001 - whatever the rows of one panel hold, the others are drawn
        return no_update, [], _undrawn(error, run), "", "not drawn", STATE
    said = figure["layout"]["meta"]
    return figure, [], [], said["slice"], said["alt"], READY


def heads(one: Panel, at: PanelCursor, look: Mapping[str, Any], mode: str) -> tuple[Any, ...]:
    """Cells, grid style, table, state, slice and class of a head grid."""
    run = one.place(at).run
    try:
        if mode == "table":
            return no_update, no_update, panel_frame.as_table(one.data(at), one.title), [], no_update, TABLE
        cells, style, said = head_grid.cells(one, at, look["theme"])
    except NotMeasured as missing:
        state = panel_frame.without_rows(missing, run)
        return [], {}, [], state, "", STATE
    except Exception as error:  # noqa: BLE001 - as above
        return [], {}, [], _undrawn(error, run), "", STATE
    return cells, style, [], [], said, READY


def _undrawn(error: Exception, run: RunView) -> list[Any]:
    """What stands in a panel whose rows cannot be drawn."""
    return panel_frame.failed(
        "This cannot be drawn",
        f"The rows stored for it are not what it shows ({clause(error)}).",
        command(f"lengthlens check {run.shown_path}"),
    )
