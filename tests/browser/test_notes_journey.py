"""A note and tags, written on a run's page and found again on the Runs page, in a real browser."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.dashboard.browsing import counts, drawn, mentions, needs_browser, says, settled, visiting

pytestmark = needs_browser

A = "majority-nope-s0"


@pytest.fixture
def own(page: Any, small_root: Path, tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """A server of a folder that the test may write."""
    root = Path(shutil.copytree(small_root, tmp_path / "runs"))
    with visiting(page, root) as address:
        yield address, root


def test_a_tag_written_on_a_run_filters_the_runs(page: Any, own: tuple[str, Path]) -> None:
    address, root = own
    page.goto(f"{address}/run?run={A}")
    drawn(page)
    page.click("#note-said")
    page.fill("#note-tags", "odd, to check")
    page.fill("#note-text", "Look at 3 N.")
    page.click("#note-save")
    settled(page, lambda: page.inner_text("#note-saved").startswith("Saved."))
    assert (root / A / "tags.txt").read_text() == "odd\nto check\n"
    assert (root / A / "notes.md").read_text() == "Look at 3 N.\n"
    mentions(page, "#note-said", "Look at 3 N.")

    page.goto(f"{address}/?tag=odd")
    says(page, "#shown", "1 of 3 runs")
    counts(page, ".ag-center-cols-container .ag-row", 1)
    page.goto(f"{address}/?where=model.positions.name%3Drotary")
    says(page, "#shown", "1 of 3 runs")
