"""Phase diagrams: one quantity over any two axes of the runs' configurations."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from html import escape
from textwrap import wrap
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.canonical import leaves
from workbench.core.names import RUN_PARTS
from workbench.core.verdicts import NOT_FITTED
from workbench.figures.errors import NotApplicable, NotMeasured
from workbench.figures.export.picture import text_width
from workbench.figures.labels import magnitude, proportion, whole
from workbench.figures.look import LIGHT, Look, Theme
from workbench.figures.panels.phase_colours import (
    MOST_COUNTED,
    ROBUST_MARK,
    SAME_CHANCE,
    CellScale,
    add_count,
    cell_scale,
    count_text,
    muted_colour,
    robust_counts,
)
from workbench.figures.registry import figure
from workbench.figures.rows.frame import Frame, missing, numbers
from workbench.figures.rows.multiples import length_at, nearest_share, times_text
from workbench.figures.rows.select_rows import latest, rows_with_values
from workbench.figures.style.cell_strips import LIFT, Dot, add_strips, have_room
from workbench.figures.style.design_tokens import AMOUNT, PERFORMANCE, TOKENS, ColourMap, colour_at, text_on
from workbench.figures.style.heatmap import add_ground
from workbench.figures.style.plain_figure import Drawing
from workbench.figures.style.template import blank, colorbar, plotly_scale
from workbench.table.wording import quantity_label
from workbench.tasks.known_tasks import task_label

REDUCTIONS = ("mean", "max", "min")
"""How several rows of one run (its layers and heads) become one value."""
_BAR_GAP, _BAR = 8, 8
"""Room between cells and colour bar, and its width, pixels."""
_MOST_TEXT_CELLS = 240
MOST_CELLS = 20_000
"""Cells of one diagram; each of more would be less than a pixel."""
_LONGEST_NAME = 18
TASK = "task.name"
"""The axis of tasks."""
_MOST_MEMBERS = 8
_MOST_POOLED = 3
PARTS = RUN_PARTS
"""Parts of a run's configuration that can be an axis; the origin of the weights (``origin``) is an axis too."""


def flatten(config: Mapping[str, Any]) -> dict[str, Any]:
    """A nested configuration as ``{"model.d_model": 64, ...}``; lists are written as JSON."""
    return {name: json.dumps(one) if isinstance(one, list) else one for name, one in leaves(config).items()}


def settings_of(config: Mapping[str, Any]) -> dict[str, Any]:
    """A run's configuration as axes, with ``origin``: trained, compiled or adopted."""
    flat = flatten(config)
    kinds = (kind for kind in ("compiled", "adopted") if any(name.startswith(f"training.{kind}") for name in flat))
    return {**flat, "origin": next(kinds, "trained")}


def axes_of(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Any]]:
    """Return the settings that differ between runs, each with its sorted values.

    Args:
        configs: run -> its ``run.json``; only task, model, training and seeds count.
    """
    flat = [settings_of(config) for config in configs.values()]
    names = dict.fromkeys(name for one in flat for name in one if _is_axis(name))
    axes = {}
    for name in names:
        values = {one.get(name) for one in flat}
        if len(values) > 1:
            axes[name] = sorted(values, key=_order)
    return axes


def _is_axis(name: str) -> bool:
    return name == "origin" or name.partition(".")[0] in PARTS


def phase_cells(
    frame: Frame,
    configs: Mapping[str, Mapping[str, Any]],
    *,
    x: str,
    y: str,
    step: int | None = None,
    length: int | None = None,
    times: float | None = None,
    fixed: Mapping[str, Any] | None = None,
    chances: Mapping[str, float] | None = None,
    over: str = "mean",
    share: float | None = None,
    lasts: Mapping[str, int] | None = None,
    verdicts: Mapping[str, Mapping[int, str]] | None = None,
) -> Frame:
    """The cells of :func:`phase_diagram`: x, y, value (median over runs), low, high (its range), runs, names.

    ``members`` lists every run with its step, length and value; ``note`` is the reason why a cell has no value. With
    ``verdicts``, ``robust`` counts the runs that are scale-robust at their step, and ``decided`` those with a verdict.

    Raises:
        NotMeasured: if no run has a value there.
        KeyError: for an axis that no run has.
    """
    flat = _with_fixed_values({run: settings_of(config) for run, config in configs.items()}, fixed)
    at = _Place(step, share, lasts or {}, length, times)
    cells = _cells(frame, flat, chances or {}, x=x, y=y, at=at, over=over)
    if verdicts is None:
        return cells
    columns = {name: cells[name] for name in cells.names}
    counts = {name: np.array(values) for name, values in robust_counts(cells.attrs["each"], verdicts).items()}
    return Frame({**columns, **counts}, cells.attrs)


