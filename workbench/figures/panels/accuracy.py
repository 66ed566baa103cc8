"""Does it keep working? Accuracy over training, over prefix length, and over both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.core.thresholds import ROBUST
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import over_length, over_training, sample_size, whole
from workbench.figures.registry import data_of, figure
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.picking import (
    cells,
    run_name,
    select,
    series_of,
    setting_of,
    smallest_n,
    stack,
    telling,
    tidy,
)
from workbench.figures.style.design_tokens import PERFORMANCE, TOKENS, Theme
from workbench.figures.style.heatmap import step_length_map
from workbench.figures.style.marks import (
    Cursor,
    Label,
    add_band,
    add_cursor,
    add_end_labels,
    add_level,
    add_line,
    add_training,
    drawn_points,
    places,
    said,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import line_plot
from workbench.figures.style.template import accuracy_axis, run_axis

MEASUREMENT = "behaviour"
LAWS = ("matched", "challenge")


@figure
def accuracy_heatmap(
    frame: Frame,
    *,
    trained: float,
    law: str = "matched",
    floor: float | None = None,
    checkpoints: Sequence[int] = (),
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy over training step (x) and prefix length (y), coloured from chance to 1.

    Args:
        frame: rows of one run.
        trained: N, the longest prefix length seen in training.
        law: matched or challenge.
        floor: where the colours start, for runs side by side; None = at the lowest chance level.
        checkpoints: steps of all checkpoints that there are, for those without rows.
        theme: light or dark.
        size: base text size, pixels.
        cursor: draws the cursor lines at ``step`` and ``length``.

    Raises:
        NotMeasured: without accuracies of that law.
    """
    data = accuracy_heatmap_data(frame, law=law)
    chance = _lowest_chance(frame, [law]) if floor is None else floor
    steps, lengths = (np.unique(data[c].astype(int)).tolist() for c in ("step", "length"))
    last = said(data.where(step=steps[-1]), "length", telling(data, "length", trained))
    return step_length_map(
        data,
        steps=[*frame.distinct("step"), *checkpoints],
        lengths=frame.distinct("length"),
        trained=trained,
        colours=PERFORMANCE,
        low=chance,
        high=1.0,
        ticks=[(v, f"{v:.2f}") for v in (chance, (1 + chance) / 2, 1.0)],
        edge=None,
        name="accuracy_heatmap",
        words={
            "title": "Accuracy",
            "slice": f"step × length · {sample_size(smallest_n(data))}" + ("" if law == "matched" else f" · {law} law"),
            "alt": f"Heatmap of accuracy over training step {whole(steps[0])} to {whole(steps[-1])} and "
            f"prefix length {whole(lengths[0])} to {whole(lengths[-1])}; at the last step {last}",
        },
        theme=theme,
        size=size,
        cursor=cursor,
    )


@data_of(accuracy_heatmap)
def accuracy_heatmap_data(frame: Frame, *, law: str = "matched") -> Frame:
    """The rows of :func:`accuracy_heatmap`, one per step and length."""
    rows = select(frame, MEASUREMENT, quantity="accuracy", mode="teacher_forced", law=law)
    return tidy(rows, "accuracy", ["step", "length"])


