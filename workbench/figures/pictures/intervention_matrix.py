"""Which intervention recovers accuracy past N without a cost at N: both numbers of each intervention in one picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from workbench.core.thresholds import MOST_COST, NAMING_SHARE
from workbench.figures.labels import estimate, join_with_dots, proportion, sample_size, whole
from workbench.figures.look import LIGHT, Look
from workbench.figures.panels.restored_shares import name_of
from workbench.figures.registry import figure
from workbench.figures.rows.diagnosis_rows import MEASUREMENT, something_to_explain
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import has_value, rows_with_values, run_name, select, smallest_n, stack, tidy
from workbench.figures.style.design_tokens import TOKENS, rgba
from workbench.figures.style.marks import Label, LineEnd, add_across, add_end_labels, add_upright, hover
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import DASH, DOTS, blank

SHARE, COST = "restored_share", "harm_inside"
WRONG = "wrong_constant"
UNTRIED = "costs too much"
"""Name of the marks of interventions that were not applied past N because they cost too much at N."""
LOWEST, HIGHEST = -1.25, 1.5
"""Shares outside of these are drawn at the edge."""
_LANE = 0.35
"""Height of the lane for interventions that were not applied past N, as a share of the accuracy drop."""
_ROOM = 132
"""Pixels to the right of the plot, for the names of interventions."""
Row = Mapping[str, Any]
Key = tuple[Any, ...]


def intervention_matrix_rows(frame: Frame, *, step: int) -> Frame:
    """The rows of :func:`intervention_matrix`: the share that each intervention recovers, and its cost at N.

    They are the interventions with both numbers at every diagnosed length, and their controls at the length that is
    described. There they include the cost of interventions that were not applied past N.
    """
    at = float(something_to_explain(frame, step=step)["length"])
    rows = {name: rows_with_values(select(frame, MEASUREMENT, quantity=name, step=step)) for name in (SHARE, COST)}
    keys = {name: part.keys("target", "control", "length") for name, part in rows.items()}
    both = set(keys[SHARE]) & set(keys[COST])
    parts = []
    for name, part in rows.items():
        untried = name == COST
        kept = [
            index
            for index, key in enumerate(keys[name])
            if (key in both and (not key[1] or key[2] == at)) or (untried and not key[1] and key[2] == at)
        ]
        for (target, _), group in part.take(kept).group("target", "control"):
            parts.append(tidy(group, name_of(str(target)), "length"))
    return stack(parts)


@figure(rows=intervention_matrix_rows)
def intervention_matrix(data: Frame, frame: Frame, *, step: int, look: Look = LIGHT) -> Drawing:
    """What each intervention costs at N (x), and the share of the accuracy drop past N that it recovers (y).

    A filled dot is an intervention at the diagnosed length, with its interval. A hollow diamond is its control, the
    same edit with a wrong constant. A faint line leads to the values at other diagnosed lengths. The shaded corner
    holds interventions that recover at least half of the drop and cost at most 0.05. A triangle at the lower edge is an
    intervention that costs more and was not applied past N.

    Raises:
        NotMeasured: without a diagnosis of that checkpoint, or where nothing is to be explained.
    """
    cause = something_to_explain(frame, step=step)
    shares, costs = _by_place(data, SHARE), _by_place(data, COST)
    at = float(cause["length"])
    pairs = [(row, costs[key]) for key, row in shares.items() if key in costs and float(row["length"]) == at]
    untried = [row for key, row in costs.items() if key not in shares and row["length"] == at and not row["control"]]
    drawing = _empty(frame, data, pairs, step, cause, look, room=_LANE if untried else 0.0)
    _add_paths(drawing, shares, costs, look)
    _add_pairs(drawing, [pair for pair in pairs if pair[0]["control"] == WRONG], look, control=True)
    named = str(cause["target"] or "")
    tried = sorted((pair for pair in pairs if not pair[0]["control"]), key=lambda pair: pair[0]["target"] == named)
    _add_pairs(drawing, tried, look, cause=named)
    _add_untried(drawing, untried, look)
    _add_names(drawing, tried, named, look)
    return drawing


def _by_place(data: Frame, quantity: str) -> dict[Key, Row]:
    """The rows of a quantity by intervention, control and length."""
    rows = [row for row in data.where(quantity=quantity).rows() if has_value(row)]
    return {(str(row["target"]), str(row["control"] or ""), float(row["length"])): row for row in rows}


def _empty(
    frame: Frame, data: Frame, pairs: Sequence[tuple[Row, Row]], step: int, cause: Row, look: Look, room: float
) -> Drawing:
    """The plot, with the shaded corner and the lines of its two thresholds; ``room`` is left below the shares."""
    t = TOKENS[look.theme]
    costs = [float(value) for value in data.where(quantity=COST)["value"]]
    shares = data.where(quantity=SHARE)
    ends = [float(v) for name in ("value", "low", "high") for v in shares[name].astype(float) if not missing(v)]
    low, high = max(LOWEST, min(-0.2, *ends)) - 0.15 - room, min(HIGHEST, max(1.0, *ends)) + 0.12
    left = min(-0.008, min(costs, default=0.0) - 0.008)
    right = max(2 * MOST_COST, max(costs, default=0.0)) * 1.06
    at = f"length {whole(cause['length'])}"
    said = "; ".join(
        f"{row['series']} recovers {estimate(row['value'], row['low'], row['high'])} and costs "
        f"{proportion(cost['value'])}"
        for row, cost in pairs
        if not row["control"] and row["value"] >= NAMING_SHARE
    )
    drawing = blank(
        look,
        column="length",
        xaxis={"range": [left, right], "title": {"text": "cost at N (accuracy drop)"}},
        yaxis={
            "range": [low, high],
            "tickvals": [-1, -0.5, 0, 0.5, 1, 1.5],
            "title": {"text": "share recovered"},
        },
        meta={
            "title": "Cost and recovery of each intervention",
            "slice": join_with_dots(at, cause["law"], sample_size(smallest_n(shares)), "hollow: control"),
            "alt": f"Interventions at {at}, step {whole(step)}, by cost at N and share of the accuracy drop recovered: "
            + (said or f"none recovers {NAMING_SHARE:g} or more"),
            "n": smallest_n(shares),
        },
        uirevision=f"{run_name(frame)}/intervention_matrix",
    )
    drawing.update_layout(margin_r=_ROOM, margin_l=52)
    drawing.add_shape(
        type="rect", x0=left, x1=MOST_COST, y0=NAMING_SHARE, y1=high, fillcolor=rgba(t["ink"], 0.06), line_width=0,
        layer="below", name="recovers without cost",
    )  # fmt: skip
    drawing.add_annotation(
        x=left, y=high, xanchor="left", yanchor="top", xshift=3, yshift=-1, text="recovers at low cost",
        font={"color": t["ink3"], "size": look.size}, name="corner",
    )  # fmt: skip
    add_across(drawing, 0.0, {"color": t["line2"], "width": 1}, "nothing recovered")
    add_across(drawing, 1.0, {"color": t["line2"], "width": 1, "dash": DOTS}, "the whole drop")
    add_upright(drawing, MOST_COST, {"color": t["line2"], "width": 1, "dash": DASH}, "highest cost")
    return drawing


def _add_pairs(
    drawing: Drawing, pairs: Sequence[tuple[Row, Row]], look: Look, *, control: bool = False, cause: str = ""
) -> None:
    """A dot with its interval per intervention, or a hollow diamond per control."""
    if not pairs:
        return
    t = TOKENS[look.theme]
    y, low, high = (np.array([_number(row[name]) for row, _ in pairs]) for name in ("value", "low", "high"))
    y, low, high = (np.clip(values, LOWEST, HIGHEST) for values in (y, low, high))
    colours = [t["ink"] if row["target"] == cause else t["bar"] for row, _ in pairs]
    hollow = {"symbol": "diamond", "size": 7, "color": t["surface"], "line": {"color": t["control"], "width": 1.3}}
    drawing.add_scatter(
        x=np.array([float(cost["value"]) for _, cost in pairs]),
        y=y,
        mode="markers",
        marker=hollow if control else {"size": 8, "color": colours, "line": {"color": t["surface"], "width": 1}},
        error_y={
            "type": "data", "symmetric": False, "array": high - y, "arrayminus": y - low,
            "color": t["control"] if control else t["ink3"], "thickness": 1.2, "width": 0,
        },
        hovertext=[f"{hover(row)}<br>cost at N <b>{proportion(cost['value'], 3)}</b>" for row, cost in pairs],
        hoverinfo="text",
        name="control" if control else "intervention",
    )  # fmt: skip


def _add_untried(drawing: Drawing, rows: Sequence[Row], look: Look) -> None:
    """A triangle at the lower edge for each intervention that has a cost and was not applied past N."""
    if not rows:
        return
    t = TOKENS[look.theme]
    bottom, top = (float(v) for v in drawing.layout.yaxis.range)
    drawing.add_scatter(
        x=np.array([float(row["value"]) for row in rows]),
        y=np.full(len(rows), bottom + 0.05 * (top - bottom)),
        mode="markers",
        marker={"symbol": "triangle-down", "size": 7, "color": t["ink3"]},
        hovertext=[f"{hover(row)}<br>not applied past N: it costs more than {MOST_COST:g} at N" for row in rows],
        hoverinfo="text",
        name=UNTRIED,
    )
    drawing.add_annotation(
        x=float(drawing.layout.xaxis.range[1]), y=bottom, xanchor="right", yanchor="bottom", xshift=-4,
        yshift=13, text=f"\u25bc costs too much ({len(rows)}), not applied past N",
        font={"color": t["ink3"], "size": look.size}, name=UNTRIED,
    )  # fmt: skip


def _add_paths(drawing: Drawing, shares: Mapping[Key, Row], costs: Mapping[Key, Row], look: Look) -> None:
    """A faint line through the diagnosed lengths of each intervention, where there are several."""
    t = TOKENS[look.theme]
    paths: dict[str, list[tuple[float, float, float]]] = {}
    for key, row in shares.items():
        if key in costs and not row["control"]:
            share = float(np.clip(row["value"], LOWEST, HIGHEST))
            paths.setdefault(key[0], []).append((float(row["length"]), float(costs[key]["value"]), share))
    for points in paths.values():
        if len(points) > 1:
            ordered = sorted(points)
            drawing.add_scatter(
                x=[x for _, x, _ in ordered],
                y=[y for _, _, y in ordered],
                mode="lines+markers",
                line={"color": t["line2"], "width": 1},
                marker={"size": 4, "color": t["line2"]},
                opacity=0.6,
                hoverinfo="skip",
                name="over lengths",
            )


def _add_names(drawing: Drawing, pairs: Sequence[tuple[Row, Row]], cause: str, look: Look) -> None:
    """Names of the interventions that recover at least half; of the others only how many there are."""
    t = TOKENS[look.theme]
    far = [(row, cost) for row, cost in pairs if float(row["value"]) >= NAMING_SHARE]
    labels: list[Label] = []
    for row, cost in sorted(far, key=lambda pair: (pair[0]["target"] == cause, float(pair[0]["value"]))):
        end = LineEnd(min(float(row["value"]), HIGHEST), float(cost["value"]))
        named = row["target"] == cause
        labels.append((str(row["series"]), end, t["ink"] if named else t["ink2"], named))
    others = [float(row["value"]) for row, _ in pairs if float(row["value"]) < NAMING_SHARE]
    if others:
        less = "all" if not far else f"{len(others)} other{'s' * (len(others) != 1)}"
        middle = float(np.median(np.clip(others, LOWEST, HIGHEST)))
        labels.append((f"{less} below {NAMING_SHARE:g}", middle, t["ink3"], False))
    add_end_labels(drawing, labels, drawing.layout.yaxis.range, look.size)


def _number(value: Any) -> float:
    return float("nan") if missing(value) else float(value)
