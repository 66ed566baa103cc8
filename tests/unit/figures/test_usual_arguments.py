"""Arguments of a figure that the caller may leave out: run, N, step, prefix length, layer and head."""

from __future__ import annotations

import pandas as pd
import pytest

from tests.support.places import GALLERY
from workbench import figures
from workbench.runs import Run
from workbench.table import Table

NAME = "flip_flop_rotary_s0"


@pytest.fixture(scope="module")
def table() -> Table:
    return Table.load(GALLERY)


def same(a: pd.DataFrame, b: pd.DataFrame) -> bool:
    return a.reset_index(drop=True).equals(b.reset_index(drop=True))


def test_the_last_step_and_the_trained_length_come_from_the_table(table: Table) -> None:
    rows = Run.open(GALLERY / NAME).table().frame()
    usual = figures.accuracy_over_length(table, run=NAME)
    told = figures.accuracy_over_length(rows, trained=32, step=1200)
    assert usual.to_json() == told.to_json()
    assert same(figures.accuracy_over_length.data(table, run=NAME), figures.accuracy_over_length.data(rows, step=1200))


def test_the_length_is_the_measured_one_next_to_twice_the_trained_one(table: Table) -> None:
    usual = figures.decodability_over_training(table, run=NAME)
    assert usual._place == f"{NAME}, length 64"
    assert usual.to_json() == figures.decodability_over_training(table, run=NAME, length=64).to_json()


def test_no_head_is_chosen_where_none_is_named(table: Table) -> None:
    assert figures.heads_over_length(table, run=NAME).layout.meta["slice"].startswith("all heads")


def test_rows_of_one_run_need_no_name(table: Table) -> None:
    own = Run.open(GALLERY / NAME).table()
    for rows in (own, own.frame(), table.frame(run=NAME)):
        assert figures.accuracy_over_length(rows)._place == f"{NAME}, step 1,200"


def test_the_title_in_notebooks_states_run_and_step(table: Table) -> None:
    title = figures.accuracy_over_length(table, run=NAME).with_titles().layout.title.text
    assert f"{NAME}, step 1,200 \u00b7 " in title


def test_what_the_rows_do_not_state_is_asked_for(table: Table) -> None:
    with pytest.raises(TypeError, match=r"differs between these runs .*run=NAME"):
        figures.accuracy_over_length(table)
    with pytest.raises(TypeError, match=r"pass trained=run\.trained_length"):
        figures.accuracy_over_length(table.frame(quantity="accuracy"), run=NAME)
    with pytest.raises(TypeError, match="measurement"):
        figures.quantity_over_length(table, run=NAME)
    with pytest.raises(TypeError, match="banana"):
        figures.accuracy_over_length(table, run=NAME, banana=1)
    with pytest.raises(ValueError, match=f"did you mean .*{NAME}"):
        figures.accuracy_over_length(table, run="flip_flop_rotary")


def test_an_unknown_figure_names_the_nearest() -> None:
    with pytest.raises(AttributeError, match="did you mean accuracy_over_length"):
        figures.accurcy_over_length  # noqa: B018


def test_a_browser_has_room_for_the_names_of_lines(table: Table) -> None:
    figure = figures.accuracy_over_length(table, run=NAME)
    assert figure._in_browser().layout.margin.r == 1.25 * figure.with_titles().layout.margin.r
