"""At which steps and lengths does it pass? The state of every test set and length, as the verdict decides it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.core.names import BEHAVIOUR, CHALLENGE, MATCHED, TEST_SETS
from workbench.figures.labels import estimate, join_with_dots, length_said, whole
from workbench.figures.look import LIGHT, Look, Theme
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import rows_with_values, run_name, smallest_n, stack, tidy
from workbench.figures.rows.verdict_states import STATES, state_rows
from workbench.figures.style.design_tokens import TOKENS, ColourMap, rgba
from workbench.figures.style.heatmap import add_heatmap, add_heatmap_cursor, add_training_edge
from workbench.figures.style.marks import Cursor, add_upright, span_meta
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import (
    DOTS,
    PLOT_HEIGHT,
    blank,
    cell_edges,
    length_axis,
    step_axis,
    u_length,
    u_step,
)

NAMES = {"pass": "passes", "between": "between", "open": "inconclusive", "fail": "fails"}
"""State -> its name next to the colours."""
FRONT = "first failing length"
MOST_EDGES = 64
"""Beyond so many checkpoints the cells of neighbours are not set apart."""
_ROOM = 84
"""Pixels to the right of the plot, for the names of the states."""


def verdict_state_rows(frame: Frame, *, trained: float) -> Frame:
    """The rows of :func:`verdict_state_map`: skill with its state as the label, then the failure lengths.

    A failure length is left out at steps that do not solve the trained lengths.
    """
    states = state_rows(frame, trained=trained)
    past = set(states.where(states["length"].astype(float) > trained)["step"].tolist())
    failed = rows_with_values(frame.where(measurement=BEHAVIOUR, quantity="failure_length", step=sorted(past)))
    fronts = [tidy(failed.where(law=law), f"{FRONT}, {law}", "step") for law in TEST_SETS]
    return stack([states, *fronts])


@figure(rows=verdict_state_rows)
def verdict_state_map(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    checkpoints: Sequence[int] = (),
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Whether a run passes over training step (x) and prefix length (y), on both test sets.

    Where both test sets are tested, the left half of a cell is matched and the right half is challenge. Elsewhere the
    whole cell is matched. The states are those of the
    verdict: *passes* and *fails* are shown by an interval, *between* lies between both thresholds, and *inconclusive*
    needs more sequences. Blank cells are not tested. The line is the first failing length of the matched test set, the
    dotted line that of the challenge test set.

    Raises:
        NotMeasured: without verdicts.
        Undefined: if no length can pass or fail, because the best possible accuracy is unknown.
    """
    skills = data.where(quantity="skill")
    columns = sorted({*(int(s) for s in frame.distinct("step")), *(int(step) for step in checkpoints)})
    lengths = sorted({int(n) for n in skills["length"]})
    x_axis, edges = step_axis(columns), cell_edges([u_step(s) for s in columns])
    y_axis = length_axis(frame.distinct("length"), trained, look.theme, PLOT_HEIGHT, vertical=True)
    drawing = blank(
        look,
        column="step",
        xaxis=x_axis,
        yaxis=y_axis,
        meta={
            "title": "Verdict by step and length",
            "slice": join_with_dots(_counted(smallest_n(skills)), "halves of a cell: matched, challenge"),
            "alt": f"State of the verdict over training step {whole(columns[0])} to {whole(columns[-1])} and prefix "
            f"length {whole(lengths[0])} to {whole(lengths[-1])}; {_said(data, trained)}",
            "x": span_meta("step", x_axis),
            "y": span_meta("length", y_axis),
            "n": smallest_n(skills),
        },
        uirevision=f"{run_name(data)}/verdict_state_map",
    )
    drawing.update_layout(margin_r=_ROOM)
    values, texts = _half_cells(skills, columns, lengths)
    top = len(STATES) - 0.5
    add_heatmap(
        drawing,
        values,
        np.sort(np.concatenate([edges, (edges[:-1] + edges[1:]) / 2])),
        cell_edges([u_length(n) for n in lengths]),
        texts=texts,
        colours=state_colours(look.theme),
        low=-0.5,
        high=top,
        ticks=[(place, NAMES[state]) for place, state in enumerate(STATES)],
        look=look,
    )
    for edge in edges[1:-1] if len(columns) <= MOST_EDGES else ():
        add_upright(drawing, float(edge), {"color": TOKENS[look.theme]["surface"], "width": 1}, "checkpoint")
    _add_untested(drawing, skills, columns, trained, look)
    add_training_edge(drawing, lengths, trained, TOKENS[look.theme]["train"])
    for law, dash in ((CHALLENGE, DOTS), (MATCHED, "solid")):
        _add_front(drawing, data.where(series=f"{FRONT}, {law}"), columns, lengths, dash, look)
    add_heatmap_cursor(drawing, cursor)
    return drawing


