"""Is it the same code past training? Length coupling over training and over prefix length.

Sameness of a code says nothing where there is nothing to code: checkpoints that are not fitted are drawn in grey
and dotted, and without a verdict to tell them by nothing is drawn at all.
"""

from __future__ import annotations

import pandas as pd
import plotly.graph_objects as go

from workbench.figures.errors import NotMeasured
from workbench.figures.labels import sample_size, whole
from workbench.figures.marks import (
    Cursor,
    add_cursor,
    add_end_labels,
    add_line,
    add_training,
    last_value,
    said,
    span_meta,
)
from workbench.figures.rows import cells, pick, run_name, series_of, smallest_n, stack, tidy
from workbench.figures.template import blank, run_axis, unit_axis
from workbench.figures.tokens import TOKENS, Theme

MEASUREMENT = "probes.length_coupling"
FITTED, UNFITTED, INSIDE, STORED = "past training", "not fitted", "inside training", "stored"
DOTS = "1.2px,2.4px"


def coupling_over_training(
    frame: pd.DataFrame, *, trained: float, theme: Theme = "light", size: int = 11, cursor: Cursor | None = None
) -> go.Figure:
    """The one figure per checkpoint, with its band: 0 the same code at 2N, 4N and 8N, 1 nothing of it left.

    Raises:
        NotMeasured: without rows of length coupling, or without verdicts.
    """
    data = coupling_over_training_data(frame)
    figure = _lines(frame, data, "step", trained, theme, size, cursor)
    steps = [float(data["step"].min()), float(data["step"].max())]
    figure.layout.meta["alt"] = "Length coupling over training: " + _spoken(data, "step", steps)
    return figure


def coupling_over_training_data(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows of :func:`coupling_over_training`: series past training and inside training where fitted, not fitted."""
    rows = pick(frame, measurement=MEASUREMENT, mode="used")
    past, inside = (pick(rows, quantity=q) for q in ("length_coupling", "length_coupling_in"))
    if past.empty:
        raise NotMeasured(MEASUREMENT, "No rows of probes.length_coupling for this run.")
    fitted = past["step"].isin(fitted_steps(frame))
    return stack(
        [
            tidy(past[fitted], FITTED, "step"),
            tidy(past[~fitted], UNFITTED, "step"),
            tidy(inside[inside["step"].isin(fitted_steps(frame))], INSIDE, "step"),
        ]
    )


def fitted_steps(frame: pd.DataFrame) -> list[int]:
    """The steps whose verdict is anything but *not fitted*.

    Raises:
        NotMeasured: without verdicts.
    """
    verdicts = pick(frame, measurement="behaviour", quantity="verdict")
    if verdicts.empty:
        raise NotMeasured(
            "behaviour", "No verdicts for this run: length coupling is shown only beside whether it is fitted."
        )
    return [int(step) for step in verdicts.loc[verdicts["label"] != "not fitted", "step"]]


def coupling_over_length(
    frame: pd.DataFrame,
    *,
    trained: float,
    step: int,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> go.Figure:
    """C(n) of the logits (used) and of the stream after the last block (stored), at one step.

    Raises:
        NotMeasured: without rows of length coupling at that step, or without verdicts.
    """
    data = coupling_over_length_data(frame, step=step)
    figure = _lines(frame, data, "length", trained, theme, size, cursor)
    lengths = [int(n) for n in data["length"].unique()]
    figure.layout.meta["alt"] = f"Change of the code over prefix length at step {whole(step)}: " + _spoken(
        data, "length", [min(lengths), max(lengths)]
    )
    add_training(figure, trained, theme, size)
    return figure


def coupling_over_length_data(frame: pd.DataFrame, *, step: int) -> pd.DataFrame:
    """The rows of :func:`coupling_over_length`: series past training (or not fitted), and stored."""
    rows = pick(frame, measurement=MEASUREMENT, quantity="length_coupling_at", step=step)
    if rows.empty:
        raise NotMeasured(MEASUREMENT, f"No rows of probes.length_coupling at step {whole(step)}.")
    used, stored = pick(rows, mode="used"), pick(rows, mode="stored")
    last = stored[stored["site"].astype(str).str.endswith("hook_resid_post")]
    last = last[last["layer"] == last["layer"].max()]
    name = FITTED if step in fitted_steps(frame) else UNFITTED
    return stack([tidy(used, name, "length"), tidy(last, STORED, "length")])


def _lines(
    frame: pd.DataFrame,
    data: pd.DataFrame,
    along: str,
    trained: float,
    theme: Theme,
    size: int,
    cursor: Cursor | None,
) -> go.Figure:
    t = TOKENS[theme]
    x_axis, y_axis = run_axis(along, cells(frame, along), trained, theme), unit_axis()
    n = smallest_n(data)
    figure = blank(
        theme,
        size,
        column=along,
        xaxis=x_axis,
        yaxis=y_axis,
        meta={"title": "Length coupling", "slice": sample_size(n), "x": span_meta(along, x_axis), "n": n},
        uirevision=f"{run_name(data)}/coupling_over_{along}",
    )
    looks = {
        FITTED: (t["summary"], 2.2, "solid"),
        UNFITTED: (t["control"], 1.4, DOTS),
        INSIDE: (t["train"], 1.4, "solid"),
        STORED: (t["position"], 1.4, "solid"),
    }
    labels = []
    for name, rows in series_of(data):
        colour, width, dash = looks[name]
        add_line(figure, rows, along, colour, width=width, dash=dash, band=name != UNFITTED, clip=(0.0, 1.0))
        end = last_value(rows["value"].to_numpy(dtype=float))
        if end is not None:
            labels.append((name, end, colour, name == FITTED))
    add_end_labels(figure, labels, y_axis["range"], size)
    marked = [(rows, looks[name][0], "circle") for name, rows in series_of(data)]
    add_cursor(figure, cursor, along, theme, marked, clip=(0.0, 1.0))
    return figure


def _spoken(data: pd.DataFrame, along: str, at: list[float] | list[int]) -> str:
    return "; ".join(f"{name} {said(rows, along, at)}" for name, rows in series_of(data))