@figure
def accuracy_over_length(
    frame: Frame,
    *,
    trained: float,
    step: int,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy over prefix length at one step, on both laws, with chance and the band of kept skill.

    The band holds the accuracies whose skill over chance, ``(accuracy - chance) / (1 - chance)``, is at
    least what the rows' setting ``robust`` asks of a run past the training length.

    Raises:
        NotMeasured: without accuracies at that step.
    """
    data = accuracy_over_length_data(frame, step=step)
    figure = _accuracy_lines(frame, data, "length", trained, theme, size)
    floor = _lowest_chance(frame, LAWS)
    main = _main(data)
    figure.layout.meta |= {
        "slice": f"band {floor + _kept_skill(frame) * (1 - floor):.2f}–1.00 · {sample_size(smallest_n(data))}",
        "alt": f"Accuracy {over_length(step)}: {said(main, 'length', telling(main, 'length', trained))}"
        f"; chance is {floor:.2f}",
    }
    add_training(figure, trained, theme, size, avoid=drawn_points(data, "length"))
    add_cursor(figure, cursor, "length", theme, [(main, TOKENS[theme]["ink"], "circle")])
    return figure


@data_of(accuracy_over_length)
def accuracy_over_length_data(frame: Frame, *, step: int) -> Frame:
    """The rows of :func:`accuracy_over_length`: series matched, challenge, chance (of the matched law)."""
    return _lines_data(frame, "length", step=step)


@figure
def accuracy_over_training(
    frame: Frame,
    *,
    trained: float,
    length: int,
    theme: Theme = "light",
    size: int = 11,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy over training at one prefix length, on both laws, with chance and the band of kept skill.

    Raises:
        NotMeasured: without accuracies at that length.
    """
    data = accuracy_over_training_data(frame, length=length)
    figure = _accuracy_lines(frame, data, "step", trained, theme, size)
    main = _main(data)
    figure.layout.meta |= {
        "slice": f"at length {whole(length)} · {sample_size(smallest_n(data))}",
        "alt": f"Accuracy {over_training(length, trained)}: {said(main, 'step', telling(main, 'step', trained))}"
        f"; chance is {_lowest_chance(frame, LAWS):.2f}",
    }
    add_cursor(figure, cursor, "step", theme, [(main, TOKENS[theme]["ink"], "circle")])
    return figure


@data_of(accuracy_over_training)
def accuracy_over_training_data(frame: Frame, *, length: int) -> Frame:
    """The rows of :func:`accuracy_over_training`: series matched, challenge, chance (of the matched law)."""
    return _lines_data(frame, "step", length=length)


def _lines_data(frame: Frame, along: str, **where: int) -> Frame:
    rows = select(frame, MEASUREMENT, quantity="accuracy", mode="teacher_forced", **where)
    parts = [tidy(rows.where(law=law), law, along) for law in LAWS]
    chance = frame.where(measurement=MEASUREMENT, quantity="chance", law="matched", **where)
    return stack([*parts, tidy(chance, "chance", along)])


def _accuracy_lines(frame: Frame, data: Frame, along: str, trained: float, theme: Theme, size: int) -> Drawing:
    """Both laws, chance and band, with line-end labels, over ``step`` or ``length``."""
    t = TOKENS[theme]
    y_axis = accuracy_axis(_lowest_chance(frame, LAWS))
    figure = line_plot(
        along,
        run_axis(along, frame.distinct(along), trained, theme),
        y_axis,
        title="Accuracy",
        n=smallest_n(data),
        name=f"{run_name(data)}/accuracy_over_{along}",
        theme=theme,
        size=size,
    )
    parts = dict(series_of(data))
    labels: list[Label] = []
    if "chance" in parts:
        x, level = places(parts["chance"], along), parts["chance"]["value"].astype(float)
        add_band(figure, x, level + _kept_skill(frame) * (1 - level), np.ones_like(level), t["control"])
        add_level(figure, x, level, theme)
        labels.append(("chance", float(level[-1]), t["ink3"], False))
    styles = {"challenge": (t["ink2"], 1.2, False), "matched": (t["ink"], 2.2, True)}
    for law, (colour, width, first) in styles.items():
        if law in parts:
            labels.append((law, add_line(figure, parts[law], along, colour, width=width, band=first), colour, first))
    add_end_labels(figure, labels, y_axis["range"], size)
    return figure


def _kept_skill(frame: Frame) -> float:
    """The skill that the rows' own rules ask for past the training length."""
    rows = frame.where(measurement=MEASUREMENT, quantity="accuracy").take([0])
    told = setting_of(rows.row(0), "robust")
    return ROBUST if told is None else told


def _main(data: Frame) -> Frame:
    """The matched law's series, or the challenge law's where only that was measured."""
    found = data.where(series="matched")
    return found if len(found) else data.where(series="challenge")


def _lowest_chance(frame: Frame, laws: Sequence[str]) -> float:
    """The lowest chance level over all lengths, which fixes the range of axes and colours."""
    levels = cells(frame, "value", measurement=MEASUREMENT, quantity="chance", law=list(laws))
    if not len(levels):
        raise NotMeasured(MEASUREMENT, f"{MEASUREMENT} has accuracies, but no chance levels to read them by.")
    return float(levels.min())