@figure(rows=phase_cells)
def phase_diagram(
    data: Frame,
    frame: Frame,
    configs: Mapping[str, Mapping[str, Any]],
    *,
    x: str,
    y: str,
    step: int | None = None,
    length: int | None = None,
    times: float | None = None,
    fixed: Mapping[str, Any] | None = None,
    chances: Mapping[str, float] | None = None,
    over: str = "mean",
    share: float | None = None,
    lasts: Mapping[str, int] | None = None,
    verdicts: Mapping[str, Mapping[int, str]] | None = None,
    low: float | None = None,
    high: float | None = None,
    from_chance: bool = False,
    title: str = "",
    look: Look = LIGHT,
) -> Drawing:
    """Draw one quantity over two settings of runs. A cell shows the median of its runs, and is grey without a value.

    Every run is a dot in its cell as long as all dots fit, the lowest colour at the left and the highest at the right.
    The dot has the run's name. A run counts only if it was measured at exactly the requested length, or at that
    multiple of its own N. Runs of tasks with different chance are never pooled: such a cell is empty and states the
    reason.

    Args:
        frame: rows of one quantity, of one test set, mode, target and control, of many runs.
        configs: run -> its ``run.json``.
        x: axis to the right, e.g. ``model.d_model`` (see :func:`axes_of`).
        y: axis upwards.
        step: each run is taken at its last measured checkpoint that is not later; None = at its last.
        length: the prefix length; None where the quantity has none, or ``times`` is given.
        times: in place of ``length``, a multiple of each run's N (see
            :func:`workbench.figures.rows.multiples.length_at`).
        fixed: axis -> the value that a run must have to count.
        chances: run -> chance level of its task; runs of different tasks are pooled only where these are known and
            equal.
        over: mean, max or min over the layers and heads of a run.
        share: in place of ``step``, a share of each run's own training; a run counts where it has a checkpoint near it
            (:func:`workbench.figures.rows.multiples.nearest_share`).
        lasts: run -> the step that is the whole of its training; None = the last of its rows.
        verdicts: run -> step -> label; runs that are *not fitted* where they are shown are open circles, and cells
            count the runs that are *scale-robust* there.
        low: lower end of the colours; None = the lowest value.
        high: upper end; None = the highest value.
        from_chance: the colours begin at the chance level of each cell's task in place of ``low``. If these levels
            differ between cells, the colour bar goes from chance to ``high``.
        title: the title of the quantity.

    Raises:
        NotMeasured: if no run has a value there.
        NotApplicable: for axes of so many values that no diagram could show them.
        KeyError: for an axis that no run has.
    """
    flat = _with_fixed_values({run: settings_of(config) for run, config in configs.items()}, fixed)
    columns, lines = (_values(flat, axis) for axis in (x, y))
    if len(columns) * len(lines) > MOST_CELLS:
        raise NotApplicable(
            str(frame["measurement"][0]),
            f"{axis_title(x).capitalize()} has {len(columns):,} values and {axis_title(y)} {len(lines):,}. A diagram "
            f"has at most {MOST_CELLS:,} cells: choose an axis with fewer values.",
        )
    bottom, top = colour_range(numbers(data["value"]), low, high)
    scale = cell_scale(data, bottom, top, (chances or {}) if from_chance else None)
    bottom = bottom if scale.shares else scale.ends[0]
    number_format = proportion if bottom >= 0 and top <= 1 else magnitude
    colours = PERFORMANCE if low is not None and high is not None else AMOUNT[look.theme]
    z = np.full((len(lines), len(columns)), np.nan)
    texts = np.full(z.shape, "", dtype=object)
    for cell, row in enumerate(data.rows()):
        place = lines.index(row["y"]), columns.index(row["x"])
        z[place] = scale.share(cell, row["value"]) if scale.shares else row["value"]
        texts[place] = _tooltip(row, x, y, number_format)
    where = [share_text(share) if share is not None else f"step {whole(step)}" if step is not None else "last step"]
    where += [f"length {whole(length)}"] if length is not None else []
    where += [times_text(times)] if times is not None else []
    where += [f"{axis_title(axis)} {axis_value(axis, value)}" for axis, value in (fixed or {}).items()]
    name = title or quantity_label(str(frame["quantity"][0]))
    figure = blank(
        look,
        column="step",
        xaxis=_axis(columns, x),
        yaxis=_axis(lines, y),
        meta={
            "title": name,
            "slice": " · ".join(filter(None, [*where, f"median of {_runs(data)}", pooled_text(data, flat)])),
            "alt": _alt(data, name, x, y, number_format),
        },
        uirevision=f"phase/{x}/{y}",
    )
    add_ground(figure, figure.layout.xaxis.range, figure.layout.yaxis.range, look.theme)
    ends = scale.ends
    ticks = [ends[0], sum(ends) / 2, ends[1]]
    named = ["chance", "", number_format(top)] if scale.shares else [number_format(tick) for tick in ticks]
    figure.update_layout(margin=_margin(figure.layout.yaxis.ticktext, named, look.size))
    figure.add_heatmap(
        x=list(range(len(columns))),
        y=list(range(len(lines))),
        z=z,
        zmin=ends[0],
        zmax=ends[1],
        colorscale=plotly_scale(colours),
        colorbar=colorbar(look, ticks, named) | {"x": 1, "xpad": _BAR_GAP},
        hovertext=texts.astype(str),
        hoverinfo="text",
        hoverongaps=False,
        xgap=2,
        ygap=2,
        name="cells",
    )
    strips = have_room(sum(len(members) for members in data.attrs["each"]), *z.shape)
    if strips:
        dots = _dots(data, verdicts or {}, (columns, lines), scale, colours, look.theme, number_format)
        add_strips(figure, dots, *z.shape)
        start = "chance" if scale.shares else number_format(bottom)
        figure.layout.meta["slice"] += f" \u00b7 a dot per run, {start} to {number_format(top)}" + (
            "; open: not fitted" if any(dot.hollow for dot in dots) else ""
        )
    counted = False
    for cell, row in sorted(enumerate(data.rows()), key=lambda one: bool(one[1]["note"])):
        column, height = columns.index(row["x"]), lines.index(row["y"]) + (LIFT if strips else 0)
        colour = muted_colour(look.theme)
        if row["note"]:
            _refuse(figure, height, column, _tooltip(row, x, y, number_format), look)
        elif z.size <= _MOST_TEXT_CELLS:
            colour = text_on(colour_at(colours, scale.share(cell, row["value"])))
            font = {"color": colour, "size": look.size, "weight": 600}
            value = number_format(float(row["value"]))
            figure.add_annotation(x=column, y=height, text=value, font=font, name="value")
        if max(z.shape) <= MOST_COUNTED:
            counted |= add_count(figure, row, (column, height), colour, look.size)
    if counted:
        figure.layout.meta["slice"] += f" \u00b7 {ROBUST_MARK} scale-robust runs at their step, of those with a verdict"
    return figure


