"""What ``lengthlens plot`` draws: the dashboard's figure of a quantity of a run, or one line per run of a folder.

Of more than eight runs it draws medians and bands (:mod:`workbench.cli.plotted_bands`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import plotly.graph_objects as go

from workbench.cli.errors import UsageError
from workbench.cli.plotted_bands import medians_by_task, rows_of_runs
from workbench.core.suggest import nearest
from workbench.core.thresholds import LEVEL_TEXT
from workbench.dashboard.panels.panel_spec import BASE_SIZE, Panel, PanelCursor
from workbench.dashboard.panels.run_panels import MORE, PANELS
from workbench.dashboard.state.cursor import default_cursor
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import Store
from workbench.figures.errors import NotMeasured
from workbench.figures.panels.any_quantity import MOST_BANDS, quantity_over_length, quantity_over_training
from workbench.figures.rows.frame import Frame, unique
from workbench.figures.rows.select_rows import valued
from workbench.table.layout import run_folders

Axis = Literal["length", "step"]
COLUMN: dict[Axis, str] = {"length": "length", "step": "training"}
"""Axis -> the column of panels on the Run page that draws over it."""
EACH: dict[Axis, str] = {
    "length": "at the last measured step of each run",
    "step": "at the measured length of each run nearest to twice its longest trained length",
}
"""Axis -> where the lines of runs are taken that have no step or length in common."""
MOST_LINES = 8
"""Lines that one figure shows at most: beyond, lines cannot be told apart."""


@dataclass(frozen=True)
class Plotted:
    """A drawn figure of a quantity.

    Attributes:
        figure: the figure.
        rows: exactly the rows that it draws, with a column ``run``, empty in medians over runs.
        axis: what they are drawn over.
        about: quantity, measurement and layer, head or step, in words.
        interval: what the columns low and high are.
    """

    figure: go.Figure
    rows: pd.DataFrame
    axis: Axis
    about: str
    interval: str = f"{LEVEL_TEXT} interval"


def plotted(
    folder: Path, quantity: str, measurement: str | None, over: Axis | None, step: int | None, length: int | None
) -> Plotted:
    """Draw a quantity of the run in a folder, or of the runs below this folder: a line each, or bands of many runs.

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
    if len(folders) > MOST_LINES:
        return _bands(folder, folders, quantity, measurement, over, step, length)
    views = list(Store([folder], patience=0).runs().values())
    if not views:
        raise UsageError(f"{folder} contains no run; lengthlens train TASK --out {folder} makes one there")
    pairs = {pair for view in views for pair in view.brief.quantities}
    measurement, quantity = _pair(pairs, quantity, measurement)
    views = [view for view in views if (measurement, quantity) in view.brief.quantities]
    if over is None:
        over = "length" if any(_lengths(view, measurement, quantity) for view in views) else "step"
    try:
        if len(views) == 1:
            return _of_run(views[0], measurement, quantity, over, step, length)
        return _of_runs(folder, views, measurement, quantity, over, step, length)
    except NotMeasured as error:
        other = "step" if over == "length" else "length"
        raise UsageError(f"{error.message.rstrip('.')}; choose another --step or --length, or --over {other}") from None


def _stored_name(quantity: str) -> str:
    return quantity.lower().replace("-", "_").replace(" ", "_")


def _pair(pairs: Iterable[tuple[str, str]], quantity: str, measurement: str | None) -> tuple[str, str]:
    """Measurement and quantity, by the names that the user typed."""
    pairs = sorted(pairs)
    wanted = _stored_name(quantity)
    found = [pair for pair in pairs if pair[1] == wanted and measurement in (None, pair[0])]
    if not found:
        where = f" of {measurement}" if measurement else ""
        names, everything = {name for _, name in pairs}, "lengthlens quantities lists all"
        raise UsageError(f"no run here has a quantity {quantity[:60]!r}{where}; {nearest(wanted, names, everything)}")
    own = [pair for pair in found for panel in PANELS if pair == (panel.measurement, pair[1])]
    return (own or found)[0]


