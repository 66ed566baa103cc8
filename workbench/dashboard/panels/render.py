"""What a panel shows at a selection, as the values of its components, for any rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dash import no_update

from workbench.core.errors import LensError
from workbench.core.failures import as_sentence, clause, isolate_errors
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.panels import head_grid, panel_frame
from workbench.dashboard.panels.panel_frame import READY, STATE, TABLE
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured

UNDRAWN = "This cannot be drawn"


def render_panel(one: Panel, at: PanelCursor, look: Mapping[str, Any], mode: str) -> tuple[Any, ...]:
    """The values of a panel, in the order of :func:`workbench.dashboard.panels.panel_updates.values`."""
    return heads(one, at, look, mode) if one.form == "heads" else plot(one, at, look, mode)


def plot(one: Panel, at: PanelCursor, look: Mapping[str, Any], mode: str) -> tuple[Any, ...]:
    """Figure, table, state, slice, description for screen readers, and class of a panel's body."""
    run = one.place(at).run
    problems: list[str] = []
    with isolate_errors(problems.append, f"panel {one.id} of {run.name}"):
        try:
            if mode == "table":
                return no_update, panel_frame.as_table(one.data(at), one.title), [], no_update, no_update, TABLE
            figure = dict(one.plain(at, look["theme"], look["size"]).to_plotly_json())
        except NotMeasured as missing:
            state = panel_frame.without_rows(missing, run)
            return no_update, [], state, "", missing.message, STATE
        except LensError as error:
            return no_update, [], _damaged(error, run), "", "not drawn", STATE
        said = figure["layout"]["meta"]
        return figure, [], [], said["slice"], said["alt"], READY
    return no_update, [], _undrawn(problems[0]), "", "not drawn", STATE


def heads(one: Panel, at: PanelCursor, look: Mapping[str, Any], mode: str) -> tuple[Any, ...]:
    """Cells, grid style, table, state, slice and class of a head grid."""
    run = one.place(at).run
    problems: list[str] = []
    with isolate_errors(problems.append, f"panel {one.id} of {run.name}"):
        try:
            if mode == "table":
                return no_update, no_update, panel_frame.as_table(one.data(at), one.title), [], no_update, TABLE
            cells, style, slice_text = head_grid.cells(one, at, look["theme"])
        except NotMeasured as missing:
            state = panel_frame.without_rows(missing, run)
            return [], {}, [], state, "", STATE
        except LensError as error:
            return [], {}, [], _damaged(error, run), "", STATE
        return cells, style, [], [], slice_text, READY
    return [], {}, [], _undrawn(problems[0]), "", STATE


def _undrawn(problem: str) -> list[Any]:
    """What stands in a panel that could not be drawn, through no fault of its rows."""
    return panel_frame.error_message(UNDRAWN, f"{as_sentence(problem)} The log of the server has the traceback.")


def _damaged(error: LensError, run: RunView) -> list[Any]:
    """What stands in a panel whose rows cannot be drawn."""
    return panel_frame.error_message(
        UNDRAWN,
        f"The rows stored for this panel cannot be drawn ({clause(error)}).",
        command(f"lengthlens check {run.shown_path}"),
    )
