"""All heads on one sequence, in a real browser: computed once seen, lit together, each opening on its own."""

from __future__ import annotations

from typing import Any

from tests.support.dashboard.browsing import counts, drawn, mentions, needs_browser, says, settled

pytestmark = needs_browser

LIT = "() => getComputedStyle(document.getElementById('maps-links')).getPropertyValue('--from')"
AT = """() => document.querySelector('#maps-strip .on')?.dataset.at"""


def test_heads_are_asked_for_when_seen_lit_together_and_open_on_their_own(page: Any, gallery: str) -> None:
    asked: list[str] = []
    page.on("request", lambda one: asked.append(one.post_data or "") if one.method == "POST" else None)
    page.goto(f"{gallery}/run?run=majority_nope_s0&step=63")
    drawn(page)
    page.wait_for_timeout(500)
    sent = '"id":"maps-at","property":"data","value":{'
    assert not [one for one in asked if sent in one], "nothing is asked for what nobody sees"

    page.locator("#maps-panel").scroll_into_view_if_needed()
    page.wait_for_selector("#maps-body.ready")
    counts(page, "#maps-links a", 4)
    settled(page, lambda: [one for one in asked if sent in one])
    mentions(page, "#maps-says", "lowers accuracy significantly at step 63 and length 125")

    page.hover("#maps-strip span:nth-child(31)")
    settled(page, lambda: abs(float(page.evaluate(LIT)) - 15 / 63) < 1e-9)
    page.focus("#maps-strip")
    page.keyboard.press("Home")
    page.keyboard.press("ArrowRight")
    settled(page, lambda: page.get_attribute("#maps-strip", "aria-valuetext").startswith("prefix 1, token "))
    box = page.locator("#maps-links a").nth(3).bounding_box()
    page.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 0.3 * box["height"])
    settled(page, lambda: page.evaluate(AT) in ("62", "63"))

    page.locator("#maps-links a").nth(3).click()
    settled(page, lambda: "/checkpoint?" in page.url and "step=63" in page.url)
    page.wait_for_selector("#seq-body.ready")
    mentions(page, "#head-line", "L1H1")
    says(page, "#length-where", "length 125")


def test_checkpoint_opens_with_all_heads_and_a_map_selects_its_head(page: Any, gallery: str) -> None:
    page.goto(f"{gallery}/checkpoint?run=majority_nope_s0&step=63&layer=0&head=0")
    page.wait_for_selector("#maps-body.ready")
    assert page.evaluate("window.scrollY") == 0
    box = page.locator(".maps-plot").bounding_box()
    assert box["y"] + box["height"] <= 900, "the maps are in the first screen"
    assert page.locator(".pan").first.get_attribute("id") == "maps-panel"
    counts(page, "#maps-links a", 4)
    settled(page, lambda: page.locator("#maps-links a.on").get_attribute("aria-label").startswith("Open L0H0"))
    page.locator("#maps-links a").nth(3).click()
    settled(page, lambda: "layer=1&head=1" in page.url)
    mentions(page, "#head-line", "L1H1")
    settled(page, lambda: page.locator("#maps-links a.on").get_attribute("aria-label").startswith("Open L1H1"))
