"""One sequence through one checkpoint: output, attention and probes above one another, on one position axis.

The data are what :func:`circuits.one_sequence.look` and :func:`probes.one_sequence.read_sequence` return. ``part``
selects the pass: the model as it is (``clean``), under edits (``edited``), or the difference of both (``change``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.figures.labels import signed_number, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.registry import figure_of_pass
from workbench.figures.sequence.attention_pattern import (
    SCORE_FLOOR,
    TITLES,
    UNITS,
    View,
    heatmap_colours,
    pair_names,
    position_ticks,
)
from workbench.figures.sequence.sequence_data import ALL_ROWS, Part, RowName, sequence_rows, shown_cells
from workbench.figures.sequence.sequence_marks import Axes, add_outputs, add_reading
from workbench.figures.sequence.sequence_window import Window, window_of
from workbench.figures.style.design_tokens import AMOUNT, DIFFERENCE, TOKENS
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import DASH, blank, colorbar, plotly_scale
from workbench.measure.edits.reading import PassName, ProbeReading, SequenceReading
from workbench.models.base.graph import head_name

PASSES: dict[str, str] = {"clean": "as is", "edited": "edited", "change": "edited \u2212 as is"}
#: Height of a row relative to the others, and the gaps, as shares of the plot.
_WEIGHTS: dict[str, float] = {"outputs": 0.7, "pattern": 2.6, "summary": 0.7, "position": 0.7}
_GAP, _STRIP = 0.032, 0.075
#: Changes of attention are shown up to this size, and beyond it in the same colour.
_CHANGE_TOP = 0.25
_CHANGE_TICKS = {
    "attention": (_CHANGE_TOP, (-0.25, 0.0, 0.25)),
    "times_length": (4.0, (-4.0, 0.0, 4.0)),
    "score": (-SCORE_FLOOR, (-8.0, 0.0, 8.0)),
}
_MOST_NAMED = 128


@figure_of_pass(rows=sequence_rows)
def sequence_view(
    found: SequenceReading,
    read: ProbeReading | None = None,
    *,
    part: Part = "clean",
    rows: Sequence[RowName] = ALL_ROWS,
    view: View = "attention",
    site: int | None = None,
    query: int | None = None,
    strip: bool = False,
    waiting: str = "",
    look: Look = LIGHT,
) -> Drawing:
    """Output, attention pattern and probe readings of one sequence.

    Args:
        found: what :func:`circuits.one_sequence.look` returned.
        read: what :func:`probes.one_sequence.read_sequence` returned for the same sequence, or None.
        part: which pass, or the change.
        rows: what to draw, from top to bottom.
        view: the view of the attention: ``attention``, ``times_length`` or ``score``.
        site: layer of the residual stream that probes read, -1 for the embedding; None = the last.
        query: index of a query to outline.
        strip: leave room for a line of tokens below the pattern.
        waiting: the text shown in place of the readings while ``read`` is None.

    Raises:
        ValueError: for an unknown part or view, or a part that was not computed.
    """
    _check(found, part, view)
    t = TOKENS[look.theme]
    window = window_of(found)
    has_pattern = found.clean.pattern is not None
    domains = row_domains(rows, strip, pattern=has_pattern)
    ticks = position_ticks(window.keys.stop, window.keys.start)
    figure = blank(
        look,
        column="sequence",
        xaxis={
            "range": list(window.limits(window.keys)),
            "tickvals": ticks,
            "ticktext": [whole(v) for v in ticks],
            "title": {"text": "prefix length" if found.bos else "position"},
            "anchor": f"y{len(rows)}" if len(rows) > 1 else "y",
            "fixedrange": not has_pattern,
        },
        yaxis={},
        meta=_meta(found, read, part, rows, view, site, domains),
        # A part that was dragged into view is drawn anew: what the browser stretched meanwhile does not stay.
        uirevision=f"sequence/{part}/{'/'.join(rows)}/{window.range_text}",
    )
    figure.update_layout(dragmode="zoom" if has_pattern else False, margin_autoexpand=False)
    edge = found.trained + (0.5 if found.bos else -0.5)
    _ground(figure, window, edge, domains, rows, t)
    for i, row in enumerate(rows):
        axes = Axes("y" if i == 0 else f"y{i + 1}", domains[i], look.theme, look.size)
        if row == "pattern":
            _pattern(figure, found, part, view, axes)
        elif row == "outputs":
            add_outputs(figure, found, part, axes)
        elif read is None:
            axes.place(figure, {"range": [0, 1], "tickvals": [], "showgrid": False, "title": {"text": row}})
            axes.note(figure, waiting)
        else:
            add_reading(figure, read, row, part, site, window.keys, axes)
    left, right = window.limits(window.keys)
    if left < edge < right:
        line = {"color": t["train"], "width": 1.5, "dash": DASH}
        figure.add_shape(type="line", x0=edge, x1=edge, y0=0, y1=1, yref="paper", line=line, name="training length")
    if query is not None:
        _outline(figure, query, window, domains, rows, t)
    return figure


def row_domains(rows: Sequence[str], strip: bool, pattern: bool = True) -> list[tuple[float, float]]:
    """Lower and upper end of each row, top row first, as shares of the plot's height.

    Args:
        rows: names of the rows.
        strip: whether tokens stand below the pattern.
        pattern: whether there is one; else its row is only as high as the sentence that states it.
    """
    weights = _WEIGHTS if pattern else _WEIGHTS | {"pattern": 0.25}
    gaps = [_STRIP if strip and row == "pattern" else _GAP for row in rows[:-1]]
    unit = (1 - sum(gaps)) / sum(weights[row] for row in rows)
    domains, top = [], 1.0
    for i, row in enumerate(rows):
        bottom = max(0.0, top - unit * weights[row])
        domains.append((bottom, top))
        top = bottom - (gaps[i] if i < len(gaps) else 0.0)
    return domains


def at_hand(found: SequenceReading) -> bool:
    """Whether the cells hold every query's own weights over all its keys."""
    return found.pool == 1 and window_of(found).whole


