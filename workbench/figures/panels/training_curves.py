"""How training went: loss and accuracies over steps, from the log of a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from workbench.figures.errors import NotMeasured
from workbench.figures.labels import proportion, short, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, Values, present
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import Cursor, add_cursor, add_end_labels, span_meta
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import PLOT_HEIGHT, blank, step_axis, u_step

#: series -> column; lengths inside and beyond training
ACCURACIES = {"inside": "accuracy_in", "outside": "accuracy_out"}
#: More points than this cannot be told apart on any screen.
MOST_POINTS = 2000
#: The plot's lower and upper part (accuracy, loss), in paper units.
_LOWER, _UPPER = (0.0, 0.44), (0.56, 1.0)


def log_rows(frame: Frame) -> Frame:
    """What :func:`loss_over_training` draws: columns series (loss, inside, outside), step, value.

    Long logs are thinned: of each of :data:`MOST_POINTS` / 2 equal stretches of the axis the smallest and
    the largest value stay, so that no spike is lost.
    """
    if not len(frame):
        raise NotMeasured("training", "The log of this run is empty.", helps=False)
    parts = []
    for series, column in {"loss": "loss", **ACCURACIES}.items():
        rows = Frame({"step": frame["step"], "value": frame[column].astype(float)})
        rows = rows.where(np.isfinite(rows["value"]) & present(rows["step"])).sort("step")
        parts.append(_thin(rows).with_columns(series=series))
    return Frame.concat(parts).only(("series", "step", "value"))


@figure(rows=log_rows)
def loss_over_training(
    data: Frame,
    frame: Frame,
    *,
    look: Look = LIGHT,
    cursor: Cursor | None = None,
) -> Drawing:
    """Training loss (log scale, above) and accuracy at lengths inside and outside training (below).

    Args:
        frame: a run's log: columns step, loss, accuracy_in, accuracy_out; accuracies are missing where
            they were not taken.

    Raises:
        NotMeasured: for an empty log.
    """
    t = TOKENS[look.theme]
    x_axis = step_axis(frame.distinct("step"))
    loss = data.where(series="loss")
    low, high = _decades(loss["value"])
    figure = blank(
        look,
        column="step",
        xaxis=x_axis | {"anchor": "y2"},
        yaxis={
            "domain": list(_UPPER),
            "range": [low, high],
            **_log_ticks(low, high),
            "title": {"text": "loss"},
        },
        meta={
            "title": "Loss",
            "slice": "training loss, and accuracy inside and outside training",
            "alt": f"Training loss over step {whole(float(frame['step'].min()))} to "
            f"{whole(float(frame['step'].max()))}: from {proportion(float(loss['value'][0]))} to "
            f"{proportion(float(loss['value'][-1]))}",
            "x": span_meta("step", x_axis),
            "n": None,
        },
        uirevision="loss_over_training",
    )
    figure.update_layout(
        yaxis2={
            "domain": list(_LOWER),
            "range": [-0.06, 1.06],
            "tickvals": [0, 1],
            "ticktext": ["0", "1"],
            "title": {"text": "accuracy"},
            "anchor": "x",
        }
    )
    _draw(figure, loss, "y", t["ink"], np.log10)
    labels: list[tuple[str, float, str, bool]] = []
    for series, colour, strong in (("outside", t["ink2"], False), ("inside", t["ink"], True)):
        rows = data.where(series=series)
        if len(rows):
            _draw(figure, rows, "y2", colour, np.asarray, width=1.6 if strong else 1.2)
            labels.append((series, float(rows["value"][-1]), colour, strong))
    before = len(figure.layout.annotations)
    height = PLOT_HEIGHT * (_LOWER[1] - _LOWER[0])
    add_end_labels(figure, labels, figure.layout.yaxis2.range, look.size, pixels=height)
    for annotation in figure.layout.annotations[before:]:
        annotation.yref = "y2"
    add_cursor(figure, cursor, "step", look.theme)
    return figure


def _thin(rows: Frame) -> Frame:
    if len(rows) <= MOST_POINTS:
        return rows
    u = np.log2(1 + rows["step"].astype(float))
    stretch = np.digitize(u, np.linspace(u[0], u[-1], MOST_POINTS // 2))
    keep = {0, len(rows) - 1}
    starts = np.flatnonzero(np.diff(stretch, prepend=-1))  # steps ascend, so that a stretch is a slice
    for first, end in zip(starts, [*starts[1:], len(rows)], strict=True):
        values = rows["value"][first:end]
        keep |= {int(first + values.argmin()), int(first + values.argmax())}
    return rows.take(sorted(keep))


def _decades(loss: Values) -> tuple[float, float]:
    positive = loss[loss > 0]
    if not len(positive):
        return -1.0, 1.0
    low, high = math.log10(positive.min()), math.log10(positive.max())
    pad = 0.06 * max(high - low, 0.3)
    return low - pad, high + pad


def _log_ticks(low: float, high: float) -> dict[str, list[object]]:
    whole_decades = list(range(math.ceil(low), math.floor(high) + 1))
    ticks: list[float] = [float(k) for k in whole_decades]
    if len(ticks) < 2:
        ticks = [low + share * (high - low) for share in (0.1, 0.9)]
    elif len(ticks) > 3:
        ticks = [ticks[0], ticks[len(ticks) // 2], ticks[-1]]
    return {"tickvals": list(ticks), "ticktext": [_amount(10.0**k) for k in ticks]}


def _amount(x: float) -> str:
    return short(x) if x >= 10 else f"{x:.2g}"


def _draw(
    figure: Drawing,
    rows: Frame,
    axis: str,
    colour: str,
    scale: Callable[[Any], Any],
    width: float = 1.6,
) -> None:
    values = rows["value"].astype(float)
    values = np.where(values > 0, values, np.nan) if axis == "y" else values
    number_format = _amount if axis == "y" else partial(proportion, decimals=3)
    figure.add_scatter(
        x=[u_step(float(s)) for s in rows["step"]],
        y=scale(values),
        yaxis=axis,
        mode="lines",
        line={"color": colour, "width": width},
        hovertext=[
            f"{name}<br>step {whole(float(s))}<br><b>{number_format(float(v))}</b>"
            for name, s, v in zip(rows["series"], rows["step"], rows["value"], strict=True)
        ],
        hoverinfo="text",
        name=str(rows["series"][0]),
    )
