"""A quantity of several runs: one line per run of up to eight, else the median over the runs of each task.

`lengthlens plot DIR` and notebooks draw the same figure with it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

import pandas as pd
import plotly.graph_objects as go

from workbench.core.suggest import nearest
from workbench.core.thresholds import LEVEL_TEXT
from workbench.figures.errors import NotDrawable
from workbench.figures.export.titled_figure import TitledFigure
from workbench.figures.look import with_look
from workbench.figures.offered import register_public
from workbench.figures.panels.any_quantity import MOST_BANDS, quantity_over_length, quantity_over_training
from workbench.figures.panels.many_seeds import median_of_runs
from workbench.figures.rows.frame import Frame, unique
from workbench.figures.rows.select_rows import NOT_DRAWN, rows_with_values, stack, tidy
from workbench.table.schema import DEFAULTS, SEPARATING

Axis = Literal["length", "step"]
EACH: dict[Axis, str] = {
    "length": "at the last measured step of each run",
    "step": "at the measured length of each run nearest to twice its longest trained length",
}
"""Axis -> where the lines of runs are taken that have no step or length in common."""
MOST_LINES = 8
"""Lines that one figure shows at most: beyond, lines cannot be told apart."""


@dataclass(frozen=True)
class RunRows:
    """The rows of one quantity of a run.

    Attributes:
        name: name of the run.
        task: name of its task.
        trained: N, its longest trained length.
        rows: its rows, without controls.
    """

    name: str
    task: str
    trained: int
    rows: Frame


@dataclass(frozen=True)
class LinesOfRuns:
    """A drawn figure of a quantity of several runs.

    Attributes:
        figure: the figure.
        rows: exactly the rows that it draws, with a column ``run``, empty in medians over runs.
        axis: what they are drawn over.
        about: quantity, measurement, and step or length, in words.
        interval: what the columns low and high are.
    """

    figure: go.Figure
    rows: pd.DataFrame
    axis: Axis
    about: str
    interval: str = f"{LEVEL_TEXT} interval"


class HasRunsAndRows(Protocol):
    """What :class:`workbench.table.Table` has: its rows, and one row per run with task and longest trained length."""

    def frame(self, **equals: Any) -> pd.DataFrame: ...

    def runs(self) -> pd.DataFrame: ...


@register_public
def quantity_of_runs(
    table: HasRunsAndRows,
    quantity: str = "accuracy",
    *,
    measurement: str | None = None,
    over: Axis | None = None,
    step: int | None = None,
    length: int | None = None,
    **look: Any,
) -> go.Figure:
    """A quantity of the runs of a table: one line per run of up to eight, else the median of each task and its range.

    Args:
        table: the table of the runs, e.g. ``Table.load("checkpoints")``.
        quantity: name of the quantity.
        measurement: whose quantity; None = the first that has one of that name.
        over: ``length`` or ``step``; None = prefix length where the quantity has lengths, else training.
        step: the checkpoint, in a figure over prefix length; None = the last measured one of each run.
        length: the prefix length in tokens, in a figure over training; None = the measured one nearest to 2N.
        look: ``theme``, ``size`` or ``look``.

    Raises:
        NotDrawable: for a quantity, step or length that the runs do not have.
    """
    rows = Frame.of(table.frame(quantity=stored_name(quantity), control=""))
    if not len(rows):
        known = {str(name) for name in table.frame(control="")["quantity"].unique()}
        raise NotDrawable(f"no run of the table has a quantity {quantity[:60]!r}; {nearest(quantity, known)}")
    pairs = {(str(own), stored_name(quantity)) for own in unique(rows["measurement"])}
    measurement, quantity = pair_of(pairs, quantity, measurement)
    rows = rows.where(measurement=measurement)
    runs = [
        RunRows(str(run), str(task), int(high), own)
        for run, task, high in table.runs()[["run", "task", "high"]].itertuples(index=False)
        if len(own := rows.where(run=run))
    ]
    return lines_of_runs(f"{len(runs)} runs", runs, measurement, quantity, over, step, length, look).figure


def stored_name(quantity: str) -> str:
    """The name of a quantity as rows have it."""
    return quantity.lower().replace("-", "_").replace(" ", "_")


def pair_of(
    pairs: Iterable[tuple[str, str]], quantity: str, measurement: str | None, preferred: Collection[str] = ()
) -> tuple[str, str]:
    """Measurement and quantity, by the names that the user typed.

    Args:
        pairs: those there are.
        quantity: the typed name.
        measurement: the typed name; None = any.
        preferred: measurements that win if several have the name.

    Raises:
        NotDrawable: if there is none, with the nearest name.
    """
    pairs = sorted(pairs)
    wanted = stored_name(quantity)
    matches = [pair for pair in pairs if pair[1] == wanted and measurement in (None, pair[0])]
    if not matches:
        where = f" of {measurement}" if measurement else ""
        names, everything = {name for _, name in pairs}, "lengthlens quantities lists all"
        raise NotDrawable(f"no run here has a quantity {quantity[:60]!r}{where}; {nearest(wanted, names, everything)}")
    return next((pair for pair in matches if pair[0] in preferred), matches[0])


def lines_of_runs(
    root: str,
    runs: Sequence[RunRows],
    measurement: str,
    quantity: str,
    over: Axis | None,
    step: int | None,
    length: int | None,
    look: dict[str, Any] | None = None,
) -> LinesOfRuns:
    """Draw one quantity of one measurement of several runs.

    Args:
        root: what the runs are called together, e.g. the name of their folder.
        runs: the runs, each with its rows of the quantity.
        measurement, quantity: of the rows.
        over: the axis; None = prefix length where the quantity has lengths, else training.
        step: the checkpoint, for an axis of lengths; None = the last measured one of each run.
        length: the prefix length, for an axis of steps; None = the measured one nearest to 2N.
        look: ``theme``, ``size`` or ``look``.

    Raises:
        NotDrawable: for a step or length that is not measured, if no run has a value there, or for more than
            :data:`MOST_LINES` lines.
    """
    lengths = sorted({run.trained for run in runs})
    axis: Axis = over or ("length" if any(len(run.rows.distinct("length")) for run in runs) else "step")
    lines, shown = [], set()
    for run in runs:
        rows, at = _line(run, axis, step, length)
        rows = rows_with_values(rows)
        if len(rows):
            shown.add(at)
            lines.append((run, rows))
    if not lines:
        why = "; ".join(sorted({str(note).rstrip(".") for run in runs for note in unique(run.rows["note"]) if note}))
        raise NotDrawable(
            f"{quantity} has no value in the {len(runs):,} runs of {root}; choose another quantity, step or "
            f"length{f' ({why})' if why else ''}"
        )
    if len(runs) <= MOST_LINES:
        # The name of the run tells its line apart; all else is the same for all lines.
        frame = Frame.concat([rows.with_columns(run=root, target=run.name) for run, rows in lines])
        return _drawn(frame, [run.name for run, _ in lines], shown, quantity, axis, lengths, root, look)
    frame = medians_by_task(root, lines, axis)
    tasks = [str(name) for name in unique(frame["target"])]
    drawn = _drawn(frame, tasks, shown, quantity, axis, lengths, root, look)
    some = f"median of {len(lines):,} runs" if len(tasks) == 1 else f"medians of {len(lines):,} runs by task"
    band = " · band: lowest to highest run" if len(tasks) <= MOST_BANDS else ""
    drawn.figure.layout.meta = {
        **drawn.figure.layout.meta,
        "slice": f"{drawn.figure.layout.meta['slice']} · {some}{band}",
    }
    about = f"{drawn.about}: {some}"
    return replace(drawn, rows=drawn.rows.assign(run=""), about=about, interval="lowest to highest run")


def medians_by_task(root: str, lines: Sequence[tuple[RunRows, Frame]], along: str) -> Frame:
    """Return the median, lowest and highest value over the runs of each task, named by the column ``target``.

    A task whose runs have several longest trained lengths N has a line for each N.

    Args:
        root: what the column ``run`` contains.
        lines: each run with the rows of its line.
        along: ``length`` or ``step``.

    Raises:
        NotDrawable: for more than :data:`MOST_LINES` lines.
    """
    lengths: dict[str, set[int]] = {}
    for run, _ in lines:
        lengths.setdefault(run.task, set()).add(run.trained)
    groups: dict[str, list[Frame]] = {}
    for run, rows in lines:
        label = run.task if len(lengths[run.task]) == 1 else f"{run.task}, N = {run.trained}"
        groups.setdefault(label, []).append(tidy(rows, run.name, along))
    if len(groups) > MOST_LINES:
        raise NotDrawable(
            f"the runs of {root} have {len(groups)} tasks and trained lengths, and a figure shows at most "
            f"{MOST_LINES}; choose fewer runs"
        )
    # Lines differ in their task only, whatever else differs between runs.
    alike = {**{name: DEFAULTS[name] for name in SEPARATING}, **{name: DEFAULTS[name] for name in NOT_DRAWN}}
    alike.pop(along, None)
    parts = []
    for label, runs in sorted(groups.items()):
        median = median_of_runs(stack(runs), along)
        parts.append(median.with_columns(**{**alike, "target": label, "run": root}))
    return Frame.concat(parts)


def _line(run: RunRows, over: Axis, step: int | None, length: int | None) -> tuple[Frame, int]:
    """The rows of one run's line, and the step or length at which they are."""
    rows = _one_series(run.rows)
    if over == "length":
        steps = sorted({int(at) for at in rows.distinct("step")})
        at = choose_value(step, steps, max(steps, default=0), "step", run.name)
        return rows.where(step=at), at
    lengths = sorted({int(at) for at in rows.distinct("length")})
    at = choose_value(length, lengths, near(lengths, 2 * run.trained), "length", run.name)
    return (rows.where(length=at) if lengths else rows), at


