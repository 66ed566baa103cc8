"""The first screen of the Run page: why a run fails, the evidence as chips, and the errors that open by themselves."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pandas as pd
import pytest
from dash import html

from tests.support.cited import unfounded
from tests.support.dashboard.answers import texts
from tests.support.dashboard.claims import NAMES, gallery, of_run, rows, view_of  # noqa: F401 - fixtures
from workbench.core.verdicts import SCALE_ROBUST
from workbench.dashboard.components import prose
from workbench.dashboard.components.cursorbar import NAME_END, run_select
from workbench.dashboard.panels import cause_strip, evidence_chips, wrong_strings
from workbench.dashboard.panels.ledger import NO_LEDGER, STANDINGS, Ledger, ledger
from workbench.dashboard.panels.run_panels import BY_ID
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import Cursor, default_cursor
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import estimate
from workbench.figures.rows.diagnosis_rows import named_entry
from workbench.figures.rows.frame import Frame
from workbench.figures.text.carried_across import carried_across
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence, plain_text
from workbench.figures.text.evidence import evidence
from workbench.figures.text.headline import headline
from workbench.table.schema import FIELDS, row

FAILS = "flip_flop_rotary_s0"


def within(text: str, shown: Any) -> bool:
    """Whether a text is shown, whatever space its pieces have between them."""
    return text.replace(" ", "") in texts(html.Div(shown)).replace(" ", "")


def parts(shown: Any, name: str) -> list[Any]:
    """The components of a class."""
    found = [shown] if name in str(getattr(shown, "className", "")).split() else []
    children = getattr(shown, "children", shown if isinstance(shown, list) else [])
    for child in children if isinstance(children, list) else [children]:
        if child is not None and not isinstance(child, str):
            found += parts(child, name)
    return found


# ---- headline -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_the_headline_is_that_of_the_rows(gallery: Context, name: str) -> None:
    run = view_of(gallery, name)
    for step in run.measured_steps:
        verdict, further = prose.headline(run, Cursor(name, step, run.trained))
        words = headline(run.frame, step=step, trained=run.trained)
        assert within(plain_text(words.verdict), verdict)
        assert within(plain_text(words.further), further)


# ---- the strip ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_the_strip_names_the_cause_of_the_row_why_and_draws_its_numbers(gallery: Context, name: str) -> None:
    run = view_of(gallery, name)
    for step in run.measured_steps:
        shown = cause_strip.strip(run, step)
        try:
            named = named_entry(run.frame, step=step)
        except NotMeasured:
            assert not parts(shown, "share-track")
            continue
        if not named["label"] and parts(shown, "cause-said"):
            assert run.brief.verdicts[step] == SCALE_ROBUST, "what a robust run reads: the test below"
            continue
        full = plain_text(diagnosis_sentence(run.frame, step=step, longest=run.trained))
        (sentence,) = parts(shown, "cause-said") or parts(shown, "unnamed")
        words = texts(sentence).replace(" ", "").removeprefix("Nocauseisnamed.")
        assert full.replace(" ", "").startswith(words.removesuffix("Thesecausesarenotdistinguished."))
        assert bool(parts(shown, "unnamed")) is (not named["label"])
        tracks = parts(shown, "share-track")
        assert bool(tracks) is bool(named["target"])
        for track in tracks:
            number = getattr(track, "aria-label").rpartition(": ")[2]
            assert number.replace(" ", "") in full.replace(" ", ""), "every bar is a share that the sentence names"


@pytest.mark.parametrize("name", ["majority_nope_s0", "compiled/majority"])
def test_the_strip_of_a_robust_run_states_what_longer_prefixes_read(gallery: Context, name: str) -> None:
    run = view_of(gallery, name)
    step = default_cursor(run).step
    at = {"quantity": "subspace_interchange_accuracy", "step": step, "length": 249, "layer": 0, "mode": "from 31"}
    copied, control = (run.frame.where(law="matched", control=kind, **at).row(0) for kind in ("", "random subspace"))
    shown = cause_strip.strip(run, step)
    assert within("At length 249 (8 N), the model reads the task state in the code of length 31.", shown)
    (track,) = parts(shown, "share-track")
    numbers = [estimate(one["value"], one["low"], one["high"]) for one in (copied, control)]
    assert getattr(track, "aria-label").endswith(f": {numbers[0]}")
    for number in numbers:
        assert within(number, shown)
    assert not within("No cause is named", shown)
    carried = carried_across(run.frame, step=step, longest=run.trained)
    assert carried is not None
    assert unfounded([*carried.result, *carried.evidence], run.frame, run.trained) == []


def test_a_code_that_is_not_shown_to_be_read_is_not_named() -> None:
    where = {"measurement": "circuits.interchange", "quantity": "subspace_interchange_accuracy", "law": "matched"}
    at = {"run": "r", "step": 7, "length": 64, "mode": "from 32", "note": "rank 1 of 8", "n": 64, **where}

    def found(low: float, control_high: float, **more: Any) -> bool:
        copied = row(**{**at, "layer": 0, "value": low + 0.1, "low": low, "high": low + 0.2, **more})
        control = {"control": "random subspace", "value": 0.1, "low": 0.0, "high": control_high}
        rows = pd.DataFrame([copied, row(**{**at, "layer": 0, **control})], columns=list(FIELDS))
        return carried_across(Frame.of(rows), step=7, longest=32) is not None

    assert found(0.6, 0.2)
    assert not found(0.4, 0.2), "the copied answer does not follow more often than not"
    assert not found(0.6, 0.7), "the control does nearly as much"
    assert not found(0.6, 0.2, mode="from 64"), "within one length"


def test_bar_interval_and_control_stand_where_their_numbers_do(gallery: Context) -> None:
    run = view_of(gallery, FAILS)
    step = default_cursor(run).step
    share, control = (
        run.frame.where(quantity="restored_share", step=step, length=128, target="P.int", control=kind).row(0)
        for kind in ("", "wrong_constant")
    )
    shown = cause_strip.strip(run, step)
    (track,) = parts(shown, "share-track")
    low, high = -0.1, 1.1  # 0 and 1 with a margin: every limit lies between them

    def percent(value: float) -> float:
        return 100 * (value - low) / (high - low)

    drawn = [(one.className, one.style) for one in track.children]
    assert [name for name, _ in drawn] == ["zero", "zero", "fill", "whisker", "whisker control", "tick"]
    ends = [{key: float(text.removesuffix("%")) for key, text in style.items()} for _, style in drawn]
    assert [one["left"] for one in ends] == pytest.approx(
        [percent(end) for end in (0, 1, 0, share["low"], control["low"], control["value"])], abs=0.01
    )
    widths = [one["width"] for one in ends if "width" in one]
    spans = [share["value"], share["high"] - share["low"], control["high"] - control["low"]]
    assert widths == pytest.approx([100 * span / (high - low) for span in spans], abs=0.02)
    for numbers in (share, control):
        assert within(estimate(numbers["value"], numbers["low"], numbers["high"]), shown)
    assert within("The verdict has been the same since step 800 (last different verdict: step 70).", shown)
    assert within("Try one sequence with ids interpolated", shown)
    assert within(f"lengthlens prescribe {run.typed_path}", shown)


def test_a_scale_has_room_for_every_number_and_an_end(gallery: Context) -> None:
    run = view_of(gallery, "compiled/majority_first_32")
    shown = cause_strip.strip(run, 1)
    assert len(parts(shown, "share-track")) == 4, "two edits at the length where both help and where one does"
    assert within("ids interpolated, length 125", shown)
    assert not within("prescribe", shown), "nothing trained it"
    lefts = [one.style["left"] for track in parts(shown, "share-track") for one in track.children]
    assert min(float(left.removesuffix("%")) for left in lefts) == 0, "the control at -0.96 [-1.38, ...] ends at -1"


def test_a_run_that_fails_and_is_not_diagnosed_says_which_command_finds_the_cause(gallery: Context) -> None:
    run = view_of(gallery, FAILS)
    bare = run.frame.where(run.frame["measurement"] != "diagnosis")
    without = replace(run, signature="not diagnosed")
    without.kept.frames((without.name, without.rows_version), lambda: bare)
    step = default_cursor(run).step
    assert within(f"--only diagnosis --steps {step}", cause_strip.strip(without, step))
    shown = cause_strip.strip(without, 70)
    assert not within("--only diagnosis", shown), "what does not fail needs no cause"


# ---- evidence -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", NAMES)
def test_there_is_a_chip_for_each_clause_with_its_sign_and_its_words(gallery: Context, name: str) -> None:
    run = view_of(gallery, name)
    at = default_cursor(run)
    found = ledger(run, at)
    where = {"step": at.step, "length": at.length, "layer": at.layer, "head": at.head}
    clauses = evidence(run.frame, trained=run.trained, **where)
    chips = evidence_chips.chips(found)
    assert len(chips) == len(clauses)
    for chip, clause in zip(chips, clauses, strict=True):
        standing = STANDINGS[clause.standing]
        assert chip.children[0].children == f"{standing}: "
        assert clause.standing in chip.className.split()
        assert within(plain_text(clause.short), chip)
        assert getattr(chip, "data-mark") in BY_ID
        (term, text), *further = json.loads(getattr(chip, "data-about"))
        assert (term, text) == (standing.capitalize(), f"{plain_text(clause.clause)}.")
        said = dict(further)
        value, limits, n, control, place = clause.cells
        whole = ", ".join((" ".join(filter(None, (value, limits))), f"n {n}"))
        assert said.get("Value", "") == ("" if value == "\u2013" else whole)
        assert said.get("Control", "\u2013") == control
        assert said.get("Where", "") == place


@pytest.mark.parametrize("name", NAMES)
def test_what_is_inconclusive_is_one_line_and_its_clauses_are_folded(gallery: Context, name: str) -> None:
    run = view_of(gallery, name)
    found = ledger(run, default_cursor(run))
    neutral = [row for row in found.rows if row.standing == "neutral"]
    line = evidence_chips.inconclusive(found)
    assert line.partition(":")[0] == {
        0: "", 1: "1 measurement is inconclusive",
    }.get(len(neutral), f"{len(neutral)} measurements are inconclusive")  # fmt: skip
    assert all(plain_text(row.short) in line for row in neutral)
    (items,) = evidence_chips.inconclusive_clauses(found)
    assert len(items.children) == len(neutral)
    assert all(within(plain_text(row.clause), items) for row in neutral)
    assert evidence_chips.inconclusive(NO_LEDGER) == ""
    assert evidence_chips.chips(Ledger("", ())) == []


# ---- the most confident errors --------------------------------------------------------------------------
def test_the_errors_open_by_themselves_where_the_model_is_here_and_small(gallery: Context) -> None:
    run = view_of(gallery, FAILS)
    ask = wrong_strings.search_arguments(run, default_cursor(run).step)
    assert ask is not None
    assert ask["count"] == 6
    assert wrong_strings.quick(run, 128)
    assert not wrong_strings.quick(run, 2048)
    assert not wrong_strings.quick(view_of(gallery, "small_model"), 128), "its weights are not here"


# ---- names ----------------------------------------------------------------------------------------------
def test_the_end_of_a_long_name_is_never_cut(gallery: Context) -> None:
    run = view_of(gallery, FAILS)
    select, shown = run_select(run, default_cursor(run), NAMES).children
    assert select.value == FAILS
    assert [part.children for part in shown.children] == [FAILS[:-NAME_END], "otary_s0"]
