"""Every block of Python of README and docs runs, on a run of the gallery."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.places import GALLERY, ROOT
from workbench.cli.run_config import build
from workbench.cli.train_request import TrainRequest
from workbench.diagnosis.challenge.make_challenge import make_challenge
from workbench.training.trainer import Trainer

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

SECTION = "\n## Checkpoints of a training loop\n"
"""Of your_own_model.md: what its blocks save is read by the commands beside them, in test_own_loop.py."""


def blocks(page: Path) -> list[tuple[int, str]]:
    """The blocks of a page, each with the line it begins at, up to the section that another test runs."""
    text = page.read_text().partition(SECTION)[0]
    found = re.finditer(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [(text[: block.start(1)].count("\n"), block[1]) for block in found]


ELSEWHERE = {"encodings.md"}
"""It registers its class for good; tests/unit/models/test_check_encoding.py runs it and takes that back."""
WITH_BLOCKS = [page for page in PAGES if blocks(page) and page.name not in ELSEWHERE]


@pytest.fixture
def beside_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the runs that pages name lie: one of the gallery under each of its names."""
    for name in ("gallery/majority_nope_s0", "demo/majority-nope"):
        shutil.copytree(GALLERY / "majority_nope_s0", tmp_path / "checkpoints" / name)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_blocks_are_found() -> None:
    assert len(WITH_BLOCKS) >= 9


@pytest.mark.parametrize("page", WITH_BLOCKS, ids=lambda page: page.name)
def test_the_blocks_of_a_page_run(page: Path, beside_runs: Path) -> None:
    """One after the other, as a reader types them."""
    if page.name == "other_machines.md":
        options = {"architecture": "ssm", "gates": "signed", "steps": 1, "layers": 1, "d_model": 8, "lengths": "1-8"}
        folder = beside_runs / "checkpoints" / "other_machines" / "parity-signed"
        Trainer(build(TrainRequest("parity", options)), folder).run()
    if page.name == "challenge.md":
        make_challenge(1, beside_runs / "my_challenge", beside_runs / "truth.json", models=1)
    names: dict[str, Any] = {"__name__": page.stem}
    for line, block in blocks(page):
        exec(compile("\n" * line + block, str(page), "exec", dont_inherit=True), names)
