"""Back undoes moves of step, length and head, each after a second of rest."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dashboard.browsing import drawn, has, needs_browser, rested, settled

pytestmark = needs_browser
PRESS_TOGETHER = """(keys) => {
  for (const key of keys) document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
}"""
"""Presses keys before the page can draw what the first of them moved."""


def at_rest(page: Any) -> None:
    """Wait until the page is drawn and the next move is an entry of the history of its own."""
    rested(page)
    settled(page, lambda: page.evaluate("window.lens.isRested()"))


def test_back_undoes_three_moves_one_by_one(page: Any, gallery: str) -> None:
    page.goto(f"{gallery}/run?run=flip_flop_rotary_s0")
    drawn(page)
    at_rest(page)
    entries = page.evaluate("history.length")
    places = [page.url]
    for key, part in (("ArrowLeft", "step="), ("ArrowDown", "len="), ("]", "head=")):
        page.keyboard.press(key)
        settled(page, lambda part=part: part in page.url)
        at_rest(page)
        places.append(page.url)
    assert len(set(places)) == 4
    assert page.evaluate("history.length") == entries + 3

    for place in places[-2::-1]:
        page.go_back()
        settled(page, lambda place=place: page.url == place)
        rested(page)
        assert page.url == place, "what is drawn there writes no other address"
    has(page, "#step-slider [role=slider]", "aria-valuetext", "1,200, checkpoint 9 of 9")
    page.go_forward()
    settled(page, lambda: page.url == places[1])
    has(page, "#step-slider [role=slider]", "aria-valuetext", "800, checkpoint 8 of 9")


def test_keys_pressed_together_all_count_as_one_entry_and_other_choices_make_none(page: Any, gallery: str) -> None:
    page.goto(f"{gallery}/run?run=flip_flop_rotary_s0")
    drawn(page)
    at_rest(page)
    entries = page.evaluate("history.length")
    page.evaluate(PRESS_TOGETHER, ["ArrowDown", "ArrowDown", "ArrowDown"])
    settled(page, lambda: "len=48" in page.url)
    at_rest(page)
    page.keyboard.press("x")
    settled(page, lambda: "axis=length" in page.url)
    assert page.evaluate("history.length") == entries + 1
    page.go_back()
    settled(page, lambda: "len=" not in page.url)


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        (["ArrowLeft", "ArrowLeft"], "step=400"),
        (["]", "]", "]"], "layer=0&head=0"),
        (["[", "]", "]"], "layer=1&head=0"),
    ],
)
def test_no_key_pressed_together_with_others_is_lost(page: Any, gallery: str, keys: list[str], place: str) -> None:
    page.goto(f"{gallery}/run?run=flip_flop_rotary_s0")
    drawn(page)
    at_rest(page)
    page.evaluate(PRESS_TOGETHER, keys)
    settled(page, lambda: place in page.url, seconds=60)
