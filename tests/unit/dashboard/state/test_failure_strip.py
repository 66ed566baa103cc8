"""The failure strip of the Runs page: every cell is a row of the table, for one run and for several."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.support.dashboard.claims import IN_CONTEXT_NAMES, NAMES, gallery, rows, view_of  # noqa: F401 - fixtures
from workbench.core.names import BEHAVIOUR, CHALLENGE, IN_CONTEXT, MATCHED
from workbench.dashboard.components.runs_grid import grid
from workbench.dashboard.pages.runs import lines, settings_here, summary
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.failure_strip import STRIP_TIMES, TEST_SETS, UNTESTED, multiples_of
from workbench.dashboard.state.filters import Filters, check_filters, read_filters, write_filters
from workbench.figures.rows.baselines import counts_for_verdict
from workbench.figures.rows.multiples import MULTIPLES, length_at


def accuracies(table: pd.DataFrame, name: str, law: str) -> pd.DataFrame:
    """The rows of a run's last step on a test set, by length."""
    own = table[(table["run"] == name) & (table["measurement"] == BEHAVIOUR)]
    last = own.loc[own["quantity"] == "verdict", "step"].max()
    where = (own["quantity"] == "accuracy") & (own["law"] == law) & (own["mode"] == "teacher_forced")
    return own[where & (own["step"] == last)].set_index("length").sort_index()


def is_row(cell: str, row: Any) -> bool:
    """Whether a cell has value, interval and number of a row; where all sequences were counted, this."""
    _, value, limits, n = cell.removeprefix(UNTESTED).split("|")
    if pd.isna(row["low"]):
        ends = limits == "" or row["note"].endswith(limits)
    else:
        ends = limits == f"{row['low']:.2f} {row['high']:.2f}"
    return value == f"{row['value']:.2f}" and ends and n == str(int(row["n"]))


@pytest.mark.parametrize("name", NAMES)
def test_every_cell_of_a_strip_is_a_row(gallery: Context, rows: pd.DataFrame, name: str) -> None:
    run = view_of(gallery, name)
    line = summary(gallery, run)
    assert line["stripChance"] == pytest.approx(run.brief.chance, abs=5e-4)
    for law, text in zip(TEST_SETS, line["strip"], strict=True):
        table = accuracies(rows, name, law)
        cells = text.split(";")
        cells += [""] * (len(STRIP_TIMES) - len(cells))
        for times, cell in zip(STRIP_TIMES, cells, strict=True):
            length = length_at(table.index, run.trained, times)
            assert bool(cell) == (length is not None), "a cell is empty where nothing was measured"
            if length is not None:
                row = table.loc[length]
                shown = cell.removeprefix(UNTESTED).partition("|")[0]
                assert shown == f"{length:,}" or row["note"].endswith(f"lengths {shown}"), "a band names its lengths"
                assert is_row(cell, row)
                assert cell.startswith(UNTESTED) == (
                    length > run.trained and not counts_for_verdict(law, length, run.trained)
                )


@pytest.mark.parametrize("name", IN_CONTEXT_NAMES)
def test_a_model_in_its_prompt_has_a_cell_for_each_number_of_items(
    gallery: Context, rows: pd.DataFrame, name: str
) -> None:
    line = summary(gallery, view_of(gallery, name))
    own = rows[(rows["run"] == name) & (rows["measurement"] == IN_CONTEXT) & (rows["quantity"] == "answer_accuracy")]
    own = own[(own["law"] == MATCHED) & (own["mode"] == "teacher_forced") & own["value"].notna()]
    own = own.set_index("length").sort_index()
    (text,) = line["strip"]
    cells = text.split(";")
    assert [cell.partition("|")[0] for cell in cells] == [f"{int(length):,}" for length in own.index]
    assert all(is_row(cell, row) for cell, (_, row) in zip(cells, own.iterrows(), strict=True))
    assert line["stripItems"]


def test_a_strip_is_a_few_hundred_characters(gallery: Context) -> None:
    """A page of 5,000 runs sends 5,000 of them."""
    assert max(sum(map(len, summary(gallery, view_of(gallery, name))["strip"])) for name in NAMES) < 600


def test_multiples_beyond_the_usual_ones_are_shown_where_a_line_has_them() -> None:
    usual = list(range(len(MULTIPLES)))
    assert multiples_of([]) == usual
    assert multiples_of([{"strip": ["a;b", ""]}, {"strip": [";" * 40 + "a"], "stripItems": True}]) == usual
    far = {"strip": [";" * STRIP_TIMES.index(16.0) + "a", ""]}
    assert multiples_of([far]) == [*usual, STRIP_TIMES.index(16.0)]


