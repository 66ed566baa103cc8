"""Panels pinned to the top of the Run page: in the order of the address, each once, and no longer in their rows."""

from __future__ import annotations

from typing import Any

from dash import html

from tests.support.dashboard.claims import gallery, of_run, rows, view_of  # noqa: F401 - fixtures
from workbench.dashboard.pages.run import PAGE, content
from workbench.dashboard.panels.pinned import KEY, check
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import default_cursor

RUN = "flip_flop_rotary_s0"


def ids(part: Any) -> list[str]:
    """The ids of all panels in a part of a page, from top to bottom."""
    name = str(getattr(part, "id", "") or "")
    children = part if isinstance(part, list) else getattr(part, "children", None) or []
    inside = children if isinstance(children, list) else [children]
    return [*([name] if name.endswith("-panel") else []), *(one for child in inside for one in ids(child))]


def drawn(context: Context, pinned: str) -> list[Any]:
    run = view_of(context, RUN)
    extras, _ = PAGE.check(context, run, {**PAGE.extras, KEY: pinned})
    return content(context, run, default_cursor(run), extras)


def test_pinned_panels_stand_first_in_their_order_and_in_no_row(gallery: Context) -> None:
    plain, mine = ids(drawn(gallery, "")), drawn(gallery, "restored,heads-length,code-fan")
    assert ids(mine)[:3] == ["restored-panel", "heads-length-panel", "code-fan-panel"]
    assert sorted(ids(mine)) == sorted(plain), "every panel is on the page once"
    (row,) = [part for part in mine if isinstance(part, html.Section) and "pinned" in str(part.className)]
    assert "late" in row.className.split(), "panels of later rows follow the sliders at once up here"
    assert all(not panel.style for panel in row.children)
    first = drawn(gallery, "accuracy-length")
    assert [part.className for part in first if isinstance(part, html.Section)] == ["matrix pinned"]


def test_a_link_with_an_unknown_panel_says_so_and_keeps_the_others() -> None:
    text, notices = check("harm,nothing,harm,,restored", {"harm", "restored"})
    assert text == "harm,restored"
    assert [notice for notice in notices if "nothing" in str(notice)] == notices
    assert len(notices) == 1
    assert check("", {"harm"}) == ("", [])


def rows_of_panels(part: Any) -> list[Any]:
    """All rows of panels in a part of a page."""
    children = part if isinstance(part, list) else getattr(part, "children", None) or []
    inside = children if isinstance(children, list) else [children]
    mine = [part] if "matrix-row" in str(getattr(part, "className", "")).split() else []
    return mine + [row for child in inside for row in rows_of_panels(child)]


def test_a_row_that_a_panel_has_left_has_no_named_places(gallery: Context) -> None:
    """In a place that a column names, the others would leave a hole."""
    assert not [row for row in rows_of_panels(drawn(gallery, "")) if "fewer" in row.className]
    (row,) = [row for row in rows_of_panels(drawn(gallery, "restored")) if "fewer" in row.className]
    panels = [child for child in row.children if child.className == "pan"]
    assert [panel.id for panel in panels] == ["harm-panel"]
    assert all(not panel.style for panel in panels)
    emptied = [row for row in rows_of_panels(drawn(gallery, "restored,harm")) if "fewer" in row.className]
    assert [row.className.split().count("fewer") for row in emptied] == [1]
