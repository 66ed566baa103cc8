"""The guided tour in a real browser: begun by its button, walked by keys, left at any stop."""

from __future__ import annotations

from typing import Any

from tests.support.dashboard.browsing import counts, mentions, needs_browser, says, settled

pytestmark = needs_browser


def outlined(page: Any, ident: str) -> None:
    settled(page, lambda: page.locator(f"#{ident}.toured").count() == 1)


def test_seven_stops_from_the_verdict_to_theory_and_out_again(page: Any, gallery: str) -> None:
    page.goto(f"{gallery}/")
    page.click("[data-tour]")
    page.wait_for_selector(".tour")
    says(page, "#tour-place", "Stop 1 of 7")
    assert page.evaluate("document.activeElement.id") == "tour-next"
    outlined(page, "verdict-line")
    assert page.inner_text("#verdict-line") in page.inner_text("#tour-text"), "the tour says what the page says"
    for ident in ("accuracy-length-panel", "decodability-length-panel", "heads-length-panel"):
        page.keyboard.press("ArrowRight")
        outlined(page, ident)
    page.keyboard.press("ArrowLeft")
    outlined(page, "decodability-length-panel")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    says(page, "#tour-title", "A sequence that the model gets wrong")
    settled(page, lambda: "/try?" in page.url and "seq=" in page.url)
    outlined(page, "try-clean-panel")
    mentions(page, "#try-board-note", "the oracle\u2019s answer is")
    mentions(page, "#tour-more", "sequences are answered wrong")
    page.click("#tour-next")
    settled(page, lambda: "edits=" in page.url)
    outlined(page, "try-edited-panel")
    page.click("#tour-next")
    says(page, "#tour-title", "What theory expects")
    settled(page, lambda: "/theory?" in page.url)
    page.keyboard.press("Escape")
    counts(page, ".tour, .toured", 0)


def test_each_row_says_how_it_is_read_and_its_jargon_what_it_means(page: Any, gallery: str) -> None:
    page.goto(f"{gallery}/run?run=majority_nope_s0")
    page.wait_for_selector(".rail .how")
    assert page.locator(".matrix-row > .rail").count() == page.locator(".matrix-row > .rail > .how").count()
    first = page.locator(".rail .how").first
    assert first.locator("p").is_hidden()
    first.locator("summary").click()
    first.locator("p").wait_for(state="visible")
    first.locator(".jargon", has_text="challenge").focus()
    page.wait_for_selector("#about")
    mentions(page, "#about", "neither the first nor the last N tokens")