def _panel(measurement: str, quantity: str, over: Axis) -> Panel:
    """The panel of the Run page for a quantity over an axis: its own one, or the one for any quantity."""
    own = [panel for panel in PANELS if panel.quantities == (quantity,) and panel.measurement == measurement]
    drawn = [panel for panel in own if panel.column == COLUMN[over]]
    if drawn:
        return drawn[0]
    panel = next(panel for panel in MORE if panel.column == COLUMN[over])
    return replace(panel, settings={"measurement": measurement, "quantity": quantity})


def _of_run(
    view: RunView, measurement: str, quantity: str, over: Axis, step: int | None, length: int | None
) -> Plotted:
    cursor = default_cursor(view)
    steps = sorted({int(at) for at in view.frame.where(measurement=measurement, quantity=quantity).distinct("step")})
    lengths = _lengths(view, measurement, quantity)
    cursor = replace(
        cursor,
        step=_chosen(step, steps, max(steps, default=cursor.step), "--step", view.name),
        length=_chosen(length, lengths, _near(lengths, cursor.length), "--length", view.name),
    )
    panel = _panel(measurement, quantity, over)
    at = PanelCursor(view, cursor)
    place = f"at step {cursor.step:,}" if over == "length" else f"at length {cursor.length:,}" if lengths else ""
    figure = panel.draw(at, "light", BASE_SIZE)
    rows = panel.data(at)
    about = " ".join(part for part in (f"{quantity} ({measurement}) of {view.name}", place) if part)
    return Plotted(figure, rows.assign(run=view.name), over, about)


def _of_runs(
    folder: Path,
    views: Sequence[RunView],
    measurement: str,
    quantity: str,
    over: Axis,
    step: int | None,
    length: int | None,
) -> Plotted:
    """A line per run: of each its last step, or the chosen one, over length; or over training at one length."""
    parts, shown = [], set()
    for view in views:
        rows = view.frame.where(measurement=measurement, quantity=quantity, control="")
        rows, at = _line(rows, view.name, view.trained, over, step, length)
        shown.add(at)
        # The name of the run tells its line apart; all else is the same for all lines.
        parts.append(rows.with_columns(run=[folder.name] * len(rows), target=[view.name] * len(rows)))
    names = [view.name for view in views]
    return _drawn(Frame.concat(parts), names, shown, measurement, quantity, over, views[0].trained)


def _line(rows: Frame, name: str, trained: int, over: Axis, step: int | None, length: int | None) -> tuple[Frame, int]:
    """The rows of one run's line, and the step or length at which they are."""
    rows = _one_series(rows)
    if over == "length":
        steps = sorted({int(at) for at in rows.distinct("step")})
        at = _chosen(step, steps, max(steps, default=0), "--step", name)
        return rows.where(step=at), at
    lengths = sorted({int(at) for at in rows.distinct("length")})
    at = _chosen(length, lengths, _near(lengths, 2 * trained), "--length", name)
    return (rows.where(length=at) if lengths else rows), at


