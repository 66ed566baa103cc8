"""Two runs side by side: what A has more or less of than B, with the interval of the difference."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.thresholds import LEVEL_TEXT
from workbench.figures.errors import NotShared
from workbench.figures.heads.head_curves import SHARES, scale_of, title_of
from workbench.figures.heads.head_map import draw_grid, head_grid, spoken_cells
from workbench.figures.labels import Piece, interval, over_length, proportion, sample_size, signed_number, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.panels.accuracy import accuracy_map_rows, accuracy_rows
from workbench.figures.panels.decodability import CONCEPTS, decodability_rows
from workbench.figures.registry import figure
from workbench.figures.rows.claims import Cite, Claim, cite, cite_difference, plain
from workbench.figures.rows.conversion import of_rows
from workbench.figures.rows.frame import Frame, numbers, present, unique
from workbench.figures.rows.multiples import LengthAxis, StepPairing, pairing_text, partners, step_partners
from workbench.figures.rows.select_rows import COLUMNS, PLACE, head_names, run_name, series_of, smallest_n, telling
from workbench.figures.style.design_tokens import DIFFERENCE, TOKENS, difference_colours
from workbench.figures.style.heatmap import step_length_map
from workbench.figures.style.marks import (
    Cursor,
    add_cursor,
    add_end_labels,
    add_level,
    add_training,
    drawn_points,
    values_in_words,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.series import LineStyle, add_series, alt_text, line_plot
from workbench.figures.style.template import length_axis

Row = Mapping[str, Any]
SAME: Mapping[StepPairing, str] = {"share": "same share of training", "step": "same step"}
"""What checkpoints were paired by, in words."""


def difference(a: Frame, b: Frame) -> Frame:
    """A - B of the rows of two figures, row by row, where both have a value.

    The interval combines the two intervals by the square-and-add method of Newcombe (1998, Statistics in Medicine 17,
    method 10). It takes the runs as independent, and is wider than needed if both saw the same sequences. ``n`` is the
    smaller of the two. If only one of two values has an interval, the other one is exact: its limits are the value. A
    difference of two exact values is exact, and has no interval.

    Returns:
        rows of A with series "<series>", value, low, high of the difference, and run "<A> - <B>".
    """
    keys = ("series", *(name for name in PLACE if name != "run"))
    in_b = {key: index for index, key in enumerate(b.keys(*keys))}
    shared = [(index, in_b[key]) for index, key in enumerate(a.keys(*keys)) if key in in_b]
    a, b = a.take([index_a for index_a, _ in shared]), b.take([index_b for _, index_b in shared])
    (value_a, low_a, high_a), (value_b, low_b, high_b) = (
        [part[name].astype(float) for name in ("value", "low", "high")] for part in (a, b)
    )
    drawn = np.isfinite(low_a) | np.isfinite(low_b)
    low_a, high_a = (np.where(drawn & np.isnan(end), value_a, end) for end in (low_a, high_a))
    low_b, high_b = (np.where(drawn & np.isnan(end), value_b, end) for end in (low_b, high_b))
    value = value_a - value_b
    return a.with_columns(
        run=[f"{index_a} \u2212 {index_b}" for index_a, index_b in zip(a["run"], b["run"], strict=True)],
        value=value,
        low=value - np.hypot(value_a - low_a, high_b - value_b),
        high=value + np.hypot(high_a - value_a, value_b - low_b),
        n=np.minimum(a["n"].astype(float), b["n"].astype(float)),
    ).only(COLUMNS)


def accuracy_difference_rows(
    frame_a: Frame,
    frame_b: Frame,
    *,
    trained: float,
    trained_b: float | None = None,
    axis: LengthAxis = "length",
    pairing: StepPairing = "step",
    law: str = "matched",
) -> Frame:
    """The rows of :func:`accuracy_difference`; ``attrs["paired"]`` is how their lengths were paired."""
    a, b = accuracy_map_rows(frame_a, law=law), accuracy_map_rows(frame_b, law=law)
    if pairing == "share":
        pairs = step_partners(a.distinct("step").astype(int), b.distinct("step").astype(int), pairing)
        at_a = {of_b: of_a for of_a, of_b in pairs.items()}
        b = b.where(step=list(at_a))
        b = b.with_columns(step=[at_a[int(step)] for step in b["step"]])
    return _shared(a, b, "behaviour", trained, trained_b, axis)


@figure(rows=accuracy_difference_rows)
def accuracy_difference(
    data: Frame,
    frame_a: Frame,
    frame_b: Frame,
    *,
    trained: float,
    trained_b: float | None = None,
    axis: LengthAxis = "length",
    pairing: StepPairing = "step",
    law: str = "matched",
    checkpoints: Sequence[int] = (),
    checkpoints_b: Sequence[int] = (),
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Accuracy of A minus that of B over training step and prefix length, where both were measured.

    ``trained`` and ``trained_b`` (None = the same) are each run's N. :func:`workbench.figures.rows.multiples.partners`
    pairs lengths by ``axis``, and :func:`workbench.figures.rows.multiples.step_partners` pairs checkpoints by
    ``pairing``. Differences are drawn at the steps and lengths of A.

    Raises:
        NotMeasured: if one has no accuracies, or the two share no step and length.
    """
    steps = [*frame_a.distinct("step"), *checkpoints]
    if pairing == "step":
        steps += [*frame_b.distinct("step"), *checkpoints_b]
    top = max(0.1, math.ceil(10 * float(np.abs(numbers(data["value"])).max())) / 10)
    last = values_in_words(data.where(step=data["step"].max()), "length", telling(data, "length", trained))
    return step_length_map(
        data,
        steps=steps,
        lengths=_both(frame_a, frame_b, "length"),
        trained=trained,
        colours=DIFFERENCE[look.theme],
        low=-top,
        high=top,
        ticks=[(-top, signed_number(-top)), (0.0, "0"), (top, signed_number(top))],
        edge=TOKENS[look.theme]["train"],
        name="accuracy_difference",
        words={
            "title": "Accuracy, A \u2212 B",
            "slice": f"{SAME[pairing]} · {data.attrs['paired']} · {sample_size(smallest_n(data))}",
            "alt": "Heatmap of the accuracy of A minus that of B over training step and prefix length; "
            f"at the last step {last}",
        },
        look=look,
        cursor=cursor,
    )


