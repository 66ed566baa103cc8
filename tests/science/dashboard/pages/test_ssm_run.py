"""A state-space model in the dashboard: what it has is drawn, and what needs attention says that it has none."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from workbench.dashboard import router
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

LOOK = {"theme": "light", "size": 11}


@pytest.fixture
def ssm(make_run: Any) -> Iterator[Context]:
    from workbench.measure.request import MeasureRequest
    from workbench.measure.running.plan import execute, plan
    from workbench.models.handmade.state_space import parity
    from workbench.tasks import make_task

    run = make_run(parity(), make_task("parity"), trained=8, name="signed")
    assert execute(plan(MeasureRequest([run.path], sequences=64, executor="serial"))) == []
    made = Context(Store([run.path.parent]), Worker())
    yield made
    made.worker.close()


def test_every_panel_draws_or_says_why_not(ssm: Context) -> None:
    content, _, here = router.page(ssm, "/run", "?run=signed&layer=0&head=0")
    assert here["run"] == "signed"
    text = str(content)
    assert "state-space model 1 layer, signed gates" in text
    assert "no heads" in text
    run = ssm.store.run("signed")
    at = PanelCursor(run, default_cursor(run))
    for one in (p for p in PANELS if p.source == "frame"):
        if one.measurement == "circuits.hardmax":
            with pytest.raises(NotApplicable, match="state-space"):
                one.draw(at, "light", 11)
        else:
            assert one.draw(at, "light", 11).layout.meta["alt"]
    state = str(render_panel(next(p for p in PANELS if p.id == "heads-length"), at, LOOK, "figure"))
    assert "Does not apply here" in state
    assert "lengthlens measure" not in state, "measuring again would change nothing"


def test_the_list_of_runs_names_the_machine(ssm: Context) -> None:
    row = summary(ssm, ssm.store.run("signed"))
    assert row["model"] == "1L SSM"
    assert row["order"] == "signed gates"  # where a transformer's row names its positions
    assert matches(row, Filters(text="signed gates"))
