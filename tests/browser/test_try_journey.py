"""Journeys through Checkpoint and Try it in a real browser, on a shipped run: an empty console, no foreign request."""

from __future__ import annotations

import io
import re
from typing import Any

import pandas as pd
import pytest

from tests.support.dashboard.browsing import counts, has, mentions, needs_browser, points, settled

RUN = "majority_nope_s0"

pytestmark = needs_browser


@pytest.fixture
def address(gallery: str) -> str:
    """The dashboard over the shipped runs: these pages need weights."""
    return gallery


def test_a_link_restores_a_checkpoint_and_keys_move_its_query(page: Any, address: str) -> None:
    page.goto(f"{address}/checkpoint?run={RUN}&len=63&head=1&layer=0&view=score&pos=44&site=0")
    page.wait_for_selector("#seq-body.ready")
    strip = page.locator("#seq-board-strip")
    settled(page, lambda: strip.get_attribute("aria-valuenow") == "44")
    counts(page, "#seq-board-strip span", 64)
    counts(page, "#seq-marks .outline", 1)
    mentions(page, "#head-line", "L0H1")
    settled(page, lambda: page.locator(".head-grid-table tr.on").inner_text().startswith("L0H1"))

    page.wait_for_selector("#seq-graph .nsewdrag")
    box = page.locator("#seq-graph .nsewdrag").nth(0).bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 0.5 * box["height"])
    page.wait_for_selector("#seq-graph .hovertext text")
    label = page.locator("#seq-graph .hovertext text")
    settled(page, lambda: re.match(r"query 3\d “[01]” · key 1\d “[01]”", label.text_content()))
    settled(page, lambda: label.bounding_box()["width"] > 60)  # one that nobody can read is as wide as nothing
    settled(page, lambda: strip.get_attribute("aria-valuenow").startswith("3"))
    page.mouse.move(5, 5)

    strip.focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    has(page, "#seq-board-strip", "aria-valuenow", "33")
    settled(page, lambda: "pos=33" in page.url)
    mentions(page, "#seq-board-note", "Query at prefix 33")
    assert "step=" not in page.url  # the cursor's own keys are left alone here

    page.click(".head-grid-table button[data-pick-head='1.0']")
    settled(page, lambda: "layer=1" in page.url)
    mentions(page, "#head-line", "L1H0")
    assert all(part in page.url for part in ("view=score", "site=0", "pos=33"))

    page.focus("#seq-panel")
    page.keyboard.press("t")
    page.wait_for_selector("#seq-body.tabled table")
    counts(page, "#seq-table tbody tr", 64)


def test_a_sequence_is_typed_edited_and_told_apart_from_a_wrong_one(page: Any, address: str) -> None:
    page.goto(f"{address}/try?run={RUN}&layer=0&head=0")
    page.wait_for_selector("#try-clean-body.ready")
    settled(page, page.locator("#try-edited-panel").is_hidden)
    settled(page, lambda: page.input_value("#try-text") != "")  # the sample is written there once it is drawn
    page.fill("#try-text", "0110")
    settled(page, lambda: page.input_value("#try-text") == "0110")
    late = "dash_clientside.sequence.sampled({text: '111'}, {})"
    page.focus("#try-text")
    assert page.evaluate(f"{late} === dash_clientside.no_update"), "what is typed is not written over"
    page.evaluate("document.activeElement.blur()")
    assert page.evaluate(late) == "111"
    page.press("#try-text", "Enter")
    settled(page, lambda: "seq=0110" in page.url)
    counts(page, "#try-board-strip span", 5)

    page.click("#try-add")
    settled(page, lambda: "edits=zero.0.0" in page.url)
    page.wait_for_selector("#try-change-body.ready")
    mentions(page, "#try-board-note h1", ", edited ")
    settled(page, lambda: page.inner_text("#try-chips").startswith("ablate L0H0 (zero)"))

    query = page.url.partition("?")[2]
    rows = pd.read_csv(io.BytesIO(page.request.get(f"{address}/data/try-edited.csv?{query}").body()))
    assert set(rows["row"]) == {"pattern", "summary", "position"}
    assert len(rows[rows["row"] == "pattern"]) == 15
    answers = pd.read_csv(io.BytesIO(page.request.get(f"{address}/data/try-answers.csv?{query}").body()))
    assert answers.groupby("part").size().to_dict() == {"clean": 10, "edited": 10}

    page.fill("#try-text", "01x0")
    page.click("#try-run")
    page.wait_for_selector("#try-clean-body.stated")
    mentions(page, "#try-board-note", "Unknown token “x” (character 3); the tokens are 0, 1.")

    page.go_back()  # the page before this one, of which there is none: the address stays whole
    page.goto(f"{address}/try?{query}")
    page.wait_for_selector("#try-change-body.ready")
    page.click("[data-drop-edit='zero.0.0']")
    settled(page, lambda: "edits=" not in page.url)
    settled(page, lambda: page.locator("#try-edited-panel").is_hidden())


