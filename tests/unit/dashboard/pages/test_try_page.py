"""The Try it page: its controls and words without a browser, and its exports through the worker."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from circuits.one_sequence import look
from tests.support.dashboard.try_page import (
    EDITS,
    TEXT,
    root,  # noqa: F401 - fixtures
)
from workbench.dashboard.pages.try_it import BOARD, chips, made_edit, note
from workbench.dashboard.panels.sequence.sequence_query import EXTRAS, asked_of
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker import Job, Worker
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.store import Store
from workbench.measure.edits.edit import EditError


@pytest.fixture
def run(root: Path) -> Any:
    return Context(Store([root]), Worker()).store.run("counter")


def said(component: Any) -> str:
    if isinstance(component, str):
        return component
    if isinstance(component, list | tuple):
        return "".join(said(part) for part in component)
    return said(getattr(component, "children", None) or "")


def test_the_sentence_tells_oracle_model_and_edit(run: Any) -> None:
    found = look(str(run.path), 100, {"text": TEXT}, 0, 0, edits=EDITS)
    asked = asked_of(run, default_cursor(run), {**EXTRAS, "seq": TEXT, "edits": EDITS, "pos": "5"})
    words = said(note(run, asked, found))
    assert words.startswith("At prefix 5 the oracle\u2019s answer is 1; the model predicts 1 (")
    assert ", edited 0 (" in words
    right = sum(found.edited.correct[i] for i, asked_there in enumerate(found.asked) if asked_there)
    assert f"edited at {right};" in words


SENTENCE = re.compile(
    r"At prefix (\d+) (?:the oracle’s answer is (\d)|the task has no answer); the model predicts (\d) \(([\d.]+)\), edited (\d) \(([\d.]+)\)\."
    r"Right at (\d+) of (\d+) prefixes with an answer, edited at (\d+); (\d+) answers? changes?\."
)


@pytest.mark.parametrize("prefix", range(1, 8))
def test_every_number_of_the_sentence_is_of_the_reading(run: Any, prefix: int) -> None:
    found = look(str(run.path), 100, {"text": TEXT}, 0, 0, edits=EDITS, query=prefix)
    asked = asked_of(run, default_cursor(run), {**EXTRAS, "seq": TEXT, "edits": EDITS, "pos": str(prefix)})
    words = SENTENCE.match(said(note(run, asked, found)))
    assert words is not None, said(note(run, asked, found))
    at, oracle, *answers, right, of, right_edited, changed = words.groups()
    ones = TEXT[:prefix].count("1")
    assert int(at) == prefix
    assert oracle == (str(int(2 * ones > prefix)) if prefix % 2 else None)  # more ones than zeros, at odd lengths
    assert found.edited is not None
    for one, (answer, share) in zip((found.clean, found.edited), (answers[:2], answers[2:]), strict=True):
        assert int(answer) == int(one.outputs[prefix].argmax())
        assert float(share) == pytest.approx(float(one.outputs[prefix].max()), abs=0.005001)
    clean, edited = ([flag for flag in one.correct if flag is not None] for one in (found.clean, found.edited))
    assert [int(text) for text in (right, of, right_edited)] == [sum(clean), len(clean), sum(edited)]
    assert int(changed) == sum(a != b for a, b in zip(clean, edited, strict=True))


def test_all_passes_are_shown_and_without_edits_one(run: Any) -> None:
    both = look(str(run.path), 100, {"text": TEXT}, 0, 0, edits=EDITS)
    one = look(str(run.path), 100, {"text": TEXT}, 0, 0)
    asked = asked_of(run, default_cursor(run), {**EXTRAS, "seq": TEXT})
    theme = {"theme": "dark", "size": 12}
    shown = BOARD.show(asked, {"look": Job(state="done", result=both), "read": None}, theme, ["figure"] * 4)
    assert shown.classes == ["body ready"] * 4
    shown = BOARD.show(asked, {"look": Job(state="done", result=one), "read": None}, theme, ["figure"] * 4)
    assert shown.classes == ["body ready", "body stated", "body stated", "body stated"]


@pytest.mark.parametrize(
    ("controls", "text"),
    [
        (("zero", "1.2", "0", 1), "zero.1.2"),
        (("mean", "0.0", "0", 1), "mean.0.0"),
        (("hardmax", "0.1", "0", 1), "hardmax.0.1"),
        (("hardmax-all", "0.1", "0", 1), "hardmax.all"),
        (("patch", "0.1", "1", 12), "patch.1.12"),
    ],
)
def test_controls_make_the_edit_they_describe(controls: tuple[Any, ...], text: str) -> None:
    assert made_edit(*controls).text == text


@pytest.mark.parametrize("prefix", ["", None, 0, -4, 1.5])
def test_a_patch_needs_a_prefix(prefix: Any) -> None:
    with pytest.raises(EditError, match="1 token"):
        made_edit("patch", "0.0", "0", prefix)


def test_every_edit_has_a_chip_that_takes_it_away() -> None:
    made = chips("zero.0.1,patch.0.3")
    assert [said(chip).rstrip("×") for chip in made] == ["ablate L0H1 (zero)", "patch after block 0 from prefix 3"]
    assert [chip.children[1].to_plotly_json()["props"]["data-drop-edit"] for chip in made] == ["zero.0.1", "patch.0.3"]
