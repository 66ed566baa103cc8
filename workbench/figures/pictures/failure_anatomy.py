"""How does it fail? Right and wrong answers past N, and how far each known shortcut explains them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.core.names import BEHAVIOUR, CHALLENGE, MATCHED, TEST_SETS
from workbench.core.thresholds import FOLLOWED
from workbench.core.verdicts import STRATA
from workbench.figures.labels import estimate, join_with_dots, sample_size, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import (
    not_measured,
    refuse_empty,
    rows_with_values,
    run_name,
    smallest_n,
    stack,
    tidy,
)
from workbench.figures.style.design_tokens import CONFIGURATIONS, TOKENS, rgba
from workbench.figures.style.marks import (
    Cursor,
    Label,
    LineEnd,
    add_across,
    add_cursor,
    add_end_labels,
    add_training,
    hover,
    span_meta,
)
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import DASH, blank, length_axis, u_length
from workbench.figures.style.untested_lengths import hatch_unjudged
from workbench.figures.text.strata_clauses import each_stratum

ALL = "teacher_forced"
"""Mode of the rows that cover all sequences of a test set."""
SHORT: Mapping[str, tuple[str, str, str]] = {
    "first_window": ("triangle-left", "\u25c2", "first N tokens"),
    "last_window": ("triangle-right", "\u25b8", "last N tokens"),
    "last_token": ("circle", "\u25cf", "last token"),
    "position_only": ("square", "\u25a0", "constant answer"),
    "counts": ("diamond", "\u25c6", "symbol counts"),
    "bigram": ("cross", "+", "bigram table"),
    "middle_token": ("star", "\u2605", "token after the middle"),
}
"""Shortcut -> its marker, the same marker as a character, and its name in a few words."""
OTHER = ("pentagon", "\u2b1f")
PART_COLOURS: Mapping[str, int] = {
    "first_window": 1, "last_window": 0, "last_token": 2, "position_only": 5, "counts": 6, "bigram": 3,
}  # fmt: skip
"""Shortcut -> the place of its colour among those of configurations; other shortcuts have the last one."""
RIGHT_SHARE, OTHER_WRONG = "blue: right", "grey: wrong, other"
"""Entries of the legend for the bars of right answers, and of wrong ones that no followed shortcut explains."""
_ROOM = 168
_BESIDE, _WIDTH = 0.1, 0.17
"""How far a bar stands from its length, and how wide it is, in powers of two of the length."""
Row = Mapping[str, Any]


def failure_anatomy_rows(frame: Frame, *, trained: float, step: int) -> Frame:
    """The rows of :func:`failure_anatomy`: accuracy from N on by test set, and agreement with each shortcut.

    They are of all sequences, or of the first kind of hard inputs on which the model fails.
    """
    kind = failing_kind(frame, step)
    where: dict[str, Any] = {"quantity": "accuracy", "mode": ALL}
    if kind != ALL:
        where = {"quantity": "stratum_accuracy", "target": kind}
    rows = frame.where(measurement=BEHAVIOUR, step=step, **where)
    if not len(rows):
        raise not_measured(frame, BEHAVIOUR, step=step, quantity="accuracy")
    rows = rows.where(rows["length"].astype(float) >= trained)
    parts = [tidy(rows.where(law=law), f"right, {law}", "length") for law in TEST_SETS]
    followed = rows_with_values(frame.where(measurement=BEHAVIOUR, quantity="shortcut_agreement", step=step, mode=kind))
    for (shortcut, law), part in followed.group("target", "law"):
        parts.append(tidy(part, f"{short_name(str(shortcut))}, {law}", "length"))
    return stack(parts)


def failing_kind(frame: Frame, step: int) -> str:
    """The kind of hard inputs that fails and has agreements with shortcuts, the worst first; else all sequences."""
    agreements = frame.where(measurement=BEHAVIOUR, quantity="shortcut_agreement", step=step)
    compared = set(agreements["mode"].tolist())
    worst = next(iter(STRATA))
    kinds = [str(row["target"]) for row in each_stratum(frame, step) if row["label"] == worst]
    return next((kind for kind in kinds if kind in compared), ALL)


def short_name(shortcut: str) -> str:
    """Return the name of a shortcut in a few words."""
    return SHORT[shortcut][2] if shortcut in SHORT else shortcut.replace("_", " ")


@figure(rows=failure_anatomy_rows)
def failure_anatomy(
    data: Frame,
    frame: Frame,
    *,
    trained: float,
    step: int,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Shares of right and wrong answers from N on, and which shortcut explains the wrong ones.

    At each length the left bar is the matched test set and the right bar the challenge test set. A marker is the share
    of sequences on which the model is right exactly where a shortcut is right. It is filled if this share is shown to
    be at least 0.95: the model follows the shortcut. Its wrong answers are then split. At least the part from
    the right answers up to the marker is wrong where the followed shortcut is wrong too. If the model follows several
    shortcuts, the bar has the colour of the one with the largest share.

    Raises:
        NotMeasured: without accuracies at that step.
    """
    right = data.where((data["quantity"] == "accuracy") | (data["quantity"] == "stratum_accuracy"))
    agreement = rows_with_values(data.where(quantity="shortcut_agreement"))
    refuse_empty(right, "Accuracy past training")
    right = rows_with_values(right)
    kind = str(agreement["mode"][0]) if len(agreement) else ALL
    drawing = _empty(frame, right, agreement, kind, trained, step, look)
    for law in TEST_SETS:
        _add_bars(drawing, right.where(law=law).sort("length"), agreement, law, look)
    if len(agreement):
        add_across(drawing, FOLLOWED, {"color": TOKENS[look.theme]["line2"], "width": 1, "dash": DASH}, "followed")
    hatched = (
        hatch_unjudged(drawing, {trained: right["length"]}, look.theme) if (right["law"] == CHALLENGE).any() else ""
    )
    drawing.layout.meta |= {"slice": drawing.layout.meta["slice"] + hatched}
    t = TOKENS[look.theme]
    labels: list[Label] = [(f"followed: from {FOLLOWED:g}", FOLLOWED, t["ink3"], False)] if len(agreement) else []
    labels += [(RIGHT_SHARE, 0.0, t["ink2"], False), (OTHER_WRONG, 1.0, t["ink2"], False)]
    parts = {str(row["target"]) for row in wrong_parts(right, agreement) if row is not None}
    for (shortcut,), part in sorted(agreement.group("target"), key=lambda group: str(group[0])):
        labels.append(_add_shortcut(drawing, str(shortcut), part, look))
        if shortcut in parts:
            labels.append((f"wrong as {short_name(str(shortcut))}", 0.5, part_colour(str(shortcut), look), True))
    add_end_labels(drawing, labels, drawing.layout.yaxis.range, look.size)
    add_training(drawing, trained, look, label=False)
    add_cursor(drawing, cursor, "length", look.theme)
    return drawing