def row_of(found: SequenceReading, query: int, part: PassName = "clean") -> NDArray[np.float64] | None:
    """Return the attention weights of a query over its keys; None if they were not computed."""
    forward_pass = found.of(part)
    if forward_pass.pattern is None or forward_pass.row is None:
        return None
    if at_hand(found):
        return forward_pass.pattern[query, : query + 1].astype(float)
    return forward_pass.row[: query + 1].astype(float) if query == found.query else None


def _check(found: SequenceReading, part: str, view: str) -> None:
    if part not in PASSES:
        raise ValueError(f"unknown part {part!r}; the parts are {', '.join(PASSES)}")
    if view not in TITLES:
        raise ValueError(f"unknown view {view!r}; the views are {', '.join(TITLES)}")
    if part != "clean":
        _ = found.edited_pass


def _meta(
    found: SequenceReading,
    read: ProbeReading | None,
    part: Part,
    rows: Sequence[str],
    view: str,
    site: int | None,
    domains: list[tuple[float, float]],
) -> dict[str, Any]:
    window = window_of(found)
    has_heads = found.clean.pattern is not None
    name = (
        "no heads"
        if not has_heads
        else "mean over all heads"
        if found.head is None
        else head_name(found.layer, found.head)
    )
    parts = [name, UNITS[view] if part != "change" and has_heads else ""]
    if window.pool > 1:
        parts.append(f"highest of {window.pool} \u00d7 {window.pool} positions")
    parts.append(window.range_text)
    title = TITLES[view] if "pattern" in rows else "Output"
    return {
        "title": f"{title} and probe readout" if read is not None or "summary" in rows else title,
        "slice": " \u00b7 ".join(one for one in parts if one),
        "alt": f"{title} of {name} on one sequence of {whole(window.count)} positions, {PASSES[part]}"
        + (f", {window.range_text}." if window.range_text else ".")
        + _answers_said(found, part),
        "n": 1,
        "x": {"kind": "position"} | dict(zip(("low", "high"), window.limits(window.keys), strict=True)),
        "window": {"queries": list(found.queries), "keys": list(found.keys)},
        "rows": {row: list(domain) for row, domain in zip(rows, domains, strict=True)},
        "part": part,
        "pool": window.pool,
        "site": site,
    }


def _answers_said(found: SequenceReading, part: Part) -> str:
    """How many answers are right, in words."""
    if part == "change":
        flipped = sum(a != b for a, b in zip(found.clean.correct, found.edited_pass.correct, strict=True))
        return f" {whole(flipped)} answers change between right and wrong."
    answers = [c for c in found.of(part).correct if c is not None]
    return f" {whole(sum(answers))} of {whole(len(answers))} answers are right." if answers else ""


