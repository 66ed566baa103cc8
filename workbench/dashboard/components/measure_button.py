"""The button that has a missing measurement made; what it sets off is in :mod:`workbench.dashboard.measure_now`."""

from __future__ import annotations

from dash import html

from workbench.dashboard.components.icons import icon


def button(run: str, family: str, deepen_at: int | None = None) -> html.Button:
    """Measures what a panel lacks; or draws further strings at one step, where the first ones left a question open."""
    deeper = {} if deepen_at is None else {"data-measure-step": str(deepen_at)}
    return html.Button(
        [icon("play"), "Measure now"],
        className="button",
        type="button",
        **{"data-measure": family, "data-run": run, **deeper},
    )
