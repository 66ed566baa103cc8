"""Many seeds of one configuration: each run faint, their median strong, a band from the lowest to the highest."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.figures.errors import NotMeasured
from workbench.figures.labels import over_length, signed, whole
from workbench.figures.marks import (
    Cursor,
    Label,
    add_cursor,
    add_end_labels,
    add_level,
    add_line,
    add_training,
    drawn_points,
    said,
)
from workbench.figures.representation import CONCEPTS
from workbench.figures.rows import cells, edges, latest, pick, sites, stack, tidy
from workbench.figures.series import line_plot
from workbench.figures.template import accuracy_axis, length_axis, unit_axis
from workbench.figures.tokens import TOKENS, Theme

#: What can be shown over seeds: name -> the columns that pick its rows.
SHOWN: dict[str, Mapping[str, str]] = {
    "accuracy": {"measurement": "behaviour", "quantity": "accuracy", "law": "matched", "mode": "teacher_forced"},
    **{
        concept: {
            "measurement": measurement,
            "quantity": quantity,
            "target": target,
            "law": "matched",
            "mode": "transfer" if concept == "summary" else "refit",
            "control": "",
        }
        for concept, (measurement, quantity, target, _) in CONCEPTS.items()
    },
}
TITLES = {"accuracy": "Accuracy", "summary": "Summary decodability", "position": "Position decodability"}
MEDIAN = "median"


def seeds_over_length(
    frame: pd.DataFrame,
    *,
    trained: float,
    step: int,
    shown: str = "accuracy",
    colour: str = "ink",
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> go.Figure:
    """One quantity over prefix length for all seeds of a configuration, at one step.

    Args:
        frame: rows of the runs.
        trained: N, the longest prefix length seen in training.
        step: each run is shown at its last measured checkpoint that is not later.
        shown: ``accuracy``, ``summary`` or ``position`` (decodability in the last layer).
        colour: token of the median's colour.
        theme: light or dark.
        size: base text size, pixels.
        cursor: draws the cursor line at ``length``.

    Raises:
        NotMeasured: without rows of that quantity at or before that step.
    """
    data = seeds_over_length_data(frame, step=step, shown=shown)
    figure, y_range = _frame(data, trained, step, shown, theme, size, f"seeds_{shown}")
    t = TOKENS[theme]
    runs = [name for name in data["series"].unique() if name != MEDIAN]
    for name in runs:
        add_line(figure, pick(data, series=name), "length", t["line2"], width=1, band=False)
    middle = pick(data, series=MEDIAN)
    end = add_line(figure, middle, "length", t[colour])
    add_end_labels(figure, [(MEDIAN, end, t[colour], True)], y_range, size)
    figure.layout.meta |= {
        "slice": f"{_count(len(runs))} · band: lowest to highest",
        "alt": f"{TITLES[shown]} {over_length(step)}, median of {_count(len(runs))}: "
        + said(middle, "length", edges(middle, "length")),
    }
    add_training(figure, trained, theme, size, avoid=drawn_points(data, "length"))
    add_cursor(figure, cursor, "length", theme, [(middle, t[colour], "circle")])
    return figure


def seeds_over_length_data(frame: pd.DataFrame, *, step: int, shown: str = "accuracy") -> pd.DataFrame:
    """The rows of :func:`seeds_over_length`: a series per run, and ``median`` with the range as its interval.

    Raises:
        NotMeasured: without rows.
    """
    rows = pick(frame, **SHOWN[shown])
    rows = rows[(rows["step"] <= step) & rows["value"].notna()]
    rows = rows[~sites(rows, "hook_resid_mid")]  # one place per layer: the embedding, and after each block
    if rows.empty:
        measurement = SHOWN[shown]["measurement"]
        raise NotMeasured(measurement, f"No rows of {measurement} at or before step {whole(step)} for these runs.")
    rows = latest(rows, "step")
    if shown != "accuracy":
        rows = latest(rows, "layer")
    parts = [tidy(part, str(name), "length") for name, part in rows.groupby("run", sort=True)]
    return stack([*parts, _median(stack(parts))])


def _median(data: pd.DataFrame) -> pd.DataFrame:
    """Median, lowest and highest over runs at each length that all of them have; n counts runs."""
    found = data.groupby("length")["value"].agg(["median", "min", "max", "count"])
    found = found[found["count"] == found["count"].max()].reset_index()
    first = data.drop_duplicates("length").set_index("length").loc[found["length"]].reset_index()
    return first.assign(
        series=MEDIAN,
        run="",
        value=found["median"],
        low=found["min"],
        high=found["max"],
        n=found["count"],
        note="median of the runs; interval: lowest to highest run; n: runs",
    )[data.columns]


def seeds_compared(
    frame_a: pd.DataFrame,
    frame_b: pd.DataFrame,
    *,
    trained: float,
    step: int,
    shown: str = "accuracy",
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> go.Figure:
    """Medians over seeds of two configurations, A solid and B dashed, each with its range.

    Raises:
        NotMeasured: if either has no rows there.
    """
    data = seeds_compared_data(frame_a, frame_b, step=step, shown=shown)
    figure, y_range = _frame(data, trained, step, shown, theme, size, f"seeds_compared_{shown}")
    t = TOKENS[theme]
    labels: list[Label] = []
    for name, dash in (("A", "solid"), ("B", "5px,3px")):
        colour = t[name.lower()]
        labels.append((name, add_line(figure, pick(data, series=name), "length", colour, dash=dash), colour, True))
    add_end_labels(figure, labels, y_range, size)
    a, b = pick(data, series="A"), pick(data, series="B")
    shared = a.merge(b, on="length", suffixes=("", "_b"))
    apart = (shared["value"] - shared["value_b"]).iloc[-1] if len(shared) else float("nan")
    last = whole(float(shared["length"].iloc[-1])) if len(shared) else ""
    figure.layout.meta |= {
        "slice": f"medians of {_count(int(a['n'].max()))} and {_count(int(b['n'].max()))}",
        "alt": f"{TITLES[shown]} {over_length(step)}, medians of A and B"
        + (f"; A minus B is {signed(float(apart))} at length {last}" if last else ""),
    }
    add_training(figure, trained, theme, size, avoid=drawn_points(data, "length"))
    add_cursor(figure, cursor, "length", theme, [(a, t["a"], "circle"), (b, t["b"], "circle")])
    return figure


def seeds_compared_data(
    frame_a: pd.DataFrame, frame_b: pd.DataFrame, *, step: int, shown: str = "accuracy"
) -> pd.DataFrame:
    """The rows of :func:`seeds_compared`: series A and B, the medians."""
    parts = []
    for name, frame in (("A", frame_a), ("B", frame_b)):
        parts.append(pick(seeds_over_length_data(frame, step=step, shown=shown), series=MEDIAN).assign(series=name))
    return stack(parts)


def _frame(
    data: pd.DataFrame, trained: float, step: int, shown: str, theme: Theme, size: int, name: str
) -> tuple[go.Figure, list[float]]:
    """An empty plot over prefix length with the quantity's fixed range, and that range."""
    x_axis = length_axis(cells(data, "length"), trained, theme)
    floor = max(0.0, round(float(data["value"].min()) - 0.05, 1)) if shown == "accuracy" else 0.0
    y_axis = accuracy_axis(min(0.5, floor)) if shown == "accuracy" else unit_axis()
    figure = line_plot("length", x_axis, y_axis, title=TITLES[shown], n=None, name=name, theme=theme, size=size)
    if shown == "position":
        add_level(figure, x_axis["range"], np.zeros(2), theme)
    return figure, list(y_axis["range"])


def _count(runs: int) -> str:
    return f"{runs} seed{'' if runs == 1 else 's'}"
