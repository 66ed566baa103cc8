"""Every number that the pages of the gallery name stands in the row that it claims to come from.

The table is read here with :class:`workbench.table.Table`, the pages read it through the dashboard's store: two ways
to the same rows.
"""

from __future__ import annotations

import re

import pytest

from tests.support.cited import Rows, same
from tests.support.dashboard.claims import IN_PART, NAMES, drawn, gallery, of_run, place_of, rows, view_of  # noqa: F401 - fixtures
from tests.support.hovers import VALUE, Named, parsed
from workbench.dashboard.pages import compare, theory
from workbench.dashboard.panels import head_tables
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.run_panels import DEEPER, PANELS
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import default_cursor

GRAPHS = [
    one
    for one in (*PANELS, *DEEPER, head_tables.LENGTH_PANEL, theory.PARTS)
    if one.form == "graph" and one.source == "frame"
]
FULL = {
    "accuracy-training",
    "accuracy-length",
    "decodability-training",
    "decodability-length",
    "layers",
    "heads-length",
}
"""Panels that have something to draw of every run of which everything was asked."""


@pytest.mark.parametrize("name", NAMES)
def test_every_hover_names_a_row(gallery: Context, of_run: dict[str, Rows], name: str) -> None:
    run = view_of(gallery, name)
    for step in (run.steps[0], run.steps[-1]):
        at = place_of(gallery, name, step=step)
        for panel in GRAPHS:
            told = drawn(gallery, panel, at)
            assert told or panel.id not in FULL or name in IN_PART, panel.id
            if not told or panel.id == "failure":
                continue
            data = panel.data(at)
            pairs = set(zip(data["measurement"], data["quantity"], strict=True))
            rows = Named(of_run[name], pairs)
            assert [text for text in told if not rows.by(text)] == [], panel.id


# ---- two runs -------------------------------------------------------------------------------------------
def test_differences_are_of_two_rows(gallery: Context, of_run: dict[str, Rows]) -> None:
    for a, b in (("majority_nope_s0", "majority_learned"), ("majority_nope_s0", "flip_flop_rotary_s0")):
        run = view_of(gallery, a)
        at = PanelCursor.from_link(gallery.store, run, default_cursor(run), {"run2": b})
        seen = 0
        for panel in compare.PANELS:
            if panel.side == "b" or panel.form == "heads":
                continue
            told = drawn(gallery, panel, at)
            data = panel.data(at)
            pairs = set(zip(data["measurement"], data["quantity"], strict=True))
            mine, other = (of_run[one].of(pairs) for one in (a, b))
            if not panel.id.endswith("-d"):
                rows = Named(of_run[a], pairs)
                assert [text for text in told if not rows.by(text)] == [], panel.id
                continue
            for text in told:
                shown = VALUE.search(text)
                assert shown is not None
                where = {name: parsed(number) for name, number in re.findall(r"(step|length) ([\d,]+)", text)}
                here = [row for row in mine if all(row[name] == number for name, number in where.items())]
                apart = (
                    x["value"] - y["value"]
                    for x in here
                    for y in other
                    if x["law"] == y["law"] and x["value"] is not None and y["value"] is not None
                )
                assert any(same(shown["value"], value) for value in apart), text
                seen += 1
        assert seen