def _margin(lines: Sequence[str], bar: Sequence[str], size: int) -> dict[str, int]:
    """The margins that the names of the vertical axis and the numbers of the colour bar need, pixels."""
    left = max(text_width(part, size) for line in lines for part in line.split("<br>"))
    right = max(text_width(tick, size) for tick in bar)
    upright_title, gap = size + 10, 8
    return {
        "l": round(left) + upright_title + gap,
        "r": _BAR_GAP + _BAR + round(right) + gap,
        "t": 10,
        "b": 66,
        "pad": 0,
    }


def colour_range(values: NDArray[np.float64], low: float | None, high: float | None) -> tuple[float, float]:
    """Return the values of the lowest and the highest colour: as given, otherwise the range of the values. The two
    always differ.
    """
    bottom = float(values.min() if len(values) else 0.0) if low is None else low
    top = float(values.max() if len(values) else 1.0) if high is None else high
    return bottom, top if top > bottom else bottom + 1.0


def _dots(
    data: Frame,
    verdicts: Mapping[str, Mapping[int, str]],
    axes: tuple[Sequence[Any], Sequence[Any]],
    scale: CellScale,
    colours: ColourMap,
    theme: Theme,
    written: Callable[[float], str],
) -> list[Dot]:
    """A dot for every run of every cell, in a colour that is read on its cell's."""
    places = [{value: place for place, value in enumerate(values)} for values in axes]
    dots = []
    for cell, (row, members) in enumerate(zip(data.rows(), data.attrs["each"], strict=True)):
        filled = not missing(row["value"])
        fill = colour_at(colours, scale.share(cell, row["value"])) if filled else ""
        colour = text_on(fill) if filled else TOKENS[theme]["ink3"]
        for member in members:
            label = verdicts.get(member["run"], {}).get(int(member["step"]), "")
            tooltip = " \u00b7 ".join(filter(None, (written(member["value"]), f"step {whole(member['step'])}", label)))
            dots.append(
                Dot(
                    run=member["run"],
                    column=places[0][row["x"]],
                    line=places[1][row["y"]],
                    share=scale.share(cell, member["value"]),
                    colour=colour,
                    hollow=label == NOT_FITTED,
                    text=f"<b>{escape(member['run'])}</b><br>{tooltip}",
                )
            )
    return dots


