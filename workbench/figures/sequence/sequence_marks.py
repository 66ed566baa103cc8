"""The rows of a sequence's figure except the pattern: outputs next to the oracle's answers, and probe readings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.figures.export.titled_figure import END_LABEL
from workbench.figures.labels import magnitude, spread, whole
from workbench.figures.look import Theme
from workbench.figures.sequence.sequence_window import window_of
from workbench.figures.style.design_tokens import AMOUNT, DIFFERENCE, TOKENS
from workbench.figures.style.marks import add_band, last_value
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import plotly_scale
from workbench.measure.edits.reading import ProbeReading, SequenceReading

#: Positions drawn as marks; of longer sequences, every so many.
MOST_MARKS = 512
#: Output classes that have a row each; of more, the likeliest :data:`TOP` at each prefix, and the right one.
MOST_CLASSES = 8
TOP = 5
#: Letters of names that fit into the cells of a row.
_LETTERS = 48
#: Distance of two names at the end of a row, as a share of the row.
_APART = 0.3
_SYMBOLS = {"summary": "circle", "position": "diamond"}
NORMAL_95 = 1.96
_WHITE, _BLACK = "#FFFFFF", "#14181F"


@dataclass(frozen=True)
class Axes:
    """The axes on which a row of the figure is drawn.

    Attributes:
        y: its y axis, as traces name it.
        domain: its lower and upper end, shares of the plot's height.
        theme, size: look.
    """

    y: str
    domain: tuple[float, float]
    theme: Theme
    size: int

    def place(self, figure: Drawing, axis: Mapping[str, Any]) -> None:
        """Set up the row's y axis."""
        title = {"standoff": 6, **axis.get("title", {})}
        own = {**axis, "title": title, "domain": list(self.domain), "anchor": "x"}
        figure.update_layout(**{f"yaxis{self.y[1:]}": own})

    def note(self, figure: Drawing, text: str) -> None:
        """Write one sentence in the middle of the row."""
        # Plotly drops an axis that nothing is drawn on, and with it the place of the x axis below it.
        figure.add_scatter(x=[None], y=[None], yaxis=self.y, hoverinfo="skip", name="nothing")
        figure.add_annotation(
            x=0.5,
            xref="paper",
            y=sum(self.domain) / 2,
            yref="paper",
            yanchor="middle",
            text=text,
            font={"color": TOKENS[self.theme]["ink3"], "size": self.size},
            name="note",
        )

    def ends(self, figure: Drawing, names: Sequence[tuple[str, float, str]]) -> None:
        """Names at the right end of what they name: (text, height in axis units, colour), pushed apart."""
        low, high = figure.layout[f"yaxis{self.y[1:]}"].range
        wanted = [min(1.0, max(0.0, (height - low) / (high - low))) for _, height, _ in names]
        for (text, _, colour), height in zip(names, spread(wanted, _APART, 0.12, 0.88), strict=True):
            self._end(figure, text, height, colour)

    def _end(self, figure: Drawing, text: str, height: float, colour: str) -> None:
        low, high = self.domain
        figure.add_annotation(
            x=1,
            xref="paper",
            xanchor="left",
            xshift=5,
            y=low + height * (high - low),
            yref="paper",
            yanchor="middle",
            text=text,
            font={"color": colour, "size": self.size, "weight": 600},
            name=END_LABEL,
        )