def test_a_diagnosed_run_opens_as_a_story_whose_strength_is_in_the_link(page: Any, address: str) -> None:
    page.goto(f"{address}/try?run=flip_flop_rotary_s0")
    page.wait_for_selector("#try-answers-body.ready")
    mentions(page, "#try-board-note h1", "As is: 116 of 128 prefixes right; with ids interpolated: 128 of 128.")
    mentions(page, "#try-board-note", "This is number 5 of 64 matched test sequences of length 128")
    counts(page, "#try-board-strip .decides", 1)
    settled(page, lambda: page.locator("#try-board-strip .decides").inner_text() == "w0")
    assert page.locator("#try-answers-panel").bounding_box()["y"] < page.locator("#try-clean-panel").bounding_box()["y"]
    assert not page.locator(".for-switch").is_visible()

    page.locator("#try-strength [role=slider]").focus()
    page.keyboard.press("Home")
    settled(page, lambda: "strength=0" in page.url)
    assert "pick=wrong" in page.url
    assert "edits=P.int" in page.url
    mentions(page, "#try-board-note h1", "with ids interpolated at strength 0.00: 116 of 128.")
    page.reload()
    page.wait_for_selector("#try-answers-body.ready")
    mentions(page, "#try-board-note h1", "at strength 0.00: 116 of 128.")
    has(page, "#try-strength [role=slider]", "aria-valuenow", "0")

    page.click("[data-drop-edit='P.int']")
    settled(page, lambda: "edits=" not in page.url)
    settled(page, lambda: not page.locator("#try-answers-panel").is_visible())
    page.click("#try-board-resample")
    settled(page, lambda: "sample=1" in page.url and "pick=sample" in page.url)
    page.click("#try-wrong")
    settled(page, lambda: "pick=wrong" in page.url)
    mentions(page, "#try-board-note", "the first whose last answer the model gets wrong")


def test_an_intervention_with_two_states_has_a_switch(page: Any, address: str) -> None:
    page.goto(f"{address}/try?run=compiled/majority_first_32")
    page.wait_for_selector("#try-answers-body.ready")
    mentions(page, "#try-board-note h1", "with ids interpolated: ")
    settled(page, lambda: not page.locator(".for-slider").first.is_visible())
    page.locator("#try-switch").focus()
    page.keyboard.press("Space")
    settled(page, lambda: "strength=0" in page.url)
    mentions(page, "#try-board-note h1", "at strength 0.00")


def test_a_dragged_part_of_the_pattern_is_pooled_anew(page: Any, address: str) -> None:
    """257 positions are drawn 2 by 2; of the part that is dragged into view every token is a cell."""
    page.goto(f"{address}/try?run=flip_flop_rotary_s0&len=256&edits=zero.0.0")
    page.wait_for_selector("#try-edited-body.ready")
    mentions(page, "#try-clean-slice", "highest of 2 × 2 positions")
    everything = page.locator("#try-board-zoom-all")
    settled(page, everything.is_disabled)
    page.wait_for_selector("#try-edited-graph .nsewdrag")
    page.locator("#try-edited-graph").scroll_into_view_if_needed()
    plot = page.locator("#try-edited-graph .nsewdrag").first.bounding_box()  # the pattern; answers stand above
    left, top = (lambda x: plot["x"] + x * plot["width"]), (lambda y: plot["y"] + y * plot["height"])
    page.mouse.move(left(0.2), top(0.4))
    page.mouse.down()
    page.mouse.move(left(0.3), top(0.5), steps=3)
    page.mouse.move(left(0.6), top(0.8), steps=3)
    page.mouse.up()
    settled(page, lambda: "zoom=q" in page.url)
    mentions(page, "#try-board-zoom-said", "every token a cell")
    for panel in ("clean", "edited", "change"):
        settled(page, lambda panel=panel: "queries 10" in page.inner_text(f"#try-{panel}-slice"))
    first, last, start, end = map(int, re.findall(r"\d+", page.url.partition("zoom=")[2]))
    assert (first - 103) in range(-4, 5)
    assert (end - 154) in range(-4, 5)
    settled(page, everything.is_enabled)

    query = page.url.partition("?")[2]
    rows = pd.read_csv(io.BytesIO(page.request.get(f"{address}/data/try-edited.csv?{query}").body()))
    cells = rows[rows["row"] == "pattern"]
    assert len(cells) == sum(k <= q for q in range(first, last + 1) for k in range(start, end + 1))
    assert set(cells["position"]) == set(range(first, last + 1))
    assert set(rows["position"]) <= set(range(min(first, start), max(last, end) + 1))

    page.reload()
    page.wait_for_selector("#try-edited-body.ready")
    settled(page, lambda: f"queries {first} to {last} · keys {start} to {end}" in page.inner_text("#try-clean-slice"))
    settled(page, lambda: page.url.endswith(query))
    everything.click()
    settled(page, lambda: "zoom=" not in page.url)
    mentions(page, "#try-clean-slice", "2 × 2")


