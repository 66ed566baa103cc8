"""The page on determinacy states the values of the published table, and its figure is what its script draws."""

from __future__ import annotations

import re

import pyarrow.parquet as pq
import pytest

from tests.support.places import ROOT
from tests.support.scripts import script
from workbench.claims.determinacy.cells import CELLS, CONSTANT, FORK_STEPS, MORE_CELLS, cell_named
from workbench.claims.determinacy.families import determinacy_at, determinacy_by_step
from workbench.claims.determinacy.forecast_rows import first_step_forecasts, forecasts_by_cell
from workbench.claims.determinacy.statistics import Determinacy
from workbench.claims.determinacy.stored_rows import read_rows
from workbench.claims.determinacy.study import FAMILY_FILE, StudyTable
from workbench.claims.determinacy.switches import (
    DIRECTIONS,
    RESCUE,
    SPOIL,
    SWITCH_CELLS,
    SWITCH_FILE,
    change_by_step,
)

script("verdict_figures")
FIGURES = script("determinacy_figures")
CHANGES = script("determinacy_change_figures")
STUDY = script("determinacy_study")
PAGE = (ROOT / "docs" / "decided.md").read_text(encoding="utf-8")
TEXT = " ".join(PAGE.split())
TABLE = StudyTable.read(*FAMILY_FILE)


def at(cell: str, step: int, schedule: str = "cosine") -> Determinacy:
    found = determinacy_at(TABLE.rows, cell_named(cell).with_schedule(schedule), step)
    assert found is not None
    return found


@pytest.mark.parametrize("name", ["determinacy-by-step.svg", "determinacy-forks.svg", "determinacy-forecasts.svg"])
def test_the_committed_figure_is_current(name: str) -> None:
    assert (FIGURES.PICTURES / name).read_text(encoding="utf-8") == FIGURES.FIGURES[name](), (
        "python docs/determinacy_figures.py"
    )


def test_the_figure_of_switches_is_current() -> None:
    stored = (FIGURES.PICTURES / "determinacy-switches.svg").read_text(encoding="utf-8")
    assert stored == CHANGES.switch_figure(), "python docs/determinacy_change_figures.py"


def test_the_table_of_the_page_is_that_of_the_script() -> None:
    forecasts = STUDY.forecast_lines(TABLE)
    lines = [*STUDY.determinacy_lines(TABLE), *forecasts[: forecasts.index("")], *STUDY.switch_lines()]
    assert [line for line in PAGE.splitlines() if line.startswith("|")] == lines


@pytest.mark.parametrize(
    ("cell", "step", "label"),
    [
        ("bounded_dyck_2-none", 150, "open"),
        ("bounded_dyck_2-none", 300, "decided"),
        ("abd_bc-rotary", 150, "decided"),
        ("abd_bc-none", 150, "decided"),
        ("dyck_1-none", 150, "undecided"),
    ],
)
def test_the_sentences_give_the_values_of_the_table(cell: str, step: int, label: str) -> None:
    found = at(cell, step)
    assert found.label == label
    assert re.search(rf"{found.value:.2f},? \[{found.low:.2f}, {found.high:.2f}\]", TEXT)


def test_what_the_page_states_of_other_steps() -> None:
    """The limits of the two headlines: the schedule, the overlap of two intervals, and depth 3."""
    rotary, none = at("abd_bc-rotary", 150), at("abd_bc-none", 150)
    assert f"{at('abd_bc-rotary', 400).value:.2f} at step 400" in TEXT
    assert rotary.low < none.high, "the two intervals overlap"
    constant = {at("abd_bc-rotary", step, "constant").label for step in FORK_STEPS}
    assert constant == {"undecided"}
    assert [at("bounded_dyck_3-none", step).label for step in FORK_STEPS] == ["undecided"] * 3 + ["decided"]


def test_three_cells_are_too_uniform() -> None:
    every = {cell.name: at(cell.name, 150) for cell in CELLS}
    uniform = {name: found.spread for name, found in every.items() if found.label == "too uniform"}
    assert set(uniform) == {"flip_flop-rotary", "even_pairs-none", "bounded_dyck_2-learned"}
    assert {found.label for cell in uniform for found in map(at, [cell] * 4, FORK_STEPS)} == {"too uniform"}
    assert f"standard deviation of {min(uniform.values()):.3f} to {max(uniform.values()):.3f}" in TEXT


@pytest.mark.parametrize("name", ["abd_bc-rotary-32", "abd_bc-rotary-challenge"])
def test_the_result_holds_beside_the_cells_of_the_claims(name: str) -> None:
    cell = next(cell for cell in MORE_CELLS if cell.name == name)
    found = determinacy_at(TABLE.rows, cell, 150)
    assert found is not None
    assert found.label == "decided"
    assert f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]" in TEXT


def test_state_space_models_all_reach_far() -> None:
    reach = {
        name: [
            row["reach"]
            for row in TABLE.rows
            if (row["cell"], row["schedule"], row["step"]) == (f"bounded_dyck_2-{name}", "cosine", 0)
        ]
        for name in ("ssm", "none")
    }
    ssm, none = reach["ssm"], reach["none"]
    assert f"mean reach of the {len(ssm)} parents is {sum(ssm) / len(ssm):.2f}" in TEXT
    assert f"each reaches at least {min(ssm):.2f}" in TEXT
    assert f"have a mean of {sum(none) / len(none):.2f} there" in TEXT
    cell = next(cell for cell in MORE_CELLS if cell.architecture == "ssm")
    assert {found.label for found in determinacy_by_step(TABLE.rows, cell).values()} == {"too uniform"}


