"""A state-space model and a recurrent network in the dashboard: what needs attention says that they have none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from workbench.dashboard import router
from workbench.dashboard.pages.checkpoint import headline
from workbench.dashboard.pages.runs import summary
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.render import render_panel
from workbench.dashboard.panels.run_panels import PANELS
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Worker
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.filters import Filters
from workbench.dashboard.state.run_summary import matches
from workbench.dashboard.state.store import Store
from workbench.figures import NotApplicable
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.models.handmade import recurrent, state_space
from workbench.tasks import make_task

LOOK = {"theme": "light", "size": 11}


MACHINES = {"signed": state_space.parity, "elman": recurrent.parity}


@pytest.fixture(params=MACHINES)
def machine(make_run: Any, request: pytest.FixtureRequest) -> Iterator[tuple[str, Context]]:
    run = make_run(MACHINES[request.param](), make_task("parity"), trained=8, name=request.param)
    assert execute(plan(MeasureRequest([run.path], sequences=64, executor="serial"))) == []
    made = Context(Store([run.path.parent]), Worker())
    yield request.param, made
    made.worker.close()


def test_every_panel_draws_or_says_why_not(machine: tuple[str, Context]) -> None:
    name, context = machine
    content, _, here = router.page(context, "/run", f"?run={name}&layer=0&head=0")
    assert here["run"] == name
    text = str(content)
    model = {"signed": "state-space model 1 layer, signed gates", "elman": "recurrent network 1 layer, elman cell"}
    assert model[name] in text
    assert "no heads" in text
    run = context.store.run(name)
    at = PanelCursor(run, default_cursor(run))
    for one in (p for p in PANELS if p.source == "frame"):
        if one.measurement == "circuits.hardmax":
            with pytest.raises(NotApplicable, match=model[name].partition(" 1 layer")[0]):
                one.draw(at, "light", 11)
        else:
            assert one.draw(at, "light", 11).layout.meta["alt"]
    state = str(render_panel(next(p for p in PANELS if p.id == "heads-length"), at, LOOK, "figure"))
    assert "Does not apply here" in state
    assert "lengthlens measure" not in state, "measuring again would change nothing"


def test_the_list_of_runs_names_the_machine(machine: tuple[str, Context]) -> None:
    name, context = machine
    row = summary(context, context.store.run(name))
    model, order = {"signed": ("1L SSM", "signed gates"), "elman": ("1L RNN", "elman cell")}[name]
    assert row["model"] == model
    assert row["order"] == order  # where a transformer's row names its positions
    assert matches(row, Filters(text=order))


def test_the_checkpoint_page_has_panels_of_a_scan_only_for_a_scan(machine: tuple[str, Context]) -> None:
    name, context = machine
    content, _, _ = router.page(context, "/checkpoint", f"?run={name}")
    assert ("Locality of the scan" in str(content)) == (name == "signed")
    run = context.store.run(name)
    assert ("scan" in str(headline(run, default_cursor(run)))) == (name == "signed")
