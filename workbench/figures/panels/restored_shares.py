"""How much accuracy each label-free intervention of a diagnosis recovers past N, and what it costs at N."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.core.thresholds import LEVEL_TEXT, MOST_COST
from workbench.figures.labels import interval, proportion, whole
from workbench.figures.look import LIGHT, Look, Theme
from workbench.figures.registry import figure
from workbench.figures.rows.diagnosis_rows import MEASUREMENT, named_entry, something_to_explain
from workbench.figures.rows.frame import Frame, is_in, missing, unique
from workbench.figures.rows.select_rows import rows_with_values, run_name, select, smallest_n, stack, tidy
from workbench.figures.style.design_tokens import TOKENS
from workbench.figures.style.marks import add_upright, add_zone, hovers
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import blank
from workbench.measure.edits.interventions.all_interventions import INTERVENTIONS, find_intervention

_LEFT, _BELOW = 122, 0.3


def restored_share_rows(frame: Frame, *, step: int) -> Frame:
    """The rows of :func:`restored_shares`: every applicable intervention, and the controls of the best."""
    rows = rows_with_values(_rows_at_diagnosis(frame, step, "restored_share"))
    return _ordered(rows)


@figure(rows=restored_share_rows)
def restored_shares(data: Frame, frame: Frame, *, step: int, look: Look = LIGHT) -> Drawing:
    """A bar with its interval per intervention: the share of the accuracy drop that it recovers, at the diagnosed
    length.

    The intervention that names the cause has the darkest bar. A hollow diamond is the same kind of edit with a wrong
    constant. At 1 the whole drop is recovered; below 0 the intervention lowers accuracy further.

    Raises:
        NotMeasured: without a diagnosis of that checkpoint, or where nothing is to be explained.
    """
    cause = named_entry(frame, step=step)
    interventions, controls = data.where(control=""), data.where(control="wrong_constant")
    ends = [float(v) for name in ("value", "low", "high") for v in data[name].astype(float) if not missing(v)]
    names = list(interventions["target"])
    drawing = _ladder(
        names,
        (min(-0.1, *ends) - 0.05, max(1.0, *ends) + 0.1),
        {"title": {"text": "share of the accuracy drop recovered"}, "tickvals": [-1, -0.5, 0, 0.5, 1, 1.5]},
        look=look,
        meta={
            "title": "Accuracy recovered",
            "slice": f"length {whole(cause['length'])} \u00b7 hollow: control \u00b7 {LEVEL_TEXT} CI",
            "alt": f"Share of the accuracy drop recovered at length {whole(cause['length'])}, step {whole(step)}: "
            + "; ".join(
                f"{name_of(row['target'])} {proportion(row['value'])} {interval(row['low'], row['high'])}"
                for row in interventions.rows()
            ),
            "n": smallest_n(data),
        },
        uirevision=f"{run_name(frame)}/restored_shares",
    )
    t = TOKENS[look.theme]
    add_upright(drawing, 1.0, {"color": t["line2"], "width": 1, "dash": "dot"}, "the whole drop")
    add_upright(drawing, 0.0, {"color": t["line2"], "width": 1}, "nothing")
    drawing.add_bar(
        x=interventions["value"].astype(float),
        y=np.arange(len(interventions), dtype=float),
        orientation="h",
        width=0.5,
        marker={"color": [t["ink"] if target == cause["target"] else t["bar"] for target in names]},
        error_x=_whiskers(interventions, t["ink3"]),
        hovertext=hovers(interventions),
        hoverinfo="text",
        name="intervention",
    )
    _diamonds(drawing, controls, names, look.theme, whiskers=True)
    return drawing


def harm_rows(frame: Frame, *, step: int) -> Frame:
    """The rows of :func:`harm_inside`: every intervention that the model allows, and the controls of the best."""
    return _ordered(rows_with_values(_rows_at_diagnosis(frame, step, "harm_inside")))


@figure(rows=harm_rows)
def harm_inside(data: Frame, frame: Frame, *, step: int, look: Look = LIGHT) -> Drawing:
    """What each intervention costs at N; past the vertical line it is not applicable, whatever it recovers beyond N.

    A dot is the intervention, a hollow diamond its control.

    Raises:
        NotMeasured: without a diagnosis of that checkpoint, or where nothing is to be explained.
    """
    interventions, controls = data.where(control=""), data.where(control="wrong_constant")
    names = list(interventions["target"])
    values = [float(v) for v in data["value"]]
    t = TOKENS[look.theme]
    high = max(2 * MOST_COST, *values) * 1.1
    drawing = _ladder(
        names,
        (min(-0.01, *values) * 1.1, high),
        {"title": {"text": "accuracy drop at N"}},
        look=look,
        meta={
            "title": "Cost at N",
            "slice": f"hollow: control \u00b7 above {MOST_COST:g} not applicable",
            "alt": f"Accuracy that each intervention costs at N, step {whole(step)}: "
            + "; ".join(f"{name_of(row['target'])} {proportion(row['value'])}" for row in interventions.rows()),
            "n": smallest_n(data),
        },
        uirevision=f"{run_name(frame)}/harm_inside",
    )
    add_zone(drawing, MOST_COST, high, t["sunken"], opacity=0.7)
    add_upright(drawing, MOST_COST, {"color": t["line2"], "width": 1, "dash": "dot"}, "highest cost")
    drawing.add_scatter(
        x=interventions["value"].astype(float),
        y=np.arange(len(interventions), dtype=float),
        mode="markers",
        marker={"color": t["ink"], "size": 7},
        hovertext=hovers(interventions),
        hoverinfo="text",
        name="intervention",
    )
    _diamonds(drawing, controls, names, look.theme, whiskers=False)
    return drawing


def name_of(target: str) -> str:
    """Return the name of an intervention, or of a pair of them, in a few words."""
    return " + ".join(_single_name(name) for name in str(target).split(" and "))


def _single_name(name: str) -> str:
    intervention = find_intervention(name)
    return name if intervention is None else intervention.words


def _rows_at_diagnosis(frame: Frame, step: int, quantity: str) -> Frame:
    """Rows of one quantity at the length of the sentence."""
    named = something_to_explain(frame, step=step)
    return select(frame, MEASUREMENT, quantity=quantity, step=step, length=named["length"])


def _ordered(rows: Frame) -> Frame:
    """A series per intervention, in the order in which they are tried, pairs last; controls after all of them."""
    targets = sorted(map(str, unique(rows["target"])), key=lambda target: (_place(target), target))
    parts = [rows.where(target=target, control=control) for control in ("", "wrong_constant") for target in targets]
    return stack(tidy(part, name_of(part["target"][0]), "length") for part in parts if len(part))


def _place(target: str) -> int:
    known = [intervention.name for intervention in INTERVENTIONS]
    return len(known) if " and " in target else next((i for i, name in enumerate(known) if target.startswith(name)), 0)


def _ladder(
    names: list[str],
    span: tuple[float, float],
    x_axis: Mapping[str, Any],
    *,
    look: Look,
    meta: Mapping[str, Any],
    uirevision: str,
) -> Drawing:
    """An empty figure with a row per intervention."""
    figure = blank(
        look,
        column="failure",
        xaxis={"range": list(span), **x_axis},
        yaxis={
            "range": [len(names) - 0.35, -0.65],
            "tickvals": list(range(len(names))),
            "ticktext": [name_of(name) for name in names],
            "showgrid": False,
            "tickfont": {"color": TOKENS[look.theme]["ink2"], "size": look.size},
        },
        meta=meta,
        uirevision=uirevision,
    )
    figure.update_layout(margin_l=_LEFT)
    return figure


def _diamonds(made: Drawing, controls: Frame, names: list[str], theme: Theme, *, whiskers: bool) -> None:
    """Controls, below their interventions."""
    t = TOKENS[theme]
    displayed = controls.where(is_in(controls["target"], names))
    if not len(displayed):
        return
    made.add_scatter(
        x=displayed["value"].astype(float),
        y=np.array([names.index(target) + _BELOW for target in displayed["target"]]),
        mode="markers",
        marker={"symbol": "diamond", "size": 6, "color": t["surface"], "line": {"color": t["control"], "width": 1.3}},
        error_x=_whiskers(displayed, t["control"]) if whiskers else None,
        hovertext=hovers(displayed),
        hoverinfo="text",
        name="control",
    )


def _whiskers(rows: Frame, colour: str) -> dict[str, Any]:
    value, low, high = (rows[name].astype(float) for name in ("value", "low", "high"))
    ends = {"array": high - value, "arrayminus": value - low}
    return {"type": "data", "symmetric": False, **ends, "color": colour, "thickness": 1.2, "width": 3}
