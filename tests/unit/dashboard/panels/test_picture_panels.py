"""The folded section *More pictures* of the Run page: each panel is drawn or explained, and seeds are found by themselves."""

from __future__ import annotations

import pytest

from tests.support.dashboard.answers import texts
from tests.support.places import GALLERY
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor
from workbench.dashboard.panels.picture_panels import PICTURE_ROWS, PICTURES, section
from workbench.dashboard.panels.render import READY, STATE, plot
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import Store

LOOK = {"theme": "dark", "size": 13}


@pytest.fixture(scope="module")
def store() -> Store:
    found = Store([GALLERY])
    found.refresh(force=True)
    return found


def view(store: Store, name: str) -> RunView:
    run = store.run(name)
    assert run is not None
    return run


def place(store: Store, name: str) -> PanelCursor:
    run = view(store, name)
    step = run.measured_steps[-1]
    return PanelCursor(run, Cursor(run=name, step=step, length=run.lengths[-1], layer=0, head=1), store=store)


@pytest.mark.parametrize("panel", PICTURES, ids=lambda panel: panel.id)
@pytest.mark.parametrize("name", ["flip_flop_rotary_s0", "parity_nope", "small_model"])
def test_a_panel_is_drawn_or_states_what_is_missing(store: Store, name: str, panel: Panel) -> None:
    at = place(store, name)
    figure, _, state, words, spoken, body = plot(panel, at, LOOK, "figure")
    assert body in (READY, STATE)
    if body == READY:
        assert figure["data"]
        assert words
        assert len(panel.data(at))
    else:
        assert spoken in texts(state) or spoken.rstrip(".") in texts(state)


def test_the_order_of_events_contains_the_seeds_of_the_configuration(store: Store) -> None:
    panel = next(one for one in PICTURES if one.id == "event-order")
    at = place(store, "flip_flop_rotary_s1")
    assert set(panel.data(at)["run"]) == {"flip_flop_rotary_s0", "flip_flop_rotary_s1"}
    assert "run='flip_flop_rotary_s1'" in panel.snippet(at)


def test_the_section_is_folded_and_has_two_panels_a_row(store: Store) -> None:
    (details,) = section(view(store, "flip_flop_rotary_s0"))
    assert not getattr(details, "open", None)
    assert {row: sum(panel.row == row for panel in PICTURES) for row in PICTURE_ROWS} == dict.fromkeys(PICTURE_ROWS, 2)
