"""The row *Why* of the Run page: one line until it is measured, a sentence alone, or a sentence with its repairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.dashboard import fakes
from tests.support.dashboard.answers import texts
from workbench.dashboard.components import prose
from workbench.dashboard.panels import head_grid
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.render import READY, STATE, plot
from workbench.dashboard.panels.run_panels import BY_ID, WHY
from workbench.dashboard.report.run_data import Stops, panels_of, run_data
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import Store
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, plain_text
from workbench.table.schema import row

FAKE = fakes.FAKES[0]
STEPS = (100, 1000, 3000)
LOOK = {"theme": "light", "size": 11}


def diagnosed(step: int, quantity: str, **fields: Any) -> Any:
    return row(
        run=FAKE.name, step=step, measurement="diagnosis", law="matched", length=128, quantity=quantity, **fields
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> RunView:
    """Not diagnosed at step 100; nothing to explain at 1,000; named at 3,000."""
    root = tmp_path_factory.mktemp("why")
    path = fakes.write_run(root, FAKE, STEPS)
    share = {"target": "P.int", "mode": "alone", "value": 0.9, "low": 0.8, "high": 1.0, "n": 256}
    rows = [
        diagnosed(1000, "entry", status="undefined", note="accuracy drops by less than 0.1: nothing to explain at 128"),
        diagnosed(3000, "entry", label="position", target="P.int"),
        diagnosed(3000, "entry_grade", label="strong", target="P.int"),
        diagnosed(3000, "failure_site", label="selection", layer=0, head=1),
        diagnosed(3000, "restored_share", **share),
        diagnosed(3000, "harm_inside", target="P.int", mode="alone", value=0.0, n=512),
    ]
    rng = np.random.default_rng(0)
    spec = fakes.SPECS["behaviour"] | {"name": "diagnosis", "quantities": []}
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(fakes.SPECS, "diagnosis", spec)
        fakes.write_rows(
            path, [*rows, *fakes.behaviour(FAKE, 3000, rng), *fakes.hardmax(FAKE, 3000, rng)], {"diagnosis": 2}
        )
    return Store([root]).runs()[FAKE.name]


def at(run: RunView, step: int) -> PanelCursor:
    return PanelCursor(run, Cursor(run.name, step, 200, 0, 0))


def test_where_it_is_not_measured_the_row_is_a_line_with_its_command(run: RunView) -> None:
    said, drawn = prose.diagnosis(run, 100)
    text = texts(said)
    assert not drawn
    assert "Not measured at step 100, only at 1,000, 3,000." in text
    assert "--only diagnosis --steps 100" in text
    (now,) = [part for part in said[1].children if getattr(part, "data-measure", "")]
    assert (getattr(now, "data-measure"), getattr(now, "data-measure-step")) == ("diagnosis", "100"), "this step alone"


def test_where_nothing_is_to_be_explained_the_sentence_stands_alone(run: RunView) -> None:
    said, drawn = prose.diagnosis(run, 1000)
    assert not drawn
    assert "Class-balanced accuracy drops by less than 0.1 at length 128 on the matched test set." in " ".join(
        texts(said).split()
    ).replace(" .", ".")
    for panel in WHY:
        assert plot(panel, at(run, 1000), LOOK, "figure")[-1] == STATE


def test_where_it_is_explained_the_sentence_is_that_of_show_and_the_repairs_are_drawn(run: RunView) -> None:
    said, drawn = prose.diagnosis(run, 3000)
    assert drawn
    text = texts(said).replace(" ", "")
    assert plain_text(diagnosis_sentence(run.frame, step=3000, longest=run.trained)).replace(" ", "") in text
    over = "Over training: step 1,000: accuracy drop below 0.1 at 128; step 3,000: position at 128 (selection at L0H1)."
    assert over.replace(" ", "") in text
    for panel in WHY:
        assert plot(panel, at(run, 3000), LOOK, "figure")[-1] == READY


def test_the_repair_that_names_the_entry_can_be_tried_where_it_does(run: RunView) -> None:
    said, _ = prose.diagnosis(run, 3000)
    link = said[-1].children
    assert link.href == f"/try?run={run.name}&step=3000&len=128&edits=P.int"
    assert texts([link]) == "Try one sequence with ids interpolated"


def test_the_head_at_which_it_goes_wrong_is_outlined_in_the_grid(run: RunView) -> None:
    cells, _, said = head_grid.cells(BY_ID["head-grid"], at(run, 3000), "light")
    marked = [one for one in cells if "site" in getattr(one, "className", "").split()]
    assert [getattr(one, "data-pick-head") for one in marked] == ["0.1"]
    assert "past N it first goes wrong here: selection" in marked[0].title
    assert said.endswith("red: first goes wrong")


def test_a_report_tells_why_as_well(run: RunView) -> None:
    assert {"restored", "harm"} <= {panel.id for panel in panels_of(run)}
    data = run_data(run, Stops.of(run, Cursor(run.name, 3000, 200, 0, 0)))
    held = data["texts"]["rail-why"]
    assert held["needs"] == ["step"]
    said = dict(zip(run.steps, ["".join(text for text, _ in words) for words in held["made"]], strict=True))
    assert said[3000] == plain_text(diagnosis_sentence(run.frame, step=3000, longest=run.trained))
    assert said[100] == "Not diagnosed at step 100."
    for panel in ("restored", "harm"):
        drawn = dict(zip(run.steps, data["panels"][panel]["made"], strict=True))
        assert "light" in drawn[3000]
        assert "state" in drawn[1000]
