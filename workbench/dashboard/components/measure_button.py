"""The button that has a missing measurement made; what it sets off is in :mod:`workbench.dashboard.measure_now`."""

from __future__ import annotations

from typing import Any

from dash import html

from workbench.dashboard.components.icons import icon
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.state.run_view import RunView


def button(run: str, family: str, deepen_at: int | None = None) -> html.Button:
    """Measures what a panel lacks; or draws further strings at one step, where the first ones left a question open."""
    deeper = {} if deepen_at is None else {"data-measure-step": str(deepen_at)}
    return html.Button(
        [icon("play"), "Measure now"],
        className="button",
        type="button",
        **{"data-measure": family, "data-run": run, **deeper},
    )


def ways(run: RunView, options: str = "", family: str = "", deepen_at: int | None = None) -> list[Any]:
    """How to have something measured: the command and the button, or what is wanted first where weights are not here.

    Args:
        run: whose.
        options: of the command.
        family: what the button measures; "" = everything.
        deepen_at: the step that it draws further strings at.
    """
    if run.run.weightless:
        return weights_wanted(run)
    asks = command(run.measuring(options))
    return [html.Div([asks, button(run.name, family, deepen_at)], className="ways")]


def weights_wanted(run: RunView) -> list[Any]:
    """Why nothing can be computed with a run's weights, and the command that says where they are, if they are."""
    said = html.P(f"This needs the weights of the model. {run.run.weightless[:1].upper()}{run.run.weightless[1:]}.")
    if not (run.run.rows_only and run.run.referenced):
        return [said]
    return [said, html.Div([command(f"lengthlens open DIR --relink {run.typed_path}")], className="ways")]
