"""Pictures of the dashboard for the README: ``python -m workbench.dashboard.pictures ROOT OUT``.

Both pages in both themes, 1440 x 900, taken with a Chromium found on this machine.
"""

from __future__ import annotations

import argparse
import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from workbench.dashboard.create import create_app, quiet_server
from workbench.dashboard.cursor import link
from workbench.dashboard.store import Store

SIZE = {"width": 1440, "height": 900}
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def find_browser() -> str | None:
    """Path of a Chromium: the variable ``CHROMIUM``, else one of the usual names."""
    named = os.environ.get("CHROMIUM")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def served(root: Path) -> Iterator[str]:
    """The dashboard on a free port of this machine, as long as the block runs; gives its address."""
    app = create_app(root)
    server = quiet_server(app, "127.0.0.1", 0)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        app.server.extensions["lengthlens"].close()


def take(root: Path, out: Path, run: str | None = None) -> list[Path]:
    """Write ``runs-*.png`` and ``run-*.png``, light and dark, and ``attention-light.png``.

    Args:
        root: a data root with at least one measured run.
        out: folder for the pictures.
        run: name of the run to show; None = the first measured one.

    Raises:
        SystemExit: without a Chromium, or without a measured run.
    """
    from playwright.sync_api import sync_playwright

    browser_path = find_browser()
    if browser_path is None:
        raise SystemExit("no Chromium found: install one, or name it in the variable CHROMIUM")
    measured = [name for name, view in Store([root]).runs().items() if view.measured]
    if not measured:
        raise SystemExit(f"{root} holds no measured run: lengthlens measure {root} makes the rows")
    chosen = run or measured[0]
    out.mkdir(parents=True, exist_ok=True)
    taken: list[Path] = []
    with served(root) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=browser_path, args=ARGUMENTS)
        for theme in ("light", "dark"):
            page = browser.new_context(viewport=SIZE, color_scheme=theme).new_page()
            page.goto(f"{address}/")
            page.wait_for_selector(".ag-row")
            page.wait_for_timeout(400)
            page.screenshot(path=out / f"runs-{theme}.png")
            page.goto(address + link(chosen))
            page.wait_for_function("document.querySelectorAll('.body.ready').length >= 9", timeout=60000)
            page.wait_for_function("document.getElementById('verdict-line').textContent !== ''")
            page.wait_for_timeout(600)
            page.screenshot(path=out / f"run-{theme}.png")
            taken += [out / f"runs-{theme}.png", out / f"run-{theme}.png"]
            if theme == "light":
                page.locator("#attention-panel").scroll_into_view_if_needed()
                page.wait_for_selector("#attention-body.ready", timeout=120000)
                page.wait_for_timeout(600)
                page.locator("#attention-panel").screenshot(path=out / "attention-light.png")
                taken.append(out / "attention-light.png")
            page.context.close()
        browser.close()
    return taken


def main(arguments: list[str] | None = None) -> None:
    """Read the command line and take the pictures."""
    parser = argparse.ArgumentParser(description="Take pictures of the dashboard over a folder of runs.")
    parser.add_argument("root", type=Path, metavar="ROOT")
    parser.add_argument("out", type=Path, metavar="OUT")
    parser.add_argument("--run", help="run to show (default: the first measured one)")
    given = parser.parse_args(arguments)
    for path in take(given.root, given.out, given.run):
        print(path)


if __name__ == "__main__":
    main()