def _empty(frame: Frame, right: Frame, agreement: Frame, kind: str, trained: float, step: int, look: Look) -> Drawing:
    lengths = sorted({float(n) for n in right["length"]})
    span = (lengths[0] * 2 ** (-2.6 * _BESIDE), lengths[-1] * 2 ** (2.6 * _BESIDE))
    x_axis = length_axis(lengths, trained, look.theme, span=span)
    compared = "" if len(agreement) else "no shortcut compared"
    drawing = blank(
        look,
        column="length",
        xaxis=x_axis,
        yaxis={"range": [-0.04, 1.05], "tickvals": [0, 0.5, 1], "title": {"text": "share of sequences"}},
        meta={
            "title": "Right, wrong, and shortcuts",
            "slice": join_with_dots(
                sample_size(smallest_n(right)),
                "all sequences" if kind == ALL else f"only {kind}",
                "pairs: matched, challenge",
                compared,
            ),
            "alt": f"Accuracy and agreement with shortcuts at step {whole(step)}, "
            f"{'all sequences' if kind == ALL else kind}: {_said(right, agreement)}",
            "x": span_meta("length", x_axis),
            "n": smallest_n(right),
        },
        uirevision=f"{run_name(frame)}/failure_anatomy",
    )
    drawing.update_layout(margin_r=_ROOM, margin_l=52, barmode="overlay")
    return drawing


def _places(rows: Frame) -> np.ndarray:
    """Where the bar of each row stands."""
    aside = {MATCHED: -_BESIDE, CHALLENGE: _BESIDE}
    pairs = zip(rows["length"], rows["law"], strict=True)
    return np.array([u_length(float(length)) + aside[str(law)] for length, law in pairs])


def wrong_parts(right: Frame, agreement: Frame) -> list[Row | None]:
    """Return, for each row of right answers, the agreement that splits its wrong answers; None if there is none.

    It is the largest agreement with a followed shortcut there that exceeds the right answers and is of as many
    sequences. Let ``a`` be the agreement and ``r`` the share of right answers. The model is right where the shortcut is
    right on at most ``r`` of the sequences, so both are wrong on at least ``a - r``.
    """
    found: list[Row | None] = []
    rows = [row for row in agreement.rows() if not missing(row["low"]) and row["low"] >= FOLLOWED]
    for one in right.rows():
        place = ("law", "length", "n")
        here = [row for row in rows if all(row[name] == one[name] for name in place) and row["value"] > one["value"]]
        found.append(max(here, key=lambda row: (row["value"], str(row["target"])), default=None))
    return found


