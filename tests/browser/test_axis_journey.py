"""Lengths as multiples of N and in tokens, in a real browser: one switch for a whole page, in its link."""

from __future__ import annotations

from typing import Any

from tests.support.dashboard.browsing import counts, drawn, has, mentions, needs_browser, points, rested, says, settled

pytestmark = needs_browser

TICKS = "() => [...document.querySelectorAll('#accuracy-length-graph .xtick text')].map((one) => one.textContent)"


def ticks(page: Any, wanted: set[str]) -> None:
    settled(page, lambda: wanted <= set(page.evaluate(TICKS)))


def test_one_switch_tells_all_lengths_of_a_page_in_multiples_or_tokens(page: Any, address: str) -> None:
    page.goto(f"{address}/run?run=majority-nope-s0")
    drawn(page)
    says(page, "#length-value", "4 \u00d7 trained")
    says(page, "#length-where", "length 200")
    ticks(page, {"1", "2", "8"})
    lines = points(page, "accuracy-length")

    page.click("h1")
    page.keyboard.press("x")
    says(page, "#length-value", "200")
    says(page, "#length-where", "4 \u00d7 trained")
    settled(page, lambda: page.url.endswith("/run?run=majority-nope-s0&axis=length"))
    ticks(page, {"50", "400"})
    has(page, "#axis-toggle", "aria-pressed", "false")
    assert points(page, "accuracy-length") == lines, "the same marks at the same places"

    page.keyboard.press("ArrowUp")
    says(page, "#length-value", "300")
    settled(page, lambda: "len=300" in page.url and "axis=length" in page.url)

    page.click("nav a:has-text('Checkpoint')")
    says(page, "#length-value", "300")
    settled(page, lambda: "axis=length" in page.url)
    rested(page)

    page.click("#axis-toggle")
    says(page, "#length-value", "6 \u00d7 trained")
    settled(page, lambda: "axis" not in page.url)


def test_a_link_in_tokens_opens_in_tokens_and_an_unknown_axis_is_named(page: Any, address: str) -> None:
    page.goto(f"{address}/run?run=majority-nope-s0&axis=length&len=50")
    drawn(page)
    says(page, "#length-value", "50")
    ticks(page, {"50", "400"})
    page.goto(f"{address}/run?run=majority-nope-s0&axis=parsecs")
    drawn(page)
    says(page, "#length-value", "4 \u00d7 trained")
    mentions(page, "#banner", "This link gives lengths in \u201cparsecs\u201d, which is not a known unit.")


def test_compare_shows_both_runs_over_one_span_of_multiples(page: Any, address: str) -> None:
    page.goto(f"{address}/compare?run=majority-nope-s0&run2=flip_flop-rotary-s0")
    settled(page, lambda: page.locator(".matrix .body.ready").count() >= 8)
    says(page, "#length-value", "4 \u00d7 trained")
    page.click("h1.sr", force=True)
    page.keyboard.press("x")
    says(page, "#length-value", "200")
    settled(page, lambda: "axis=length" in page.url)
    mentions(page, "#cmp-accuracy-d-slice", "same share of training")
    page.click("[data-shares]")
    settled(page, lambda: page.url.endswith("axis=length&steps=step") or page.url.endswith("steps=step&axis=length"))
    has(page, "[data-shares]", "aria-pressed", "false")
    mentions(page, "#cmp-accuracy-d-slice", "same step")


PLACE = """() => {
  const body = document.getElementById("cmp-accuracy-b-body"), css = (name) => parseFloat(body.style.getPropertyValue(name));
  const box = body.querySelector(".nsewdrag").getBoundingClientRect();
  const [low, high] = [css("--x0"), css("--x1")], u = lens.stops.step.map(lens.uStep), at = Math.floor(u.length / 2);
  return { x: box.left + box.width * (u[at] - low) / (high - low), y: box.top + box.height / 2, b: lens.stops.step[at], a: lens.scale.steps[at] };
}"""
"""Where a checkpoint in the middle of B's training stands in its heatmap, and the one of A that it is paired with."""


def test_a_click_in_b_has_b_stand_there(page: Any, gallery: str) -> None:
    page.goto(f"{gallery}/compare?run=majority_nope_s0&run2=flip_flop_rotary_s0")
    counts(page, "#cmp-accuracy-b-body.ready .nsewdrag", 1)
    settled(page, lambda: page.evaluate("() => !!lens.stops && !!lens.beside"))
    page.wait_for_timeout(300)
    place = page.evaluate(PLACE)
    assert place["a"] != place["b"], "steps that are equal would tell nothing"
    page.mouse.click(place["x"], place["y"])
    says(page, "#step-value", f"{place['a']:,}")
    settled(page, lambda: abs(page.evaluate("() => 2 ** lens.beside.step - 1") - place["b"]) < 0.5)
