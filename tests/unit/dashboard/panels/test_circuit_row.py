"""The row *Circuit* of the Run page: one line until it is measured, then a graph, a curve, and a choice."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dashboard import fakes
from tests.support.dashboard.answers import texts
from tests.support.figures.connections import MEASUREMENT, connection_rows
from workbench.dashboard.panels.circuit import circuit_row
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.render import READY, TABLE, plot
from workbench.dashboard.panels.run_panels import CIRCUIT
from workbench.dashboard.report.run_data import Stops, panels_of, run_data
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import Store
from workbench.table.schema import row

FAKE = fakes.FAKES[0]
LOOK = {"theme": "dark", "size": 11}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    """Measured at step 3,000; too many connections at 2,000; not measured at 1,000."""
    root = tmp_path_factory.mktemp("circuit")
    path = fakes.write_run(root, FAKE, (1000, 2000, 3000))
    many: dict[str, Any] = {
        "status": "not_applicable",
        "note": "the model has 900 connections, and at most 512 are cut",
    }
    refused = row(run=FAKE.name, step=2000, measurement=MEASUREMENT, law="matched", quantity="connection_drop", **many)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(fakes.SPECS, MEASUREMENT, fakes.SPECS["behaviour"] | {"name": MEASUREMENT, "quantities": []})
        fakes.write_rows(path, [refused, *connection_rows(FAKE.name, 3000, (50, 100, 200))])
    return Store([root]).runs()[FAKE.name]


def test_where_it_is_not_measured_the_row_is_a_line_with_its_command(run: RunView) -> None:
    said, choices = circuit_row.row_text(run, 1000)
    assert not choices
    assert "Not measured at step 1,000, only at 2,000, 3,000." in texts(said)
    assert f"--only {MEASUREMENT} --steps 1000" in texts(said)
    (now,) = [part for part in said[1].children if getattr(part, "data-measure", "")]
    assert (getattr(now, "data-measure"), getattr(now, "data-measure-step")) == (MEASUREMENT, "1000")


def test_a_model_with_too_many_connections_says_so(run: RunView) -> None:
    said, choices = circuit_row.row_text(run, 2000)
    assert not choices
    assert texts(said) == (
        "The circuit graph does not apply here: the model has 900 connections, and at most 512 are cut."
    )


def test_where_it_is_it_offers_every_connection_and_draws_the_chosen_one(run: RunView) -> None:
    said, choices = circuit_row.row_text(run, 3000)
    assert texts(said) == "6 connections, each cut separately, at length 50, 100, 200."
    assert choices[1] == {"value": "L0.0 -> MLP 0", "label": "L0.0 \u2192 MLP 0"}
    cursor = Cursor(run.name, 3000, 200)
    slices = {}
    for chosen in ("", "MLP 0 -> unembedding"):
        at = PanelCursor(run, cursor, extras={"connection": chosen})
        for panel in CIRCUIT:
            drawn = plot(panel, at, LOOK, "figure")
            assert drawn[-1] == READY, drawn
            slices[panel.id, chosen] = drawn[3]
            assert plot(panel, at, LOOK, "table")[-1] == TABLE
            compile(panel.snippet(at), "snippet", "exec")
    assert slices["connection-length", ""].startswith("L0.0 \u2192 MLP 0")
    assert slices["connection-length", "MLP 0 -> unembedding"].startswith("MLP 0 \u2192 unembedding")


def test_a_link_to_a_connection_that_there_is_not_says_so(run: RunView) -> None:
    assert circuit_row.check(run, "") == ("", [])
    assert circuit_row.check(run, "L0.0 -> MLP 0") == ("L0.0 -> MLP 0", [])
    kept, (notice,) = circuit_row.check(run, "L9.9 -> MLP 0")
    assert kept == ""
    assert notice.asked == f"This link names the connection L9.9 -> MLP 0, which {run.name} does not have."


def test_a_report_holds_the_graph_at_every_length(run: RunView) -> None:
    shown = {panel.id: panel for panel in panels_of(run)}
    assert {one.id for one in CIRCUIT} <= {*shown}
    data = run_data(run, Stops.of(run, Cursor(run.name, 3000, 200)))
    made = data["panels"]["circuit-graph"]
    assert made["needs"] == ["step", "length"]
    assert len(made["made"]) == 3 * 3
    assert "dark" in made["made"][-1]


def test_pins_are_toggled_and_checked_and_the_effect_too(run: RunView) -> None:
    assert circuit_row.toggle_pin("", "L0.0") == "L0.0"
    assert circuit_row.toggle_pin("L0.0,MLP 0", "L0.0") == "MLP 0"
    good, notices = circuit_row.check_extras(run, {"connection": "", "pins": "L0.0,L9.9", "effect": "speed"})
    assert good == {"connection": "", "pins": "L0.0", "effect": ""}
    assert ["L9.9" in notices[0].asked, "speed" in notices[1].asked] == [True, True]
    assert texts(circuit_row.pin_buttons("")) == "Click a component to pin it."
    (_, button) = circuit_row.pin_buttons("L0.0")
    assert button.to_plotly_json()["props"]["data-pin"] == "L0.0"
