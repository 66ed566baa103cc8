"""What changes by itself: pages as a list where their links do not fit, a server that has gone, a run in training."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from tests.support.dashboard import fakes
from tests.support.dashboard.browsing import SIZE, TIMEOUT, has, needs_browser, rested, settled, visiting
from workbench.dashboard import screenshots
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.pages.base import FreePage

pytestmark = needs_browser
AT_200 = {"width": 720, "height": 450}
PHONE = {"width": 390, "height": 844}
ABOUT = "run=flip_flop_rotary_s0"
BEYOND = """() => [...document.querySelectorAll("body *")]
  .filter((one) => one.getBoundingClientRect().right > document.documentElement.clientWidth + 0.5)
  .map((one) => one.id || String(one.className)).slice(0, 8)"""
"""What stands out of the window, for the message of a failure."""


def test_at_200_percent_the_pages_are_a_list_below_a_button(page: Any, address: str) -> None:
    page.set_viewport_size(AT_200)
    page.goto(f"{address}/glossary")
    page.wait_for_selector("#behaviour")
    assert page.locator("#nav a:visible").all_inner_texts() == ["Glossary"], "where one is"
    page.click("#nav-toggle")
    has(page, "#nav-toggle", "aria-expanded", "true")
    names = ["Runs", "Run", "Checkpoint", "Try it", "Compare", "Sweep", "Theory", "Claims", "Glossary"]
    assert page.locator("#nav a:visible").all_inner_texts() == names
    page.keyboard.press("Escape")
    has(page, "#nav-toggle", "aria-expanded", "false")
    assert page.evaluate("document.activeElement.id") == "nav-toggle"
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")  # the brand
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_selector(".ag-row")
    has(page, "#nav-toggle", "aria-expanded", "false")
    assert page.evaluate("document.documentElement.scrollWidth") <= AT_200["width"], "nothing stands out of the window"
    page.mouse.wheel(0, 300)
    settled(page, lambda: page.evaluate("window.scrollY") > 0)
    top = page.evaluate("document.querySelector('.header').getBoundingClientRect().bottom")
    assert top <= 0, "a low window keeps no bar"


def test_no_page_is_wider_than_a_phone(page: Any, gallery: str) -> None:
    """Every page, and the pages that are longer under some links."""
    page.set_viewport_size(PHONE)
    addresses = [
        one.path if isinstance(one, FreePage) and not one.needs_run else f"{one.path}?{ABOUT}" for one in PAGES
    ]
    for address in [*addresses, f"/compare?{ABOUT}&configs=majority_nope_s0", "/?seeds=1"]:
        page.goto(gallery + address)
        page.wait_for_selector("#page h1, #cursorbar")
        screenshots.wait_until(page)
        rested(page)
        wide = page.evaluate("document.documentElement.scrollWidth")
        assert wide <= PHONE["width"], (address, wide, page.evaluate(BEYOND))
        if address == "/sweep":
            step, length = (page.locator(f"#sweep-{name}").bounding_box() for name in ("step", "length"))
            assert step["y"] + step["height"] <= length["y"], "one slider below the other"


def test_a_server_that_has_gone_is_said_and_found_again(browser: Any, address: str) -> None:
    """Its console is not asked: a browser writes there whatever it could not load."""
    page = browser.new_context(viewport=SIZE).new_page()
    page.set_default_timeout(TIMEOUT)
    page.goto(f"{address}/")
    page.wait_for_selector(".ag-row")
    assert page.locator("#offline").is_hidden()
    page.context.set_offline(True)
    settled(page, lambda: page.locator("#offline").is_visible())
    said = page.inner_text("#offline")
    assert said.startswith("The server does not answer. The page shows what it loaded last.")
    assert "lengthlens app " in said
    page.context.set_offline(False)
    settled(page, lambda: page.locator("#offline").is_hidden())
    settled(page, lambda: page.inner_text("#age") in ("read 0 s ago", "read 1 s ago", "read 2 s ago"))
    page.context.close()


def test_a_run_in_training_is_followed_in_its_row(page: Any, tmp_path: Path) -> None:
    path = fakes.write_run(tmp_path, fakes.UNMEASURED, (0, 10))
    with visiting(page, tmp_path) as address:
        page.goto(f"{address}/")
        page.wait_for_selector(".ag-row")
        row = page.locator(".ag-row").first
        assert "inside" not in row.inner_text()
        for steps in ((20,), (20, 40)):
            fakes.go_on_training(path, fakes.UNMEASURED, steps)
            settled(page, lambda steps=steps: f"{steps[-1]} of " in row.inner_text())
            last = fakes.log_line(fakes.UNMEASURED, steps[-1])
            settled(page, lambda last=last: f"{last['accuracy_out']:.2f} at 2 \u00d7 N" in row.inner_text())
        (path / "live.jsonl").unlink()
        settled(page, lambda: not re.search(r"\d of ", row.inner_text()) and "inside" not in row.inner_text())
