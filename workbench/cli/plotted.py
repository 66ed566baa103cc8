"""What ``lengthlens plot`` draws: the dashboard's figure of a quantity of a run, or lines or medians of several runs.

The figure of several runs is that of notebooks (:mod:`workbench.figures.panels.lines_of_runs`).
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.cli.errors import UsageError
from workbench.cli.rows_of_runs import rows_of_runs
from workbench.figures.errors import NotDrawable, NotMeasured
from workbench.figures.panels.lines_of_runs import (
    Axis,
    LinesOfRuns,
    choose_value,
    lines_of_runs,
    near,
    pair_of,
    stored_name,
)
from workbench.figures.rows.frame import unique
from workbench.table.layout import run_folders

if TYPE_CHECKING:
    from workbench.dashboard.panels.panel_spec import Panel
    from workbench.dashboard.state.run_view import RunView

COLUMN: dict[Axis, str] = {"length": "length", "step": "training"}
"""Axis -> the column of panels on the Run page that draws over it."""


def plot_runs(
    folder: Path, quantity: str, measurement: str | None, over: Axis | None, step: int | None, length: int | None
) -> LinesOfRuns:
    """Draw a quantity of the run in a folder, or of the runs below this folder: a line each, or medians of many runs.

    Args:
        folder: a run or a folder of runs.
        quantity: name of the quantity.
        measurement: whose quantity; None = the first that has one of that name.
        over: the axis; None = prefix length where the quantity has lengths, else training.
        step: the checkpoint, for an axis of lengths; None = the last measured one.
        length: the prefix length, for an axis of steps; None = as the Run page opens with.

    Raises:
        UsageError: where there is no such quantity, step or length, naming those there are.
    """
    folders = run_folders(folder) if folder.is_dir() else []
    if not folders:
        raise UsageError(f"{folder} contains no run; lengthlens train TASK --out {folder} makes one there")
    try:
        if len(folders) == 1:
            return _of_run(folder, folders[0][0], quantity, measurement, over, step, length)
        return _of_runs(folder, folders, quantity, measurement, over, step, length)
    except NotMeasured as error:
        other = "step" if over in (None, "length") else "length"
        raise UsageError(f"{error.message.rstrip('.')}; choose another --step or --length, or --over {other}") from None
    except NotDrawable as error:
        raise UsageError(f"{error}") from None


def _of_runs(
    folder: Path,
    folders: list[tuple[str, Path]],
    quantity: str,
    measurement: str | None,
    over: Axis | None,
    step: int | None,
    length: int | None,
) -> LinesOfRuns:
    """Lines of the runs of a folder. If only one run has the quantity, the figure of that run."""
    runs = rows_of_runs(folder, folders, stored_name(quantity))
    pairs = {(str(name), stored_name(quantity)) for run in runs for name in unique(run.rows["measurement"])}
    if not pairs:  # no run has it: the names of all quantities suggest the nearest
        from workbench.measure.registry import measurements

        pairs = {(known.name, declared.name) for known in measurements().values() for declared in known.quantities}
    measurement, quantity = pair_of(pairs, quantity, measurement, _of_panels() if len(pairs) > 1 else ())
    runs = [replace(run, rows=run.rows.where(measurement=measurement)) for run in runs]
    runs = [run for run in runs if len(run.rows)]
    if not runs:
        raise UsageError(f"no run of {folder} has rows of {quantity}; lengthlens measure {folder} makes them")
    if len(runs) == 1:
        return _of_run(folder, runs[0].name, quantity, measurement, over, step, length)
    return lines_of_runs(folder.name, runs, measurement, quantity, over, step, length)


def _of_panels() -> set[str]:
    """The measurements that have a panel of their own on the Run page."""
    from workbench.dashboard.panels.run_panels import PANELS

    return {panel.measurement for panel in PANELS}


def _panel(measurement: str, quantity: str, over: Axis) -> Panel:
    """The panel of the Run page for a quantity over an axis: its own one, or the one for any quantity."""
    from workbench.dashboard.panels.run_panels import MORE, PANELS

    own = [panel for panel in PANELS if panel.quantities == (quantity,) and panel.measurement == measurement]
    drawn = [panel for panel in own if panel.column == COLUMN[over]]
    if drawn:
        return drawn[0]
    panel = next(panel for panel in MORE if panel.column == COLUMN[over])
    return replace(panel, settings={"measurement": measurement, "quantity": quantity})


def _of_run(
    folder: Path,
    name: str,
    quantity: str,
    measurement: str | None,
    over: Axis | None,
    step: int | None,
    length: int | None,
) -> LinesOfRuns:
    """The figure of the Run page for one of the runs below a folder."""
    from workbench.dashboard.panels.panel_spec import BASE_SIZE, PanelCursor
    from workbench.dashboard.state.cursor import default_cursor
    from workbench.dashboard.state.store import Store

    views = Store([folder], patience=0).runs()
    if name not in views:
        raise UsageError(f"{name} in {folder} cannot be opened; lengthlens check {folder} reports the reason")
    view = views[name]
    measurement, quantity = pair_of(view.brief.quantities, quantity, measurement, _of_panels())
    lengths = _lengths(view, measurement, quantity)
    axis: Axis = over or ("length" if lengths else "step")
    cursor = default_cursor(view)
    steps = sorted({int(at) for at in view.frame.where(measurement=measurement, quantity=quantity).distinct("step")})
    cursor = replace(
        cursor,
        step=choose_value(step, steps, max(steps, default=cursor.step), "step", view.name),
        length=choose_value(length, lengths, near(lengths, cursor.length), "length", view.name),
    )
    panel = _panel(measurement, quantity, axis)
    at = PanelCursor(view, cursor)
    place = f"at step {cursor.step:,}" if axis == "length" else f"at length {cursor.length:,}" if lengths else ""
    figure = panel.draw(at, "light", BASE_SIZE)
    rows = panel.data(at)
    about = " ".join(part for part in (f"{quantity} ({measurement}) of {view.name}", place) if part)
    return LinesOfRuns(figure, rows.assign(run=view.name), axis, about)


def _lengths(view: RunView, measurement: str, quantity: str) -> list[int]:
    rows = view.frame.where(measurement=measurement, quantity=quantity)
    return sorted({int(length) for length in rows.distinct("length")})