def chosen_positions(asked: list[bool], within: range) -> NDArray[np.int64]:
    """The positions drawn as marks: those in view that have an answer, evenly thinned to :data:`MOST_MARKS`."""
    places = within.start + np.flatnonzero(asked[within.start : within.stop])
    return places[:: max(1, -(-len(places) // MOST_MARKS))]


def top_classes(output: NDArray[np.floating[Any]], most: int = TOP) -> list[int]:
    """The likeliest classes, the likeliest first; of equal ones the first."""
    return [int(i) for i in np.argsort(-output, kind="stable")[:most]]


def outputs_of(found: SequenceReading, part: str) -> NDArray[np.float64]:
    """Return the outputs of a forward pass, or how edits change them."""
    clean = found.clean.outputs.astype(float)
    return clean if part == "clean" else found.edited_pass.outputs.astype(float) - (clean if part == "change" else 0.0)


# ---- outputs ---------------------------------------------------------------------------------------------
def add_outputs(figure: Drawing, found: SequenceReading, part: str, axes: Axes) -> None:
    """Draw the model's output at every prefix, and the correct answer."""
    if found.components:
        _component_outputs(figure, found, part, axes)
    elif found.outputs_names is None:
        _real_outputs(figure, found, part, axes)
    elif len(found.classes) > MOST_CLASSES:
        _top_outputs(figure, found, part, axes)
    else:
        _rows(figure, found, outputs_of(found, part), found.classes, part, axes)
        _oracle_marks(figure, found, part, list(range(len(found.classes))), axes)


def _rows(
    figure: Drawing,
    found: SequenceReading,
    values: NDArray[np.float64],
    names: Sequence[str],
    part: str,
    axes: Axes,
    cells: NDArray[np.object_] | None = None,
    top: float = 1.0,
    written: bool = False,
) -> None:
    """A row of cells for each column of ``values`` ``[pos, row]``, the first at the bottom; cells of many positions
    show their mean.

    Args:
        figure, found, part, axes: as elsewhere here.
        values: what is drawn.
        names: the names of the rows.
        cells: what each cell is of, for tooltips.
        top: what has the darkest colour.
        written: whether that stands in the cells too, where it fits.
    """
    ticks = [i for i in range(len(names)) if len(names) <= 4 or i % 2 == (len(names) - 1) % 2]
    axes.place(
        figure,
        {
            "range": [-0.5, len(names) - 0.5],
            "tickvals": ticks,
            "ticktext": [names[i] for i in ticks],
            "title": {"text": "answer"},
            "showgrid": False,
        },
    )
    window = window_of(found)
    edges = window.edges(window.keys)
    starts = (edges[:-1] + 0.5).astype(int) - window.keys.start
    within = values[window.keys.start : window.keys.stop]
    known = np.isfinite(within)
    sums, counts = (np.add.reduceat(one, starts, axis=0) for one in (np.where(known, within, 0.0), known.astype(float)))
    pooled = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0).T
    change = part == "change"
    hover: dict[str, Any] = {"hovertemplate": "prefix %{x}<br><b>%{z:.3f}</b><extra></extra>"}
    if cells is not None and window.pool == 1:
        shown = cells[window.keys.start : window.keys.stop].T
        hover = {"text": shown, "hovertemplate": "prefix %{x}: %{text}<br><b>%{z:.3f}</b><extra></extra>"}
        if written and max(len(str(name)) for name in shown.flat) * shown.shape[1] <= _LETTERS:
            hover |= {"texttemplate": "%{text}", "textfont": {"size": axes.size - 1}}
    figure.add_heatmap(
        x=edges,
        y=np.arange(len(names) + 1) - 0.5,
        z=np.ascontiguousarray(pooled, dtype=np.float32),
        zmin=-top if change else 0,
        zmax=top,
        colorscale=plotly_scale(DIFFERENCE[axes.theme] if change else AMOUNT[axes.theme]),
        showscale=False,
        hoverongaps=False,
        yaxis=axes.y,
        name="probability",
        **hover,
    )


def _top_outputs(figure: Drawing, found: SequenceReading, part: str, axes: Axes) -> None:
    """Of many classes the likeliest at each prefix, the likeliest above the others, and on top the right one; of what
    edits change, those that are the likeliest without them."""
    values = outputs_of(found, part)
    order = np.array([top_classes(one) for one in (found.edited_pass if part == "edited" else found.clean).outputs])
    names = np.array(found.classes, dtype=object)
    right = np.array([-1 if (answer := found.right(i)) is None else answer for i in range(len(values))])
    likely = np.where(right >= 0, values[np.arange(len(values)), right], np.nan)
    ranked = np.take_along_axis(values, order, axis=1)[:, ::-1]
    cells = np.column_stack([names[order][:, ::-1], np.where(right >= 0, names[right], "")])
    rows = [*(f"top {rank}" for rank in range(order.shape[1], 0, -1)), "oracle"]
    _rows(figure, found, np.column_stack([ranked, likely]), rows, part, axes, cells.astype(object), written=True)


def _component_outputs(figure: Drawing, found: SequenceReading, part: str, axes: Axes) -> None:
    """A row of cells for each component of a vector answer, with the oracle's."""
    values = outputs_of(found, part)
    true = np.array([[np.nan] * values.shape[1] if answer is None else answer for answer in found.oracle], dtype=float)
    top = float(np.nanmax(np.abs(np.concatenate([true.ravel(), values.ravel()])), initial=1e-9))
    cells = np.array(
        [
            [f"{name}, the oracle {magnitude(right)}" for name, right in zip(found.components, answer, strict=True)]
            for answer in true
        ],
        dtype=object,
    )
    _rows(figure, found, values, found.components, part, axes, cells, top)


def _oracle_marks(figure: Drawing, found: SequenceReading, part: str, classes: list[int], axes: Axes) -> None:
    """The right answer as a square: white where the model agrees, black where it does not."""
    keys = window_of(found).keys
    right = {i: answer for i in keys if found.asked[i] and (answer := found.right(i)) in classes}
    if not right or len(keys) > MOST_MARKS:
        return
    places = list(right)
    correct = (found.clean if part == "clean" else found.edited_pass).correct
    side = float(np.clip(330 / len(keys), 2.5, 8))
    figure.add_scatter(
        x=places,
        y=[classes.index(answer) for answer in right.values()],
        yaxis=axes.y,
        mode="markers",
        marker={
            "symbol": "square",
            "size": side,
            # An edge of the other shade keeps them visible on cells of any colour.
            "color": [_WHITE if correct[i] else _BLACK for i in places],
            "line": {"width": 1 if side > 4 else 0.6, "color": [_BLACK if correct[i] else _WHITE for i in places]},
        },
        hovertext=[
            f"prefix {whole(float(i))}: the oracle\u2019s answer is {found.classes[answer]}"
            + ("" if correct[i] else "; the model\u2019s differs")
            for i, answer in right.items()
        ],
        hoverinfo="text",
        name="oracle",
    )


def _real_outputs(figure: Drawing, found: SequenceReading, part: str, axes: Axes) -> None:
    t = TOKENS[axes.theme]
    at = chosen_positions(found.asked, window_of(found).keys)
    first: dict[str, NDArray[np.float64]] = {name: one.outputs[:, 0].astype(float) for name, one in found.passes}
    true = np.array([_first(found.oracle[i]) for i in at], dtype=float)
    displayed = first["edited"] - first["clean"] if part == "change" else first[part]
    every = np.concatenate([true, *(values[at] for values in first.values())])
    span = _span(displayed[at] if part == "change" else every)
    axes.place(figure, _number_axis(span, "answer"))
    names = [("model" if part != "change" else "change", _last(displayed[at]), t["ink2"])]
    if part != "change":
        _true_line(figure, at, true, axes)
        names.append(("oracle", _last(true), t["ink"]))
    _marks(figure, at, displayed[at], t["bar"], "square", axes, "output")
    axes.ends(figure, names)


# ---- readings --------------------------------------------------------------------------------------------
def add_reading(
    figure: Drawing, read: ProbeReading, row: str, part: str, site: int | None, within: range, axes: Axes
) -> None:
    """Draw the values that a probe decodes at every visible prefix, and thin black lines for the true values."""
    reading, t = read.concept(row), TOKENS[axes.theme]
    title = "position" if row == "position" else "summary"
    if reading.problem:
        axes.place(figure, {"range": [0, 1], "tickvals": [], "showgrid": False, "title": {"text": title}})
        axes.note(figure, f"no probe for the {row}: {reading.problem}")
        return
    index = len(read.sites) - 1 if site is None else read.sites.index(site)
    at = chosen_positions(read.asked, within)
    true = np.asarray(reading.true, dtype=float)[at]
    passes = {name: np.asarray(states, dtype=float)[index][at] for name, states in reading.passes.items()}
    displayed = passes["edited"] - passes["clean"] if part == "change" else passes[part]
    classes = reading.classes
    if classes is not None:
        _class_reading(figure, at, true, passes, part, classes, axes)
        return
    every = displayed if part == "change" else np.concatenate([true, *passes.values()])
    axes.place(figure, _number_axis(_span(every), title))
    names = [("read" if part != "change" else "change", _last(displayed), t[row])]
    if part != "change":
        _true_line(figure, at, true, axes, "linear" if row == "position" else "hvh")
        half = NORMAL_95 * reading.rmse[index]
        _band(figure, at, displayed - half, displayed + half, t[row], axes)
        names.append(("true", _last(true), t["ink"]))
    _marks(figure, at, displayed, t[row], _SYMBOLS[row], axes, row)
    axes.ends(figure, names)


def _class_reading(
    figure: Drawing,
    at: NDArray[np.int64],
    true: NDArray[np.float64],
    passes: Mapping[str, NDArray[np.float64]],
    part: str,
    classes: list[str],
    axes: Axes,
) -> None:
    t = TOKENS[axes.theme]
    every = max(1, -(-len(classes) // 4))
    axes.place(
        figure,
        {
            "range": [-0.5, len(classes) - 0.5],
            "tickvals": list(range(0, len(classes), every)),
            "ticktext": classes[::every],
            "title": {"text": "summary"},
        },
    )
    if part == "change":
        moved = passes["edited"] != passes["clean"]
        _marks(figure, at[moved], passes["edited"][moved], t["summary"], "circle", axes, "summary", classes)
        text = (
            f"{whole(int(moved.sum()))} of {whole(len(at))} readings change"
            if len(at)
            else "the task has no answer here"
        )
        if moved.any():
            axes.ends(figure, [("changed", _last(passes["edited"]), t["summary"])])
        else:
            axes.note(figure, text)
        return
    known = np.where(true < 0, np.nan, true)
    _true_line(figure, at, known, axes)
    _marks(figure, at, passes[part], t["summary"], "circle", axes, "summary", classes, wrong=passes[part] != true)
    axes.ends(figure, [("read", _last(passes[part]), t["summary"]), ("true", _last(known), t["ink"])])


# ---- strokes ---------------------------------------------------------------------------------------------
def _true_line(
    figure: Drawing, at: NDArray[np.int64], values: NDArray[np.float64], axes: Axes, shape: str = "hvh"
) -> None:
    figure.add_scatter(
        x=at,
        y=values,
        yaxis=axes.y,
        mode="lines",
        line={"color": TOKENS[axes.theme]["ink"], "width": 1, "shape": shape},
        hoverinfo="skip",
        name="true",
    )


def _band(
    figure: Drawing,
    at: NDArray[np.int64],
    low: NDArray[np.float64],
    high: NDArray[np.float64],
    colour: str,
    axes: Axes,
) -> None:
    before = len(figure.data)
    add_band(figure, at.astype(float), low, high, colour)
    for trace in figure.data[before:]:
        trace.yaxis = axes.y


def _marks(
    figure: Drawing,
    at: NDArray[np.int64],
    values: NDArray[np.float64],
    colour: str,
    symbol: str,
    axes: Axes,
    name: str,
    classes: list[str] | None = None,
    wrong: NDArray[np.bool_] | None = None,
) -> None:
    """One mark per position; open where it is wrong."""
    spelled = [classes[int(v)] if classes is not None else magnitude(float(v)) for v in values]
    missed = np.zeros(len(at), dtype=bool) if wrong is None else wrong
    figure.add_scatter(
        x=at,
        y=values,
        yaxis=axes.y,
        mode="markers",
        marker={
            "symbol": [f"{symbol}-open" if miss else symbol for miss in missed],
            "size": float(np.clip(400 / max(1, len(at)), 3, 6)),
            "color": colour,
            "line": {"width": [1.3 if miss else 0 for miss in missed], "color": colour},
        },
        hovertext=[f"prefix {whole(float(i))}: {name} {said}" for i, said in zip(at, spelled, strict=True)],
        hoverinfo="text",
        name=name,
    )


def _number_axis(span: tuple[float, float], title: str) -> dict[str, Any]:
    low, high = span
    pad = 0.08 * (high - low)
    ticks = round_ticks(low, high)
    small = max(abs(low), abs(high)) < 10
    return {
        "range": [low - pad, high + pad],
        "tickvals": ticks,
        "ticktext": [magnitude(v) if small else whole(v) for v in ticks],
        "title": {"text": title},
    }


def round_ticks(low: float, high: float) -> list[float]:
    """Two to four round numbers within a range that is not empty."""
    exponent = math.floor(math.log10(high - low))
    for unit in (m * 10.0**k for k in (exponent - 1, exponent, exponent + 1) for m in (1, 2, 5)):
        first, last = math.ceil(low / unit - 1e-9), math.floor(high / unit + 1e-9)
        if last - first <= 3:
            return [round(k * unit, 12) for k in range(first, last + 1)]
    return [low, high]


def _last(values: NDArray[np.float64]) -> float:
    """The last finite value, or 0 without one."""
    found = last_value(values)
    return 0.0 if found is None else found


def _span(values: NDArray[np.float64]) -> tuple[float, float]:
    finite = values[np.isfinite(values)]
    if not len(finite):
        return 0.0, 1.0
    low, high = float(finite.min()), float(finite.max())
    return (low, high) if high - low > 1e-9 else (low - 0.5, high + 0.5)


def _first(answer: Any) -> float:
    """A real answer, or the first component of a vector."""
    if answer is None:
        return float("nan")
    return float(answer[0] if isinstance(answer, list) else answer)
