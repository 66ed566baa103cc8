"""Does it keep working? Accuracy over training, over prefix length, and over both."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from workbench.core.names import BEHAVIOUR, CHALLENGE, TEST_SETS
from workbench.core.shortcut_names import BIGRAM
from workbench.core.thresholds import ROBUST
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import over_axis, sample_size, whole
from workbench.figures.look import LIGHT, Look, Theme
from workbench.figures.registry import figure, lines
from workbench.figures.rows.baselines import baseline_rows, counts_for_verdict, predictor_rows
from workbench.figures.rows.composition import other_lengths
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import (
    axis_at,
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
from workbench.figures.style.design_tokens import PERFORMANCE, TOKENS
from workbench.figures.style.heatmap import step_length_map
from workbench.figures.style.marks import (
    Cursor,
    Label,
    add_band,
    add_cursor,
    add_end_labels,
    add_level,
    add_training,
    drawn_points,
    hover,
    places,
    values_in_words,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import LineStyle, add_series, line_plot
from workbench.figures.style.template import DOTS, accuracy_axis, run_axis, u_length
from workbench.figures.style.untested_lengths import hatch_unjudged

MEASUREMENT, LAWS = BEHAVIOUR, TEST_SETS
SHORTCUT = "best shortcut"
"""Name of the line that the challenge test set is read against."""


def accuracy_map_rows(frame: Frame, *, law: str = "matched") -> Frame:
    """Return the rows of :func:`accuracy_heatmap`, one per step and length."""
    rows = select(frame, MEASUREMENT, quantity="accuracy", mode="teacher_forced", law=law)
    return tidy(rows, "accuracy", ["step", "length"])


@figure(rows=accuracy_map_rows)
def accuracy_heatmap(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    law: str = "matched",
    floor: float | None = None,
    checkpoints: Sequence[int] = (),
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy over training step (x) and prefix length (y), coloured from chance to 1.

    Args:
        floor: where the colours start, for runs side by side; None = at the lowest chance level.

    Raises:
        NotMeasured: without accuracies on that test set.
    """
    chance = _lowest_chance(frame, [law]) if floor is None else floor
    steps, lengths = (np.unique(data[c].astype(int)).tolist() for c in ("step", "length"))
    last = values_in_words(data.where(step=steps[-1]), "length", telling(data, "length", trained))
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
            "slice": "step × length · "
            f"{sample_size(smallest_n(data))}" + ("" if law == "matched" else f" · {law} test set"),
            "alt": f"Heatmap of accuracy over training step {whole(steps[0])} to {whole(steps[-1])} and "
            f"prefix length {whole(lengths[0])} to {whole(lengths[-1])}; at the last step {last}",
        },
        look=look,
        cursor=cursor,
    )


def accuracy_rows(frame: Frame, *, step: int | None = None, length: int | None = None) -> Frame:
    """Return accuracies over prefix length at one step, or over training at one prefix length.

    Series: matched, challenge, chance (the baseline of the matched test set; of a language model bigram in its place),
    and the best shortcut (that of the challenge test set).
    """
    along, where = axis_at(step, length)
    rows = select(frame, MEASUREMENT, quantity="accuracy", mode="teacher_forced", **where)
    parts = [tidy(rows.where(law=law), law, along) for law in LAWS]
    chance = baseline_rows(frame, "matched", along, **where)
    shortcut = baseline_rows(frame, CHALLENGE, along, **where)
    table = predictor_rows(frame, along, **where)
    matched = tidy(table, BIGRAM, along) if len(table) else tidy(chance, "chance", along)
    return stack([*parts, matched, tidy(shortcut, SHORTCUT, along)])


def _reference(data: Frame, chance: float) -> str:
    """What the matched test set is read against, in words: ``chance is 0.50``, ``bigram is 0.33 to 0.35``."""
    table = data.where(series=BIGRAM)["value"].astype(float)
    return f"{BIGRAM} is {table.min():.2f} to {table.max():.2f}" if len(table) else f"chance is {chance:.2f}"