def part_colour(shortcut: str, look: Look) -> str:
    """Return the colour of wrong answers that a followed shortcut explains."""
    return CONFIGURATIONS[look.theme][PART_COLOURS.get(shortcut, -1)]


def _add_bars(drawing: Drawing, rows: Frame, agreement: Frame, law: str, look: Look) -> None:
    """A bar of right answers, above it the wrong ones that a followed shortcut explains, and above them the others."""
    if not len(rows):
        return
    t, x, share = TOKENS[look.theme], _places(rows), rows["value"].astype(float)
    parts = wrong_parts(rows, agreement)
    explained = np.array([one if part is None else part["value"] for one, part in zip(share, parts, strict=True)])
    low, high = limits_of(rows)
    texts = [f"{law} test set<br>{hover(row)}<br>wrong <b>{1 - row['value']:.3f}</b>" for row in rows.rows()]
    shared: dict[str, Any] = {"x": x, "width": _WIDTH, "hovertext": texts, "hoverinfo": "text"}
    drawing.add_bar(
        y=share,
        base=0,
        marker={"color": t["bar"]},
        error_y={
            "type": "data", "symmetric": False, "array": high - share, "arrayminus": share - low,
            "color": t["ink3"], "thickness": 1, "width": 0,
        },
        name=f"right, {law}",
        **shared,
    )  # fmt: skip
    for shortcut in sorted({str(part["target"]) for part in parts if part is not None}):
        own = np.array([part is not None and part["target"] == shortcut for part in parts])
        name, at_least = short_name(shortcut), (explained - share)[own]
        drawing.add_bar(
            x=x[own],
            y=at_least,
            base=share[own],
            width=_WIDTH,
            marker={"color": part_colour(shortcut, look)},
            hovertext=[
                f"{text}<br>at least <b>{part:.3f}</b> where {name} is wrong too"
                for text, part in zip(np.array(texts)[own], at_least, strict=True)
            ],
            hoverinfo="text",
            name=f"wrong as {name}, {law}",
        )
    drawing.add_bar(
        y=1 - explained, base=explained, marker={"color": t["ribbon_unfitted"]}, name=f"wrong, {law}", **shared
    )


def limits_of(rows: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Both ends of the intervals of rows, NaN where there is none."""
    low, high = (np.array([np.nan if missing(v) else float(v) for v in rows[name]]) for name in ("low", "high"))
    return low, high


def _add_shortcut(drawing: Drawing, shortcut: str, rows: Frame, look: Look) -> Label:
    """The markers of one shortcut at all lengths, on both test sets; returns its label."""
    t = TOKENS[look.theme]
    symbol, mark, name = SHORT.get(shortcut, (*OTHER, short_name(shortcut)))
    x, share = _places(rows), rows["value"].astype(float)
    low, high = limits_of(rows)
    followed = (low >= FOLLOWED).tolist()
    drawing.add_scatter(
        x=x,
        y=share,
        mode="markers",
        marker={
            "symbol": [symbol if one else f"{symbol}-open" for one in followed],
            "size": [10 if one else 7 for one in followed],
            "color": t["ink"],
            "line": {"width": 1.3, "color": t["ink"]},
        },
        error_y={
            "type": "data",
            "symmetric": False,
            "array": high - share,
            "arrayminus": share - low,
            "color": rgba(t["ink"], 0.35),
            "thickness": 1,
            "width": 0,
        },
        hovertext=[f"agrees with: {hover(row)}" for row in rows.rows()],
        hoverinfo="text",
        name=name,
    )
    last = int(np.argmax(x))
    return (
        f"{mark} {name}",
        LineEnd(float(share[last]), float(x[last])),
        t["ink" if any(followed) else "ink2"],
        any(followed),
    )


def _said(right: Frame, agreement: Frame) -> str:
    """The shares at the longest length, in words."""
    longest = float(max(right["length"]))
    parts = []
    for law in TEST_SETS:
        here = right.where(law=law, length=longest).rows()
        parts += [f"{law} {estimate(row['value'], row['low'], row['high'])} right" for row in here]
    at = f"length {whole(longest)}, {', '.join(parts)}"
    rows = [row for row in agreement.rows() if not missing(row["low"]) and row["low"] >= FOLLOWED]
    followed = [
        f"{short_name(row['target'])} {estimate(row['value'], row['low'], row['high'])} at length "
        f"{whole(row['length'])} ({row['law']})"
        for row in rows
    ]
    return f"{at}; {'followed: ' + ', '.join(followed) if followed else 'no shortcut is shown to be followed'}"