SWITCHES = {
    (cell.name, direction): change_by_step(read_rows(*SWITCH_FILE), cell, direction)
    for cell in SWITCH_CELLS
    for direction in DIRECTIONS
}


@pytest.mark.parametrize(("cell", "step"), [("bounded_dyck_2-none", 400), ("abd_bc-rotary", 300)])
def test_long_sequences_rescue_what_is_decided(cell: str, step: int) -> None:
    assert at(cell, step).label == "decided"
    change = next(change for change in SWITCHES[cell, RESCUE] if change.step == step)
    assert change.changed
    assert f"step {step}, by {change.value:.2f} [{change.low:.2f}, {change.high:.2f}]" in TEXT


def test_what_long_sequences_change_and_where() -> None:
    """Four kinds are rescued, less so at the end, and two are spoilt, until step 300."""
    rescued, spoilt = (
        {cell.name for cell in SWITCH_CELLS if any(change.changed for change in SWITCHES[cell.name, direction])}
        for direction in DIRECTIONS
    )
    assert rescued == {"bounded_dyck_2-none", "abd_bc-rotary", "abd_bc-none", "bounded_dyck_3-none"}
    assert spoilt == {"bounded_dyck_2-none", "bounded_dyck_3-none"}
    for cell in spoilt:
        assert max(change.step for change in SWITCHES[cell, SPOIL] if change.changed) == 300
    for cell in rescued:
        by_step = {change.step: change.value for change in SWITCHES[cell, RESCUE]}
        assert by_step[400] < by_step[100]
    even_pairs = [
        row["reach"]
        for row in read_rows(*SWITCH_FILE)
        if (row["cell"], row["direction"], row["kind"]) == ("even_pairs-none", RESCUE, "parent")
    ]
    assert f"a mean reach of {sum(even_pairs) / len(even_pairs):.2f}" in TEXT
    flip_flop = SWITCHES["flip_flop-rotary", RESCUE]
    assert all(change.low > 0 for change in flip_flop)
    low, high = (f"{f(change.value for change in flip_flop):.2f}" for f in (min, max))
    assert f"raise reach by {low} to {high} at all steps" in TEXT


def test_less_is_decided_at_a_constant_rate() -> None:
    """The two ranges at step 300, and how many cells are decided at step 400."""
    cosine, constant = ([at(cell.name, 300, schedule) for cell in CONSTANT] for schedule in ("cosine", "constant"))
    assert all(one.value > other.value for one, other in zip(cosine, constant, strict=True))
    ranges = [(min(one.value for one in each), max(one.value for one in each)) for each in (constant, cosine)]
    (a, b), (c, d) = ranges
    assert f"{a:.2f} to {b:.2f}, against {c:.2f} to {d:.2f} with a falling rate" in TEXT
    labels = [[at(cell.name, 400, schedule).label for cell in CONSTANT] for schedule in ("cosine", "constant")]
    assert [each.count("decided") for each in labels] == [4, 1]


def test_the_claims_have_the_values_of_the_page() -> None:
    stored = {row["claim"]: row for row in pq.read_table(ROOT / "docs" / "claims" / "claims.parquet").to_pylist()}
    assert stored["DF05"]["verdict"] == "holds"
    (headline,) = stored["DF05"]["reduced"]
    value, low, high = (f"{headline[name]:.2f}" for name in ("value", "low", "high"))
    assert f"higher by {value} [{low}, {high}] (claim DF05)" in TEXT
    assert stored["DF04"]["verdict"] == "undecided"
    rows = {row["item"]: row for row in stored["DF04"]["reduced"]}
    for name, words in (
        ("bounded_dyck_2-none", "Their difference in determinacy is"),
        ("abd_bc-none", "without positions it is"),
    ):
        row = rows[name]
        assert f"{words} {row['value']:.2f} [{row['low']:.2f}, {row['high']:.2f}]" in TEXT
    assert f"only {rows['bounded_dyck_2-none']['entered']} seeds solve" in TEXT


def test_what_lies_between_is_undecided_at_the_middle_steps() -> None:
    labels = [at("abd_bc-none", step).label for step in (200, 300, 400)]
    assert labels == ["undecided", "undecided", "decided"]


def test_two_forecasts_exceed_chance() -> None:
    found = forecasts_by_cell(TABLE.rows)
    assert found is not None
    above = [one for one in found if one.p_holm < 0.05]
    assert {(one.cell, one.schedule, one.feature, one.label, one.step) for one in above} == {
        ("abd_bc-rotary", "cosine", "separation", "decided", step) for step in (150, 400)
    }
    first, second = (one.correlation for one in above)
    assert f"by {first:.2f} at step 150 and by {second:.2f} at step 400" in TEXT
    assert f"Of the other {len(found) - len(above)} cells and steps, none" in TEXT
    scores = first_step_forecasts(TABLE.rows)
    assert scores is not None
    assert min(one.p_holm for one in scores) > 0.05


def test_the_paper_states_the_same_two_values() -> None:
    paper = " ".join((ROOT / "paper" / "paper.md").read_text(encoding="utf-8").split())
    for cell in ("bounded_dyck_2-none", "abd_bc-rotary"):
        found = at(cell, 150)
        assert f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]" in paper
