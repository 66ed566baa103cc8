"""Many seeds of one configuration: each run faint, their median strong, a band from the lowest to the highest."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np

from workbench.figures.errors import NotMeasured
from workbench.figures.labels import over_length, signed_number, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.panels.decodability import CONCEPTS, MODE
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, numbers, present, unique
from workbench.figures.rows.multiples import LengthAxis, partners
from workbench.figures.rows.select_rows import cells, edges, latest, sites, stack, tidy
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
    values_in_words,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import line_plot
from workbench.figures.style.template import accuracy_axis, length_axis, unit_axis
from workbench.figures.style.untested_lengths import hatch_unjudged

#: What can be shown over seeds: name -> the columns that pick its rows.
SHOWN: dict[str, Mapping[str, str]] = {
    "accuracy": {"measurement": "behaviour", "quantity": "accuracy", "law": "matched", "mode": "teacher_forced"},
    "challenge": {"measurement": "behaviour", "quantity": "accuracy", "law": "challenge", "mode": "teacher_forced"},
    **{
        concept: {
            "measurement": measurement,
            "quantity": quantity,
            "target": target,
            "law": "matched",
            "mode": MODE[concept],
            "control": "",
        }
        for concept, (measurement, quantity, target, _) in CONCEPTS.items()
    },
}
TITLES = {
    "accuracy": "Accuracy",
    "challenge": "Accuracy, challenge test set",
    "summary": "Task-state decodability",
    "position": "Position decodability",
}
BOTH_LAWS = ("accuracy", "challenge")
MEDIAN = "median"


def seed_rows(frame: Frame, *, step: int, shown: str = "accuracy") -> Frame:
    """The rows of :func:`seeds_over_length`: a series per run, and ``median`` with the range as its interval.

    Raises:
        NotMeasured: without rows.
    """
    rows = one_place(frame.where(**SHOWN[shown]))
    rows = rows.where(rows["step"] <= step)
    if not len(rows):
        measurement = SHOWN[shown]["measurement"]
        raise NotMeasured(measurement, f"No rows of {measurement} at or before step {whole(step)} for these runs.")
    rows = latest(rows, "step")
    if shown not in BOTH_LAWS:
        rows = latest(rows, "layer")
    parts = [tidy(part, str(name), "length") for (name,), part in sorted(rows.group("run"), key=lambda group: group[0])]
    return stack([*parts, median_of_runs(stack(parts))])


@figure(rows=seed_rows)
def seeds_over_length(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    shown: str = "accuracy",
    colour: str = "ink",
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """One quantity over prefix length for all seeds of a configuration, at one step.

    Args:
        frame: rows of the runs.
        step: each run is shown at its last measured checkpoint that is not later.
        colour: token of the median's colour.

    Raises:
        NotMeasured: without rows of that quantity at or before that step.
    """
    figure, y_range = seeds_plot(data, trained, shown, look, f"seeds_{shown}")
    t = TOKENS[look.theme]
    runs = [name for name in unique(data["series"]) if name != MEDIAN]
    for name in runs:
        add_line(figure, data.where(series=name), "length", t["line2"], width=1, band=False)
    middle = data.where(series=MEDIAN)
    end = add_line(figure, middle, "length", t[colour])
    add_end_labels(figure, [(MEDIAN, end, t[colour], True)], y_range, look.size)
    hatched = hatch_unjudged(figure, {trained: middle["length"]}, look.theme) if shown == "challenge" else ""
    figure.layout.meta |= {
        "slice": f"{_count(len(runs))} · band: lowest to highest{hatched}",
        "alt": f"{TITLES[shown]} {over_length(step)}, median of {_count(len(runs))}: "
        + values_in_words(middle, "length", edges(middle, "length")),
    }
    add_training(figure, trained, look, avoid=drawn_points(data, "length"))
    add_cursor(figure, cursor, "length", look.theme, [(middle, t[colour], "circle")])
    return figure


def one_place(rows: Frame) -> Frame:
    """Return the rows with a value, without those from inside a block: a layer is represented by its value after the
    block.
    """
    rows = rows.where(present(rows["value"]))
    return rows.where(~sites(rows, "hook_resid_mid"))


def median_of_runs(data: Frame, along: str = "length") -> Frame:
    """Return the median, lowest and highest value over runs at each length (or step) that all runs have; n is the
    number of runs.
    """
    groups = [part for _, part in sorted(data.group(along), key=lambda group: group[0])]
    counts = [int(present(part["value"]).sum()) for part in groups]
    groups = [part for part, count in zip(groups, counts, strict=True) if count == max(counts)]
    values = [numbers(part["value"]) for part in groups]
    return Frame.concat([part.take([0]) for part in groups]).with_columns(
        series=MEDIAN,
        run="",
        value=[float(np.median(one)) for one in values],
        low=[float(one.min()) for one in values],
        high=[float(one.max()) for one in values],
        n=max(counts),
        note="median of the runs; interval: lowest to highest run; n: runs",
    )


def seed_medians(frame_a: Frame, frame_b: Frame, *, step: int, shown: str = "accuracy") -> Frame:
    """The rows of :func:`seeds_compared`: series A and B, the medians."""
    parts = []
    for name, frame in (("A", frame_a), ("B", frame_b)):
        parts.append(seed_rows(frame, step=step, shown=shown).where(series=MEDIAN).with_columns(series=name))
    return stack(parts)


@figure(rows=seed_medians)
def seeds_compared(
    data: Frame,
    frame_a: Frame,
    frame_b: Frame,
    *,
    trained: float,
    step: int,
    trained_b: float | None = None,
    axis: LengthAxis = "length",
    shown: str = "accuracy",
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Medians over seeds of two configurations, A solid and B dashed, each with its range.

    By ``axis`` "times" B stands at the lengths of A that are the same multiple of N (``trained``, of B ``trained_b``;
    None = the same).

    Raises:
        NotMeasured: if either has no rows there.
    """
    n_b = trained if trained_b is None else trained_b
    times = trained / n_b if axis == "times" else 1.0
    a, b = data.where(series="A"), data.where(series="B")
    placed = stack([a, b.with_columns(length=b["length"].astype(float) * times)])
    figure, y_range = seeds_plot(placed, trained, shown, look, f"seeds_compared_{shown}")
    t = TOKENS[look.theme]
    labels: list[Label] = []
    for name, rows, dash, shift in (("A", a, "solid", 0.0), ("B", b, "5px,3px", math.log2(times))):
        colour = t[name.lower()]
        labels.append((name, add_line(figure, rows, "length", colour, dash=dash, shift=shift), colour, True))
    add_end_labels(figure, labels, y_range, look.size)
    in_a, in_b = (
        dict(zip(part["length"].astype(int).tolist(), part["value"].tolist(), strict=True)) for part in (a, b)
    )
    pairs = partners(in_a, int(trained), in_b, int(n_b), axis)
    shared = [(n, in_a[n] - in_b[other]) for n, other in pairs.items()]
    last = whole(float(shared[-1][0])) if shared else ""
    hatched = (
        hatch_unjudged(figure, lengths_by_n([(trained, a), (n_b, b)], axis), look.theme) if shown == "challenge" else ""
    )
    figure.layout.meta |= {
        "slice": f"medians of {_count(int(a['n'][0]))} and {_count(int(b['n'][0]))}{hatched}",
        "alt": f"{TITLES[shown]} {over_length(step)}, medians of A and B"
        + (f"; A minus B is {signed_number(shared[-1][1])} at length {last}" if last else ""),
    }
    add_training(figure, trained, look, avoid=drawn_points(placed, "length"))
    add_cursor(figure, cursor, "length", look.theme, [(a, t["a"], "circle"), (b, t["b"], "circle")])
    return figure


