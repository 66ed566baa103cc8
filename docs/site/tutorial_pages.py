"""The tutorials as pages: each notebook is executed, and what it shows becomes Markdown beside its code.

Figures are drawn by the site's own copy of plotly.js, from a script beside the page: nothing is fetched from elsewhere,
and the search index holds no figure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jupytext
import nbclient
import nbformat
from jupyter_client import KernelManager
from nbconvert import MarkdownExporter

from docs.site.folded_cells import fold_cells

NOTEBOOKS = Path(__file__).resolve().parents[2] / "notebooks"
TUTORIALS = (
    "question_to_figure", "find_the_head", "patch_between_lengths", "task_of_your_own", "program_and_training",
    "context_rot", "count_or_memorize",
)  # fmt: skip
"""Notebooks that are pages, in the order of the navigation."""
HANGS_S = 1200
FIGURE = "application/vnd.plotly.v1+json"
PLOTLY = "plotly.min.js"


@dataclass(frozen=True)
class TutorialPage:
    """What a notebook becomes.

    Attributes:
        name: of its file.
        markdown: the page; a figure is an empty element.
        script: draws the figures into these; "" where there are none.
    """

    name: str
    markdown: str
    script: str


def tutorial_page(name: str, kernel: KernelManager | None = None) -> TutorialPage:
    """Execute a notebook and lay it out.

    Args:
        name: of its file.
        kernel: a running one that is emptied first; None = one of its own.

    Raises:
        nbclient.exceptions.CellExecutionError: where a cell ends in an error, with its traceback.
    """
    notebook = fold_cells(executed(NOTEBOOKS / f"{name}.py", kernel))
    draw = []
    for number, output in enumerate(_outputs(notebook)):
        data = output.get("data", {})
        if FIGURE in data:
            figure, place = data[FIGURE], f"{name}-{number}"
            height = figure["layout"].get("height", 400)
            output["data"] = {"text/html": f'<div id="{place}" style="height: {height}px"></div>'}
            parts = (json.dumps(figure[part]) for part in ("data", "layout"))
            draw.append(f'Plotly.newPlot("{place}", {", ".join(parts)}, {{responsive: true, displaylogo: false}});')
        elif "text/html" in data:
            table = re.sub(r"<style scoped>.*?</style>", "", data["text/html"], flags=re.DOTALL)
            output["data"] = {"text/html": table.replace(' border="1" class="dataframe"', "")}
    text, _ = MarkdownExporter().from_notebook_node(notebook)
    text = text.replace("](../docs/", "](../").replace("](../notebooks/", "](../../notebooks/")
    if draw:
        text += "".join(f'\n<script src="{file}"></script>' for file in (PLOTLY, f"{name}.js")) + "\n"
    source = f"This page is `notebooks/{name}.py`, executed; every number on it was computed in that moment.\n"
    return TutorialPage(name, f"{text}\n\n{source}", "\n".join(draw))


def executed(
    source: Path, kernel: KernelManager | None = None, variables: Mapping[str, str] | None = None
) -> nbformat.NotebookNode:
    """A notebook with its outputs, less what was said to the error stream (progress and warnings).

    Args:
        source: the notebook.
        kernel: a running one that is emptied first; None = one of its own.
        variables: of the environment, which such a kernel is given before.
    """
    notebook = jupytext.read(source)
    if kernel is not None:
        given = f"import os\nos.environ.update({dict(variables or {})!r})\n%reset -f"
        notebook.cells.insert(0, nbformat.v4.new_code_cell(given))
    client = nbclient.NotebookClient(
        notebook, timeout=HANGS_S, kernel_name="python3", resources={"metadata": {"path": str(source.parent)}},
        extra_arguments=["--IPKernelApp.log_level=ERROR"], km=kernel,
    )  # fmt: skip
    client.execute()
    if kernel is not None:
        del notebook.cells[0]
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [output for output in cell.outputs if output.get("name") != "stderr"]
    return notebook


def _outputs(notebook: nbformat.NotebookNode) -> Iterator[Any]:
    for cell in notebook.cells:
        yield from cell.get("outputs", ())
