"""A reader looks for a claim: filters, a click on a line, its numbers, its link, and the way back."""

from __future__ import annotations

from typing import Any

from tests.support.dashboard.browsing import has, mentions, needs_browser, says, settled

pytestmark = needs_browser
ROWS = "#claims-grid .ag-center-cols-container .ag-row"


def test_a_claim_is_found_by_filters_and_its_link_shows_it_again(page: Any, gallery: str) -> None:
    page.goto(f"{gallery}/claims")
    page.wait_for_selector("#claim-details h2")
    page.wait_for_selector(ROWS)
    says(page, "#claim-details h2", "QB01")
    page.fill("#claims-filter", "tomita positions")
    mentions(page, "#claims-shown", " of 281 claims")
    settled(page, lambda: "Tomita" in page.locator(ROWS).first.inner_text())
    page.locator(ROWS, has_text="HF04").click()
    says(page, "#claim-details h2", "HF04")
    settled(page, lambda: "claim=HF04" in page.url and "filter=" in page.url)
    assert page.locator("#claim-details .number:not(.median)").count() >= 6
    mentions(page, "#claim-details", "lengthlens reproduce HF04")
    page.reload()
    page.wait_for_selector(ROWS)
    says(page, "#claim-details h2", "HF04")
    assert page.input_value("#claims-filter") == "tomita positions"
    has(page, f"{ROWS}:has-text('HF04')", "aria-selected", "true")


def test_on_a_phone_the_list_has_one_column(page: Any, gallery: str) -> None:
    page.set_viewport_size({"width": 390, "height": 844})
    page.goto(f"{gallery}/claims?claim=HF04")
    page.wait_for_selector(ROWS)
    settled(page, lambda: page.locator("#claims-grid .ag-header-cell").count() == 1)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    settled(page, lambda: page.locator(ROWS, has_text="HF04").count() == 1)
