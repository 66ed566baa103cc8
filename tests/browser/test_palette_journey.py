"""The command palette in a real browser: opened by key and button, found by parts of names, left by Escape."""

from __future__ import annotations

from typing import Any

from tests.support.dashboard.browsing import counts, drawn, needs_browser, rested, says, settled

pytestmark = needs_browser

INSIDE = """() => {
  const box = document.getElementById("term-tie-set").getBoundingClientRect();
  return box.top > 44 && box.bottom < innerHeight;
}"""


def asked(page: Any, typed: str, kind: str, name: str) -> None:
    """Open the palette, type, and wait for what stands first."""
    page.keyboard.press("Control+k")
    page.wait_for_selector("dialog[open] [role=combobox]")
    page.keyboard.type(typed)
    first = page.locator("#palette-list [role=option]").first
    settled(page, lambda: first.locator(".kind").inner_text() == kind and first.locator(".name").inner_text() == name)


def test_everything_is_found_by_a_part_of_its_name(page: Any, address: str) -> None:
    page.goto(f"{address}/run?run=majority-nope-s0")
    drawn(page)
    page.click("#palette-open")
    page.wait_for_selector("dialog[open]")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "combobox"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.getAttribute('role')") == "combobox", "the focus stays inside"
    page.keyboard.press("ArrowDown")
    settled(page, lambda: page.get_attribute("dialog [role=combobox]", "aria-activedescendant") == "palette-1")
    assert page.get_attribute("#palette-1", "aria-selected") == "true"
    page.keyboard.press("Escape")
    counts(page, "dialog", 0)
    assert page.evaluate("document.activeElement.id") == "palette-open", "and goes back where it was"

    asked(page, "l1h2", "Head", "L1H2")
    page.keyboard.press("Enter")
    settled(page, lambda: "layer=1&head=2" in page.url)
    asked(page, "step 1000", "Step", "step 1,000")
    page.keyboard.press("Enter")
    says(page, "#step-value", "1,000")
    asked(page, "hardmax dist", "Quantity", "hardmax distance")
    page.keyboard.press("Enter")
    counts(page, ".pan.marked", 1)
    assert "heads-training" in page.get_attribute(".pan.marked", "id")
    asked(page, "dark", "Command", "Dark theme")
    page.keyboard.press("Enter")
    settled(page, lambda: page.get_attribute("html", "data-mantine-color-scheme") == "dark")
    asked(page, "flip", "Run", "flip_flop-rotary-s0")
    page.locator("#palette-list [role=option]").first.click()
    settled(page, lambda: "run=flip_flop-rotary-s0" in page.url)
    drawn(page)
    rested(page)
    asked(page, "tie set", "Term", "tie set")
    page.keyboard.press("Enter")
    settled(page, lambda: page.url.endswith("/glossary#term-tie-set"))
    page.wait_for_selector("#term-tie-set")
    settled(page, lambda: page.evaluate(INSIDE))