def test_a_part_is_reached_and_left_by_keys(page: Any, address: str) -> None:
    page.goto(f"{address}/checkpoint?run={RUN}&len=63&pos=44")
    page.wait_for_selector("#seq-body.ready")
    settled(page, lambda: page.get_attribute("#seq-board-strip", "aria-valuenow") == "44")
    said = page.locator("#seq-board-zoom-said")
    page.keyboard.press("+")
    settled(page, lambda: "queries 28 to 59" in said.inner_text())  # half as many, around the chosen one
    page.locator("[data-zoom=in]").focus()
    page.keyboard.press("ArrowUp")
    settled(page, lambda: "queries 12 to 43" in said.inner_text() and "zoom=q12-43k" in page.url)
    assert "len=63" in page.url  # the arrows moved the part, not the cursor
    page.keyboard.press("-")
    settled(page, lambda: "zoom=" not in page.url)
    settled(page, lambda: said.inner_text() == "")
    page.keyboard.press("+")
    settled(page, lambda: "zoom=q" in page.url)
    page.keyboard.press("0")
    settled(page, lambda: "zoom=" not in page.url)


def test_a_hostile_link_is_answered_in_words(page: Any, address: str) -> None:
    page.goto(f"{address}/try?run={RUN}&seq=<img src=x onerror=alert(1)>&edits=__import__&pos=..%2F..&site=9")
    page.wait_for_selector("#try-clean-body.stated")
    parts = ("edits cannot be read", "is not a prefix length", "names layer “9”")
    settled(page, lambda: all(part in page.inner_text("#banner") for part in parts))
    mentions(page, "#try-board-note", "Unknown token “<img”")
    assert page.locator("#try-board-note img").count() == 0


def test_the_code_and_its_use_have_rows_of_their_own(page: Any, address: str) -> None:
    page.goto(f"{address}/run?run={RUN}&len=63")
    for panel in ("coupling-training", "coupling-length", "selectivity-training", "erasure-length"):
        page.wait_for_selector(f"#{panel}-body.ready")
    first = points(page, "coupling-length")
    page.get_by_role("slider", name="Training step").focus()
    page.keyboard.press("Home")
    settled(page, lambda: points(page, "coupling-length") != first)
    mentions(page, "#coupling-length-graph", "not fitted")


def test_a_string_that_is_wrong_opens_in_try_it_under_the_repair_that_mends_it(page: Any, address: str) -> None:
    """What the table says of a string is what Try it finds: the right answer, the one given, and the mended one."""
    page.goto(f"{address}/run?run=flip_flop_rotary_s1")
    ask = page.locator("#wrong-strings-ask")
    ask.scroll_into_view_if_needed()
    page.wait_for_selector("#wrong-strings-section:not([hidden])")
    page.wait_for_selector("#wrong-strings table", timeout=90_000)
    assert not ask.is_visible()
    cells = page.locator("#wrong-strings tbody tr").first.locator("td").all_inner_texts()
    _, right, answered, _, _, repaired = cells
    assert repaired == "yes"
    page.locator("#wrong-strings tbody a").first.click()
    counts(page, ".edit-chip", 1)
    assert page.inner_text(".edit-chip").startswith("ids interpolated (P.int)")
    said = re.compile(rf"the oracle’s answer is {right}; the model predicts {answered} .*, edited {right} ")
    settled(page, lambda: said.search(page.inner_text("#try-board-note")))
