"""Two rows that differ in one column alone, given to everything that tells rows apart."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import pandas as pd

from workbench.dashboard.panels.panel_frame import NAMED_ABOVE, as_table
from workbench.dashboard.state.run_brief import READ, UNREAD, BriefRows
from workbench.figures import causes, quantity_over_length
from workbench.figures.panels.differences import difference
from workbench.figures.rows.claims import cite
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import NOT_DRAWN, PLACE, tidy
from workbench.table.parquet import read_file, write_file
from workbench.table.schema import SEPARATING, TEXTS, row, to_arrow

SAME: dict[str, Any] = {
    **{"run": "r", "step": 10, "law": "matched", "length": 8, "site": "blocks.0.hook_resid_post", "layer": 0},
    **{"head": 0, "measurement": "m", "quantity": "q", "target": "t", "mode": "teacher_forced", "n": 512},
}


def told_apart(column: str, values: tuple[Any, Any]) -> list[str]:
    """The places that take rows for the same which differ in ``column`` alone; none where all is well.

    Args:
        column: an identifying column, and no axis of a figure.
        values: two of its values.
    """
    rows = [row(**(SAME | {column: value}), value=float(i), low=0.0, high=1.0) for i, value in enumerate(values)]
    frame, wrong = Frame.from_rows(rows), []
    if len(set(quantity_over_length.data(frame, measurement="m", quantity="q", step=10)["series"])) != 2:
        wrong.append("figures.quantity_over_length")
    if len(causes(frame, "m", "q").data) != 2 and column not in ("site", "layer", "head"):  # an axis of that figure
        wrong.append("figures.causes")
    if column not in NOT_DRAWN:
        a, b = (tidy(Frame.from_rows([one]), "q", "length") for one in rows)
        if len(difference(a, b)):
            wrong.append("figures.difference")
        if column not in PLACE or cite(a.row(0), "n", "512") == cite(b.row(0), "n", "512"):
            wrong.append("figures.cite")
    if column not in (*NOT_DRAWN, *NAMED_ABOVE) and column not in str(as_table(pd.DataFrame(rows), "rows")):
        wrong.append("dashboard.as_table")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write_file(path, to_arrow(rows), {})
        stored, _ = read_file(path)
    if stored[column].to_pylist() != list(values):
        wrong.append("table")
    series = column in TEXTS and column in SEPARATING and column not in ("control", "site")
    if column not in UNREAD and series and len(BriefRows(stored.select(READ)).series()) != 2:
        wrong.append("dashboard.series")
    return wrong
