"""The notebooks run from top to bottom on small runs of their own, and show their figures."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.campaign.forked import lengthlens, warm
from tests.support.notebooks import kernel, pages  # noqa: F401 - fixtures
from tests.support.places import ROOT

NOTEBOOKS = ROOT / "notebooks"
SMALL = ["--lengths", "1-9", "--layers", "1", "--d-model", "8", "--heads", "2", "--steps", "4", "--out"]


@pytest.mark.parametrize(("name", "tasks", "figures"), [
    ("hardmax_over_training", ("majority",), 1),
    ("summary_and_position", ("majority", "parity"), 1),
    # These train the runs that they show.
    ("induction_head_forming", (), 4),
    ("why_parity_fails", (), 4),
    ("when_is_it_decided", (), 1),
])  # fmt: skip
def test_the_notebook_runs(
    name: str, tasks: tuple[str, ...], figures: int, tmp_path: Path, pages: ModuleType, kernel: Any
) -> None:
    warm()
    for task in tasks:
        assert lengthlens(["train", task, *SMALL, tmp_path / task], tmp_path).status == 0
    notebook = pages.executed(
        NOTEBOOKS / f"{name}.py", kernel, {"LENGTHLENS_RUNS": str(tmp_path), "LENGTHLENS_FAMILIES": "1"}
    )
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    assert not [o for o in outputs if o.output_type == "error"]
    shown = [o for o in outputs if "application/vnd.plotly.v1+json" in o.get("data", {})]
    assert len(shown) >= figures, "the figures are shown"
    assert figures == 1 or len(shown) == figures
