"""A model that others trained, in a real browser: its curve over items, the tokens beside, no multiples of N."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.dashboard.browsing import drawn, mentions, needs_browser, says, settled, visiting
from tests.support.models.pretrained_folders import save_folder
from workbench.measure.request import MeasureRequest
from workbench.measure.running.plan import execute, plan
from workbench.runs.adoption.open_pretrained import Opened, open_pretrained
from workbench.tasks import make_task
from workbench.tasks.presented.presentation import presentation

pytestmark = needs_browser


def test_items_are_moved_over_and_tokens_stand_beside(page: Any, tmp_path: Path) -> None:
    folder = save_folder("llama", tmp_path / "weights", tokenizer=True)
    opened = Opened({1: folder}, make_task("uf", symbols=12), presentation("bare"), (4, 8))
    run = open_pretrained(opened, tmp_path / "runs" / "copy")
    assert (
        execute(
            plan(
                MeasureRequest(
                    [run.path], only=["behaviour.in_context", "circuits.heads"], sequences=20, executor="serial"
                )
            )
        )
        == []
    )
    with visiting(page, tmp_path / "runs") as at:
        page.goto(f"{at}/")
        page.get_by_role("link", name="copy").click()
        drawn(page, 2)
        page.wait_for_selector("#in-context-body.ready")
        says(page, "#length-value", "8")
        says(page, "#length-where", "16 tokens, inside its window")
        mentions(page, "#verdict-line", "Not capable")
        assert page.locator("#axis-toggle").is_hidden()
        page.keyboard.press("ArrowDown")
        says(page, "#length-where", "8 tokens, inside its window")
        mentions(page, "#rail-behaviour", "at 4 items")
        settled(page, lambda: "len=4" in page.url and "axis" not in page.url)
        page.wait_for_selector("#in-context-heads-body.ready")
        assert page.locator("#loss-panel").count() == 0
