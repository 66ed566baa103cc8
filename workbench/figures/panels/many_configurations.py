"""Up to eight configurations over prefix length: a line each, the median of its seeds, with their range as its band."""

from __future__ import annotations

import math
from collections.abc import Mapping

from workbench.core.thresholds import LEVEL_TEXT
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.panels.many_seeds import (
    BOTH_LAWS,
    SHOWN,
    TITLES,
    lengths_by_n,
    median_of_runs,
    one_place,
    seeds_plot,
)
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, unique
from workbench.figures.rows.multiples import LengthAxis
from workbench.figures.rows.select_rows import edges, latest, rows_with_values, stack, tidy
from workbench.figures.style.design_tokens import CONFIGURATION_DASHES, CONFIGURATIONS, TOKENS
from workbench.figures.style.marks import (
    Cursor,
    Label,
    add_cursor,
    add_end_labels,
    add_level,
    add_line,
    add_training,
    add_upright,
    drawn_points,
    values_in_words,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import DASH, u_length
from workbench.figures.style.untested_lengths import hatch_unjudged

MOST_CONFIGURATIONS = len(CONFIGURATIONS["light"])
HEIGHT = 180
"""Smallest height of the plot area that these figures are laid out for, in pixels: eight letters and chance fit."""


def configuration_rows(
    frame: Frame, *, configurations: Mapping[str, Mapping[str, int]], shown: str = "accuracy"
) -> Frame:
    """The rows of :func:`configurations_over_length`: a series per configuration, in their order.

    Of several runs the median, with the lowest and the highest as its interval and n their number; of one run its own
    rows. A configuration without rows is left out.

    Raises:
        NotMeasured: if none has any.
        ValueError: for more than eight.
    """
    if len(configurations) > MOST_CONFIGURATIONS:
        raise ValueError(
            f"{len(configurations)} configurations were chosen, but a figure shows at most {MOST_CONFIGURATIONS}"
        )
    measured = rows_with_values(one_place(frame.where(**SHOWN[shown])))
    by_run = {str(run): part for (run,), part in measured.group("run")}
    all_rows = []
    for name, steps in configurations.items():
        parts = []
        for run, step in steps.items():
            rows = by_run[run].where(by_run[run]["step"] <= step) if run in by_run else measured.take([])
            if len(rows):
                rows = latest(rows, "step")
                rows = rows if shown in BOTH_LAWS else latest(rows, "layer")
                parts.append(tidy(rows, run, "length"))
        if parts:
            own = parts[0] if len(parts) == 1 else median_of_runs(stack(parts))
            all_rows.append(own.with_columns(series=name))
    if not all_rows:
        measurement = SHOWN[shown]["measurement"]
        what = f"{TITLES[shown].lower()} of {', '.join(configurations)}"
        raise NotMeasured(measurement, f"No rows of {measurement} at or before the selected steps: {what}.")
    return stack(all_rows)


@figure(rows=configuration_rows)
def configurations_over_length(
    data: Frame,
    frame: Frame,
    *,
    configurations: Mapping[str, Mapping[str, int]],
    trained: float,
    trained_each: Mapping[str, float] | None = None,
    axis: LengthAxis = "length",
    shown: str = "accuracy",
    chance: float | None = None,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """One quantity over prefix length for up to eight configurations.

    A line is the median over a configuration's runs at each length that all of them have. Its band runs from the lowest
    run to the highest. For a single run the band is its own 95 % interval.

    Args:
        frame: rows of all their runs.
        configurations: name -> run -> the step at which it is shown, or its last measured one before that.
        trained: N, the longest prefix length seen in training, of the configuration that the axis is laid out for.
        trained_each: name -> its own N; None = all the same.
        axis: by "times" a configuration stands at the lengths of the first that are the same multiples of N.
        shown: a key of :data:`workbench.figures.panels.many_seeds.SHOWN`.
        chance: chance level, where it is that of all of them.

    Raises:
        NotMeasured: if none has rows of that quantity there.
        ValueError: for more than eight.
    """
    trained_lengths = {name: float((trained_each or {}).get(name, trained)) for name in configurations}
    times = {name: trained / n if axis == "times" else 1.0 for name, n in trained_lengths.items()}
    parts = {name: data.where(series=name) for name in unique(data["series"])}
    placed = stack(
        [part.with_columns(length=part["length"].astype(float) * times[name]) for name, part in parts.items()]
    )
    figure, y_range = seeds_plot(placed, trained, shown, look, f"configurations_{shown}")
    if chance is not None and shown in BOTH_LAWS:
        add_level(figure, figure.layout.xaxis.range, [chance, chance], look.theme)
    labels: list[Label] = []
    marked: list[tuple[Frame, str, str]] = []
    for index, name in enumerate(configurations):
        if name not in parts:
            continue
        colour = CONFIGURATIONS[look.theme][index]
        dash = CONFIGURATION_DASHES[index % len(CONFIGURATION_DASHES)]
        end = add_line(figure, parts[name], "length", colour, dash=dash, shift=math.log2(times[name]))
        labels.append((name, end, colour, True))
        marked.append((placed.where(series=name), colour, "circle"))
    if chance is not None and shown in BOTH_LAWS:
        labels.append(("chance", chance, TOKENS[look.theme]["ink3"], False))
    add_end_labels(figure, labels, y_range, look.size, HEIGHT)
    each = [(trained_lengths[name], part) for name, part in parts.items()]
    hatched = hatch_unjudged(figure, lengths_by_n(each, axis), look.theme) if shown == "challenge" else ""
    absent = [name for name in configurations if name not in parts]
    alt = "; ".join(f"{name} {values_in_words(part, 'length', edges(part, 'length'))}" for name, part in parts.items())
    figure.layout.meta |= {
        "slice": f"band: lowest to highest seed; of one seed, {LEVEL_TEXT} CI"
        + hatched
        + (f" · no rows: {', '.join(absent)}" if absent else ""),
        "alt": f"{TITLES[shown]} over prefix length, medians over seeds: {alt}",
    }
    _mark_training(figure, trained, sorted({trained_lengths[name] for name in parts}), axis, look, placed)
    add_cursor(figure, cursor, "length", look.theme, marked)
    return figure


def _mark_training(
    figure: Drawing, trained: float, ends: list[float], axis: LengthAxis, look: Look, placed: Frame
) -> None:
    """Where training ends: one line by multiples; by tokens one per N, the ground washed up to the first."""
    first, *others = ends if axis == "length" else [trained]
    add_training(figure, first, look, avoid=drawn_points(placed, "length"))
    for end in others:
        line = {"color": TOKENS[look.theme]["train"], "width": 1, "dash": DASH}
        if u_length(end) < figure.layout.xaxis.range[1]:
            add_upright(figure, u_length(end), line, f"training length {whole(end)}")
