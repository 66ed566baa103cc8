"""Does the error level off past training, lower for longer training lengths and higher for harder tasks?

The claim of Izzo, Nichani and Lee (2025, arXiv 2510.27015): the error of a transformer trained up to length N
stays bounded at every length; the bound falls with N, and the N it takes rises with a knob of the task.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from workbench.figures.errors import NotMeasured
from workbench.figures.labels import magnitude, spread, whole
from workbench.figures.template import template
from workbench.figures.tokens import AMOUNT, TOKENS, Theme, colour_at, rgba

MEASUREMENT = "behaviour"
OCTAVES = 2
"""The plateau is the mean loss over so many doublings of length up to the longest."""
FLAT = 1.5
"""Up to this factor between both ends of those doublings the loss has levelled off."""
COLUMNS = ("task", "knob", "trained", "length", "value", "low", "high", "seeds")
_PALEST = 0.4
_MARGIN, _APART = 0.3, 0.085
"""Room above and below the lines in decades, and between names as a share of the axis."""


def loss_plateau(
    frame: pd.DataFrame, *, knobs: Mapping[str, str], theme: Theme = "light", size: int = 11, height: int = 210
) -> go.Figure:
    """Loss over prefix length, and its plateau over training length: a row per task, a panel per value of its knob.

    Lines are medians over seeds, bands their extremes, darker the longer the training length N, which a
    dot marks. The last panel of a row has the plateaus against N, a line per value of the knob.

    Args:
        frame: joined rows of runs at one step each, of several training lengths (see :func:`loss_plateau_data`).
        knobs: the parameter that makes each task harder, by task.
        theme: light or dark.
        size: base text size, pixels.
        height: pixels per row.

    Raises:
        NotMeasured: without losses of those tasks.
    """
    data = loss_plateau_data(frame, knobs=knobs)
    tasks = [task for task in knobs if task in set(data["task"])]
    values = {task: sorted(data.loc[data["task"] == task, "knob"].unique()) for task in tasks}
    columns = max(map(len, values.values())) + 1
    titles = [
        f"{task} · {knobs[task]} {magnitude(values[task][c])}" if c < len(values[task]) else ""
        for task in tasks
        for c in range(columns - 1)
    ]
    for i, task in enumerate(tasks):
        titles.insert((i + 1) * columns - 1, f"{task} · plateau")
    figure = make_subplots(
        len(tasks), columns, subplot_titles=titles, shared_yaxes=True, horizontal_spacing=0.03, vertical_spacing=0.2
    )
    figure.update_annotations(font={"size": size, "color": TOKENS[theme]["ink2"]})
    figure.update_xaxes(type="log", showgrid=True, tickvals=[4.0**k for k in range(12)])
    # Plotly writes powers of ten a quarter larger than it is told.
    powers = {"size": size / 1.25, "color": TOKENS[theme]["ink3"]}
    figure.update_yaxes(type="log", exponentformat="power", dtick=1, tickfont=powers)
    for i, task in enumerate(tasks, start=1):
        for c, knob in enumerate(values[task], start=1):
            part = data[(data["task"] == task) & (data["knob"] == knob)]
            for colour, (n, line) in zip(_colours(part["trained"], theme), part.groupby("trained"), strict=True):
                _add_line(figure, line, "length", f"N {whole(n)}", colour, {"row": i, "col": c})
                edge = line[line["length"] == n]
                marker = {"color": TOKENS[theme]["train"], "size": 6}
                figure.add_scatter(
                    x=edge["length"], y=edge["value"], mode="markers", marker=marker, hoverinfo="skip", row=i, col=c
                )
        summary = plateaus(data[data["task"] == task])
        for colour, (knob, line) in zip(_colours(summary["knob"], theme), summary.groupby("knob"), strict=True):
            name = f"{knobs[task]} {magnitude(knob)}"
            _add_line(figure, line, "trained", name, colour, {"row": i, "col": columns})
        _name_lines(figure, i, columns, size)
        trained = sorted(summary["trained"].unique())
        figure.update_xaxes(title_text="training length N", row=i, col=columns, tickvals=trained)
        figure.update_yaxes(title_text="loss", row=i, col=1)
    figure.update_xaxes(title_text="prefix length", row=len(tasks), col=1)
    figure.update_layout(
        template=template(theme, size),
        paper_bgcolor=TOKENS[theme]["surface"],
        height=60 + height * len(tasks),
        width=230 * columns,
        margin={"l": 60, "r": 70, "t": 36, "b": 44},
        meta={"title": "Plateau", "alt": " ".join(plateau_sentences(data, knobs=knobs))},
    )
    return figure


def loss_plateau_data(frame: pd.DataFrame, *, knobs: Mapping[str, str]) -> pd.DataFrame:
    """The medians over seeds that :func:`loss_plateau` draws: columns :data:`COLUMNS`.

    Args:
        frame: rows joined with their runs: besides those of a row it needs the columns task, parameters
            (JSON) and trained_high (the longest training length N). Of each run the last step counts.
        knobs: as for :func:`loss_plateau`.
    """
    rows = frame[(frame["measurement"] == MEASUREMENT) & (frame["quantity"] == "loss") & (frame["law"] == "matched")]
    rows = rows[rows["task"].isin(list(knobs)) & rows["value"].notna()]
    if rows.empty:
        raise NotMeasured(MEASUREMENT, f"No losses of {' or '.join(knobs)}.")
    told = [json.loads(text)[knobs[task]] for task, text in zip(rows["task"], rows["parameters"], strict=True)]
    rows = rows.assign(knob=told, trained=rows["trained_high"])
    last = rows.groupby("run")["step"].transform("max")
    grouped = rows[rows["step"] == last].groupby(["task", "knob", "trained", "length"])["value"]
    data = grouped.agg(value="median", low="min", high="max", seeds="size").reset_index()
    return data[list(COLUMNS)].astype({"trained": int, "length": int})


def plateaus(data: pd.DataFrame) -> pd.DataFrame:
    """The plateau of each task, knob and N; ``growth``: the loss at the end of its octaves over that at their start."""
    longest = data["length"].max()
    far = data[data["length"] >= longest / 2**OCTAVES].sort_values("length")
    grouped = far.groupby(["task", "knob", "trained"])
    found = grouped[["value", "low", "high"]].mean()
    return found.assign(growth=grouped["value"].last() / grouped["value"].first()).reset_index()


def plateau_sentences(data: pd.DataFrame, *, knobs: Mapping[str, str]) -> list[str]:
    """What the data say to the three claims, a sentence each per task: yes, or where not."""
    said = []
    for task, own in plateaus(data).groupby("task"):
        knob = knobs[str(task)]
        rising = own[own["growth"] > FLAT]
        where = [f"{knob} {magnitude(r.knob)}, N {whole(r.trained)} (x {r.growth:.2f})" for r in rising.itertuples()]
        said.append(f"{task}: the loss {_held(where, 'levels off', 'still grows at')}.")
        table = own.pivot(index="knob", columns="trained", values="value").sort_index()
        falls = [
            f"{knob} {magnitude(k)} (N {whole(a)} to {whole(b)}: {magnitude(row[a])} to {magnitude(row[b])})"
            for k, row in table.iterrows()
            for a, b in zip(table.columns, table.columns[1:], strict=False)
            if not row[b] < row[a]
        ]
        said.append(f"{task}: its plateau {_held(falls, 'falls with training length', 'does not fall at')}.")
        rises = [
            f"N {whole(n)} ({knob} {magnitude(a)} to {magnitude(b)}: {magnitude(column[a])} to {magnitude(column[b])})"
            for n, column in table.items()
            for a, b in zip(table.index, table.index[1:], strict=False)
            if not column[b] > column[a]
        ]
        said.append(f"{task}: its plateau {_held(rises, f'rises with {knob}', 'does not rise at')}.")
    return said


def _held(against: list[str], claim: str, otherwise: str) -> str:
    return f"{claim} everywhere" if not against else f"{otherwise} {'; '.join(against)}"


def _colours(of: pd.Series, theme: Theme) -> list[str]:
    """A shade per distinct value, the last one the darkest (on dark, the lightest)."""
    return [colour_at(AMOUNT[theme], share) for share in np.linspace(1, _PALEST, of.nunique())[::-1]]


def _add_line(figure: go.Figure, line: pd.DataFrame, along: str, name: str, colour: str, at: dict[str, int]) -> None:
    """One line with its band over ``along``, and its name at its end."""
    line = line.sort_values(along)
    x, y = line[along].to_numpy(dtype=float), line["value"].to_numpy(dtype=float)
    figure.add_scatter(
        x=np.concatenate([x, x[::-1]]), y=np.concatenate([line["high"], line["low"][::-1]]), fill="toself",
        fillcolor=rgba(colour, 0.14), line_width=0, mode="lines", hoverinfo="skip", **at,
    )  # fmt: skip
    figure.add_scatter(
        x=x, y=y, mode="lines", line={"color": colour, "width": 1.8}, name=name,
        hovertemplate=f"{name}<br>{along} %{{x:,}}<br>loss %{{y:.3g}}<extra></extra>", **at,
    )  # fmt: skip


def _name_lines(figure: go.Figure, row: int, columns: int, size: int) -> None:
    """The names of the lines of a row at their ends, moved apart where they would touch."""
    values = [
        float(v) for c in range(1, columns + 1) for t in figure.select_traces(row=row, col=c) for v in t.y if v > 0
    ]
    low, high = np.log10(min(values)) - _MARGIN, np.log10(max(values)) + _MARGIN
    figure.update_yaxes(range=[low, high], row=row)
    for c in range(1, columns + 1):
        lines = [t for t in figure.select_traces(row=row, col=c) if t.name and len(t.x)]
        ends = [float(np.log10(max(t.y[-1], min(values)))) for t in lines]
        for line, end in zip(lines, spread(ends, _APART * (high - low), low, high), strict=True):
            font = {"color": line.line.color, "size": size - 1}
            at = {"row": row, "col": c, "x": float(np.log10(line.x[-1])), "y": end}
            figure.add_annotation(text=line.name, font=font, xanchor="left", xshift=2, showarrow=False, **at)
