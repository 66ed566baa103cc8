"""Which heads look behind the earlier occurrence of the token at hand, and at how many items they let go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from workbench.figures.errors import NotMeasured
from workbench.figures.labels import join_with_dots, over_length, sample_size, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import (
    head_names,
    rows_with_values,
    run_name,
    select,
    series_of,
    smallest_n,
    stack,
    tidy,
)
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import Cursor, add_cursor, add_end_labels, add_training, values_in_words
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import LineStyle, add_series, line_plot
from workbench.figures.style.template import accuracy_axis, run_axis

Row = Mapping[str, Any]
MEASUREMENT, QUANTITY = "circuits.heads", "induction_mass"
MOST = 6
"""Heads that are drawn, besides the chosen one."""


def inducing_head_rows(frame: Frame, *, step: int, layer: int, head: int) -> Frame:
    """The rows of :func:`inducing_heads_over_length`: a series per head, the chosen one last."""
    rows = rows_with_values(select(frame, MEASUREMENT, quantity=QUANTITY, mode="task", law="matched", step=step))
    mine = rows.where(layer=layer, head=head)
    if not len(mine):
        raise NotMeasured(
            MEASUREMENT,
            f"The induction score of head L{layer}H{head} is not measured at step {whole(step)}.",
            helps=False,
        )
    most = [at for at in _most(rows) if at != (layer, head)]
    parts = [rows.where(layer=one, head=other) for one, other in most]
    return stack([tidy(part, head_names(part), "length") for part in (*parts, mine)])


@figure(rows=inducing_head_rows)
def inducing_heads_over_length(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    layer: int,
    head: int,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Attention mass on the key behind the earlier occurrence of the token at hand, over length, at one step.

    Drawn are the six heads that have most of it at the shortest length, and the chosen head in ink.

    Raises:
        NotMeasured: without such rows at that step.
    """
    t = TOKENS[look.theme]
    *other_heads, (name, mine) = series_of(data)
    y_axis = accuracy_axis(0.0)
    lengths = {float(n) for n in data["length"]}
    drawing = line_plot(
        "length", run_axis("length", lengths, trained, look.theme), y_axis, title="Induction heads",
        n=smallest_n(mine), name=f"{run_name(data)}/inducing_heads_over_length", look=look,
    )  # fmt: skip
    looks = {other: LineStyle(t["line2"], 1, band=False, written=t["ink3"], symbol="") for other, _ in other_heads}
    labels, marked = add_series(drawing, data, "length", looks | {name: LineStyle(t["ink"], strong=True)})
    add_end_labels(drawing, labels, y_axis["range"], look.size)
    ends = [float(mine["length"][0]), float(mine["length"][-1])]
    drawing.layout.meta |= {
        "slice": join_with_dots("induction mass", sample_size(smallest_n(mine))),
        "alt": f"Induction mass of {name} {over_length(step)}: {values_in_words(mine, 'length', ends)}"
        f"; in grey {whole(len(other_heads))} other heads",
    }
    add_training(drawing, trained, look, label=False)
    add_cursor(drawing, cursor, "length", look.theme, marked)
    return drawing


def leading_inducer(frame: Frame, *, step: int) -> tuple[int, int] | None:
    """Layer and head with most induction mass at the shortest length; None where none was measured."""
    rows = frame.where(measurement=MEASUREMENT, quantity=QUANTITY, mode="task", law="matched", step=step)
    return next(iter(_most(rows_with_values(rows))), None)


def _most(rows: Frame) -> list[tuple[int, int]]:
    """The six heads with most induction mass at the shortest length, in order."""
    if not len(rows):
        return []
    shortest = min(int(n) for n in rows["length"])
    return [(int(row["layer"]), int(row["head"])) for row in _ranked(rows.rows(), shortest)[:MOST]]


def highest_inducer(rows: Sequence[Row], length: int) -> Row:
    """The row of the head with most induction mass at a length; of equal ones, the first head."""
    return _ranked(rows, length)[0]


def _ranked(rows: Sequence[Row], length: int) -> list[Row]:
    at_length = [row for row in rows if int(row["length"]) == length]
    return sorted(at_length, key=lambda row: (-float(row["value"]), int(row["layer"]), int(row["head"])))
