"""One question for all panels: the answer says what changed, whatever the browser asked before."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from dash import html, no_update
from dash._utils import to_json

from workbench.dashboard import router
from workbench.dashboard.app import create_app
from workbench.dashboard.pages.run import MATRIX
from workbench.dashboard.panels.panel_spec import PanelCursor
from workbench.dashboard.panels.panel_updates import Encoded, redraw_panels, values
from workbench.dashboard.panels.render import plot
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.run_view import RunView

LIGHT = {"theme": "light", "size": 11}
FIGURES = ["figure"] * len(MATRIX)


class Screen:
    """A browser: it shows the last value it was told of everything, and remembers the marks."""

    def __init__(self, answers: Context) -> None:
        self._answers = answers
        self.values: dict[tuple[str, str], Any] = {}
        self.shown: Mapping[str, Sequence[int]] = {}

    def ask(
        self, at: PanelCursor, modes: Sequence[str] = FIGURES, look: dict[str, Any] = LIGHT
    ) -> set[tuple[str, str]]:
        """Ask, take over the answer, and say which values it changed."""
        made, self.shown = redraw_panels(MATRIX, at, look, modes, self.shown)
        names = [name for one in MATRIX for name in values(one)]
        told = {name: value for name, value in zip(names, made, strict=True) if value is not no_update}
        self.values |= {name: value.json if isinstance(value, Encoded) else value for name, value in told.items()}
        return set(told)


def panels_of(told: set[tuple[str, str]]) -> set[str]:
    return {one.id for one in MATRIX if told & set(values(one))}


def test_the_first_answer_says_everything_and_the_second_nothing(
    answers: Context, robust: RunView, cursor: Any
) -> None:
    screen = Screen(answers)
    told = screen.ask(PanelCursor(robust, cursor))
    assert panels_of(told) == {one.id for one in MATRIX}
    before = screen.shown
    assert screen.ask(PanelCursor(robust, cursor)) == set()
    assert screen.shown == before


@pytest.mark.parametrize(("part", "value"), [("step", 3000), ("length", 5), ("head", 0)])
def test_a_move_tells_what_a_fresh_page_would_show(
    answers: Context, robust: RunView, cursor: Any, part: str, value: int
) -> None:
    screen, fresh = Screen(answers), Screen(answers)
    screen.ask(PanelCursor(robust, cursor))
    moved = PanelCursor(robust, replace(cursor, **{part: value}))
    told = screen.ask(moved)
    fresh.ask(moved)
    assert screen.values == fresh.values
    assert panels_of(told) == {one.id for one in MATRIX if part in one.needs}


def test_an_overtaken_answer_is_made_up_for(answers: Context, robust: RunView, cursor: Any) -> None:
    """Moved along the step, then, before the answer came, along the length: the first answer is never seen."""
    screen, fresh = Screen(answers), Screen(answers)
    screen.ask(PanelCursor(robust, cursor))
    moved = replace(cursor, step=3000)
    redraw_panels(MATRIX, PanelCursor(robust, moved), LIGHT, FIGURES, screen.shown)
    last = PanelCursor(robust, replace(moved, length=5))
    told = screen.ask(last)
    fresh.ask(last)
    assert screen.values == fresh.values
    assert panels_of(told) == {one.id for one in MATRIX if {"step", "length"} & set(one.needs)}


def test_a_table_and_back(answers: Context, robust: RunView, cursor: Any) -> None:
    screen, fresh = Screen(answers), Screen(answers)
    screen.ask(PanelCursor(robust, cursor))
    for k, one in enumerate(MATRIX):
        told = screen.ask(PanelCursor(robust, cursor), [*FIGURES[:k], "table", *FIGURES[k + 1 :]])
        assert panels_of(told) == {one.id} | ({MATRIX[k - 1].id} if k else set())
    moved = PanelCursor(robust, replace(cursor, step=3000))
    screen.ask(moved, ["table"] * len(MATRIX))
    screen.ask(moved)
    fresh.ask(moved)
    assert screen.values == fresh.values


def test_a_theme_redraws_every_panel(answers: Context, robust: RunView, cursor: Any) -> None:
    screen = Screen(answers)
    screen.ask(PanelCursor(robust, cursor))
    assert panels_of(screen.ask(PanelCursor(robust, cursor), look={"theme": "dark", "size": 11})) == {
        one.id for one in MATRIX
    }


def test_another_run_is_never_taken_for_this_one(answers: Context, robust: RunView, cursor: Any) -> None:
    """Not even if its rows are the same, as those of a copied folder are."""
    screen = Screen(answers)
    screen.ask(PanelCursor(robust, cursor))
    copy = replace(robust, run=replace(robust.run, name="copy"))
    assert (copy.name, copy.signature) == ("copy", robust.signature)
    assert set(screen.shown) == {one.id for one in MATRIX}
    old = {name: marks[0] for name, marks in screen.shown.items()}
    screen.ask(PanelCursor(copy, replace(cursor, run="copy")))
    assert all(marks[0] != old[name] for name, marks in screen.shown.items())


def test_a_run_without_rows_says_so_in_every_panel_and_recovers(answers: Context, robust: RunView, cursor: Any) -> None:
    bare = answers.store.run("majority-learned-s0")
    assert bare is not None
    screen, fresh = Screen(answers), Screen(answers)
    screen.ask(PanelCursor(bare, replace(cursor, run=bare.name)))
    said = [screen.values[f"{one.id}-body", "className"] for one in MATRIX]
    assert said == ["body stated speaks", "body stated silent", "body stated silent"] * 3, "each row says it once"
    assert screen.ask(PanelCursor(bare, replace(cursor, run=bare.name))) == set()
    screen.ask(PanelCursor(robust, cursor))
    fresh.ask(PanelCursor(robust, cursor))
    assert screen.values == fresh.values


def test_what_is_encoded_once_is_read_as_what_it_was(answers: Context, robust: RunView, cursor: Any) -> None:
    """As Dash writes an answer: figures, numbers that are not finite, text that needs escaping, components."""
    strange = {"y": [1.5, math.nan, None], "text": 'a "b"\n\u00d7', "child": html.P("1 < 2")}
    for value in (strange, plot(MATRIX[0], PanelCursor(robust, cursor), LIGHT, "figure")[0]):
        plain, once = ({"response": {"graph": {"figure": one}}} for one in (value, Encoded(value)))
        assert json.loads(to_json(once)) == json.loads(to_json(plain))


@pytest.mark.parametrize("path", ["/run", "/checkpoint", "/compare"])
@pytest.mark.parametrize("run", ["majority-nope-s0", "majority-learned-s0"])
def test_a_group_is_on_a_page_whole_or_not_at_all(small_root: Path, path: str, run: str) -> None:
    """A browser never asks a question of which one answer has no place: its panels would stay empty without a word."""
    app = create_app(small_root)
    made = app.server.extensions["lengthlens"]
    try:
        content, _, _ = router.page(made, path, f"?run={run}&run2=flip_flop-rotary-s0")
    finally:
        made.close()
    here = ids(content)
    groups = [text.strip(".").split("...") for text in app.callback_map if "-shown.data" in text]
    parts = [{name.rsplit(".", 1)[0] for name in group} for group in groups]
    assert all(group <= here or not group & here for group in parts)
    assert any(group <= here for group in parts)


def ids(tree: Any) -> set[str]:
    """Ids of all components of a tree."""
    if isinstance(tree, (list, tuple)):
        return {name for one in tree for name in ids(one)}
    own = {tree.id} if isinstance(getattr(tree, "id", None), str) else set()
    return own | (ids(tree.children) if getattr(tree, "children", None) is not None else set())
