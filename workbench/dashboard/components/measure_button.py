"""The button that has a missing measurement made; what it sets off is in :mod:`workbench.dashboard.measure_now`."""

from __future__ import annotations

from typing import Any

from dash import html

from workbench.dashboard.components.icons import icon
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.state.run_view import RunView


def button(run: str, family: str, deepen_at: int | None = None) -> html.Button:
    """A button that measures what a panel lacks, or draws more sequences at one step where the verdict is
    inconclusive."""
    deeper = {} if deepen_at is None else {"data-measure-step": str(deepen_at)}
    return html.Button(
        [icon("play"), "Measure now"],
        className="button",
        type="button",
        **{"data-measure": family, "data-run": run, **deeper},
    )


def ways(run: RunView, options: str = "", family: str = "", deepen_at: int | None = None) -> list[Any]:
    """The command and the button that measure something, or what is needed first if the weights are missing.

    Args:
        run: whose.
        options: of the command.
        family: what the button measures; "" = everything.
        deepen_at: the step at which to draw more sequences; None measures as usual.
    """
    if run.run.weightless:
        return weights_wanted(run)
    asks = command(run.measuring(options))
    return [html.Div([asks, button(run.name, family, deepen_at)], className="ways")]


def weights_wanted(run: RunView) -> list[Any]:
    """Why nothing can be computed with a run's weights, and the command that gives their folder if they exist."""
    said = html.P(f"This needs the weights of the model. {run.run.weightless[:1].upper()}{run.run.weightless[1:]}.")
    if not (run.run.rows_only and run.run.referenced):
        return [said]
    return [said, html.Div([command(f"lengthlens open DIR --relink {run.typed_path}")], className="ways")]
