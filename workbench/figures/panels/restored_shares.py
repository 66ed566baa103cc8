"""What each blind repair of a diagnosis gives back past N, and what it costs at N."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from workbench.core.repair_names import REPAIR_NAMES
from workbench.figures.labels import interval, proportion, whole
from workbench.figures.registry import data_of, figure
from workbench.figures.rows.diagnosis_rows import MEASUREMENT, named_entry, something_to_explain
from workbench.figures.rows.frame import Frame, is_in, missing, unique
from workbench.figures.rows.picking import run_name, select, smallest_n, stack, tidy, valued
from workbench.figures.style.design_tokens import TOKENS, Theme
from workbench.figures.style.marks import add_upright, add_zone, hovers
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import blank

MOST_HARM = 0.05
"""Repairs that cost more than this at N are not applicable."""
_LEFT, _BELOW = 122, 0.3


@figure
def restored_shares(frame: Frame, *, step: int, theme: Theme = "light", size: int = 11) -> Drawing:
    """A bar with its interval per repair: the share of the loss that it gives back, at the length of the sentence.

    The repair that names the entry is in ink. A hollow diamond is the same kind of edit with the wrong constant. At 1
    all of the loss is restored; below 0 the repair does harm.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        theme: light or dark.
        size: base text size, pixels.

    Raises:
        NotMeasured: without a diagnosis of that checkpoint, or where nothing is to be explained.
    """
    data = restored_shares_data(frame, step=step)
    named = named_entry(frame, step=step)
    own, controls = data.where(control=""), data.where(control="wrong_constant")
    ends = [float(v) for name in ("value", "low", "high") for v in data[name].astype(float) if not missing(v)]
    names = list(own["target"])
    made = _ladder(
        names,
        (min(-0.1, *ends) - 0.05, max(1.0, *ends) + 0.1),
        {"title": {"text": "share of the loss restored"}, "tickvals": [-1, -0.5, 0, 0.5, 1, 1.5]},
        theme=theme,
        size=size,
        meta={
            "title": "What restores it",
            "slice": f"length {whole(named['length'])} \u00b7 hollow: control \u00b7 95 % CI",
            "alt": f"Share of the loss restored at length {whole(named['length'])}, step {whole(step)}: "
            + "; ".join(
                f"{name_of(row['target'])} {proportion(row['value'])} {interval(row['low'], row['high'])}"
                for row in own.rows()
            ),
            "n": smallest_n(data),
        },
        uirevision=f"{run_name(frame)}/restored_shares",
    )
    t = TOKENS[theme]
    add_upright(made, 1.0, {"color": t["line2"], "width": 1, "dash": "dot"}, "all of the loss")
    add_upright(made, 0.0, {"color": t["line2"], "width": 1}, "nothing")
    made.add_bar(
        x=own["value"].astype(float),
        y=np.arange(len(own), dtype=float),
        orientation="h",
        width=0.5,
        marker={"color": [t["ink"] if target == named["target"] else t["bar"] for target in names]},
        error_x=_whiskers(own, t["ink3"]),
        hovertext=hovers(own),
        hoverinfo="text",
        name="repair",
    )
    _diamonds(made, controls, names, theme, whiskers=True)
    return made


@data_of(restored_shares)
def restored_shares_data(frame: Frame, *, step: int) -> Frame:
    """The rows of :func:`restored_shares`: every repair that is applicable, and the controls of the best."""
    rows = valued(_asked(frame, step, "restored_share"))
    return _ordered(rows)


@figure
def harm_inside(frame: Frame, *, step: int, theme: Theme = "light", size: int = 11) -> Drawing:
    """What each repair costs at N: past the line it is not applicable, whatever it restores beyond.

    A dot is the repair, a hollow diamond its control.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        theme: light or dark.
        size: base text size, pixels.

    Raises:
        NotMeasured: without a diagnosis of that checkpoint, or where nothing is to be explained.
    """
    data = harm_inside_data(frame, step=step)
    own, controls = data.where(control=""), data.where(control="wrong_constant")
    names = list(own["target"])
    values = [float(v) for v in data["value"]]
    t = TOKENS[theme]
    high = max(2 * MOST_HARM, *values) * 1.1
    made = _ladder(
        names,
        (min(-0.01, *values) * 1.1, high),
        {"title": {"text": "accuracy lost at N"}},
        theme=theme,
        size=size,
        meta={
            "title": "Harm at N",
            "slice": f"hollow: control \u00b7 above {MOST_HARM:g} not applicable",
            "alt": f"Accuracy that each repair costs at N, step {whole(step)}: "
            + "; ".join(f"{name_of(row['target'])} {proportion(row['value'])}" for row in own.rows()),
            "n": smallest_n(data),
        },
        uirevision=f"{run_name(frame)}/harm_inside",
    )
    add_zone(made, MOST_HARM, high, t["sunken"], opacity=0.7)
    add_upright(made, MOST_HARM, {"color": t["line2"], "width": 1, "dash": "dot"}, "most harm")
    made.add_scatter(
        x=own["value"].astype(float),
        y=np.arange(len(own), dtype=float),
        mode="markers",
        marker={"color": t["ink"], "size": 7},
        hovertext=hovers(own),
        hoverinfo="text",
        name="repair",
    )
    _diamonds(made, controls, names, theme, whiskers=False)
    return made


@data_of(harm_inside)
def harm_inside_data(frame: Frame, *, step: int) -> Frame:
    """The rows of :func:`harm_inside`: every repair that the model has a place for, and the controls of the best."""
    return _ordered(valued(_asked(frame, step, "harm_inside")))


def name_of(target: str) -> str:
    """A repair, or a pair of them, in a few words."""
    return " + ".join(_one(name) for name in str(target).split(" and "))


def _one(name: str) -> str:
    if name.startswith("C.pool"):
        return f"{REPAIR_NAMES['C.pool']}, block {name.removeprefix('C.pool')}"
    return REPAIR_NAMES.get(name, name)


def _asked(frame: Frame, step: int, quantity: str) -> Frame:
    """Rows of one quantity at the length of the sentence."""
    named = something_to_explain(frame, step=step)
    return select(frame, MEASUREMENT, quantity=quantity, step=step, length=named["length"])


def _ordered(rows: Frame) -> Frame:
    """A series per repair, in the order in which they are asked, pairs last; controls after all of them."""
    targets = sorted(map(str, unique(rows["target"])), key=lambda target: (_place(target), target))
    parts = [rows.where(target=target, control=control) for control in ("", "wrong_constant") for target in targets]
    return stack(tidy(part, name_of(part["target"][0]), "length") for part in parts if len(part))


def _place(target: str) -> int:
    known = list(REPAIR_NAMES)
    return len(known) if " and " in target else next((i for i, name in enumerate(known) if target.startswith(name)), 0)


def _ladder(
    names: list[str],
    span: tuple[float, float],
    x_axis: Mapping[str, Any],
    *,
    theme: Theme,
    size: int,
    meta: Mapping[str, Any],
    uirevision: str,
) -> Drawing:
    """An empty figure with a row per repair."""
    made = blank(
        theme,
        size,
        column="failure",
        xaxis={"range": list(span), **x_axis},
        yaxis={
            "range": [len(names) - 0.35, -0.65],
            "tickvals": list(range(len(names))),
            "ticktext": [name_of(name) for name in names],
            "showgrid": False,
            "tickfont": {"color": TOKENS[theme]["ink2"], "size": size},
        },
        meta=meta,
        uirevision=uirevision,
    )
    made.update_layout(margin_l=_LEFT)
    return made


def _diamonds(made: Drawing, controls: Frame, names: list[str], theme: Theme, *, whiskers: bool) -> None:
    """Controls, below their repairs."""
    t = TOKENS[theme]
    shown = controls.where(is_in(controls["target"], names))
    if not len(shown):
        return
    made.add_scatter(
        x=shown["value"].astype(float),
        y=np.array([names.index(target) + _BELOW for target in shown["target"]]),
        mode="markers",
        marker={"symbol": "diamond", "size": 6, "color": t["surface"], "line": {"color": t["control"], "width": 1.3}},
        error_x=_whiskers(shown, t["control"]) if whiskers else None,
        hovertext=hovers(shown),
        hoverinfo="text",
        name="control",
    )


def _whiskers(rows: Frame, colour: str) -> dict[str, Any]:
    value, low, high = (rows[name].astype(float) for name in ("value", "low", "high"))
    ends = {"array": high - value, "arrayminus": value - low}
    return {"type": "data", "symmetric": False, **ends, "color": colour, "thickness": 1.2, "width": 3}
