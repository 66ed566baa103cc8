"""Does it keep working? Accuracy over training, over prefix length, and over both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.figures.errors import NotMeasured
from workbench.figures.heatmap import add_heatmap, add_heatmap_cursor, add_training_edge, grid_of
from workbench.figures.labels import sample_size, whole
from workbench.figures.marks import (
    Cursor,
    add_band,
    add_cursor,
    add_end_labels,
    add_level,
    add_line,
    add_training,
    drawn_points,
    last_value,
    places,
    said,
    span_meta,
)
from workbench.figures.rows import cells, distinct, pick, run_name, select, series_of, smallest_n, stack, tidy
from workbench.figures.template import (
    PLOT_HEIGHT,
    accuracy_axis,
    blank,
    cell_edges,
    length_axis,
    run_axis,
    step_axis,
    u_length,
    u_step,
)
from workbench.figures.tokens import PERFORMANCE, TOKENS, Theme

MEASUREMENT = "behaviour"
#: Skill a run must keep past the training length to count as scale-robust.
KEPT_SKILL = 0.9
LAWS = ("matched", "challenge")


def accuracy_heatmap(
    frame: pd.DataFrame,
    *,
    trained: float,
    law: str = "matched",
    floor: float | None = None,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> go.Figure:
    """Accuracy over training step (x) and prefix length (y), coloured from chance to 1.

    Args:
        frame: rows of one run.
        trained: N, the longest prefix length seen in training.
        law: matched or challenge.
        floor: where the colours start, for runs side by side; None = at the lowest chance level.
        theme: light or dark.
        size: base text size, pixels.
        cursor: draws the cursor lines at ``step`` and ``length``.

    Raises:
        NotMeasured: without accuracies of that law.
    """
    data = accuracy_heatmap_data(frame, law=law)
    chance = _lowest_chance(frame, [law]) if floor is None else floor
    steps, lengths = (sorted(data[c].astype(int).unique()) for c in ("step", "length"))
    x_axis = step_axis(distinct(frame, "step"))
    y_axis = length_axis(distinct(frame, "length"), trained, theme, PLOT_HEIGHT, vertical=True)
    y_axis["title"] = {"text": "prefix length"}
    n = smallest_n(data)
    last = data[data["step"] == steps[-1]]
    figure = blank(
        theme,
        size,
        column="step",
        xaxis=x_axis,
        yaxis=y_axis,
        meta={
            "title": "Accuracy",
            "slice": f"step × length · {sample_size(n)}" + ("" if law == "matched" else f" · {law} law"),
            "alt": f"Heatmap of accuracy over training step {whole(steps[0])} to {whole(steps[-1])} and "
            f"prefix length {whole(lengths[0])} to {whole(lengths[-1])}; at the last step "
            + said(last, "length", [nearest(lengths, trained), lengths[-1]]),
            "x": span_meta("step", x_axis),
            "y": span_meta("length", y_axis),
            "n": n,
        },
        uirevision=f"{run_name(data)}/accuracy_heatmap",
    )
    values, texts = grid_of(data, steps, lengths)
    add_heatmap(
        figure,
        values,
        cell_edges([u_step(s) for s in steps]),
        cell_edges([u_length(m) for m in lengths]),
        texts=texts,
        colours=PERFORMANCE,
        low=chance,
        high=1.0,
        ticks=[(v, f"{v:.2f}") for v in (chance, (1 + chance) / 2, 1.0)],
        theme=theme,
        size=size,
    )
    add_training_edge(figure, lengths, trained)
    add_heatmap_cursor(figure, cursor)
    return figure


def accuracy_heatmap_data(frame: pd.DataFrame, *, law: str = "matched") -> pd.DataFrame:
    """The rows of :func:`accuracy_heatmap`, one per step and length."""
    rows = select(frame, MEASUREMENT, quantity="accuracy", mode="teacher_forced", law=law)
    return tidy(rows, "accuracy", ["step", "length"])


def accuracy_over_length(
    frame: pd.DataFrame,
    *,
    trained: float,
    step: int,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> go.Figure:
    """Accuracy over prefix length at one step, on both laws, with chance and the band of kept skill.

    The band holds the accuracies whose skill over chance, ``(accuracy - chance) / (1 - chance)``, is at
    least :data:`KEPT_SKILL`.

    Raises:
        NotMeasured: without accuracies at that step.
    """
    data = accuracy_over_length_data(frame, step=step)
    figure = _accuracy_lines(frame, data, "length", trained, theme, size)
    floor = _lowest_chance(frame, LAWS)
    main = _main(data)
    figure.layout.meta |= {
        "slice": f"band {floor + KEPT_SKILL * (1 - floor):.2f}–1.00 · {sample_size(smallest_n(data))}",
        "alt": f"Accuracy over prefix length at step {whole(step)}: "
        + said(main, "length", [nearest(list(main["length"]), trained), float(main["length"].max())])
        + f"; chance is {floor:.2f}",
    }
    add_training(figure, trained, theme, size, avoid=drawn_points(data, "length"))
    add_cursor(figure, cursor, "length", theme, [(main, TOKENS[theme]["ink"], "circle")])
    return figure


def accuracy_over_length_data(frame: pd.DataFrame, *, step: int) -> pd.DataFrame:
    """The rows of :func:`accuracy_over_length`: series matched, challenge, chance (of the matched law)."""
    return _lines_data(frame, "length", step=step)


def accuracy_over_training(
    frame: pd.DataFrame,
    *,
    trained: float,
    length: int,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> go.Figure:
    """Accuracy over training at one prefix length, on both laws, with chance and the band of kept skill.

    Raises:
        NotMeasured: without accuracies at that length.
    """
    data = accuracy_over_training_data(frame, length=length)
    figure = _accuracy_lines(frame, data, "step", trained, theme, size)
    main = _main(data)
    side = "inside training" if length <= trained else "past training"
    figure.layout.meta |= {
        "slice": f"at length {whole(length)} · {sample_size(smallest_n(data))}",
        "alt": f"Accuracy over training at length {whole(length)}, {side}: "
        + said(main, "step", [float(main["step"].min()), float(main["step"].max())])
        + f"; chance is {_lowest_chance(frame, LAWS):.2f}",
    }
    add_cursor(figure, cursor, "step", theme, [(main, TOKENS[theme]["ink"], "circle")])
    return figure


def accuracy_over_training_data(frame: pd.DataFrame, *, length: int) -> pd.DataFrame:
    """The rows of :func:`accuracy_over_training`: series matched, challenge, chance (of the matched law)."""
    return _lines_data(frame, "step", length=length)


def _lines_data(frame: pd.DataFrame, along: str, **where: int) -> pd.DataFrame:
    rows = select(frame, MEASUREMENT, quantity="accuracy", mode="teacher_forced", **where)
    parts = [tidy(pick(rows, law=law), law, along) for law in LAWS]
    chance = pick(frame, measurement=MEASUREMENT, quantity="chance", law="matched", **where)
    return stack([*parts, tidy(chance, "chance", along)])


def _accuracy_lines(
    frame: pd.DataFrame, data: pd.DataFrame, along: str, trained: float, theme: Theme, size: int
) -> go.Figure:
    """Both laws, chance and band, with line-end labels, over ``step`` or ``length``."""
    t = TOKENS[theme]
    x_axis = run_axis(along, distinct(frame, along), trained, theme)
    y_axis = accuracy_axis(_lowest_chance(frame, LAWS))
    figure = blank(
        theme,
        size,
        column=along,
        xaxis=x_axis,
        yaxis=y_axis,
        meta={"title": "Accuracy", "x": span_meta(along, x_axis), "n": smallest_n(data)},
        uirevision=f"{run_name(data)}/accuracy_over_{along}",
    )
    parts = dict(series_of(data))
    labels: list[tuple[str, float, str, bool]] = []
    if "chance" in parts:
        x, level = places(parts["chance"], along), parts["chance"]["value"].to_numpy(dtype=float)
        add_band(figure, x, level + KEPT_SKILL * (1 - level), np.ones_like(level), t["control"])
        add_level(figure, x, level, theme)
        labels.append(("chance", float(level[-1]), t["ink3"], False))
    styles = {"challenge": (t["ink2"], 1.2, False), "matched": (t["ink"], 2.2, True)}
    for law, (colour, width, first) in styles.items():
        if law not in parts:
            continue
        add_line(figure, parts[law], along, colour, width=width, band=first)
        end = last_value(parts[law]["value"].to_numpy(dtype=float))
        if end is not None:
            labels.append((law, end, colour, first))
    add_end_labels(figure, labels, y_axis["range"], size)
    return figure


def _main(data: pd.DataFrame) -> pd.DataFrame:
    """The matched law's series, or the challenge law's where only that was measured."""
    found = pick(data, series="matched")
    return found if len(found) else pick(data, series="challenge")


def nearest(lengths: list[int], trained: float) -> int:
    """The largest of ``lengths`` that was trained, or the smallest one."""
    inside = [n for n in lengths if n <= trained]
    return max(inside) if inside else min(lengths)


def _lowest_chance(frame: pd.DataFrame, laws: Sequence[str]) -> float:
    """The lowest chance level over all lengths, which fixes the range of axes and colours."""
    levels = cells(frame, "value", measurement=MEASUREMENT, quantity="chance", law=list(laws))
    if not len(levels):
        raise NotMeasured(MEASUREMENT, f"{MEASUREMENT} has accuracies, but no chance levels to read them by.")
    return float(levels.min())
