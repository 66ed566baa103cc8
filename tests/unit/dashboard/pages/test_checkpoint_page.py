"""The Checkpoint page without a browser: its link, its tables about heads, its board in every state."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.support.figures import synthetic
from workbench.dashboard import router
from workbench.dashboard.pages.checkpoint import BOARD, PANEL, check, headline
from workbench.dashboard.panels import head_tables
from workbench.dashboard.panels.sequence.pattern_zoom import in_view, parse_zoom
from workbench.dashboard.panels.sequence.sequence_board import TABLE_ROWS, html_table, token_data
from workbench.dashboard.panels.sequence.sequence_query import EXTRAS, IN_LINK, asked_of, check_extras
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job
from workbench.dashboard.state.cursor import Cursor, default_cursor
from workbench.dashboard.state.run_kinds import TRAINED
from workbench.figures.rows.frame import Frame
from workbench.figures.sequence.sequence_view import row_of
from workbench.measure.edits.reading import Pass, SequenceReading
from workbench.table.schema import row

LOOK = {"theme": "light", "size": 11}
RUN = "majority-nope-s0"


@pytest.fixture
def run(answers: Context) -> Any:
    found = answers.store.run(RUN)
    assert found is not None
    return found


def found(count: int = 6, pool: int = 1) -> SequenceReading:
    """A made-up answer of the worker: uniform attention, every answer right."""
    side = -(-count // pool)
    one = Pass(
        outputs=np.tile(np.array([[0.1, 0.9]], np.float32), (count, 1)),
        correct=[None] + [True] * (count - 1),
        pattern=np.where(np.tri(side), 1 / np.arange(1, side + 1)[:, None], np.nan).astype(np.float32),
        scores=np.where(np.tri(side), 0, np.nan).astype(np.float32),
        row_top=np.zeros(side, np.float32),
        row=np.full(count, 1 / count, np.float32),
    )
    return SequenceReading(
        clean=one, edited=None, tokens=["<bos>"] + ["1"] * (count - 1), text="1" * (count - 1), bos=True,
        length=count - 1, oracle=[None] + [1] * (count - 1), outputs_names=["0", "1"],
        asked=[False] + [True] * (count - 1), query=count - 1, pool=pool, trained=3, step=3000,
        queries=(0, count), keys=(0, count), layer=0, head=0, edits="",
    )  # fmt: skip


def texts(component: Any) -> str:
    return json.dumps(
        [part.to_plotly_json() for part in component] if isinstance(component, list) else component, default=str
    )


def said(component: Any) -> str:
    """The text of components."""
    if isinstance(component, str):
        return component
    if isinstance(component, list | tuple):
        return "".join(said(part) for part in component)
    return said(getattr(component, "children", None) or "")


def show(run: Any, look: Job | None, read: Job | None = None, mode: str = "figure") -> Any:
    asked = asked_of(run, default_cursor(run), EXTRAS)
    return BOARD.show(asked, {"look": look, "read": read}, LOOK, [mode])


def test_a_board_shows_progress_with_a_way_to_stop_it(run: Any) -> None:
    shown = show(run, Job(state="running", done=1, total=4, doing="the clean pass"))
    assert "the clean pass \u00b7 1 of 4" in said(shown.states[0])
    assert "data-cancel" in texts(shown.states[0])
    assert shown.polls


def test_a_board_that_was_asked_nothing_waits_quietly(run: Any) -> None:
    shown = show(run, None)
    assert shown.states[0] == []
    assert not shown.polls


@pytest.mark.parametrize(
    ("job", "sentence"),
    [
        (Job(state="failed", error="unknown token x"), "unknown token x"),
        (Job(state="failed", error="checkpoint a/b is damaged: cut"), "lengthlens check"),
        (Job(state="cancelled"), "Nothing was computed"),
    ],
)
def test_a_board_says_in_one_sentence_why_there_is_nothing(run: Any, job: Job, sentence: str) -> None:
    shown = show(run, job)
    assert sentence in said(shown.states[0])
    assert "Traceback" not in said(shown.states[0])
    assert shown.classes == ["body stated"]
    assert not shown.polls


def test_the_pattern_is_shown_before_the_probes_have_read(run: Any) -> None:
    shown = show(run, Job(state="done", result=found()), Job(state="running", doing="fitting"))
    assert shown.classes == ["body ready"]
    assert shown.polls
    notes = [a["text"] for a in shown.figures[0]["layout"]["annotations"]]
    assert notes.count("fitting …") == 2


def test_readings_that_failed_leave_the_pattern_and_say_so(run: Any) -> None:
    shown = show(run, Job(state="done", result=found()), Job(state="failed", error="too few strings"))
    assert "too few strings" in [a["text"] for a in shown.figures[0]["layout"]["annotations"]]
    assert not shown.polls


def test_the_table_replaces_the_figure(run: Any) -> None:
    shown = show(run, Job(state="done", result=found()), None, mode="table")
    assert shown.classes == ["body tabled"]
    assert "6 positions" in said(shown.tables[0])


def test_a_long_table_says_what_the_csv_has_more() -> None:
    import pandas as pd

    table = html_table(pd.DataFrame({"a": ["x"] * (TABLE_ROWS + 7)}), "Title")
    assert "the CSV has 7 more than shown" in str(table.children[0].children)


def test_the_note_is_about_the_chosen_query(run: Any) -> None:
    asked = asked_of(run, default_cursor(run), {**EXTRAS, "pos": "3"})
    shown = BOARD.show(asked, {"look": Job(state="done", result=found()), "read": None}, LOOK, ["figure"])
    words = said(shown.note)
    assert words.startswith("Query at prefix 3. L0H0 gives 0.75 of the query\u2019s attention to 1: 3 of 4 keys")
    assert shown.tokens["query"] == 3


def test_rows_of_pooled_patterns_are_known_for_the_chosen_query_only() -> None:
    pooled = found(count=9, pool=3)
    assert row_of(pooled, 8) is not None
    assert row_of(pooled, 5) is None
    assert token_data(pooled, 8, "light", "attention")["row"] is not None
    assert token_data(found(), 5, "light", "attention")["row"] is None


# ---- link ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("extras", "sentence"),
    [
        ({"pos": "../../etc/passwd"}, "is not a prefix length"),
        ({"pos": "-3"}, "is not a prefix length"),
        ({"site": "99"}, "names layer “99”"),
        ({"edits": "zero.0.0;import os"}, "edits cannot be read"),
        ({"law": "<script>"}, "which does not exist"),
        ({"zoom": "q1-2k3-4;rm"}, "names the part “q1-2k3-4;rm”"),
        ({"zoom": "q9-2k3-4"}, "which cannot be read"),
        ({"zoom": "q1-2k3-99999999"}, "which cannot be read"),
        ({"seq": "1" * (IN_LINK + 1)}, "has more than 1,500 characters"),
    ],
)
def test_what_a_link_names_and_there_is_not_becomes_a_notice(run: Any, extras: dict[str, str], sentence: str) -> None:
    good, notices = check_extras(None, run, {**EXTRAS, **extras})
    assert [sentence in notice.asked for notice in notices] == [True]
    assert good == EXTRAS


def test_good_extras_pass_unchanged(run: Any) -> None:
    extras = {**EXTRAS, "zoom": "q4-11k0-7", "pos": "7", "site": "-1", "edits": "zero.0.1,patch.0.3", "seq": "0110"}
    assert check_extras(None, run, extras) == (extras, [])


def test_a_quantity_without_rows_becomes_a_notice(answers: Context, run: Any) -> None:
    good, notices = check(answers, run, {**EXTRAS, "q": "charm"})
    assert "does not have" in notices[0].asked
    assert good["q"] == ""
    assert check(answers, run, {**EXTRAS, "q": "hardmax_distance"})[1] == []


def test_a_query_past_the_sequence_means_the_last(run: Any) -> None:
    assert asked_of(run, Cursor(RUN, 3000, 8), {**EXTRAS, "pos": "9"}).prefix is None
    assert asked_of(run, Cursor(RUN, 3000, 8), {**EXTRAS, "pos": "7"}).prefix == 7


def test_long_patterns_ask_for_the_query_and_short_ones_do_not(run: Any) -> None:
    short = asked_of(run, Cursor(RUN, 3000, 100), {**EXTRAS, "pos": "40"})
    long = asked_of(run, Cursor(RUN, 3000, 900), {**EXTRAS, "pos": "40"})
    assert (short.look()["query"], long.look()["query"]) == (None, 40)


def test_the_page_is_drawn_for_measured_and_unmeasured_runs(answers: Context) -> None:
    for name in (RUN, "majority-learned-s0"):
        content, _, here = router.page(answers, "/checkpoint", f"?run={name}&pos=5")
        assert here["title"].startswith("Checkpoint")
        assert "seq-graph" in str(content)


def test_a_part_is_asked_of_the_worker_as_the_link_names_it(run: Any) -> None:
    asked = asked_of(run, Cursor(RUN, 3000, 100), {**EXTRAS, "pos": "40", "zoom": "q32-95k0-63"})
    given = asked.look()
    assert (given["queries"], given["keys"]) == ([32, 96], [0, 64])
    assert given["query"] == 40  # of a part, the chosen query's whole row must be asked for
    assert parse_zoom("q32-95k0-63") == asked.zoom
    assert "queries=(32, 96), keys=(0, 64)" in asked.snippet("", ("pattern",))


def test_a_part_past_the_sequence_means_all_of_it_and_is_said(run: Any) -> None:
    asked = asked_of(run, Cursor(RUN, 3000, 60), {**EXTRAS, "zoom": "q32-95k0-63"})
    assert (asked.zoom, asked.beyond) == (None, "q32-95k0-63")
    shown = BOARD.show(asked, {"look": Job(state="done", result=found()), "read": None}, LOOK, ["figure"])
    assert shown.tokens["said"] == "The part q32-95k0-63 is not in this sequence. The page shows all tokens."


def test_the_browser_is_told_what_is_in_view() -> None:
    part = replace(found(count=9), queries=(4, 8), keys=(0, 5), pool=2)
    told = in_view(part, "")
    assert (told["queries"], told["keys"], told["whole"]) == ([4, 8], [0, 5], False)
    assert told["said"] == "queries 4 to 7 · keys 0 to 4 · 2 × 2 positions a cell"
    assert token_data(replace(part, pool=1), 8, "light", "attention")["row"] is not None
    assert row_of(replace(part, pool=1), 5) is None
    assert in_view(found(), "")["said"] == ""


# ---- heads -----------------------------------------------------------------------------------------------
def test_the_head_table_lists_every_head_and_marks_the_chosen(run: Any) -> None:
    cursor = Cursor(RUN, 3000, 200, 1, 2)
    table, slice_text = head_tables.head_rows(run, cursor)
    body = table.children[1].children
    assert len(body) == run.n_layers * run.n_heads
    chosen = [line for line in body if line.className == "on"]
    assert len(chosen) == 1
    assert chosen[0].children[0].children.children == "L1H2"
    assert "at length 200" in slice_text


def test_the_column_of_distances_from_hardmax_is_named_a_distance(run: Any) -> None:
    """An exact hardmax has 0.00 there, and the softest head stands first."""
    table, slice_text = head_tables.head_rows(run, Cursor(RUN, 3000, 200, 1, 2))
    header = [cell.children for cell in table.children[0].children.children]
    assert "Hardmax distance" in header
    assert "Hardmax" not in header
    assert slice_text.partition(" \u00b7 ")[2].startswith("sorted by hardmax distance")


@pytest.mark.parametrize(("low", "at_chance"), [(0.48, True), (0.6, False)])
def test_the_column_of_ablations_says_where_no_drop_can_be_shown(low: float, at_chance: bool) -> None:
    at = {"run": "r", "step": 7, "law": "matched", "length": 16, "n": 64}
    accuracy = row(
        **at, measurement="behaviour", quantity="accuracy", mode="teacher_forced", value=0.62, low=low, high=0.7
    )
    drop = {"measurement": "circuits.ablation", "quantity": "accuracy_drop", "target": "head", "mode": "mean"}
    rows = [
        accuracy,
        row(**at, measurement="behaviour", quantity="chance", mode="teacher_forced", value=0.5),
        *(row(**at, **drop, layer=0, head=head, value=0.02, low=-0.05, high=0.09) for head in (0, 1)),
    ]
    run: Any = SimpleNamespace(frame=Frame.of(synthetic.frame_of(rows)), kind=TRAINED, specs={})
    table, slice_text = head_tables.head_rows(run, Cursor("r", 7, 16, 0, 0))
    title = table.children[0].children.children[1].title
    assert title == "Accuracy drop" + at_chance * (
        ". No drop can be shown at length 16: accuracy without any ablation, 0.62 [0.48, 0.70], is not shown to be "
        "above chance (0.50)."
    )
    assert slice_text == (
        "at length 16 \u00b7 sorted by ablation"
        + at_chance * " \u00b7 no drop can be shown"
        + " \u00b7 ablation: screening, n 64"
    )


def run_of_tested_heads() -> Any:
    """A run of three heads: all screened on 64 sequences, two of one layer tested on 512 at length 16."""
    at = {"run": "r", "step": 7, "law": "matched", "length": 16}
    screening = {"measurement": "circuits.ablation", "target": "head", "n": 64}
    test = {"measurement": "circuits.head_effect", "quantity": "head_drop", "n": 512}
    rows = [
        row(**at, **screening, quantity="accuracy_drop", layer=i, head=j, mode=mode, value=0.09, low=-0.03, high=0.22)
        for i, j in ((0, 0), (1, 0), (1, 1))
        for mode in ("mean", "resample")
    ]
    rows += [
        row(**at, **test, layer=1, head=0, mode="mean", value=-0.01, low=-0.04, high=0.01),
        row(**at, **test, layer=1, head=0, mode="resample", value=0.31, low=0.28, high=0.34, label="falls to chance"),
        row(**at, **test, layer=1, head=1, mode="mean", control="least head", value=0.0, low=-0.009, high=0.009),
        row(**at, measurement="circuits.positional", quantity="locality", layer=1, head=0, mode="weights", value=3.0),
    ]
    rows[-1]["length"] = None
    return SimpleNamespace(frame=Frame.of(synthetic.frame_of(rows)), kind=TRAINED, specs={})


def test_an_ablated_head_has_one_accuracy_drop_that_of_its_test_where_it_has_one() -> None:
    """0.09 on the 64 sequences of the screening and -0.01 on the 512 of the test stood on one page."""
    table, slice_text = head_tables.head_rows(run_of_tested_heads(), Cursor("r", 7, 16, 1, 0))
    cells = {line.children[0].children.children: line.children[1] for line in table.children[1].children}
    assert {name: cell.children[0].children for name, cell in cells.items()} == {
        "L0H0": "0.09", "L1H0": "\u22120.01", "L1H1": "0.00"
    }  # fmt: skip
    assert [name for name, cell in cells.items() if "soft" in cell.children[0].className] == ["L0H0"]
    assert cells["L1H0"].title == "\u22120.01 [\u22120.040, 0.010]; n 512"
    assert slice_text.endswith("ablation of L1H0, L1H1: n 512; grey: screening, n 64")


def test_each_fact_of_a_head_names_its_number_of_sequences() -> None:
    """A header with the smallest number stood above values of other numbers."""
    facts, slice_text = head_tables.fact_rows(run_of_tested_heads(), Cursor("r", 7, 16, 1, 0))
    assert slice_text == "L1H0 \u00b7 length 16 \u00b7 95 % CI"
    first, groups = facts.children[0].children, facts.children[1].children[2::2]

    def texts(items: Any) -> list[str]:
        return [f"{item.children[0].children}: {said(item.children[1].children)}" for item in items]

    assert texts(first) == ["Head drop \u00b7 mean: \u22120.01 [\u22120.04, 0.01] n 512"]
    listed = [text for group in groups for text in texts(group.children)]
    assert "Head drop \u00b7 resample: 0.31, falls to chance [0.28, 0.34] n 512" in listed
    assert "Screening: accuracy drop \u00b7 mean: 0.09 [\u22120.03, 0.22] n 64" in listed
    control, _ = head_tables.fact_rows(run_of_tested_heads(), Cursor("r", 7, 16, 1, 1))
    assert texts(control.children[0].children) == ["Head drop \u00b7 mean: 0.00 [\u22120.01, 0.01] n 512"]


def test_the_facts_agree_with_the_table_of_rows(run: Any) -> None:
    cursor = Cursor(RUN, 3000, 200, 1, 2)
    facts, _ = head_tables.fact_rows(run, cursor)
    rows = run.frame.where(step=3000, length=200, layer=1, head=2, quantity="hardmax_distance", control="")
    listed = {item.children[0].children: item.children[1].children[0].children for item in facts.children[0].children}
    assert listed["Hardmax distance"] == f"{float(rows['value'][0]):.2f}"


def test_an_unmeasured_head_is_said_so(answers: Context) -> None:
    run = answers.store.run("majority-learned-s0")
    assert run is not None
    first, second = headline(run, Cursor(run.name, run.steps[-1], 50))
    assert "not measured" in said(first)
    assert "No rows about heads" in second[0]


def test_snippets_name_the_functions_and_the_sequence(run: Any, small_root: Path) -> None:
    text = PANEL.snippet(run, Cursor(RUN, 3000, 64, 0, 1, "score", 4), {"pos": "9", "site": "0"})
    compile(text, "snippet", "exec")
    assert "look(run_path=" in text
    assert "'length': 64, 'seed': 4" in text
    assert 'view="score"' in text
    assert "site=0" in text
