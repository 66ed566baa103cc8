"""Try it as a story: which sequence and which edit a link without either opens with, and that its numbers are the model's."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from circuits.one_sequence import look
from tests.support.places import GALLERY
from workbench.dashboard.pages.try_it import BOARD, PAGE, note
from workbench.dashboard.panels.sequence import story
from workbench.dashboard.panels.sequence.sequence_query import EXTRAS, asked_of, check_extras
from workbench.dashboard.server.worker import Job
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.store import Store
from workbench.figures.rows.diagnosis_rows import named_entry
from workbench.measure.study import forward

RUN = "flip_flop_rotary_s0"


@pytest.fixture(scope="module")
def store() -> Store:
    return Store([GALLERY])


@pytest.fixture(scope="module")
def run(store: Store) -> Any:
    return store.run(RUN)


def words(component: Any) -> str:
    if isinstance(component, str):
        return component
    if isinstance(component, list | tuple):
        return "".join(words(part) for part in component)
    return words(getattr(component, "children", None) or "")


def test_a_link_without_a_sequence_opens_on_a_wrong_one_under_the_diagnosed_intervention(run: Any) -> None:
    cursor = default_cursor(run)
    assert cursor.length > run.trained
    cause = named_entry(run.frame, step=cursor.step)
    opened = story.opening(run, cursor, {"run": RUN})
    assert opened == {"pick": "wrong", "law": cause["law"], "edits": cause["target"]}
    asked = asked_of(run, cursor, EXTRAS | opened)
    assert asked.sequence == {"law": "matched", "length": cursor.length, "wrong_of": 64}
    assert asked.look()["edits"] == "P.int"


@pytest.mark.parametrize(
    ("asked", "opened"),
    [
        ({"seq": "w1 i0"}, {}),
        ({"pick": "sample"}, {}),
        ({"sample": "3"}, {"pick": "sample"}),
        ({"edits": "zero.0.0"}, {"pick": "sample"}),
        ({"law": "challenge"}, {"pick": "sample"}),
    ],
)
def test_a_link_that_names_a_sequence_or_an_edit_is_obeyed(run: Any, asked: dict[str, str], opened: Any) -> None:
    assert story.opening(run, default_cursor(run), {"run": RUN} | asked) == opened


def test_inside_training_and_without_a_diagnosis_the_page_opens_as_it_did(run: Any, store: Store) -> None:
    cursor = default_cursor(run)
    assert story.opening(run, replace(cursor, length=run.trained), {}) == {}
    assert story.opening(run, replace(cursor, step=0), {}) == {}
    other = store.run("majority_nope_s0")
    assert story.opening(other, default_cursor(other), {}) == {}


@pytest.mark.parametrize(
    ("target", "note_of", "names", "why"),
    [
        ("P.int", "", ["P.int"], ""),
        ("P.int and D.logn", "", ["P.int", "D.logn"], ""),
        ("D.gap", "also restored by P.low", ["P.low"], "top keys alone"),
        ("K.sink", "", [], "first key held"),
    ],
)
def test_an_intervention_of_the_last_query_alone_is_not_chosen(
    target: str, note_of: str, names: list[str], why: str
) -> None:
    cause = {"target": target, "note": note_of, "label": "position"}
    assert story.interventions_here(cause) == names
    assert why in story.not_here(cause)
    assert bool(story.not_here(cause)) == bool(why)


@pytest.mark.parametrize("strength", ["", "0", "0.5"])
def test_the_headline_counts_what_the_model_answers(run: Any, strength: str) -> None:
    """Counted again from the logits, with the position ids of that strength made by hand."""
    cursor = default_cursor(run)
    extras = EXTRAS | story.opening(run, cursor, {}) | {"strength": strength}
    asked = asked_of(run, cursor, extras)
    found = look(**asked.look())
    model, task = run.run.load(cursor.step), run.run.task
    seed = found.chosen.sample
    batch = task.sample(1, cursor.length, torch.Generator().manual_seed(seed), "matched", window=run.trained)
    own = torch.arange(cursor.length + 1, dtype=torch.float64)[None]
    share = float(strength or 1)
    ids = (1 - share) * own + share * own * run.trained / cursor.length
    answers = [forward(model, batch, [], ids=one)["logits"][0, :, :2].argmax(-1) for one in (None, ids)]
    right, repaired = (int((one == batch.targets[0])[batch.mask[0]].sum()) for one in answers)
    of = int(batch.mask.sum())
    said = words(note(run, asked, found))
    at = f" at strength {share:.2f}" if strength else ""
    assert said.startswith(f"As is: {right} of {of} prefixes right; with ids interpolated{at}: {repaired} of {of}.")
    assert f"This is number {seed + 1} of 64 matched test sequences of length {cursor.length}" in said
    assert answers[0][-1] != batch.targets[0, -1], "the last answer is wrong"
    for earlier in range(seed):
        other = task.sample(1, cursor.length, torch.Generator().manual_seed(earlier), "matched", window=run.trained)
        last = forward(model, other, [])["logits"][0, -1, :2].argmax()
        assert last == other.targets[0, -1], "no earlier sample is wrong"


def test_what_a_link_says_wrong_is_answered_in_words(run: Any) -> None:
    good, notices = check_extras(None, run, EXTRAS | {"strength": "1.5", "pick": "worst"})
    assert (good["strength"], good["pick"]) == ("", "")
    assert ["1.5" in one.asked or "worst" in one.asked for one in notices] == [True, True]
    good, notices = check_extras(None, run, EXTRAS | {"strength": "0.35", "pick": "wrong"})
    assert (good["strength"], good["pick"], notices) == ("0.35", "wrong", [])


def test_strength_is_a_part_of_the_request_and_of_the_snippet(run: Any) -> None:
    asked = asked_of(run, default_cursor(run), EXTRAS | {"edits": "P.int", "strength": "0.25", "pick": "wrong"})
    assert asked.look()["strength"] == asked.read()["strength"] == 0.25
    assert "strength=0.25" in story.PANEL.snippet(run, default_cursor(run), {"edits": "P.int", "strength": "0.25"})
    assert "strength" not in asked_of(run, default_cursor(run), EXTRAS | {"edits": "P.int"}).snippet("", ("outputs",))


def test_with_edits_the_answers_stand_in_their_own_panel(run: Any) -> None:
    asked = asked_of(run, default_cursor(run), EXTRAS | {"edits": "P.int", "pick": "wrong"})
    found = look(**asked.look())
    job = {"look": Job(state="done", result=found), "read": None}
    shown = BOARD.show(asked, job, {"theme": "light", "size": 11}, ["figure"] * 4)
    assert shown.classes == ["body ready"] * 4
    rows = [figure["layout"]["meta"]["rows"] for figure in shown.figures]
    assert [list(one) for one in rows] == [["pattern", "summary", "position"]] * 3 + [["clean", "edited"]]
    assert shown.tokens["graded"] is True
    assert shown.tokens["tokens"][shown.tokens["decisive"][-1]] == "w0"


def test_the_page_shows_the_switch_or_the_slider_at_the_strength_of_the_link() -> None:
    made = str(story.block({"edits": "P.int", "strength": "0.35"}, SimpleNamespace()))
    assert "value=0.35" in made
    assert story.flow_class("") == "try-flow"
    assert story.flow_class("zero.0.0") == "try-flow edited"
    assert story.flow_class("zero.0.0,P.int") == "try-flow edited intervened"
    assert PAGE.opening is story.opening
