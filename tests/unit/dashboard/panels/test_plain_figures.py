"""What the dashboard draws without plotly's checks is what plotly makes of the same calls with them."""

from __future__ import annotations

import base64
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from plotly.utils import PlotlyJSONEncoder

from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor, PanelSource
from workbench.dashboard.panels.run_panels import (
    CIRCUIT_ROW,
    DEEPER_ROWS,
    HOW,
    IN_CONTEXT_DEEPER_ROWS,
    IN_CONTEXT_ROWS,
    ROWS,
    SECTION_PANELS,
    WHY_ROW,
)
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import default_cursor
from workbench.figures.errors import NotMeasured
from workbench.figures.look import Look
from workbench.figures.style.plain_figure import PlainFigure, plain_figures

PANELS = [one for page in PAGES for one in getattr(page, "panels", ()) if isinstance(one, Panel)]


def sent(figure: Any) -> Any:
    """A figure as the browser gets it, its arrays as lists."""

    def plain(one: Any) -> Any:
        if isinstance(one, dict) and "bdata" in one:
            values = np.frombuffer(base64.b64decode(one["bdata"]), dtype=one["dtype"])
            shape = [int(side) for side in one.get("shape", str(len(values))).split(",")]
            return plain(values.reshape(shape).tolist())
        if isinstance(one, dict):
            return {name: plain(value) for name, value in one.items() if value is not None}
        if isinstance(one, list):
            return [plain(value) for value in one]
        return None if one != one else one

    return plain(json.loads(json.dumps(figure.to_plotly_json(), cls=PlotlyJSONEncoder)))


def as_notebooks_read(source: PanelSource) -> PanelSource:
    """The rows as a DataFrame, texts as texts."""
    return source._replace(frame=source.frame.to_pandas())  # type: ignore[arg-type]


@pytest.mark.parametrize("panel", PANELS, ids=lambda one: one.id)
def test_a_panel_is_drawn_the_same_with_and_without_checks(
    answers: Context, panel: Panel, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = answers.store.runs()
    run = runs["majority-nope-s0"]
    extras = {"quantity": "circuits.hardmax|argmax_mass", "run2": "flip_flop-rotary-s0"}
    at = PanelCursor(run, replace(default_cursor(run), step=1500), runs["flip_flop-rotary-s0"], answers.store, extras)
    try:
        plain = sent(panel.plain(at, "dark", 12))
    except NotMeasured as missing:
        plain = missing.message
    own = Panel.sources
    monkeypatch.setattr(Panel, "sources", lambda one, at: tuple(as_notebooks_read(part) for part in own(one, at)))
    try:
        checked = sent(panel.draw(at, "dark", 12))
    except NotMeasured as missing:
        checked = missing.message
    assert plain == checked


def test_plain_figures_end_with_their_block() -> None:
    from workbench.figures.style.template import blank

    parts: dict[str, Any] = {"column": "step", "xaxis": {}, "yaxis": {}, "meta": {}, "uirevision": ""}
    with plain_figures():
        assert isinstance(blank(Look("light", 11), **parts), PlainFigure)
    assert not isinstance(blank(Look("light", 11), **parts), PlainFigure)


@pytest.mark.parametrize("section", SECTION_PANELS)
def test_no_panel_of_the_run_page_lies_under_another(section: str) -> None:
    """A panel lies in the place of its row and column. A row has a title and says how it is read; that of training,
    which needs no measurement, stands alone."""
    panels = SECTION_PANELS[section]
    places = [(panel.row, panel.column) for panel in panels]
    assert len(set(places)) == len(places), "two panels in one place hide each other: give one of them another row"
    titled = {*ROWS, *IN_CONTEXT_ROWS, *IN_CONTEXT_DEEPER_ROWS, *DEEPER_ROWS, *CIRCUIT_ROW, *WHY_ROW}
    assert {panel.row for panel in panels} - {"optimisation"} <= titled & set(HOW)
