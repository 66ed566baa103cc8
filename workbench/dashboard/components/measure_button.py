"""The button that computes a missing measurement; :mod:`workbench.dashboard.measure_now` carries it out."""

from __future__ import annotations

from typing import Any

from dash import html

from workbench.dashboard.components.icons import icon
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.state.run_view import RunView


def button(run: str, family: str, deepen_at: int | None = None) -> html.Button:
    """Return a button that measures what a panel lacks, or draws more sequences at a step where the verdict is
    inconclusive.
    """
    deeper = {} if deepen_at is None else {"data-measure-step": str(deepen_at)}
    return html.Button(
        [icon("play"), "Measure now"],
        className="button",
        type="button",
        **{"data-measure": family, "data-run": run, **deeper},
    )


def ways(run: RunView, options: str = "", family: str = "", deepen_at: int | None = None) -> list[Any]:
    """Return the command and the button that measure something, or what must be done first if the weights are missing.

    Args:
        run: whose.
        options: the options of the command.
        family: what the button measures; "" = everything.
        deepen_at: the step at which to draw more sequences; None measures as usual.
    """
    if run.run.weightless:
        return weights_wanted(run)
    asks = command(run.measuring(options))
    return [html.Div([asks, button(run.name, family, deepen_at)], className="ways")]


def weights_wanted(run: RunView) -> list[Any]:
    """Return why a run's weights cannot be used here, and the command that names their folder if they exist."""
    said = html.P(f"This needs the weights of the model. {run.run.weightless[:1].upper()}{run.run.weightless[1:]}.")
    if not (run.run.rows_only and run.run.referenced):
        return [said]
    return [said, html.Div([command(f"lengthlens open DIR --relink {run.typed_path}")], className="ways")]
