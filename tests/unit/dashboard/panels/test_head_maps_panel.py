"""The panel of all heads: what it shows while its job stands as it does, and what is said where no frame can be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from dash import no_update

from tests.support.dashboard.answers import LIGHT, texts
from workbench.dashboard.panels.sequence import head_maps_panel
from workbench.dashboard.panels.sequence.head_maps_panel import PALE, PANEL, READY, STATE, TABLE, render_maps
from workbench.dashboard.server.worker import Job
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.run_view import RunView
from workbench.measure.edits.reading import HeadMaps

COSTS = {(0, 1): {"value": 0.5, "shown": True, "text": "accuracy drops by 0.50"}}


@pytest.fixture
def found() -> HeadMaps:
    maps = np.where(np.tril(np.ones((5, 5), dtype=bool)), 0.2, np.nan).astype(np.float32)
    return HeadMaps(np.broadcast_to(maps, (2, 4, 5, 5)), ["<bos>", "1", "0", "1", "1"], True, 4, 1, 1000)


def test_it_says_how_far_it_is_and_keeps_what_is_on_screen_meanwhile(robust: RunView, cursor: Cursor) -> None:
    working = Job(state="running", done=1, total=2, doing="attention of every head")
    first = render_maps(working, robust, cursor, LIGHT, "figure", False)
    assert (first[0], first[6]) == (no_update, STATE)
    assert "attention of every head · 1 of 2" in texts(first[2])
    later = render_maps(working, robust, cursor, LIGHT, "figure", True)
    assert later[6] == PALE
    assert set(map(id, (*later[:6], later[7]))) == {id(no_update)}
    failed = render_maps(Job(state="failed", error="the sequence is too long"), robust, cursor, LIGHT, "figure", True)
    assert failed[6] == STATE
    assert "the sequence is too long" in texts(failed[2])


def test_maps_tokens_and_costs_are_those_of_the_answer(
    robust: RunView, cursor: Cursor, found: HeadMaps, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(head_maps_panel, "costs_at", lambda *_: COSTS)
    done = Job(state="done", result=found)
    figure, _, state, slice_text, says, alt, kind, words = render_maps(done, robust, cursor, LIGHT, "figure", False)
    assert (kind, state) == (READY, [])
    assert "2 × 4 heads · 5 positions" in slice_text
    assert "each opens on its own" in alt
    assert figure["layout"]["meta"]["maps"] == {"layers": 2, "heads": 4, "across": False, "fill": 5 / 6, "cells": 5}
    assert says == [
        "Frames mark 1 of 1 heads: ablating each of these heads lowers accuracy significantly at step 1,000 and length 200."
    ]
    assert (words["tokens"], words["cells"], words["prefix"]) == (found.tokens, [0, 1, 2, 3, 4], [0, 1, 2, 3, 4])
    assert words["costs"] == {"0.1": "accuracy drops by 0.50"}
    table = render_maps(done, robust, cursor, LIGHT, "table", False)
    assert table[6] == TABLE
    assert "120 rows" in texts(table[1])


def test_long_sequences_list_the_first_token_of_each_cell(robust: RunView, cursor: Cursor, found: HeadMaps) -> None:
    long = replace(found, tokens=["1"] * 5000, pool=1000, bos=False)
    words = head_maps_panel.words(robust, cursor, long, {})
    assert (words["cells"], words["prefix"]) == ([0, 1, 2, 3, 4], [1, 1001, 2001, 3001, 4001])


def test_where_no_frame_can_be_it_is_said_why(robust: RunView, cursor: Cursor) -> None:
    (text,) = head_maps_panel.frames_note(robust, cursor, {})
    assert text == "No frames: ablation is not measured for this run."


def test_the_snippet_asks_for_the_same_sequence(robust: RunView, cursor: Cursor) -> None:
    code = PANEL.snippet(robust, replace(cursor, sample=3), {})
    compile(code, "snippet", "exec")
    assert "1000, {'law': 'matched', 'length': 200, 'seed': 3})" in code


def test_the_row_has_room_for_its_maps(robust: RunView) -> None:
    from workbench.dashboard.pages.run import all_heads

    (row,) = all_heads(robust)
    style: Any = row.style
    assert (style["--rows"], style["--columns"]) == ("2", "4")
