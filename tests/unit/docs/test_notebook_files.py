"""Executed notebooks: those in the repository have the cells of their scripts, and a button opens one in Colab."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.support.places import ROOT

jupytext = pytest.importorskip("jupytext")
nbformat = pytest.importorskip("nbformat")

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
MOST_BYTES = 300_000


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT))
    from docs.site import notebook_files

    return notebook_files


@pytest.fixture
def folded(files: ModuleType) -> ModuleType:
    from docs.site import folded_cells

    return folded_cells


def test_three_executed_notebooks_are_in_the_repository() -> None:
    assert [path.stem for path in NOTEBOOKS] == ["count_or_memorize", "find_the_head", "program_and_training"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_has_the_cells_of_its_script_and_outputs(path: Path, folded: ModuleType) -> None:
    notebook, script = nbformat.read(path, as_version=4), folded.fold_cells(jupytext.read(path.with_suffix(".py")))
    assert [(c.cell_type, c.source) for c in notebook.cells] == [(c.cell_type, c.source) for c in script.cells]
    nbformat.validate(notebook)
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", ())]
    assert outputs
    assert not [output for output in outputs if output.output_type == "error"]
    text = path.read_text(encoding="utf-8")
    assert len(text.encode()) < MOST_BYTES
    for folder in (str(ROOT), sys.prefix, str(Path.home())):
        assert folder == "/" or f"{folder}/" not in text, "an output names a folder of this machine"


def test_solutions_are_folded_text_after_their_checks(folded: ModuleType) -> None:
    cells = folded.fold_cells(jupytext.read(ROOT / "notebooks" / "count_or_memorize.py")).cells
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert sum("raise NotImplementedError" in source for source in code) == 7
    assert not [cell for cell in cells if cell.cell_type == "code" and "solution" in cell.metadata.get("tags", [])]
    numbers = [
        number for number, cell in enumerate(cells) if cell.source.startswith("<details") and "Solution" in cell.source
    ]
    assert len(numbers) == 9
    assert all("check" in cells[number - 1].metadata["tags"] for number in numbers)
    assert all("```python\n" in cells[number].source for number in numbers)


def test_a_solution_without_a_check_is_refused(folded: ModuleType) -> None:
    solution = nbformat.v4.new_code_cell("x = 1", metadata={"tags": ["solution"]})
    with pytest.raises(ValueError, match="check"):
        folded.fold_cells(nbformat.v4.new_notebook(cells=[solution]))


def test_the_button_opens_the_notebook_of_the_repository(files: ModuleType) -> None:
    notebook = jupytext.read(ROOT / "notebooks" / "find_the_head.py")
    count = len(notebook.cells)
    files.with_button(notebook, "notebooks/find_the_head.ipynb", "https://github.com/someone/lengthlens")
    button, install, *rest = notebook.cells
    assert "github/someone/lengthlens/blob/main/notebooks/find_the_head.ipynb" in button.source
    assert '"lengthlens @ git+https://github.com/someone/lengthlens"' in install.source
    assert len(rest) == count
    nbformat.validate(notebook)


def test_a_repository_elsewhere_has_no_button(files: ModuleType) -> None:
    with pytest.raises(ValueError, match="of GitHub"):
        files.with_button(nbformat.v4.new_notebook(), "a.ipynb", "https://example.org/a/b")
