"""Fold the solutions, hints and answers of a course, so that a reader opens them on demand.

A notebook in ``notebooks/`` contains the solutions as code, so that it can be executed from top to bottom. A reader
gets each solution as folded text, after the cell that checks the reader's own function.
"""

from __future__ import annotations

import nbformat

FOLDED = ("hint", "answer", "solution")
"""Tags of cells that are folded; the tag is also the title."""
CHECK = "check"
"""Tag of the cell after which a solution is shown."""


def fold_cells(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return the notebook with its tagged cells as folded text. Other cells stay as they are.

    Raises:
        ValueError: for a solution without a check in one of the next cells.
    """
    cells, waiting = [], None
    for cell in notebook.cells:
        tags = cell.metadata.get("tags", [])
        title = next((tag for tag in FOLDED if tag in tags), None)
        if title == "solution":
            if waiting is not None:
                raise ValueError("a solution needs a cell with the tag check before the next solution")
            waiting = _folded(title, f"```python\n{cell.source}\n```")
        elif title is not None:
            cells.append(_folded(title, cell.source))
        else:
            cells.append(cell)
            if waiting is not None and CHECK in tags:
                cells.append(waiting)
                waiting = None
    if waiting is not None:
        raise ValueError("the last solution has no cell with the tag check after it")
    notebook.cells = cells
    return notebook


def _folded(title: str, text: str) -> nbformat.NotebookNode:
    """Return a text cell that shows its title until a reader opens it. MkDocs needs ``markdown="1"``."""
    source = f'<details markdown="1"><summary>{title.capitalize()}</summary>\n\n{text}\n\n</details>'
    return nbformat.v4.new_markdown_cell(source)