def _bands(
    folder: Path,
    folders: Sequence[tuple[str, Path]],
    quantity: str,
    measurement: str | None,
    over: Axis | None,
    step: int | None,
    length: int | None,
) -> Plotted:
    """A line per task: the median over its runs, with the lowest and the highest as its band."""
    runs = rows_of_runs(folder, folders, _stored_name(quantity))
    pairs = {(str(name), _stored_name(quantity)) for run in runs for name in unique(run.rows["measurement"])}
    if not pairs:  # no run has it: the names of all quantities suggest the nearest
        from workbench.measure.registry import measurements

        pairs = {(known.name, declared.name) for known in measurements().values() for declared in known.quantities}
    measurement, quantity = _pair(pairs, quantity, measurement)
    runs = [replace(run, rows=run.rows.where(measurement=measurement)) for run in runs]
    runs = [run for run in runs if len(run.rows)]
    if not runs:
        raise UsageError(f"no run of {folder} has rows of {quantity}; lengthlens measure {folder} makes them")
    if over is None:
        over = "length" if any(len(run.rows.distinct("length")) for run in runs) else "step"
    lines, shown = [], set()
    for run in runs:
        rows, at = _line(run.rows, run.name, run.trained, over, step, length)
        rows = valued(rows)
        if len(rows):
            shown.add(at)
            lines.append((run, rows))
    if not lines:
        why = "; ".join(sorted({str(note).rstrip(".") for run in runs for note in unique(run.rows["note"]) if note}))
        raise UsageError(
            f"{quantity} has no value in the {len(runs):,} runs of {folder}; choose another quantity, --step or "
            f"--length{f' ({why})' if why else ''}"
        )
    frame = medians_by_task(folder, lines, over, MOST_LINES)
    tasks = [str(name) for name in unique(frame["target"])]
    drawn = _drawn(frame, tasks, shown, measurement, quantity, over, runs[0].trained)
    some = f"median of {len(lines):,} runs" if len(tasks) == 1 else f"medians of {len(lines):,} runs by task"
    band = " · band: lowest to highest run" if len(tasks) <= MOST_BANDS else ""
    drawn.figure.layout.meta = {
        **drawn.figure.layout.meta,
        "slice": f"{drawn.figure.layout.meta['slice']} · {some}{band}",
    }
    return replace(
        drawn, rows=drawn.rows.assign(run=""), about=f"{drawn.about}: {some}", interval="lowest to highest run"
    )


def _drawn(
    frame: Frame, lines: Sequence[str], shown: Set[int], measurement: str, quantity: str, over: Axis, trained: int
) -> Plotted:
    """The figure of lines that the column ``target`` names, at the steps or lengths ``shown``."""
    place = max(shown)
    frame = frame.with_columns(**{"step" if over == "length" else "length": [place] * len(frame)})
    draw = quantity_over_length if over == "length" else quantity_over_training
    arguments: dict[str, Any] = {"measurement": measurement, "quantity": quantity, "trained": trained}
    arguments["step" if over == "length" else "length"] = place
    figure = draw(frame, **arguments)
    name = "step" if over == "length" else "length"
    where = f"at {name} {place:,}" if len(shown) == 1 else EACH[over]
    figure.layout.meta = {**figure.layout.meta, "slice": where}
    rows = draw.data(frame, **arguments).to_pandas()
    # Labels of lines have spaces in place of underscores, and a run has its own name.
    names = {line.replace("_", " "): line for line in lines}
    for note in figure.layout.annotations:
        note.text = names.get(note.text, note.text)
    series = rows["series"].map(lambda label: names.get(label, label))
    return Plotted(figure, rows.assign(series=series, run=series), over, f"{quantity} ({measurement}) {where}")


def _one_series(rows: Frame) -> Frame:
    """The rows of one series: the matched test set, and the last layer, where rows differ in these."""
    for column, usual in (("law", "matched"), ("mode", "teacher_forced")):
        if len({*rows[column]}) > 1 and usual in {*rows[column]}:
            rows = rows.where(**{column: usual})
    layers = rows.distinct("layer")
    rows = rows.where(layer=max(layers)) if len(layers) > 1 else rows
    heads = rows.distinct("head")
    return rows.where(head=min(heads)) if len(heads) > 1 else rows


def _lengths(view: RunView, measurement: str, quantity: str) -> list[int]:
    rows = view.frame.where(measurement=measurement, quantity=quantity)
    return sorted({int(length) for length in rows.distinct("length")})


def _near(values: Sequence[int], wanted: int) -> int:
    return min(values, key=lambda value: abs(value - wanted), default=wanted)


def _chosen(given: int | None, known: Sequence[int], usual: int, option: str, run: str) -> int:
    """The step or length that was given, if it is known, else the usual one."""
    if given is None:
        return usual
    if given not in known:
        listed = ", ".join(f"{value:,}" for value in known) or "none"
        raise UsageError(f"{option} {given:,} is not measured in {run}; choose one of {listed}")
    return given