@lines(rows=accuracy_rows)
def accuracy_lines(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int | None = None,
    length: int | None = None,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy {over} on both test sets, each with its baseline, and the kept skill.

    The baseline of the matched test set is chance; for a language model it is the table ``bigram`` of its training
    text. The baseline of the challenge test set is the best shortcut. Over prefix length, lengths at which the
    challenge test set is not tested are hatched: see :mod:`workbench.figures.rows.baselines`. The band contains the
    accuracies whose skill over chance, ``(accuracy - chance) / (1 - chance)``, is at least the setting ``robust`` of
    the rows. A language model has no band.

    Raises:
        NotMeasured: without accuracies there.
    """
    along, _ = axis_at(step, length)
    figure = _accuracy_lines(frame, data, along, trained, look)
    floor, main = _lowest_chance(frame, LAWS), _main(data)
    n, also = sample_size(smallest_n(data)), ""
    if step is None:
        unjudged = bool((data["series"] == CHALLENGE).any()) and not counts_for_verdict(CHALLENGE, length or 0, trained)
        slice_text = f"at length {whole(length or 0)}{', challenge not tested' * unjudged} · {n}"
    else:
        marks = hatch_unjudged(figure, {trained: data.where(series=CHALLENGE)["length"]}, look.theme)
        marks += _mark_compositions(figure, frame, main, trained, step, look.theme)
        band = f"band {floor + _kept_skill(frame) * (1 - floor):.2f}–1.00 · " * (BIGRAM not in data["series"])
        slice_text = f"{band}{n}{marks}"
        also = _second_set(data, trained)
        add_training(figure, trained, look, avoid=drawn_points(data, "length"))
    figure.layout.meta |= {
        "slice": slice_text,
        "alt": f"Accuracy {over_axis(step, length, trained)}: "
        f"{values_in_words(main, along, telling(main, along, trained))}"
        f"; {_reference(data, floor)}{also}",
    }
    add_cursor(figure, cursor, along, look.theme, [(main, TOKENS[look.theme]["ink"], "circle")])
    return figure


accuracy_over_length = accuracy_lines.over("length")
accuracy_over_training = accuracy_lines.over("step")


def _second_set(data: Frame, trained: float) -> str:
    """The challenge test set in words, for screen readers; "" if it was not measured."""
    rows = data.where(series=CHALLENGE)
    lengths = [float(n) for n in rows["length"] if counts_for_verdict(CHALLENGE, float(n), trained)]
    if not lengths:
        return ""
    ends = [min(lengths), max(lengths)]
    against = values_in_words(data.where(series=SHORTCUT), "length", ends)
    return f"; challenge {values_in_words(rows, 'length', ends)}, where the best shortcut has {against}"


def _mark_compositions(figure: Drawing, frame: Frame, main: Frame, trained: float, step: int, theme: Theme) -> str:
    """Hollow marks where a mixture has other shares of components than at N; what they mean, if there are any."""
    lengths = other_lengths(frame, step, trained)
    rows = [row for row in main.rows() if float(row["length"]) in lengths and not np.isnan(row["value"])]
    if not rows:
        return ""
    t = TOKENS[theme]
    figure.add_scatter(
        x=[u_length(float(row["length"])) for row in rows],
        y=[float(row["value"]) for row in rows],
        mode="markers",
        marker={"symbol": "circle", "size": 7, "color": t["surface"], "line": {"color": t["ink"], "width": 1.5}},
        hovertext=[f"{hover(row)}<br>{lengths[float(row['length'])]}" for row in rows],
        hoverinfo="text",
        name="other components",
    )
    return " · hollow: other components"


def _accuracy_lines(frame: Frame, data: Frame, along: str, trained: float, look: Look) -> Drawing:
    """Both test sets, their baselines and the band, with line-end labels, over ``step`` or ``length``."""
    t = TOKENS[look.theme]
    y_axis = accuracy_axis(_lowest_chance(frame, LAWS))
    figure = line_plot(
        along,
        run_axis(along, frame.distinct(along), trained, look.theme),
        y_axis,
        title="Accuracy",
        n=smallest_n(data),
        name=f"{run_name(data)}/accuracy_over_{along}",
        look=look,
    )
    parts = dict(series_of(data))
    labels: list[Label] = []
    if BIGRAM in parts:
        x, level = places(parts[BIGRAM], along), parts[BIGRAM]["value"].astype(float)
        add_level(figure, x, level, look.theme, name=BIGRAM)
        labels.append((BIGRAM, float(level[-1]), t["ink3"], False))
    elif "chance" in parts:
        x, level = places(parts["chance"], along), parts["chance"]["value"].astype(float)
        add_band(figure, x, level + _kept_skill(frame) * (1 - level), np.ones_like(level), t["control"])
        add_level(figure, x, level, look.theme)
        labels.append(("chance", float(level[-1]), t["ink3"], False))
    if SHORTCUT in parts and "challenge" in parts:
        x, level = places(parts[SHORTCUT], along), parts[SHORTCUT]["value"].astype(float)
        add_level(figure, x, level, look.theme, DOTS, SHORTCUT)
        labels.append(("shortcut", float(level[-1]), t["ink3"], False))
    looks = {CHALLENGE: LineStyle(t["ink2"], 1.2, band=False), "matched": LineStyle(t["ink"], strong=True)}
    add_end_labels(figure, labels + add_series(figure, data, along, looks)[0], y_axis["range"], look.size)
    return figure


def _kept_skill(frame: Frame) -> float:
    """The skill that the settings of the rows require past the training length."""
    rows = frame.where(measurement=MEASUREMENT, quantity="accuracy").take([0])
    told = setting_of(rows.row(0), "robust")
    return ROBUST if told is None else told


def _main(data: Frame) -> Frame:
    """The series of the matched test set, or of the challenge test set if only that was measured."""
    found = data.where(series="matched")
    return found if len(found) else data.where(series="challenge")


def _lowest_chance(frame: Frame, laws: Sequence[str]) -> float:
    """The lowest chance level over all lengths, which fixes the range of axes and colours."""
    levels = cells(frame, "value", measurement=MEASUREMENT, quantity="chance", law=list(laws))
    if not len(levels):
        raise NotMeasured(MEASUREMENT, f"{MEASUREMENT} has accuracies, but no chance levels to compare them with.")
    return float(levels.min())
