"""The page on determinacy states the values of the published table, and its figure is what its script draws."""

from __future__ import annotations

import math
import re

import pyarrow.parquet as pq
import pytest

from tests.support.places import ROOT
from tests.support.scripts import script
from workbench.claims.determinacy.cells import CELLS, CONSTANT, FORK_STEPS, MORE_CELLS, cell_named
from workbench.claims.determinacy.families import determinacy_at, determinacy_by_step
from workbench.claims.determinacy.forecast_rows import first_step_forecasts, forecasts_by_cell
from workbench.claims.determinacy.settings_study import SETTINGS_CELLS, SETTINGS_FILE, axis_effects
from workbench.claims.determinacy.statistics import Determinacy, mean_interval
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
from workbench.claims.determinacy.two_settings import PAIRS, PAIRS_FILE, change_of_reach, combinations

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


@pytest.mark.parametrize("name", CHANGES.FIGURES)
def test_the_figure_of_changes_is_current(name: str) -> None:
    stored = (FIGURES.PICTURES / name).read_text(encoding="utf-8")
    assert stored == CHANGES.FIGURES[name](), "python docs/determinacy_change_figures.py"


def test_the_table_of_the_page_is_that_of_the_script() -> None:
    forecasts = STUDY.forecast_lines(TABLE)
    lines = [*STUDY.determinacy_lines(TABLE), *forecasts[: forecasts.index("")], *STUDY.switch_lines()]
    lines += STUDY.settings_lines()
    for pair in PAIRS:
        lines += STUDY.pair_lines(pair)
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


EFFECTS = {(effect.axis, effect.cell): effect for effect in axis_effects(read_rows(*SETTINGS_FILE))}
DYCK, ROTARY, FLIP_FLOP = (cell.name for cell in SETTINGS_CELLS)


def means(axis: str, cell: str) -> dict[str, str]:
    """The mean reach at the levels of a setting, as the page writes it."""
    return {level.name: f"{level.mean:.2f}" for level in EFFECTS[axis, cell].levels}


def test_which_settings_have_an_effect() -> None:
    shown = {key for key, effect in EFFECTS.items() if effect.p_holm < 0.05}
    of_dyck = ("positions", "share of sequences at 2 N", "steps at equal rate x steps", "queries")
    assert shown == {*((axis, DYCK) for axis in of_dyck), ("positions", FLIP_FLOP), ("weight_decay", FLIP_FLOP)}
    assert f"all {sum(not math.isnan(effect.p) for effect in EFFECTS.values())} tests" in TEXT
    smallest = min((effect.p_holm, axis) for (axis, cell), effect in EFFECTS.items() if cell == ROTARY)
    assert smallest[1] == "weight_decay"
    assert f"The smallest p is {smallest[0]:.2f} after correction" in TEXT


def test_what_the_page_says_of_positions() -> None:
    dyck, flip_flop = means("positions", DYCK), means("positions", FLIP_FLOP)
    assert f"reach of {dyck['none']}, and runs with rotary positions {dyck['rotary']}" in TEXT
    assert f"it is at most {max(dyck['learned'], dyck['sinusoidal'])}." in TEXT
    coded = sorted(flip_flop[name] for name in ("learned", "sinusoidal", "rotary"))
    assert f"it is {flip_flop['none']} without positions, and {coded[0]} to {coded[-1]} with them" in TEXT
    none = next(level for level in EFFECTS["positions", ROTARY].levels if level.name == "none")
    assert not none.enters
    assert f"only {none.solving} of {none.runs} runs solve" in TEXT
    assert f"The mean of these is {none.mean:.2f}." in TEXT


def test_what_the_page_says_of_lengths_decay_and_steps() -> None:
    share, queries, decay = (
        means("share of sequences at 2 N", DYCK),
        means("queries", DYCK),
        means("weight_decay", FLIP_FLOP),
    )
    assert f"reach is {share['0.02']} if 2 % of the batches are long" in TEXT
    several = sorted(share[name] for name in ("0.1", "0.3", "0.5"))
    assert f"and {several[0]} to {several[-1]} if 10 % to 50 % are" in TEXT
    assert f"mean reach is {queries['the end, 1 length']}." in TEXT
    more = sorted(value for name, value in queries.items() if "lengths" in name)
    assert f"With 2 to 15 lengths it is {more[0]} to {more[-1]}." in TEXT
    assert float(queries["the end, 15 lengths"]) < float(queries["the end, 2 lengths"])
    assert f"from {decay['0']} without weight decay to {decay['3']} with" in TEXT
    for axis in ("learning_rate", "steps", "schedule"):
        assert all(EFFECTS[axis, cell.name].p_holm >= 0.05 for cell in SETTINGS_CELLS)
    steps = means("steps at equal rate x steps", DYCK)
    assert f"is {steps['250']} at 250 steps, {steps['1000']} at 1000, and {steps['2000']} at 2000" in TEXT


def test_what_the_page_says_of_two_settings() -> None:
    rows = [*read_rows(*SETTINGS_FILE), *read_rows(*PAIRS_FILE)]
    dyck, flip_flop = ({(c.first, c.second): c for c in combinations(pair, rows)} for pair in PAIRS)
    none = min(one.reach for (positions, _), one in dyck.items() if positions == "none")
    coded = max(one.reach for (positions, _), one in dyck.items() if positions != "none" and one.solving)
    assert f"mean reach is at least {none:.2f}. With positions it is at most {coded:.2f}." in TEXT
    assert dyck["sinusoidal", "0.02"].solving == 0
    changes = [change_of_reach(PAIRS[1], rows, positions, ("0", "1")) for positions in ("rotary", "sinusoidal")]
    before, after = ("", " with rotary positions"), ("With sinusoidal ones it changes ", ".")
    for one, (first, last) in zip(changes, (before, after), strict=True):
        mean, low, high = mean_interval([*one.values()])
        assert f"{first}by {mean:+.2f} [{low:.2f}, {high:.2f}]{last}" in TEXT
    seeds = changes[0].keys() & changes[1].keys()
    mean, low, high = mean_interval([changes[0][seed] - changes[1][seed] for seed in sorted(seeds)])
    assert f"differ by {mean:.2f} [{low:.2f}, {high:.2f}] over {len(seeds)} seeds" in TEXT
    strong = flip_flop["sinusoidal", "3"]
    assert f"reach is {flip_flop['rotary', '3'].reach:.2f} with rotary positions, and only {strong.solving} of" in TEXT
