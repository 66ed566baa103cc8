"""The tutorials run from top to bottom and become pages: what the site shows of them, with short trainings."""

from __future__ import annotations

import re
from types import ModuleType
from typing import Any

import pytest
import yaml

from tests.support.notebooks import kernel, pages  # noqa: F401 - fixtures
from tests.support.places import ROOT

FIGURES = {
    "question_to_figure": 1, "find_the_head": 1, "patch_between_lengths": 1, "task_of_your_own": 1,
    "program_and_training": 1, "context_rot": 1, "count_or_memorize": 2,
}  # fmt: skip


def test_each_tutorial_is_listed(pages: ModuleType) -> None:
    nav = (ROOT / "mkdocs.yml").read_text()
    assert [*pages.TUTORIALS] == re.findall(r"tutorials/(\w+)\.md", nav) == [*FIGURES]
    assert yaml.safe_load(nav)
    told = (ROOT / "docs" / "tutorials.md").read_text()
    assert re.findall(r"\]\(\.\./notebooks/(\w+)\.py\)", told) == [*FIGURES]


@pytest.mark.parametrize("name", FIGURES)
def test_the_tutorial_runs_and_is_a_page(name: str, pages: ModuleType, kernel: Any) -> None:
    page = pages.tutorial_page(name, kernel)
    drawn = re.findall(r'<div id="([\w-]+)" style="height', page.markdown)
    assert len(drawn) == FIGURES[name]
    assert re.findall(r'Plotly\.newPlot\("([\w-]+)"', page.script) == drawn
    assert "Traceback" not in page.markdown
    if name == "count_or_memorize":
        assert page.markdown.count(": right, ") == page.markdown.count("<summary>Solution</summary>") == 9
    assert not re.search(r"//(?!\d)[\w.]+/.*\.js", page.markdown), "nothing is fetched from elsewhere"
    prose = re.findall(r"^# .*$", (ROOT / "notebooks" / f"{name}.py").read_text(), re.MULTILINE)
    assert [line for line in prose if re.search(r"\d\.\d", line)] == [], "what was measured is computed, not typed"