def over_length_difference(
    frame_a: Frame,
    frame_b: Frame,
    *,
    step: int,
    step_b: int,
    trained: float,
    trained_b: float,
    axis: LengthAxis = "length",
    law: str = "matched",
) -> Frame:
    """Return the accuracy of run A minus that of run B on one test set, over prefix length.

    Raises:
        NotMeasured: if one has no accuracies at its step, or the two share no length.
    """
    a, b = (accuracy_rows(frame, step=at).where(series=law) for frame, at in ((frame_a, step), (frame_b, step_b)))
    differences = _shared(a.with_columns(step=0), b.with_columns(step=0), "behaviour", trained, trained_b, axis)
    pairs = partners(_lengths_of(a), int(trained), _lengths_of(b), int(trained_b), axis)
    rows = {
        n: (a.where(length=n).row(0), b.where(length=pairs[n]).row(0))
        for n in differences.distinct("length").astype(int)
    }
    return Frame(
        {name: differences[name] for name in differences.names}, {**differences.attrs, "law": law, "rows": rows}
    )


def decodability_difference_rows(
    frame_a: Frame,
    frame_b: Frame,
    *,
    trained: float,
    step: int,
    step_b: int | None = None,
    trained_b: float | None = None,
    axis: LengthAxis = "length",
) -> Frame:
    """The rows of :func:`decodability_difference`: series ``summary`` and ``position`` (transfer)."""
    a = decodability_rows(frame_a, step=step)
    b = decodability_rows(frame_b, step=step if step_b is None else step_b)
    # the last layers of two models of different depth correspond, though their numbers do not
    b = b.with_columns(layer=float(a["layer"][0]), step=step)
    keep = list(CONCEPTS)
    return _shared(a.where(series=keep), b.where(series=keep), "probes.summary", trained, trained_b, axis)


