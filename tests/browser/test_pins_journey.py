"""A reader pins panels to the top of the Run page and orders them; the address keeps both."""

from __future__ import annotations

from typing import Any

from tests.support.dashboard.browsing import drawn, needs_browser, settled

pytestmark = needs_browser
PINNED = "[...document.querySelectorAll('.pinned > .pan')].map((panel) => panel.id)"


def chosen(page: Any, panel: str, item: str) -> None:
    page.click(f"#{panel}-panel .menu-button")
    page.get_by_role("menuitem", name=item, exact=True).click()


def test_panels_are_pinned_ordered_and_unpinned(page: Any, gallery: str) -> None:
    page.goto(f"{gallery}/run?run=flip_flop_rotary_s0")
    drawn(page)
    chosen(page, "failure", "Pin to the top")
    settled(page, lambda: page.evaluate(PINNED) == ["failure-panel"])
    page.wait_for_selector(".pinned #failure-body.ready")
    chosen(page, "accuracy-length", "Pin to the top")
    settled(page, lambda: page.evaluate(PINNED) == ["failure-panel", "accuracy-length-panel"])
    page.wait_for_selector(".pinned #accuracy-length-body.ready")
    chosen(page, "accuracy-length", "Move earlier")
    settled(page, lambda: page.evaluate(PINNED) == ["accuracy-length-panel", "failure-panel"])

    page.keyboard.press("ArrowLeft")
    settled(page, lambda: "step=" in page.url)
    assert "panels=accuracy-length%2Cfailure" in page.url, "a move keeps the pins"
    page.reload()
    settled(page, lambda: page.evaluate(PINNED) == ["accuracy-length-panel", "failure-panel"])
    page.wait_for_selector(".pinned #failure-body.ready")
    chosen(page, "failure", "Unpin")
    settled(page, lambda: page.evaluate(PINNED) == ["accuracy-length-panel"])
    assert page.locator(".matrix-row #failure-panel").count() == 1, "it is back in its row"
