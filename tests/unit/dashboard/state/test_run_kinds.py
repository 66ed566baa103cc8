"""The two kinds of run: what each names exists, and what one kind has not is on no page of it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.places import GALLERY
from workbench.dashboard.pages.compare import COMPARED
from workbench.dashboard.pages.run import SECTIONS
from workbench.dashboard.panels.run_panels import BY_ID, SECTION_PANELS, panels_of
from workbench.dashboard.state.cursor import axis_of
from workbench.dashboard.state.run_kinds import (
    KINDS,
    PROMPTED,
    TRAINED,
    ComparedRun,
    RunKind,
    compared_as,
    kind_of,
    of_one_kind,
)
from workbench.figures.rows.frame import Frame
from workbench.runs.run import Run
from workbench.table.schema import SCHEMA


def of(kind: RunKind) -> Any:
    return SimpleNamespace(kind=kind)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("majority_nope_s0", TRAINED), ("compiled/majority", TRAINED), ("pretrained/smollm2_copy", PROMPTED)],
)
def test_a_presented_task_makes_a_prompted_run(name: str, kind: RunKind) -> None:
    assert kind_of(Run.open(GALLERY / name).config) is kind


@pytest.mark.parametrize("kind", KINDS)
def test_everything_that_a_kind_names_exists(kind: RunKind) -> None:
    assert {*kind.sections, *kind.unmeasured} <= set(SECTIONS)
    assert kind.compared in COMPARED
    always, further = panels_of(kind)
    assert always == SECTION_PANELS[kind.sections[0]]
    assert {panel.id for panel in (*always, *further)} <= set(BY_ID)
    assert set(kind.rails) <= {panel.row for panel in (*always, *further)}


def test_every_section_and_every_comparison_is_that_of_a_kind() -> None:
    assert set(SECTIONS) == {section for kind in KINDS for section in (*kind.sections, *kind.unmeasured)}
    assert set(COMPARED) == {kind.compared for kind in KINDS}


def test_lengths_are_counted_in_the_unit_of_the_kind() -> None:
    assert (TRAINED.length_text(64), PROMPTED.length_text(64)) == ("length 64", "64 items")
    sentence = [("Accuracy is 0.9 at length 64.", "plain")]
    assert TRAINED.in_units(sentence) == sentence
    assert PROMPTED.in_units(sentence) == [("Accuracy is 0.9 at 64 items.", "plain")]


@pytest.mark.parametrize(
    ("kind", "link", "axis"),
    [
        (TRAINED, None, "times"), (TRAINED, "length", "length"), (TRAINED, "feet", "times"),
        (PROMPTED, None, "length"), (PROMPTED, "times", "length"), (PROMPTED, "feet", "length"),
    ],
)  # fmt: skip
def test_a_link_tells_lengths_in_what_the_kind_has(kind: RunKind, link: str | None, axis: str) -> None:
    assert axis_of({"axis": link}, of(kind)) == axis


def test_runs_of_two_kinds_are_compared_as_trained_and_stand_in_no_diagram_together() -> None:
    trained, prompted = of(TRAINED), of(PROMPTED)
    assert compared_as(prompted, of(PROMPTED)) is PROMPTED
    assert compared_as(prompted, trained) is TRAINED
    assert of_one_kind([prompted, trained]) == [trained]
    assert of_one_kind([prompted]) == [prompted]
    assert of_one_kind([]) == []


@pytest.mark.parametrize("kind", KINDS)
def test_two_runs_without_rows_are_told_apart_by_a_sentence(kind: RunKind) -> None:
    run = ComparedRun(Frame.from_rows([], SCHEMA.names), "ur", 32, 1)
    ((text, role),) = kind.difference(run, run._replace(task="ul"), "length")
    assert text.endswith(".")
    assert role == "plain"