def _ground(
    figure: Drawing,
    window: Window,
    edge: float,
    domains: list[tuple[float, float]],
    rows: Sequence[str],
    t: dict[str, str],
) -> None:
    """Sunken ground where there is no key, and the wash over trained prefixes in all other rows."""
    start, end = window.limits(window.keys)
    for row, (low, high) in zip(rows, domains, strict=True):
        pattern = row == "pattern"
        right = end if pattern else min(edge, end)
        if right <= start:
            continue
        figure.add_shape(
            type="rect",
            x0=start,
            x1=right,
            y0=low,
            y1=high,
            yref="paper",
            fillcolor=t["sunken"] if pattern else t["train_wash"],
            line_width=0,
            layer="between" if pattern else "below",  # over the grid, where there is no key
        )


def _pattern(figure: Drawing, found: SequenceReading, part: Part, view: View, axes: Axes) -> None:
    cells = shown_cells(found, part, view)
    if cells is None:
        axes.place(figure, {"range": [0, 1], "tickvals": [], "showgrid": False})
        axes.note(figure, "this model has no attention")
        return
    window = window_of(found)
    ticks = position_ticks(window.queries.stop, window.queries.start)
    axes.place(
        figure,
        {
            "range": list(reversed(window.limits(window.queries))),
            "tickvals": ticks,
            "ticktext": [whole(v) for v in ticks],
            "title": {"text": "query"},
            "showgrid": False,
            "fixedrange": False,
        },
    )
    if part == "change":
        top, marks = _CHANGE_TICKS[view]
        values: dict[str, Any] = {"z": cells.astype(np.float32), "zmin": -top, "zmax": top}
        values["customdata"] = values["z"]
        bar = [(mark, signed_number(mark, 2 if top < 1 else 0)) for mark in marks]
        scale = plotly_scale(DIFFERENCE[axes.theme])
    else:
        values, bar = heatmap_colours(cells, view)
        scale = plotly_scale(AMOUNT[axes.theme])
    hover: dict[str, Any] = {"hovertemplate": "query %{y} · key %{x}<br><b>%{customdata:.3f}</b><extra></extra>"}
    if names_fit(window):
        names = pair_names(list(found.tokens), window.queries, window.keys)
        hover = {"text": names, "hovertemplate": "%{text}<br><b>%{customdata:.3f}</b><extra></extra>"}
    low, high = axes.domain
    # A fixed distance in pixels, where a share of a wide plot would push its margin, and all marks over it, aside.
    beside = {"x": 1, "xpad": 12, "y": (low + high) / 2, "len": high - low, "lenmode": "fraction"}
    bar_layout = colorbar(Look(axes.theme, axes.size), [v for v, _ in bar], [text for _, text in bar])
    figure.add_heatmap(
        x=window.edges(window.keys),
        y=window.edges(window.queries),
        yaxis=axes.y,
        **values,
        colorscale=scale,
        colorbar=bar_layout | beside,
        hoverongaps=False,
        name="cells",
        **hover,
    )
    if _has_empty_corner(window):
        figure.add_annotation(
            x=0.98,
            xref="paper",
            xanchor="right",
            y=high - 0.02,
            yref="paper",
            yanchor="top",
            text="no key after the query",
            font={"color": TOKENS[axes.theme]["ink3"], "size": axes.size},
        )


def names_fit(window: Window) -> bool:
    """Whether every cell is one position of each side, and few enough that the plot can name them all."""
    return window.pool == 1 and max(len(window.queries), len(window.keys)) <= _MOST_NAMED


def _has_empty_corner(window: Window) -> bool:
    """Whether the upper right has no key for so far that a note fits there."""
    first = window.keys.start + 0.6 * len(window.keys)
    return window.count >= 12 and first > window.queries.start + 0.1 * len(window.queries)


def _outline(
    figure: Drawing,
    query: int,
    window: Window,
    domains: list[tuple[float, float]],
    rows: Sequence[str],
    t: dict[str, str],
) -> None:
    """The chosen query where it is in view: its row of the pattern outlined, a line through every other row."""
    start, right = window.limits(window.keys)
    for i, row in enumerate(rows):
        if query not in (window.queries if row == "pattern" else window.keys):
            continue
        y = "y" if i == 0 else f"y{i + 1}"
        ink = {"color": t["ink"], "width": 1.5 if row == "pattern" else 1.2}
        if row == "pattern":
            seen = max(start, min(right, query + 0.5))
            box = {"x0": start, "x1": seen, "y0": query - 0.5, "y1": query + 0.5, "yref": y}
            figure.add_shape(type="rect", **box, line=ink, name="query")
        else:
            low, high = domains[i]
            figure.add_shape(type="line", x0=query, x1=query, y0=low, y1=high, yref="paper", line=ink, name="query")
