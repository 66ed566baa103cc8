"""Phase diagrams: one quantity over any two axes of the runs' configurations."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go

from workbench.figures.errors import NotMeasured
from workbench.figures.heatmap import add_ground
from workbench.figures.labels import magnitude, proportion, whole
from workbench.figures.rows import latest, valued
from workbench.figures.template import blank, colorbar, plotly_scale
from workbench.figures.tokens import AMOUNT, PERFORMANCE, Theme, colour_at, text_on

REDUCTIONS = ("mean", "max", "min")
"""How several rows of one run (its layers and heads) become one value."""
MARGIN = {"l": 132, "r": 84, "t": 10, "b": 66, "pad": 0}
_MOST_TEXT_CELLS = 240
_LONGEST_NAME = 18


def flatten(config: Mapping[str, Any], below: str = "") -> dict[str, Any]:
    """A nested configuration as ``{"model.d_model": 64, ...}``; lists are written as JSON."""
    flat: dict[str, Any] = {}
    for key, value in config.items():
        name = f"{below}{key}"
        if isinstance(value, Mapping):
            flat |= flatten(value, f"{name}.")
        else:
            flat[name] = json.dumps(value) if isinstance(value, list) else value
    return flat


def axes_of(configs: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Any]]:
    """What differs between runs: name of each configuration axis -> its values, sorted.

    Args:
        configs: run -> its ``run.json``; only task, model, training and seeds count.
    """
    flat = [flatten({k: c[k] for k in ("task", "model", "training", "seeds") if k in c}) for c in configs.values()]
    names = dict.fromkeys(name for one in flat for name in one)
    axes = {}
    for name in names:
        values = {one.get(name) for one in flat}
        if len(values) > 1:
            axes[name] = sorted(values, key=_order)
    return axes


def phase_diagram(
    frame: pd.DataFrame,
    configs: Mapping[str, Mapping[str, Any]],
    *,
    x: str,
    y: str,
    step: int | None = None,
    length: int | None = None,
    over: str = "mean",
    low: float | None = None,
    high: float | None = None,
    title: str = "",
    theme: Theme = "light",
    size: int = 11,
) -> go.Figure:
    """One quantity over two configuration axes; a cell is the median of its runs, cells without a run stay grey.

    Args:
        frame: rows of one quantity, of one law, mode, target and control, of many runs.
        configs: run -> its ``run.json``.
        x: axis to the right, e.g. ``model.d_model`` (see :func:`axes_of`).
        y: axis upwards.
        step: each run is taken at its last measured checkpoint that is not later; None = at its last.
        length: each run is taken at its longest measured prefix length that is not longer; None where the quantity
            has none.
        over: mean, max or min over the layers and heads of a run.
        low: lower end of the colours; None = the lowest value.
        high: upper end; None = the highest value.
        title: of the quantity.
        theme: light or dark.
        size: base text size, pixels.

    Raises:
        NotMeasured: if no run has a value there.
        KeyError: for an axis that no run has.
    """
    flat = {run: flatten(config) for run, config in configs.items()}
    data = _cells(frame, flat, x=x, y=y, step=step, length=length, over=over)
    columns, lines = (_values(flat, axis) for axis in (x, y))
    values = data["value"].dropna()
    bottom = float(values.min()) if low is None else low
    top = float(values.max()) if high is None else high
    top = top if top > bottom else bottom + 1.0
    share = bottom >= 0 and top <= 1
    written = proportion if share else magnitude
    colours = PERFORMANCE if low is not None and high is not None else AMOUNT[theme]
    z = np.full((len(lines), len(columns)), np.nan)
    texts = np.full(z.shape, "", dtype=object)
    for row in data.to_dict("records"):
        place = lines.index(row["y"]), columns.index(row["x"])
        z[place] = row["value"]
        texts[place] = _tooltip(row, x, y, written)
    where = [f"step {whole(step)}" if step is not None else "last step"]
    where += [f"length {whole(length)}"] if length is not None else []
    name = title or str(frame["quantity"].iloc[0]).replace("_", " ")
    figure = blank(
        theme,
        size,
        column="step",
        xaxis=_axis(columns, x),
        yaxis=_axis(lines, y),
        meta={
            "title": name,
            "slice": " · ".join([*where, f"median of {_runs(data)}"]),
            "alt": f"Phase diagram of {name} over {axis_title(x)} and {axis_title(y)}: {len(data)} cells with runs, "
            f"from {written(float(values.min()))} to {written(float(values.max()))}",
        },
        uirevision=f"phase/{x}/{y}",
    )
    figure.update_layout(margin=MARGIN)
    add_ground(figure, figure.layout.xaxis.range, figure.layout.yaxis.range, theme)
    ticks = [bottom, (bottom + top) / 2, top]
    figure.add_heatmap(
        x=list(range(len(columns))),
        y=list(range(len(lines))),
        z=z,
        zmin=bottom,
        zmax=top,
        colorscale=plotly_scale(colours),
        colorbar=colorbar(theme, size, ticks, [written(tick) for tick in ticks]),
        hovertext=texts.astype(str),
        hoverinfo="text",
        hoverongaps=False,
        xgap=2,
        ygap=2,
        name="cells",
    )
    if z.size <= _MOST_TEXT_CELLS:
        for (line, column), value in np.ndenumerate(z):
            if not math.isnan(value):
                fill = colour_at(colours, min(1.0, max(0.0, (value - bottom) / (top - bottom))))
                font = {"color": text_on(fill), "size": size, "weight": 600}
                figure.add_annotation(x=column, y=line, text=written(float(value)), font=font, name="value")
    return figure


def phase_diagram_data(
    frame: pd.DataFrame,
    configs: Mapping[str, Mapping[str, Any]],
    *,
    x: str,
    y: str,
    step: int | None = None,
    length: int | None = None,
    over: str = "mean",
) -> pd.DataFrame:
    """The cells of :func:`phase_diagram`: x, y, value (median over runs), low, high (its range), runs, names.

    Raises:
        NotMeasured: if no run has a value there.
        KeyError: for an axis that no run has.
    """
    flat = {run: flatten(config) for run, config in configs.items()}
    return _cells(frame, flat, x=x, y=y, step=step, length=length, over=over)


def _cells(
    frame: pd.DataFrame,
    flat: Mapping[str, Mapping[str, Any]],
    *,
    x: str,
    y: str,
    step: int | None,
    length: int | None,
    over: str,
) -> pd.DataFrame:
    if over not in REDUCTIONS:
        raise ValueError(f"unknown reduction {over!r}; choose {', '.join(REDUCTIONS)}")
    rows = valued(frame[frame["run"].isin(list(flat))])
    rows = rows if length is None else rows[rows["length"] <= length]
    rows = rows if step is None else rows[rows["step"] <= step]
    if rows.empty:
        measurement = str(frame["measurement"].iloc[0]) if len(frame) else "this quantity"
        raise NotMeasured(measurement, f"No run has a value of {measurement} there; choose another length or step.")
    rows = latest(rows, "step")
    if length is not None:
        rows = latest(rows, "length")
    each = rows.groupby("run")["value"].agg(over)
    for axis in (x, y):
        if not any(axis in flat[run] for run in each.index):
            raise KeyError(f"no run's configuration has {axis!r}")
    cells: dict[tuple[Any, Any], list[tuple[str, float]]] = {}
    for run, value in each.items():
        cells.setdefault((flat[run].get(x), flat[run].get(y)), []).append((str(run), float(value)))
    made = [
        {
            "x": at[0],
            "y": at[1],
            "value": float(np.median([value for _, value in found])),
            "low": min(value for _, value in found),
            "high": max(value for _, value in found),
            "runs": len(found),
            "names": ", ".join(name for name, _ in found),
        }
        for at, found in sorted(cells.items(), key=lambda item: (_order(item[0][1]), _order(item[0][0])))
    ]
    # As objects: where a run lacks an axis, None would become NaN, which equals no value, and whole numbers floats.
    table = pd.DataFrame(made, dtype=object)
    return table.astype({"value": float, "low": float, "high": float, "runs": int})


def axis_title(name: str) -> str:
    """A configuration axis as it is written: ``training.batch_size`` is "batch size (training)"."""
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
        "ticktext": [value_text(value) for value in values],
        "title": {"text": axis_title(name)},
        "showgrid": False,
        "ticks": "",
    }


def _tooltip(row: Mapping[str, Any], x: str, y: str, written: Any) -> str:
    spread = f" [{written(row['low'])}, {written(row['high'])}] lowest to highest" if row["runs"] > 1 else ""
    place = f"{axis_title(x)} {value_text(row['x'])} · {axis_title(y)} {value_text(row['y'])}"
    return f"{place}<br><b>{written(row['value'])}</b>{spread}<br>{row['runs']} run{'s' if row['runs'] > 1 else ''}"


def _runs(data: pd.DataFrame) -> str:
    fewest, most = int(data["runs"].min()), int(data["runs"].max())
    count = f"{fewest}" if fewest == most else f"{fewest} to {most}"
    return f"{count} run{'' if most == 1 else 's'} a cell"
