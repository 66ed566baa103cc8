"""A seeded sample of what pages and `show` state of runs, to be recomputed by a reader from rows or models.

`python -m tests.campaign.shown_facts ROOT --count 40 --seed 1` prints a numbered list: run, place, text. Facts are drawn
in turn from all runs below ROOT, so that each run has about the same number; within a run all facts are equally likely.
The list says nothing about what is right: recompute each fact from `table.parquet` or from the model.
"""

from __future__ import annotations

import argparse
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from typer.testing import CliRunner

from workbench.dashboard.state.cursor import query

PAGES = ("run", "checkpoint", "theory")
TEXTS = """() => [...document.querySelectorAll('#page :is(p, li, tr, .state, .note)')]
  .filter((node) => node.offsetParent !== null && !node.querySelector('p, li, tr'))
  .filter((node) => !node.closest('thead, caption, figcaption, .caption, .legend'))
  .map((node) => node.innerText)"""
"""Texts of the blocks that are visible and hold no smaller block; headings, captions and legends state nothing."""
ROWS = "() => [...document.querySelectorAll('.ag-center-cols-container .ag-row')].map((row) => row.innerText)"
STATES = re.compile(
    r"\d|robust|coupled|fitted|capable|undecided|unseen|is measured|attends|reads|fails|holds|decays",
    re.IGNORECASE,
)
"""What a text contains that states something of a run."""
LABELS = re.compile(
    r"line: |Over (training|prefix length)|.* sha256 |Step [\d,]+ of |share, 0 to 1|Head Ablation|Selected step and length"
    r"|Query at prefix [\d,]+\.$|Behaviour over prefix length|step verdict |all [\d,]+: the test set|in parentheses: "
    r"|.*\?$"
)
"""Texts that name a place of the page and state nothing: questions, legends, sliders, titles and heads of tables."""


class Fact(NamedTuple):
    """A text, the run that it is about, and where it stands."""

    run: str
    place: str
    text: str


def sentences(text: str) -> Iterator[str]:
    """The sentences of a block that state something."""
    for part in re.split(r"(?<=[.;!?])\s+|\n{2,}", text):
        plain = " ".join(part.split())
        if 12 <= len(plain) <= 500 and STATES.search(plain) and not LABELS.match(plain):
            yield plain


def of_command(run: str, folder: Path) -> Iterator[Fact]:
    """What `lengthlens info` prints of a run."""
    from workbench.cli.main import app

    shown = CliRunner(env={"COLUMNS": "500"}).invoke(app, ["show", str(folder)])  # so wide that no sentence breaks
    for line in shown.output.splitlines():
        for text in sentences(line):
            yield Fact(run, "show", text)


def addresses(run: str, other: str) -> list[str]:
    """The pages of a run, and that which compares it with another run."""
    return [*(f"{place}{query({'run': run})}" for place in PAGES), f"compare{query({'run': run, 'run2': other})}"]


def of_pages(root: Path, runs: list[str]) -> Iterator[Fact]:
    """What the pages of the dashboard state, as a browser shows them."""
    from playwright.sync_api import sync_playwright

    from workbench.dashboard.screenshots import ARGUMENTS, SIZE, find_browser, serve_dashboard, wait_until

    with serve_dashboard(root) as address, sync_playwright() as api:
        browser = api.chromium.launch(executable_path=find_browser(), args=ARGUMENTS)
        page = browser.new_page(viewport={"width": SIZE[0], "height": 8 * SIZE[1]})  # so tall that all is in view
        page.goto(address)
        wait_until(page, "document.querySelectorAll('.ag-row').length > 0")
        for row in page.evaluate(ROWS):
            name = max((run for run in runs if run in row), key=len, default=row.split("\n")[0])
            yield Fact(name, "Runs", " | ".join(row.split("\n")))
        others = dict(zip(runs, runs[1:] + runs[:1], strict=True))
        for run in runs:
            for path in addresses(run, others[run]):
                page.goto(f"{address}/{path}")
                wait_until(page)
                texts = [text for block in page.evaluate(TEXTS) for text in sentences(block)]
                yield from (Fact(run, path.partition("?")[0].title(), text) for text in dict.fromkeys(texts))
        browser.close()


def drawn(facts: list[Fact], count: int, seed: int) -> list[Fact]:
    """So many facts, from each run in turn."""
    dice = random.Random(seed)
    by_run: dict[str, list[Fact]] = {}
    for fact in sorted(set(facts)):
        by_run.setdefault(fact.run, []).append(fact)
    for group in by_run.values():
        dice.shuffle(group)
    order = sorted(by_run)
    dice.shuffle(order)
    sample: list[Fact] = []
    while len(sample) < count and any(by_run.values()):
        sample += [by_run[run].pop() for run in order if by_run[run]]
    return sample[:count]


def main() -> None:
    """Print the sample."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path, help="folder of runs")
    parser.add_argument("--count", type=int, default=40, help="facts to draw (default 40)")
    parser.add_argument("--seed", type=int, default=1, help="of the draw (default 1)")
    given = parser.parse_args()
    runs = sorted(str(path.parent.relative_to(given.root)) for path in given.root.rglob("run.json"))
    facts = [fact for run in runs for fact in of_command(run, given.root / run)]
    facts += of_pages(given.root, runs)
    print(f"{len(facts):,} facts of {len(runs)} runs; {given.count} of them, seed {given.seed}:")
    for number, fact in enumerate(drawn(facts, given.count, given.seed), 1):
        print(f"{number:3}. [{fact.run} · {fact.place}] {fact.text}")


if __name__ == "__main__":
    main()
