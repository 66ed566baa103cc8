"""From a key on a slider to the changed picture, in a real browser.

A move ends with the frame after the last redraw of a panel that can be seen. A headless Chromium draws with the
processor, which is slower than any reader's screen, on the same cores as the server.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.dashboard.screenshots import ARGUMENTS, SETTLED, SIZE, find_browser, wait_until

OPENS_MS, QUIET_MS, PATIENCE_MS = 60_000, 700, 5_000
WATCH = """(quiet) => {
  const BODY = ".body figure, .body .heads";
  const seen = (node) => { const r = node.getBoundingClientRect(); return r.bottom > 0 && r.top < innerHeight; };
  window.moved = (patience) => new Promise((done) => {
    const begin = performance.now();
    let first = null, last = null, timer = setTimeout(() => done([null, null]), patience);
    const redrawn = (panels) => {
      if (!panels.some(seen)) return;
      requestAnimationFrame(() => setTimeout(() => {
        last = performance.now() - begin;
        first = first === null ? last : first;
        clearTimeout(timer);
        timer = setTimeout(() => { watcher.disconnect(); done([first, last]); }, quiet);
      }));
    };
    const watcher = new MutationObserver((all) => redrawn(all.map((m) => m.target.closest(BODY)).filter(Boolean)));
    for (const body of document.querySelectorAll(BODY)) watcher.observe(body, { subtree: true, childList: true });
  });
}"""


def painted(port: int, run: str, keys: Sequence[tuple[str, str]]) -> list[tuple[float, float]] | None:
    """Milliseconds from each key to the first and to the last redrawn panel in view.

    Args:
        port: where the dashboard is served on this machine.
        run: whose page is opened.
        keys: names of a slider and of a key.

    Returns:
        A pair for each key; None where there is no browser.

    Raises:
        RuntimeError: if a key redraws nothing.
    """
    if find_browser() is None:
        return None
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": SIZE[0], "height": SIZE[1]})
        page.set_default_timeout(OPENS_MS)
        page.goto(f"http://127.0.0.1:{port}/run?run={run}")
        wait_until(page, SETTLED, OPENS_MS / 1000)
        page.wait_for_timeout(3 * QUIET_MS)
        page.evaluate(WATCH, QUIET_MS)
        found = [_moved(page, slider, key) for slider, key in keys]
        browser.close()
    return found


def _moved(page: Any, slider: str, key: str) -> tuple[float, float]:
    page.get_by_role("slider", name=slider).focus()
    page.evaluate(f"void (window.result = window.moved({PATIENCE_MS}))")
    page.keyboard.press(key)
    first, last = page.evaluate("window.result")
    if last is None:
        raise RuntimeError(f"{key} on {slider!r} redrew nothing within {PATIENCE_MS} ms")
    return first, last
