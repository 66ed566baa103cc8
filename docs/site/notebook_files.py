"""Write the tutorials as executed ``.ipynb`` files, each with a button that opens it in Google Colab.

``make notebooks`` runs this. The button needs the address of the repository: set ``LENGTHLENS_URL``, for example
``https://github.com/OWNER/lengthlens``. Without it, the files have no button.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from docs.site.folded_cells import fold_cells
from docs.site.tutorial_pages import NOTEBOOKS, TUTORIALS, executed

GITHUB = "https://github.com/"
COLAB = "https://colab.research.google.com/github/"
BADGE = "https://colab.research.google.com/assets/colab-badge.svg"
INSTALL = """import importlib.util

if importlib.util.find_spec("lengthlens") is None:
    %pip install --quiet "lengthlens @ git+{url}\""""


def with_button(notebook: nbformat.NotebookNode, address: str, url: str) -> nbformat.NotebookNode:
    """Return a notebook that begins with a button for Colab and a cell that installs LengthLens if it is missing.

    Args:
        notebook: the notebook, which is changed.
        address: its path in the repository.
        url: the address of the repository on GitHub.

    Raises:
        ValueError: for an address that is not on GitHub: Colab opens notebooks from there.
    """
    if not url.startswith(GITHUB):
        raise ValueError(f"Colab opens notebooks of GitHub; LENGTHLENS_URL is {url}, so set {GITHUB}OWNER/REPOSITORY")
    link = f"{COLAB}{url.removeprefix(GITHUB).strip('/')}/blob/main/{address}"
    button = nbformat.v4.new_markdown_cell(f"[![Open in Colab]({BADGE})]({link})", id="colab-button")
    install = nbformat.v4.new_code_cell(INSTALL.format(url=url), id="colab-install")
    notebook.cells[:0] = [button, install]
    return notebook


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path, help="write the files into this folder")
    parser.add_argument("names", nargs="*", help="names of notebooks; default: all tutorials")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name in given.names or TUTORIALS:
        file = given.out / f"{name}.ipynb"
        notebook = fold_cells(executed(NOTEBOOKS / f"{name}.py"))
        for number, cell in enumerate(notebook.cells):
            cell["id"] = f"cell-{number}"
        if url := os.environ.get("LENGTHLENS_URL", ""):
            notebook = with_button(notebook, f"notebooks/{name}.ipynb", url)
        nbformat.write(notebook, file)
        print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
