"""The notebook runs from top to bottom on a small run of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.limits import HANGS_S
from tests.support.places import ROOT

NOTEBOOKS = ROOT / "notebooks"
SMALL = ["--lengths", "1-9", "--layers", "1", "--d-model", "8", "--heads", "2", "--steps", "4", "--out"]


@pytest.mark.parametrize(
    ("name", "tasks"),
    [("hardmax_over_training", ("majority",)), ("summary_and_position", ("majority", "parity"))],
)
def test_the_notebook_runs(name: str, tasks: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, jupytext = pytest.importorskip("nbclient"), pytest.importorskip("jupytext")
    for task in tasks:
        words = ["train", task, *SMALL, str(tmp_path / "runs" / task)]
        assert subprocess.run([sys.executable, "-m", "workbench.cli.main", *words]).returncode == 0
    monkeypatch.setenv("LENGTHLENS_RUNS", str(tmp_path / "runs"))
    notebook = jupytext.read(NOTEBOOKS / f"{name}.py")
    nbclient.NotebookClient(notebook, timeout=HANGS_S, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    kinds = {kind for o in outputs for kind in o.get("data", {})}
    assert "application/vnd.plotly.v1+json" in kinds, "the figures are shown"
    assert not [o for o in outputs if o.output_type == "error"]