def test_the_strips_of_a_page_share_their_scale(gallery: Context) -> None:
    table = grid([summary(gallery, view_of(gallery, name)) for name in NAMES]).children
    column = next(one for one in table.columnDefs if one.get("colId") == "strip")
    shared = column["cellRendererParams"]
    assert shared["places"] == list(range(10))
    assert (shared["times"][3], shared["trained"]) == ("1 \u00d7 N", 4)
    assert (shared["colours"][0], shared["colours"][-1]) == ("#00224E", "#E1CC55")
    assert column["field"] == "fails", "it sorts by the first failing length"


# ---- several runs ---------------------------------------------------------------------------------------
def grouped(gallery: Context, axis: str) -> dict[str, dict[str, Any]]:
    return {line["name"]: line for line in lines(gallery, Filters(group=axis))["rows"]}


def test_a_line_for_each_value_has_medians_and_ranges_of_rows(gallery: Context, rows: pd.DataFrame) -> None:
    line = grouped(gallery, "model.positions.name")["none"]
    names = [name for name in NAMES if view_of(gallery, name).encoding == "none"]
    assert (line["runs"], line["of"], line["counts"]) == (5, "4 of 5", "4 scale-robust, 1 not fitted")
    for law, text in zip(TEST_SETS, line["strip"], strict=True):
        for times, cell in zip(STRIP_TIMES, text.split(";"), strict=False):
            tables = {name: accuracies(rows, name, law) for name in names}
            lengths = {n: length_at(table.index, view_of(gallery, n).trained, times) for n, table in tables.items()}
            values = [tables[n].loc[length, "value"] for n, length in lengths.items() if length is not None]
            _, value, limits, count = cell.removeprefix(UNTESTED).split("|")
            assert value == f"{np.median(values):.2f}"
            assert (limits, count) == (f"{min(values):.2f} {max(values):.2f}", str(len(values)))
    last = [accuracies(rows, name, MATCHED)["value"].iloc[-1] for name in names]
    assert line["longest"] == pytest.approx(np.median(last))
    assert line["longestInterval"] == f"{min(last):.2f} to {max(last):.2f}"
    assert line["longestTitle"] == "1.00 at 8 \u00d7 N, the median of 5 runs"


def test_runs_of_tasks_with_different_chance_are_not_pooled(gallery: Context) -> None:
    line = grouped(gallery, "model.positions.name")["rotary"]
    assert line["apart"] == "not pooled: chance is 0.02 to 0.50"
    assert not {"strip", "inside", "longest"} & set(line)
    assert line["counts"] == "2 length-coupled, 1 undecided"


def test_models_in_a_prompt_have_lines_of_their_own(gallery: Context) -> None:
    line = grouped(gallery, "model.positions.name")["rotary, in a prompt"]
    assert (line["runs"], line.get("stripItems")) == (2, True)
    assert "inside" not in line, "they have no trained length"


def test_a_line_counts_where_its_runs_fail_and_what_theory_expects(gallery: Context) -> None:
    by_task = grouped(gallery, "task.name")
    coupled = by_task["flip-flop memory (flip_flop)"]
    assert (coupled["failsTimes"], coupled["failsText"]) == ("1.5 \u00d7 N", "at first, 2 of 2 fail")
    majority = by_task["majority of two symbols (majority)"]
    assert (majority["failsTimes"], majority["failsText"]) == ("3 \u00d7 N", "at first, 1 of 6 fail")
    single = by_task["parity"]
    alone = summary(gallery, view_of(gallery, "parity_nope"))
    kept = ("strip", "longestInterval", "reachInterval", "failsText")
    assert [single[name] for name in kept] == [alone[name] for name in kept], "one run keeps its intervals"


def test_a_line_leads_to_its_runs(gallery: Context) -> None:
    line = grouped(gallery, "model.positions.name")["learned"]
    filters, notices = read_filters(line["href"].removeprefix("/"))
    assert (filters, notices) == (Filters(where=(("model.positions.name", "learned"),)), [])
    shown = lines(gallery, filters)["rows"]
    assert len(shown) == line["runs"] == 2


def test_the_link_says_by_what_runs_are_grouped(gallery: Context) -> None:
    filters, notices = read_filters("?task=majority&group=model.positions.name")
    assert (filters.grouping, notices) == ("model.positions.name", [])
    assert write_filters(filters) == "/?task=majority&group=model.positions.name"
    assert read_filters("?seeds=1&group=task.name")[0].grouping == "seeds", "links of before keep their meaning"
    known = check_filters(filters, ["majority"], [], settings=settings_here(gallery))
    assert known == (filters, [])
    (dropped, (notice,)) = check_filters(Filters(group="model.wings"), [], [], settings=settings_here(gallery))
    assert dropped.group == ""
    assert notice.asked == "This link groups runs by model.wings, a setting in which the runs here do not differ."


def test_challenge_accuracies_of_a_brief_are_rows(gallery: Context, rows: pd.DataFrame) -> None:
    for name in NAMES:
        table = accuracies(rows, name, CHALLENGE)
        brief = view_of(gallery, name).brief
        assert [point["value"] for point in brief.challenge] == table["value"].tolist()
        assert [point["length"] for point in brief.challenge] == table.index.tolist()