def _refuse(figure: Drawing, line: float, column: int, why: str, look: Look) -> None:
    """Mark a cell whose runs are not pooled: no colour, a sign, and why."""
    font = {"color": TOKENS[look.theme]["ink3"], "size": look.size}
    figure.add_annotation(
        x=column, y=line, text="not pooled", font=font, name="refused", hovertext=why, captureevents=True
    )


def _alt(data: Frame, name: str, x: str, y: str, written: Any) -> str:
    values, refused = numbers(data["value"]), int((data["note"] != "").sum())
    said = f"Phase diagram of {name} over {axis_title(x)} and {axis_title(y)}: {len(values)} cells with a value"
    said += f", from {written(float(values.min()))} to {written(float(values.max()))}" if len(values) else ""
    return said + (f"; {refused} not pooled, for their tasks differ in chance" if refused else "")


def pooled_text(data: Frame, flat: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the settings that differ between runs of one cell, in words, the most important first; "" if none
    differs.
    """
    named = pooled_axes(data, flat)
    if not named:
        return ""
    listed = [f"{axis_title(axis)} ({count})" for axis, count in list(named.items())[:_MOST_POOLED]]
    more = len(named) - len(listed)
    return f"pooled over {', '.join(listed)}" + (f" and {more} more" if more else "")


def pooled_axes(data: Frame, flat: Mapping[str, Mapping[str, Any]]) -> dict[str, int]:
    """Return the settings that differ between runs of one cell, each with the largest number of values in a cell; task,
    origin and seeds first.
    """
    counts: dict[str, int] = {}
    for names in data.attrs["runs"]:
        held = [flat[name] for name in names]
        for axis in dict.fromkeys(axis for one in held for axis in one if _is_axis(axis)):
            values = len({str(one[axis]) for one in held if axis in one})  # what one lacks tells its origin
            if values > 1:
                counts[axis] = max(counts.get(axis, 0), values)
    first = (TASK, "origin", "model.positions.name", "seeds.init")
    order = {axis: place for place, axis in enumerate(first)}
    return dict(sorted(counts.items(), key=lambda item: (order.get(item[0], len(order)), item[0])))


class _Place(NamedTuple):
    """Where runs are looked at; each attribute as :func:`phase_diagram` takes it."""

    step: int | None
    share: float | None
    lasts: Mapping[str, int]
    length: int | None
    times: float | None


def _with_fixed_values(flat: dict[str, dict[str, Any]], fixed: Mapping[str, Any] | None) -> dict[str, dict[str, Any]]:
    """The runs that have the fixed values."""
    return {
        run: one for run, one in flat.items() if all(one.get(axis) == value for axis, value in (fixed or {}).items())
    }


def _cells(
    frame: Frame,
    flat: Mapping[str, Mapping[str, Any]],
    chances: Mapping[str, float],
    *,
    x: str,
    y: str,
    at: _Place,
    over: str,
) -> Frame:
    if over not in REDUCTIONS:
        raise ValueError(f"unknown reduction {over!r}; choose {', '.join(REDUCTIONS)}")
    if at.length is not None and at.times is not None:
        raise ValueError("a phase diagram is at one length or at one multiple of N, not both")
    if at.step is not None and at.share is not None:
        raise ValueError("a phase diagram is at one step or at one share of training, not both")
    rows = rows_with_values(frame.where(run=list(flat)))
    rows = rows if at.step is None else rows.where(rows["step"] <= at.step)
    # Before the length: a run's last step does not show what an earlier one was measured at.
    rows = latest(rows, "step") if at.share is None else _at_share(rows, at.share, at.lasts)
    rows = rows if at.length is None else rows.where(length=at.length)
    rows = rows if at.times is None else _at_multiple(rows, flat, at.times)
    if not len(rows):
        measurement = str(frame["measurement"][0]) if len(frame) else "this quantity"
        raise NotMeasured(measurement, f"No run has a value of {measurement} at this length and step; choose others.")
    each = [_one_run(str(run), part, over) for (run,), part in sorted(rows.group("run"), key=lambda group: group[0])]
    for axis in (x, y):
        if not any(axis in flat[row["run"]] for row in each):
            raise KeyError(f"no run's configuration has {axis!r}")
    cells: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for row in each:
        cells.setdefault((flat[row["run"]].get(x), flat[row["run"]].get(y)), []).append(row)
    listed = sorted(cells.items(), key=lambda item: (_order(item[0][1]), _order(item[0][0])))
    pooled = Frame.from_rows([_pooled(cell_rows, flat, chances) for _, cell_rows in listed])
    # As objects: where a run lacks an axis, None would become NaN, which equals no value, and whole numbers floats.
    places = {name: np.empty(len(listed), dtype=object) for name in ("x", "y")}
    for index, (cell, _) in enumerate(listed):
        places["x"][index], places["y"][index] = cell
    columns = {**places, **{name: pooled[name] for name in pooled.names}}
    members = [cell_rows for _, cell_rows in listed]
    return Frame(columns, {"runs": [[row["run"] for row in cell_rows] for cell_rows in members], "each": members})


def _one_run(run: str, rows: Frame, over: str) -> dict[str, Any]:
    """The value of one run, where it was measured: ``over`` its layers and heads."""
    values = numbers(rows["value"])
    reduced = {"mean": np.mean(values), "max": np.max(values), "min": np.min(values)}[over]
    lengths = numbers(rows["length"])
    longest = float(lengths.max()) if len(lengths) else math.nan
    return {"run": run, "value": float(reduced), "step": float(rows["step"].max()), "length": longest}


def _at_share(rows: Frame, share: float, lasts: Mapping[str, int]) -> Frame:
    """The rows of each run at its checkpoint nearest to a share of its training; of one that has none near, none."""
    steps_by_run: dict[str, float] = {}
    for (run,), part in rows.group("run"):
        steps = sorted({int(step) for step in part["step"]})
        shares = {step: step / lasts.get(str(run), steps[-1]) for step in steps if step}
        near = nearest_share(shares, share)
        steps_by_run[str(run)] = math.nan if near is None else float(near)
    own = [steps_by_run[str(run)] for run in rows["run"].tolist()]
    return rows.where(rows["step"].astype(float) == np.array(own, dtype=float))


def share_text(share: float) -> str:
    """A share of training in words.

    Example:

        >>> share_text(0.25), share_text(1 / 64)
        ('1/4 of training', '1/64 of training')
    """
    return f"{Fraction(share).limit_denominator(64)} of training"


def _at_multiple(rows: Frame, flat: Mapping[str, Mapping[str, Any]], times: float) -> Frame:
    """The rows at ``times`` N of their own run."""
    wanted = {
        run: length_at([int(n) for n in numbers(part["length"])], int(flat[run]["training.trained_length"]), times)
        for (run,), part in rows.group("run")
    }
    own = [math.nan if wanted[run] is None else float(wanted[run] or 0) for run in rows["run"].tolist()]
    return rows.where(rows["length"] == np.array(own))


def _pooled(
    found: Sequence[Mapping[str, Any]], flat: Mapping[str, Mapping[str, Any]], chances: Mapping[str, float]
) -> dict[str, Any]:
    """One cell: the median of its runs and every one of them, or no value and why."""
    values = [row["value"] for row in found]
    why = _unlike([row["run"] for row in found], flat, chances)
    return {
        "value": math.nan if why else float(np.median(values)),
        "low": math.nan if why else min(values),
        "high": math.nan if why else max(values),
        "runs": len(found),
        "names": ", ".join(row["run"] for row in found),
        "members": "; ".join(_member(row) for row in found),
        "note": why,
    }


def _unlike(runs: Sequence[str], flat: Mapping[str, Mapping[str, Any]], chances: Mapping[str, float]) -> str:
    """Why runs are not pooled: their tasks differ in chance, or it is not known whether they do; "" where they are."""
    tasks = {json.dumps({k: v for k, v in flat[run].items() if k.startswith("task.")}, sort_keys=True) for run in runs}
    if len(tasks) == 1:
        return ""
    names = ", ".join(sorted({str(flat[run].get(TASK)) for run in runs}))
    if any(run not in chances for run in runs):
        return f"not pooled: different tasks ({names}) whose chance was not measured; hold the task fixed"
    levels = [chances[run] for run in runs]
    if max(levels) - min(levels) < SAME_CHANCE:
        return ""
    return (
        f"not pooled: chance is {proportion(min(levels))} to {proportion(max(levels))} ({names}); hold the task fixed"
    )


def _member(one: Mapping[str, Any]) -> str:
    at = f" length {whole(one['length'])}" if not missing(one["length"]) else ""
    return f"{one['run']} step {whole(one['step'])}{at}: {magnitude(one['value'])}"


def axis_title(name: str) -> str:
    """Return a setting as the title of an axis: ``training.batch_size`` becomes "batch size (training)"."""
    group, _, rest = name.removesuffix(".name").partition(".")
    return f"{rest.replace('_', ' ').replace('.', ' ')} ({group})" if rest else group


def value_text(value: Any) -> str:
    """A configuration value as a tick: short, never empty."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return whole(value)
    if isinstance(value, float):
        return f"{value:g}"
    text = str(value).replace("_", " ")
    return text if len(text) <= _LONGEST_NAME else text[: _LONGEST_NAME - 1] + "…"


def axis_value(axis: str, value: Any) -> str:
    """Return a value of an axis as screens show it: a task with what it is called in words."""
    return task_label(value) if axis == TASK and isinstance(value, str) else value_text(value)


def _values(flat: Mapping[str, Mapping[str, Any]], axis: str) -> list[Any]:
    """All values any run has on an axis, also where nothing is measured: the diagram does not move."""
    return sorted({config.get(axis) for config in flat.values()}, key=_order)


def _order(value: Any) -> tuple[int, float, str]:
    if isinstance(value, bool | int | float):
        return 0, float(value), ""
    return (1, 0.0, str(value)) if value is not None else (2, 0.0, "")


def _axis(values: Sequence[Any], name: str) -> dict[str, Any]:
    return {
        "range": [-0.5, len(values) - 0.5],
        "tickvals": list(range(len(values))),
        "ticktext": ["<br>".join(wrap(axis_value(name, value), _LONGEST_NAME)) for value in values],
        "title": {"text": axis_title(name)},
        "showgrid": False,
        "ticks": "",
    }


def _tooltip(row: Mapping[str, Any], x: str, y: str, written: Any) -> str:
    spread = f" [{written(row['low'])}, {written(row['high'])}] lowest to highest" if row["runs"] > 1 else ""
    place = f"{axis_title(x)} {axis_value(x, row['x'])} · {axis_title(y)} {axis_value(y, row['y'])}"
    members = row["members"].split("; ")
    listed = [
        *members[:_MOST_MEMBERS],
        *([f"and {len(members) - _MOST_MEMBERS} more"] * (len(members) > _MOST_MEMBERS)),
    ]
    head = f"<b>{row['note']}</b>" if row["note"] else f"<b>{written(row['value'])}</b>{spread}"
    runs = f"{row['runs']} run{'s' if row['runs'] > 1 else ''}"
    return "<br>".join([place, head, *filter(None, (runs, count_text(row))), *listed])


def _runs(data: Frame) -> str:
    fewest, most = int(data["runs"].min()), int(data["runs"].max())
    count = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return f"{count} run{'' if most == 1 else 's'} a cell"
