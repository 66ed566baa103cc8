"""Back undoes moves of step, length and head, each after a second of rest."""

from __future__ import annotations

from typing import Any

from tests.support.dashboard.browsing import drawn, has, needs_browser, rested, settled

pytestmark = needs_browser
REST = 1300
"""Milliseconds after which the next move is an entry of the history of its own."""


def test_back_undoes_three_moves_one_by_one(page: Any, gallery: str) -> None:
    page.goto(f"{gallery}/run?run=flip_flop_rotary_s0")
    drawn(page)
    rested(page)
    page.wait_for_timeout(REST)
    entries = page.evaluate("history.length")
    places = [page.url]
    for key, part in (("ArrowLeft", "step="), ("ArrowDown", "len="), ("]", "head=")):
        page.keyboard.press(key)
        settled(page, lambda part=part: part in page.url)
        rested(page)
        page.wait_for_timeout(REST)
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


def test_moves_without_rest_are_one_entry_and_other_choices_none(page: Any, gallery: str) -> None:
    page.goto(f"{gallery}/run?run=flip_flop_rotary_s0")
    drawn(page)
    rested(page)
    page.wait_for_timeout(REST)
    entries = page.evaluate("history.length")
    for _ in range(3):
        page.keyboard.press("ArrowDown")
    settled(page, lambda: "len=48" in page.url)
    page.wait_for_timeout(REST)
    page.keyboard.press("x")
    settled(page, lambda: "axis=length" in page.url)
    assert page.evaluate("history.length") == entries + 1
    page.go_back()
    settled(page, lambda: "len=" not in page.url)