def _one_series(rows: Frame) -> Frame:
    """The rows of one series: the matched test set, and the last layer, where rows differ in these."""
    for column, usual in (("law", "matched"), ("mode", "teacher_forced")):
        if len({*rows[column]}) > 1 and usual in {*rows[column]}:
            rows = rows.where(**{column: usual})
    layers = rows.distinct("layer")
    rows = rows.where(layer=max(layers)) if len(layers) > 1 else rows
    heads = rows.distinct("head")
    return rows.where(head=min(heads)) if len(heads) > 1 else rows


def _drawn(
    frame: Frame,
    lines: Sequence[str],
    shown: Set[int],
    quantity: str,
    over: Axis,
    trained: Sequence[int],
    root: str,
    look: dict[str, Any] | None,
) -> LinesOfRuns:
    """The figure of lines that the column ``target`` names, at the steps or lengths ``shown``."""
    measurement, place = str(frame["measurement"][0]), max(shown)
    name = "step" if over == "length" else "length"
    frame = frame.with_columns(**{name: [place] * len(frame)})
    draw = quantity_over_length if over == "length" else quantity_over_training
    arguments: dict[str, Any] = {"measurement": measurement, "quantity": quantity, "trained": trained[0], name: place}
    figure = draw(frame, **arguments, **with_look(look or {}))
    where = f"at {name} {place:,}" if len(shown) == 1 else EACH[over]
    several = f" · trained lengths up to {trained[0]:,} to {trained[-1]:,}" if len(trained) > 1 else ""
    figure.layout.meta = {**figure.layout.meta, "slice": f"{where}{several}"}
    if isinstance(figure, TitledFigure):
        figure._place = root
    rows = draw.data(frame, **arguments).to_pandas()
    # Labels of lines have spaces in place of underscores, and a run has its own name.
    names = {line.replace("_", " "): line for line in lines}
    for note in figure.layout.annotations:
        note.text = names.get(note.text, note.text)
    series = rows["series"].map(lambda label: names.get(label, label))
    about = f"{quantity} ({measurement}) {where}"
    return LinesOfRuns(figure, rows.assign(series=series, run=series), over, about)


def near(values: Sequence[int], target: int) -> int:
    """The value nearest to the target, or the target if there is none."""
    return min(values, key=lambda value: abs(value - target), default=target)


def choose_value(given: int | None, known: Sequence[int], usual: int, option: str, run: str) -> int:
    """The step or length that was given, if it is known, else the usual one.

    Raises:
        NotDrawable: for an unknown one, with those there are.
    """
    if given is None:
        return usual
    if given not in known:
        listed = ", ".join(f"{value:,}" for value in known) or "none"
        raise NotDrawable(f"{option} {given:,} is not measured in {run}; choose one of {listed}")
    return given
