"""Pictures of the dashboard for the documentation: ``python -m workbench.dashboard.screenshots ROOT OUT``.

Every page in both themes, 1440 x 900, taken with a Chromium found on this machine.
"""

from __future__ import annotations

import argparse
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from workbench.dashboard.app import create_app, quiet_server
from workbench.dashboard.pages.all_pages import PAGES
from workbench.dashboard.server.chromium import ARGUMENTS as ARGUMENTS
from workbench.dashboard.server.chromium import find_browser as find_browser
from workbench.dashboard.state.cursor import link
from workbench.dashboard.state.store import Store
from workbench.storage.atomic import make_folder, write_atomic

SIZE = (1440, 900)
THEMES = ("light", "dark")
PATIENCE = 60
"""Seconds that answers about theory are waited for."""
SETTLED = (
    "[...document.querySelectorAll('.body')].every(e => e.matches('.ready, .stated') || e.closest('.lazy'))"
    " && !document.querySelector('.state .bar') && document.querySelector('#page h1, #cursorbar')"
    " && !/fitting (probes|the )/.test(document.body.textContent)"
    " && !document.body.textContent.includes('Computing what theory')"
    " && !document.body.textContent.includes('Reading the claims')"
    " && ![...document.querySelectorAll('.says')].some(e => e.textContent.includes('Working it out') || !e.textContent)"
)
"""Whether everything on a page is drawn or states why it is not, except what is drawn only once it is in view."""


@contextmanager
def serve_dashboard(root: Path) -> Iterator[str]:
    """Run the dashboard on a free port of this machine during the ``with`` block, and give its address.

    What theory expects of the runs is known before: pages show it from the start.
    """
    app = create_app(root)
    context = app.server.extensions["lengthlens"]
    for _ in range(PATIENCE):
        if None not in context.expectations.of(context.store.runs().values()).values():
            break
        time.sleep(1)
    server = quiet_server(app, "127.0.0.1", 0)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.effective_port}"
    finally:
        server.task_dispatcher.shutdown()
        server.close()  # its thread ends once the last browser has left
        context.close()


PARTS = {"run": (("why", "#diagnosis"),)}
"""Page -> name and selector of what is pictured of it by itself."""


def wait_until(page: Any, condition: str = SETTLED, patience: float = 120.0) -> None:
    """Wait until a condition is true on a page.

    Playwright's own ``wait_for_function`` evaluates text inside the page, which our pages forbid. They allow evaluation
    from outside.

    Raises:
        TimeoutError: naming the condition, if it is not so after ``patience`` seconds.
    """
    end = time.monotonic() + patience
    while not page.evaluate(condition):
        if time.monotonic() > end:
            raise TimeoutError(f"the page {page.url} does not satisfy the condition {condition} after {patience:g} s")
        page.wait_for_timeout(50)


def take(
    root: Path,
    out: Path,
    run: str | None = None,
    only: Sequence[str] = (),
    size: tuple[int, int] = SIZE,
    themes: Sequence[str] = THEMES,
) -> list[Path]:
    """Write ``PAGE-light.png`` and ``PAGE-dark.png`` for every page, and for what is pictured of it by itself.

    Args:
        root: a data root with at least one measured run.
        out: folder for the pictures.
        run: name of the run to show; None = the first measured one.
        only: names of pages, as in their addresses; empty = all.
        size: width and height of the window, pixels.
        themes: light, dark or both.

    Raises:
        SystemExit: without a Chromium, or without a measured run.
    """
    from playwright.sync_api import sync_playwright

    browser_path = find_browser()
    if browser_path is None:
        raise SystemExit("no Chromium found: install one, or name it in the variable CHROMIUM")
    measured = [name for name, view in Store([root]).runs().items() if view.measurement_names]
    if not measured:
        raise SystemExit(f"{root} holds no measured run: lengthlens measure {root} makes the rows")
    addresses = {
        page.path.strip("/") or "runs": _address(page.path, page.needs_run, run or measured[0]) for page in PAGES
    }
    make_folder(out)
    pictures: list[Path] = []
    with serve_dashboard(root) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        for theme in themes:
            window = {"width": size[0], "height": size[1]}
            page = browser.new_context(viewport=window, color_scheme=theme).new_page()
            for name, path in addresses.items():
                if only and name not in only:
                    continue
                page.goto(f"{address}{path}")
                wait_until(page)
                page.wait_for_timeout(800)
                file = out / f"{name}-{theme}.png"
                write_atomic(out, file.name, page.screenshot())
                pictures += [file, *(_part(page, out, *part, theme) for part in PARTS.get(name, ()))]
            page.context.close()
        browser.close()
    return pictures


def _part(page: Any, out: Path, name: str, selector: str, theme: str) -> Path:
    """The picture of a part of a page that stands further down, and is drawn once it is seen."""
    file, part = out / f"{name}-{theme}.png", page.locator(selector)
    part.scroll_into_view_if_needed()
    page.wait_for_timeout(400)
    wait_until(page)
    page.wait_for_timeout(1600)
    write_atomic(out, file.name, part.screenshot())
    return file


def _address(path: str, needs_run: bool, run: str) -> str:
    return link(run, path) if needs_run else path


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and take the pictures."""
    parser = argparse.ArgumentParser(description="Take pictures of the dashboard over a folder of runs.")
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--run", help="run to show (default: the first measured one)")
    parser.add_argument("--only", default="", help="comma-separated pages, e.g. run,compare (default: all)")
    parser.add_argument("--size", default="1440x900", help="window, WIDTHxHEIGHT (default: 1440x900)")
    parser.add_argument("--themes", default="light,dark", help="light, dark or both (default)")
    given = parser.parse_args(arguments)
    width, height = (int(part) for part in given.size.split("x"))
    only = [name for name in given.only.split(",") if name]
    for path in take(given.root, given.out, given.run, only, (width, height), given.themes.split(",")):
        print(path)


if __name__ == "__main__":
    main()