def _add_untested(drawing: Drawing, skills: Frame, columns: Sequence[int], trained: float, look: Look) -> None:
    """The words *not tested* in the upper left corner, if the first checkpoint has no tested length past N there."""
    past = skills.where((skills["length"].astype(float) > trained) & (skills["step"].astype(int) == columns[0]))
    if len(past):
        return
    drawing.add_annotation(
        x=float(drawing.layout.xaxis.range[0]), y=float(drawing.layout.yaxis.range[1]), xanchor="left", yanchor="top",
        xshift=4, yshift=-2, text="blank: not tested", font={"color": TOKENS[look.theme]["ink3"], "size": look.size},
        name="not tested",
    )  # fmt: skip


def _counted(n: int | None) -> str:
    return "" if n is None else f"n {whole(n)} or more"


def state_colours(theme: Theme) -> ColourMap:
    """Return the colours of the states as a map of steps, from *passes* to *fails*."""
    t = TOKENS[theme]
    colours = (t["summary"], _mixed(t["position"], t["surface"], 0.45), t["line2"], t["position"])
    count = len(colours)
    return tuple((place / count, colour) for k, colour in enumerate(colours) for place in (k, k + 1))


def _mixed(colour: str, ground: str, share: float) -> str:
    """A colour between two others, ``#RRGGBB``."""
    pairs = zip((colour[i : i + 2] for i in (1, 3, 5)), (ground[i : i + 2] for i in (1, 3, 5)), strict=True)
    return "#" + "".join(f"{round(share * int(a, 16) + (1 - share) * int(b, 16)):02X}" for a, b in pairs)


def _half_cells(skills: Frame, columns: Sequence[int], lengths: Sequence[int]) -> tuple[np.ndarray, np.ndarray]:
    """States and tooltips as ``[length, half step]`` matrices; NaN and empty where nothing is tested."""
    values = np.full((len(lengths), 2 * len(columns)), np.nan)
    texts = np.full(values.shape, "", dtype=object)
    both = {(row["step"], row["length"]) for row in skills.where(law=CHALLENGE).rows()}
    for row in skills.rows():
        first = 2 * columns.index(int(row["step"])) + (row["law"] == CHALLENGE)
        halves = slice(first, first + 1 if (row["step"], row["length"]) in both else first + 2)
        place = lengths.index(int(row["length"])), halves
        values[place] = STATES.index(row["label"])
        counted = "" if missing(row["n"]) else f" \u00b7 n {whole(row['n'])}"
        texts[place] = (
            f"{row['law']} test set: <b>{NAMES[row['label']]}</b><br>step {whole(row['step'])} \u00b7 "
            f"{length_said(row['length'], row['note'])}<br>skill {estimate(row['value'], row['low'], row['high'], 3)}"
            f"{counted}"
        )
    return values, texts.astype(str)


def _add_front(
    drawing: Drawing, rows: Frame, columns: Sequence[int], lengths: Sequence[int], dash: str, look: Look
) -> None:
    """A line along the lower edge of the first failing length of each step; broken where no length fails."""
    if not len(rows):
        return
    t = TOKENS[look.theme]
    edges, heights = cell_edges([u_step(s) for s in columns]), cell_edges([u_length(n) for n in lengths])
    first = {int(row["step"]): int(row["value"]) for row in rows.rows()}
    xs: list[float | None] = []
    ys: list[float | None] = []
    for place, step in enumerate(columns):
        if step not in first:
            xs, ys = [*xs, None], [*ys, None]
            continue
        height = float(heights[lengths.index(first[step])])
        xs += [float(edges[place]), float(edges[place + 1])]
        ys += [height, height]
    for colour, width in ((rgba(t["surface"], 0.92), 4.5), (t["ink"], 2.2)):
        drawing.add_scatter(
            x=xs, y=ys, mode="lines", line={"color": colour, "width": width, "dash": dash if width < 3 else "solid"},
            hoverinfo="skip", name=str(rows["series"][0]),
        )  # fmt: skip


def _said(data: Frame, trained: float) -> str:
    """What the last tested step shows, in words."""
    skills = data.where(quantity="skill")
    last = int(max(skills["step"]))
    here = [row for row in skills.where(step=last).rows() if row["length"] > trained]
    if not here:
        return f"no length past {whole(trained)} is tested at step {whole(last)}"
    parts = []
    for law in TEST_SETS:
        labels = [row["label"] for row in here if row["law"] == law]
        counted = [f"{labels.count(state)} {NAMES[state]}" for state in STATES if state in labels]
        parts += [f"{law} test set {', '.join(counted)}"] if counted else []
    return f"at step {whole(last)} past length {whole(trained)}: {'; '.join(parts)}"