@figure(rows=decodability_difference_rows)
def decodability_difference(
    data: Frame,
    frame_a: Frame,
    frame_b: Frame,
    *,
    trained: float,
    step: int,
    step_b: int | None = None,
    trained_b: float | None = None,
    axis: LengthAxis = "length",
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Decodability of A minus that of B over prefix length, each at its last layer.

    Args:
        axis: by what lengths are paired, see :func:`workbench.figures.rows.multiples.partners`.

    Raises:
        NotMeasured: if one has no probe rows at its step, or the two share no length.
    """
    t = TOKENS[look.theme]
    x_axis = length_axis(_both(frame_a, frame_b, "length"), trained, look.theme)
    y_range = (-1.08, 1.08)
    n = smallest_n(data)
    figure = line_plot(
        "length",
        x_axis,
        {"range": list(y_range), "tickvals": [-1, 0, 1], "ticktext": ["\u22121", "0", "+1"]},
        title="Decodability, A \u2212 B",
        slice=f"{_steps(step, step_b)} · {data.attrs['paired']} · {LEVEL_TEXT} CI of the difference · n {whole(n)}",
        alt=f"Decodability of A minus that of B {over_length(step)}: "
        + alt_text(data, "length", telling(data, "length", trained)),
        n=n,
        name=f"{run_name(data)}/decodability_difference",
        look=look,
    )
    add_level(figure, x_axis["range"], [0.0, 0.0], look.theme)
    looks = {concept: LineStyle(t[concept], strong=True, symbol=CONCEPTS[concept][3]) for concept, _ in series_of(data)}
    labels, marked = add_series(figure, data, "length", looks, clip=(-1.0, 1.0))
    add_end_labels(figure, labels, y_range, look.size)
    points = drawn_points(data, "length")
    _sides(figure, points, look)
    add_training(figure, trained, look, label=False)
    add_cursor(figure, cursor, "length", look.theme, marked, clip=(-1.0, 1.0))
    return figure


def _sides(figure: Drawing, points: list[tuple[float, float]], look: Look) -> None:
    """Which side of zero belongs to whom, written where no line runs."""
    t = TOKENS[look.theme]
    low, high = figure.layout.xaxis.range
    shares = [((x - low) / (high - low), y) for x, y in points]
    for text, sign, colour in (("A higher", 1, t["a"]), ("B higher", -1, t["b"])):
        spots = [(sign * y, right) for y in (0.9, 0.55, 0.25) for right in (False, True)]

        def room(spot: tuple[float, bool]) -> bool:
            y, right = spot
            return all(abs(v - y) >= 0.2 or (x <= 0.7 if right else x >= 0.3) for x, v in shares)

        y, right = next((spot for spot in spots if room(spot)), spots[0])
        figure.add_annotation(
            x=1 if right else 0,
            xref="paper",
            xanchor="right" if right else "left",
            xshift=-6 if right else 6,
            y=y,
            text=text,
            font={"color": colour, "size": look.size, "weight": 600},
            name="side",
        )


def _steps(step: int, step_b: int | None) -> str:
    """The training steps at which two runs are compared."""
    at_b = step if step_b is None else step_b
    return f"step {whole(step)}" if at_b == step else f"A step {whole(step)}, B step {whole(at_b)}"


@of_rows
def head_grid_difference(
    frame_a: Frame,
    frame_b: Frame,
    *,
    quantity: str = "hardmax_distance",
    step: int,
    length: int,
    step_b: int | None = None,
    length_b: int | None = None,
) -> Frame:
    """A - B of two head grids, for the heads both have; ``step_b`` and ``length_b`` where B is looked at elsewhere.

    Returns:
        columns layer, head, value, text (signed), and ``share``, the difference as a share of the
        quantity's range, -1 to 1, for :func:`workbench.figures.style.design_tokens.difference_colours`; and both runs'
        curves as ``curve_a``, ``curve_b``.
    """
    a = head_grid(frame_a, quantity=quantity, step=step, length=length)
    at_b = {"step": step if step_b is None else step_b, "length": length if length_b is None else length_b}
    b = head_grid(frame_b, quantity=quantity, **at_b)
    span = 1.0
    if quantity not in SHARES:
        scales = [scale_of(f, quantity) for f in (frame_a, frame_b)]
        span = max(2.0**s.high if s.log else s.high - s.low for s in scales)
    in_b = {(row["layer"], row["head"]): row for row in b.rows()}
    cells = []
    for row in a.rows():
        row_b = in_b.get((row["layer"], row["head"]))
        if row_b is not None:
            value = row["value"] - row_b["value"]
            cells.append(
                {
                    "layer": row["layer"],
                    "head": row["head"],
                    "value": value,
                    "text": signed_number(value),
                    "share": max(-1.0, min(1.0, value / span)) if value == value else value,
                    "curve_a": row["curve"],
                    "curve_b": row_b["curve"],
                }
            )
    return Frame.from_rows(cells, ("layer", "head", "value", "text", "share", "curve_a", "curve_b"))


def head_grid_difference_rows(
    frame_a: Frame,
    frame_b: Frame,
    *,
    quantity: str = "hardmax_distance",
    step: int,
    length: int,
    step_b: int | None = None,
    length_b: int | None = None,
) -> Frame:
    """The cells of :func:`head_grid_difference_figure`: :func:`head_grid_difference` without the curves."""
    where: dict[str, Any] = {"step": step, "length": length, "step_b": step_b, "length_b": length_b}
    found: Frame = head_grid_difference(frame_a, frame_b, quantity=quantity, **where)
    return found.without("curve_a", "curve_b")


@figure(rows=head_grid_difference_rows)
def head_grid_difference_figure(
    data: Frame,
    frame_a: Frame,
    frame_b: Frame,
    *,
    quantity: str = "hardmax_distance",
    step: int,
    length: int,
    step_b: int | None = None,
    length_b: int | None = None,
    layer: int | None = None,
    head: int | None = None,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """A - B of two head grids as a figure, for notebooks and export; the named head is outlined.

    ``cursor`` is accepted for uniformity and has no effect: the figure is at one step and length already.

    Raises:
        NotMeasured: if one has no rows there.
    """
    meta = {
        "title": f"{title_of(quantity)} by head, A \u2212 B",
        "slice": f"same layer and head · {_steps(step, step_b)} · {_lengths(length, length_b)}",
        "alt": f"{title_of(quantity)} of A minus that of B, every head at {_steps(step, step_b)} and "
        f"{_lengths(length, length_b)}: {spoken_cells(data)}",
        "n": None,
    }
    return draw_grid(
        data,
        [f"{name}<br><b>{text}</b>" for name, text in zip(head_names(data), data["text"], strict=True)],
        lambda share: difference_colours(share, look.theme),
        meta,
        f"{run_name(frame_a)} {run_name(frame_b)}/{quantity}_by_head",
        chosen=(layer, head),
        look=look,
    )


def _lengths(length: int, length_b: int | None) -> str:
    """The prefix lengths at which two runs are compared."""
    at_b = length if length_b is None else length_b
    return f"length {whole(length)}" if at_b == length else f"same multiple of N: A {whole(length)}, B {whole(at_b)}"


MOST_STRETCHES = 3
"""Stretches of lengths with a difference that :func:`compare_sentence` lists: the last ones."""


@of_rows
def compare_sentence(difference: Frame, *, items: bool = False) -> list[Piece]:
    """Return a sentence on the lengths at which two runs are equal, and by how much one is higher elsewhere.

    Args:
        difference: series of A - B over prefix length at one step: columns length, value, low, high (equal = the
            interval contains 0, or the exact difference is 0). Paired by multiples of N, its lengths are those of A. If
            it has the columns of :func:`over_length_difference`, the sentence names the test set and cites the numbers.
        items: whether its lengths are items of a question.
    """
    rows = difference.where(present(difference["value"])).sort("length")
    if not len(rows):
        return [("No length was measured in both.", "plain")]
    equal = (((rows["low"] <= 0) & (rows["high"] >= 0)) | (rows["value"] == 0)).tolist()
    lengths = [int(n) for n in rows["length"]]
    rule = difference.attrs.get("paired", "same length")
    law = difference.attrs.get("law", "")
    matters = [f"{law} test set"] if law else []
    matters += [] if rule == "same length" else ["lengths of A; B at the same multiple of its N"]
    by = f" ({'; '.join(matters)})" if matters else ""
    of: Mapping[int, tuple[Row, Row]] = difference.attrs.get("rows", {})

    def at_length(before: str, n: int, after: str = "", *, named: bool = False) -> Piece:
        text = whole(n)
        cited = [cite(of[n][0], "length", text)] if n in of else []
        said = f"{text} items" if named and items else f"length {text}" if named else text
        return Claim(f"{before}{said}{after}", "plain", cited)

    everywhere = "with every number of items" if items else "at every length"
    if all(equal):
        return [at_length(f"Equal{by} {everywhere} up to ", lengths[-1], ".", named=items)]

    def stretch(start: int, end: int, begin: str) -> list[Piece]:
        """Which run is higher over a stretch of lengths, and by how much at its last length."""
        last, single = rows.row(end), start == end
        sign = 1 if last["value"] > 0 else -1
        low, high = sorted((sign * float(last["low"]), sign * float(last["high"])))

        def cites_at_end(column: str, value: float) -> list[Cite]:
            return [cite_difference(*of[lengths[end]], column, proportion(value))] if lengths[end] in of else []

        at = "at" if single else "from"
        made = [at_length(f"{begin}{at if begin else at.capitalize()} ", lengths[start], named=True)]
        if not single:
            made.append(at_length(" to ", lengths[end]) if end + 1 < len(lengths) else plain(" on"))
        size, ends = abs(float(last["value"])), ("low", "high") if sign > 0 else ("high", "low")
        made.append(plain(f" {'A' if sign > 0 else 'B'} is higher by "))
        made.append(Claim(proportion(size), "plain", cites_at_end("value", size)))
        if shown := interval(low, high):
            made.append(Claim(f" {shown}", "muted", [*cites_at_end(ends[0], low), *cites_at_end(ends[1], high)]))
        return made if single else [*made, at_length(" at ", lengths[end])]

    stretches = different_stretches(equal, rows["value"].tolist())
    left_out, listed = len(stretches) - MOST_STRETCHES, stretches[-MOST_STRETCHES:]
    pieces: list[Piece] = []
    if left_out > 0:
        pieces.append(plain(f"They also differ in {left_out} range{'s' * (left_out > 1)} of shorter lengths"))
    elif listed[0][0]:
        pieces.append(at_length("Equal up to ", lengths[listed[0][0] - 1], named=True))
    for start, end in listed:
        pieces += stretch(start, end, "; " if pieces else "")
    return [*pieces, plain(f"{by}.")]


def different_stretches(equal: Sequence[bool], values: Sequence[float]) -> list[tuple[int, int]]:
    """Return the first and last index of each stretch in which one run is higher throughout."""
    stretches: list[tuple[int, int]] = []
    for index, same in enumerate(equal):
        if same:
            continue
        if stretches and stretches[-1][1] == index - 1 and values[index - 1] * values[index] > 0:
            stretches[-1] = (stretches[-1][0], index)
        else:
            stretches.append((index, index))
    return stretches


def _both(frame_a: Frame, frame_b: Frame, column: str) -> NDArray[np.float64]:
    """Every step or length of either run, so that the axis equals that of the two runs' own figures."""
    return np.concatenate([frame_a.distinct(column), frame_b.distinct(column)])


def _shared(a: Frame, b: Frame, measurement: str, trained: float, trained_b: float | None, axis: LengthAxis) -> Frame:
    """A - B at paired lengths, listed at those of A."""
    n_b = trained if trained_b is None else trained_b
    pairs = partners(_lengths_of(a), int(trained), _lengths_of(b), int(n_b), axis)
    at_a = {of_b: of_a for of_a, of_b in pairs.items()}
    moved = b.where(length=list(at_a))
    found = difference(a, moved.with_columns(length=[at_a[int(n)] for n in moved["length"]]))
    if not present(found["value"]).any():
        raise NotShared(measurement, _apart_at(a, b))
    return Frame({name: found[name] for name in found.names}, {"paired": pairing_text(pairs)})


def _lengths_of(part: Frame) -> list[int]:
    return [int(n) for n in unique(numbers(part["length"]))]


def _apart_at(a: Frame, b: Frame) -> str:
    """What two runs without a common step and length were measured at: their lengths, or else their steps."""
    for column in ("length", "step"):
        mine, other = (part.distinct(column).tolist() for part in (a, b))
        if not set(mine) & set(other):
            held = (f"{whole(values[0])} to {whole(values[-1])}" for values in (mine, other) if values)
            return f"Not measured at a shared {column}: A has {column}s {', B has '.join(held)}, and none is the same."
    return "Not measured in common: there is no step and length at which both runs have a value."
