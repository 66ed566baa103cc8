"""The figure of the sweep ``plateau``: ``python docs/plateau_figure.py DIR OUT.png`` (or ``OUT.html``).

DIR holds its measured runs (``lengthlens sweep plateau``); what they say to the claims is printed.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from workbench.cli.errors import UsageError, exit_status
from workbench.figures.panels.plateau import loss_plateau, plateau_sentences
from workbench.table import Table

KNOBS = {"simple": "omega", "mod_p_mean": "p"}


def draw(folder: Path, out: Path, knobs: dict[str, str]) -> list[str]:
    """Write the figure; returns what the rows say to the claims, a sentence each.

    Raises:
        UsageError: for a file that is neither .png nor .html, or a .png without a Chromium.
    """
    rows = Table.load(folder).frame_with_runs(measurement="behaviour", quantity="loss")
    if rows.empty:
        raise UsageError(f"{folder} holds no measured run; lengthlens sweep plateau makes them")
    data = loss_plateau.data(rows, knobs=knobs)
    figure = loss_plateau(rows, knobs=knobs)
    out.parent.mkdir(parents=True, exist_ok=True)
    if out.suffix == ".html":
        figure.write_html(out, include_plotlyjs=True)
    elif out.suffix == ".png":
        photograph(figure.to_html(include_plotlyjs=True), figure.layout.width, figure.layout.height, out)
    else:
        raise UsageError(f"{out}: figures are written as .png or .html")
    return plateau_sentences(data, knobs=knobs)


def photograph(html: str, width: int, height: int, out: Path) -> None:
    """A page as a picture, by a Chromium of this machine."""
    from playwright.sync_api import sync_playwright

    from workbench.dashboard.screenshots import ARGUMENTS, find_browser

    found = find_browser()
    if found is None:
        raise UsageError("no Chromium found: install one, name it in the variable CHROMIUM, or write .html")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        page = browser.new_page(viewport={"width": int(width), "height": int(height)}, device_scale_factor=2)
        page.set_content(html)
        page.wait_for_selector(".main-svg")
        page.locator(".plotly-graph-div").screenshot(path=out)
        browser.close()


def main(arguments: list[str] | None = None) -> None:
    """Read the command line, draw, and print the sentences."""
    parser = argparse.ArgumentParser(description="Draw the figure of the sweep plateau.")
    parser.add_argument("folder", type=Path, metavar="DIR")
    parser.add_argument("out", type=Path, metavar="OUT")
    given = parser.parse_args(arguments)
    for sentence in draw(given.folder, given.out, KNOBS):
        print(sentence)
    print(given.out)


if __name__ == "__main__":
    sys.exit(exit_status(main))
