"""The tutorials run from top to bottom and become pages: what the site shows of them, with short trainings."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from tests.support.places import ROOT

FIGURES = {
    "question_to_figure": 1, "find_the_head": 1, "patch_between_lengths": 1, "task_of_your_own": 1,
    "program_and_training": 1, "context_rot": 1,
}  # fmt: skip


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    for name in ("jupytext", "nbclient", "nbconvert"):
        pytest.importorskip(name)
    sys.path.insert(0, str(ROOT))
    try:
        from docs.site import tutorial_pages
    finally:
        sys.path.remove(str(ROOT))
    return tutorial_pages


def test_each_tutorial_is_listed(pages: ModuleType) -> None:
    nav = (ROOT / "mkdocs.yml").read_text()
    assert [*pages.TUTORIALS] == re.findall(r"tutorials/(\w+)\.md", nav) == [*FIGURES]
    assert yaml.safe_load(nav)
    told = (ROOT / "docs" / "tutorials.md").read_text()
    assert re.findall(r"\]\(\.\./notebooks/(\w+)\.py\)", told) == [*FIGURES]


@pytest.mark.parametrize("name", FIGURES)
def test_the_tutorial_runs_and_is_a_page(
    name: str, pages: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LENGTHLENS_STEPS", "4")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    page = pages.tutorial_page(name)
    drawn = re.findall(r'<div id="([\w-]+)" style="height', page.markdown)
    assert len(drawn) == FIGURES[name]
    assert re.findall(r'Plotly\.newPlot\("([\w-]+)"', page.script) == drawn
    assert "Traceback" not in page.markdown
    assert not re.search(r"//(?!\d)[\w.]+/.*\.js", page.markdown), "nothing is fetched from elsewhere"
    prose = re.findall(r"^# .*$", (ROOT / "notebooks" / f"{name}.py").read_text(), re.MULTILINE)
    assert [line for line in prose if re.search(r"\d\.\d", line)] == [], "what was measured is computed, not typed"
