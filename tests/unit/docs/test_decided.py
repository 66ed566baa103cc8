"""The page on determinacy states the values of the published table, and its figure is what its script draws."""

from __future__ import annotations

import re

import pytest

from tests.support.places import ROOT
from tests.support.scripts import script
from workbench.claims.determinacy.cells import cell_named
from workbench.claims.determinacy.families import determinacy_at
from workbench.claims.determinacy.study import FAMILY_FILE, StudyTable

script("verdict_figures")
FIGURES = script("determinacy_figures")
STUDY = script("determinacy_study")
PAGE = (ROOT / "docs" / "decided.md").read_text(encoding="utf-8")
TABLE = StudyTable.read(*FAMILY_FILE)


def test_the_committed_figure_is_current() -> None:
    name = "determinacy-by-step.svg"
    assert (FIGURES.PICTURES / name).read_text(encoding="utf-8") == FIGURES.FIGURES[name](), (
        "python docs/determinacy_figures.py"
    )


def test_the_table_of_the_page_is_that_of_the_script() -> None:
    lines = STUDY.determinacy_lines(TABLE)
    assert [line for line in PAGE.splitlines() if line.startswith("|")] == lines


@pytest.mark.parametrize(
    ("cell", "step", "label"),
    [
        ("bounded_dyck_2-none", 150, "open"),
        ("bounded_dyck_2-none", 300, "decided"),
        ("abd_bc-rotary", 150, "decided"),
        ("abd_bc-none", 150, "decided"),
        ("flip_flop-rotary", 150, "too uniform"),
        ("even_pairs-none", 150, "too uniform"),
    ],
)
def test_the_sentences_give_the_values_of_the_table(cell: str, step: int, label: str) -> None:
    found = determinacy_at(TABLE.rows, cell_named(cell), step)
    assert found is not None
    assert found.label == label
    text = " ".join(PAGE.split())
    if label == "too uniform":
        assert f"differ in reach by a standard deviation of {found.spread:.2f} only" in text
    else:
        assert re.search(rf"{found.value:.2f} \[{found.low:.2f}, {found.high:.2f}\]", text)


def test_what_lies_between_is_undecided_at_the_middle_steps() -> None:
    labels = [determinacy_at(TABLE.rows, cell_named("abd_bc-none"), step).label for step in (200, 300, 400)]  # type: ignore[union-attr]
    assert labels == ["undecided", "undecided", "decided"]


def test_the_paper_states_the_same_two_values() -> None:
    paper = " ".join((ROOT / "paper" / "paper.md").read_text(encoding="utf-8").split())
    for cell in ("bounded_dyck_2-none", "abd_bc-rotary"):
        found = determinacy_at(TABLE.rows, cell_named(cell), 150)
        assert found is not None
        assert f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]" in paper
