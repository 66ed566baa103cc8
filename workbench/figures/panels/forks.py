"""Where do forks end? The accuracy of a run and of its forks, over training and over prefix length."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.core.names import BEHAVIOUR, MATCHED
from workbench.figures.labels import join_with_dots, sample_size, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import lines
from workbench.figures.rows.baselines import baseline_rows
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import (
    axis_at,
    rows_with_values,
    run_name,
    select,
    series_of,
    smallest_n,
    stack,
    telling,
    tidy,
)
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import (
    Cursor,
    Label,
    add_cursor,
    add_end_labels,
    add_level,
    add_line,
    add_training,
    drawn_points,
    places,
    values_in_words,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import line_plot
from workbench.figures.style.template import accuracy_axis, run_axis

THIS_RUN, CHANCE = "this run", "chance"
"""Series of the run itself and of its baseline; every other series is a fork, by its name."""
WHERE: Mapping[str, Any] = {"quantity": "accuracy", "mode": "teacher_forced", "law": MATCHED}
SHORT_DASH = "4px,2px"
"""Dash of a fork that trains on other lengths. The chance level has a longer dash and another colour."""
Forks = Mapping[str, tuple[int, str]]
"""Name of a fork -> the step from which it has its own training data, and its other training lengths in words."""


def fork_rows(
    frame: Frame,
    *,
    run: str | None = None,
    forks: Forks | None = None,
    step: int | None = None,
    length: int | None = None,
) -> Frame:
    """Return the accuracy of a run and of its forks over prefix length at one step, or over training at one length.

    Over training, a fork begins at the step where it left the run. If it has no row there, the line begins with the
    row of the run, because both have the same weights. Over prefix length, rows of forks end at the longest length of
    the run.
    """
    along, where = axis_at(step, length)
    main = run_name(frame) if run is None else run
    rows = select(frame.where(run=main), BEHAVIOUR, **WHERE, **where)
    own = tidy(rows, THIS_RUN, along)
    chance = tidy(baseline_rows(frame.where(run=main), MATCHED, along, **where), CHANCE, along)
    parts = [own, chance]
    for name, (at, _) in (forks or {}).items():
        rows = rows_with_values(frame.where(run=name, measurement=BEHAVIOUR, **WHERE, **where))
        if along == "length":
            rows = (
                rows.where(rows["length"] <= own["length"].max()) if step is not None and step >= at else rows.take([])
            )
        else:
            rows = rows.where(rows["step"] >= at)
            if len(rows) and not len(rows.where(step=at)):
                rows = Frame.concat([own.where(step=at).without("series"), rows])
        if len(rows):
            parts.append(tidy(rows, name, along))
    return stack(parts)


@lines(rows=fork_rows)
def forks_lines(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    run: str | None = None,
    forks: Forks | None = None,
    step: int | None = None,
    length: int | None = None,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy {over} of a run and of its forks, which share its first training steps.

    The thick line is the run, with its interval. Each thin line is a fork. It is dashed if the fork trains on other
    lengths from its step on. Forks are not seeds of the run, so they have no band and no median.

    Args:
        frame: rows of the run and of its forks.
        run: the run that was forked; None = the first in the rows.
        forks: name of each fork -> its step, and its other training lengths in words ("" for the lengths of the run).

    Raises:
        NotMeasured: without accuracies of the run there.
    """
    along, _ = axis_at(step, length)
    t, known = TOKENS[look.theme], forks or {}
    parts = dict(series_of(data))
    own, level = parts.pop(THIS_RUN), parts.pop(CHANCE, None)
    y_axis = _axis(data, level)
    drawing = line_plot(
        along,
        run_axis(along, frame.where(run=run_name(own)).distinct(along), trained, look.theme),
        y_axis,
        title="Accuracy of forks",
        n=smallest_n(data),
        name=f"{run_name(own)}/forks_over_{along}",
        look=look,
    )
    labels: list[Label] = []
    if level is not None:
        values = level["value"].astype(float)
        add_level(drawing, places(level, along), values, look.theme)
        labels.append((CHANCE, float(values[-1]), t["ink3"], False))
    ends = []
    for name, rows in parts.items():
        at, lengths = known[name]
        dash = SHORT_DASH if lengths else "solid"
        about = f"fork at step {whole(at)}: {f'other data, {lengths}' if lengths else 'other data'}"
        ends.append(add_line(drawing, rows, along, t["b"], width=1, dash=dash, band=False, about=about))
    if parts:
        middle = sorted((end for end in ends if end is not None), key=float)[len(ends) // 2]
        labels.append((f"forks ({len(parts)})", middle, t["b"], False))
    labels.append((THIS_RUN, add_line(drawing, own, along, t["ink"]), t["ink"], True))
    add_end_labels(drawing, labels, y_axis["range"], look.size)
    changed = sum(bool(known[name][1]) for name in parts)
    place = f"at length {whole(length or 0)}" if step is None else f"at step {whole(step)}"
    absent = f"{len(known) - len(parts)} of {len(known)} forks without rows here" if len(known) > len(parts) else ""
    drawing.layout.meta |= {
        "slice": join_with_dots(
            place, sample_size(smallest_n(data)), "dashed: other training lengths" if changed else "", absent
        ),
        "alt": f"Accuracy {place} of the run: {values_in_words(own, along, telling(own, along, trained))}; of "
        f"{len(parts)} forks{_ends_said(parts, along)}",
    }
    if along == "length":
        add_training(drawing, trained, look, avoid=drawn_points(data, "length"))
    add_cursor(drawing, cursor, along, look.theme, [(own, t["ink"], "circle")])
    return drawing


forks_over_training = forks_lines.over("step")
forks_over_length = forks_lines.over("length")


def _axis(data: Frame, level: Frame | None) -> dict[str, Any]:
    """The axis of accuracies, from chance on, or from the lowest value if that is well below chance."""
    lowest = float(np.nanmin(data["value"].astype(float)))
    axis = accuracy_axis(lowest if level is None else float(np.nanmin(level["value"].astype(float))))
    return axis | {"range": [min(axis["range"][0], lowest - 0.02), axis["range"][1]]}


def _ends_said(parts: Mapping[str, Frame], along: str) -> str:
    """The lowest and the highest value of the forks at the last place of each, in words."""
    if not parts:
        return " no row here"
    values = [float(rows["value"][-1]) for rows in parts.values()]
    where = "step" if along == "step" else "length"
    return f" at their last {where}: {min(values):.2f} to {max(values):.2f}"
