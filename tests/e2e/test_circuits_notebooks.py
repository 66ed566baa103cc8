"""The notebooks on circuits run from top to bottom, on runs of a few steps, and show their figures."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.limits import HANGS_S
from tests.support.places import ROOT

NOTEBOOKS = ROOT / "notebooks"


@pytest.mark.parametrize("name", ["induction_head_forming", "why_parity_fails"])
def test_the_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nbclient, jupytext = pytest.importorskip("nbclient"), pytest.importorskip("jupytext")
    monkeypatch.setenv("LENGTHLENS_RUNS", str(tmp_path))
    monkeypatch.setenv("LENGTHLENS_STEPS", "4")
    notebook = jupytext.read(NOTEBOOKS / f"{name}.py")
    nbclient.NotebookClient(notebook, timeout=HANGS_S, resources={"metadata": {"path": str(NOTEBOOKS)}}).execute()
    outputs = [o for cell in notebook.cells if cell.cell_type == "code" for o in cell.outputs]
    assert not [o for o in outputs if o.output_type == "error"]
    figures = [o for o in outputs if "application/vnd.plotly.v1+json" in o.get("data", {})]
    assert len(figures) == 4