def seeds_plot(data: Frame, trained: float, shown: str, look: Look, name: str) -> tuple[Drawing, list[float]]:
    """An empty plot over prefix length with the quantity's fixed range, and that range."""
    x_axis = length_axis(cells(data, "length"), trained, look.theme)
    floor = max(0.0, round(float(numbers(data["value"]).min()) - 0.05, 1)) if shown in BOTH_LAWS else 0.0
    y_axis = accuracy_axis(min(0.5, floor)) if shown in BOTH_LAWS else unit_axis()
    figure = line_plot("length", x_axis, y_axis, title=TITLES[shown], n=None, name=name, look=look)
    if shown == "position":
        add_level(figure, x_axis["range"], np.zeros(2), look.theme)
    return figure, list(y_axis["range"])


def lengths_by_n(parts: Sequence[tuple[float, Frame]], axis: LengthAxis) -> dict[float, list[float]]:
    """N -> the lengths of the rows of runs with that N; by multiples of N all stand at those of the first.

    Args:
        parts: N and rows, in their order.
        axis: by "times" lengths are multiples of N.
    """
    first = parts[0][0]
    lengths: dict[float, list[float]] = {}
    for trained, rows in parts:
        at, times = (first, first / trained) if axis == "times" else (trained, 1.0)
        lengths.setdefault(at, []).extend(float(n) * times for n in rows["length"])
    return lengths


def _count(runs: int) -> str:
    return f"{runs} seed{'' if runs == 1 else 's'}"
