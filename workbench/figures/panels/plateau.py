"""Does the error level off past training, lower for longer training lengths and higher for harder tasks?

The claim of Izzo, Nichani and Lee (2025, arXiv 2510.27015): the error of a transformer trained up to length N stays
bounded at every length. The bound falls with N, and the required N rises with a difficulty parameter (knob) of the
task.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from itertools import pairwise

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from workbench.core.names import BEHAVIOUR
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import magnitude, spread, whole
from workbench.figures.look import LIGHT, Look, Theme
from workbench.figures.registry import figure
from workbench.figures.rows.conversion import of_rows
from workbench.figures.rows.frame import Frame, Values, numbers, present, unique
from workbench.figures.rows.select_rows import latest
from workbench.figures.style.design_tokens import AMOUNT, TOKENS, colour_at, rgba
from workbench.figures.style.template import template

MEASUREMENT = BEHAVIOUR
OCTAVES = 2
"""The plateau is the mean loss over so many doublings of length up to the longest."""
FLAT = 1.5
"""Up to this factor between both ends of those doublings the loss has levelled off."""
PLATEAU_COLUMNS = ("task", "knob", "trained", "length", "value", "low", "high", "seeds")
_PALEST = 0.4
_MARGIN, _APART = 0.3, 0.085
"""Space above and below the lines in decades, and between names as a share of the axis."""


def plateau_rows(frame: Frame, *, knobs: Mapping[str, str]) -> Frame:
    """The medians over seeds that :func:`loss_plateau` draws: columns :data:`PLATEAU_COLUMNS`.

    Args:
        frame: rows joined with their runs: besides those of a row it needs the columns task, parameters
            (JSON) and trained_high (the longest training length N). Of each run the last step counts.
        knobs: as for :func:`loss_plateau`.
    """
    rows = frame.where(measurement=MEASUREMENT, quantity="loss", law="matched", task=list(knobs))
    rows = rows.where(present(rows["value"]))
    if not len(rows):
        raise NotMeasured(MEASUREMENT, f"No loss is measured for the task {' or '.join(knobs)}.")
    told = [json.loads(text)[knobs[task]] for task, text in zip(rows["task"], rows["parameters"], strict=True)]
    rows = rows.with_columns(knob=told, trained=rows["trained_high"])
    parts = []
    for key, part in sorted(latest(rows, "step").group(*PLATEAU_COLUMNS[:4]), key=lambda group: group[0]):
        values = numbers(part["value"])
        task, knob, trained, length = key
        spread_over = (float(np.median(values)), float(values.min()), float(values.max()), len(values))
        parts.append(dict(zip(PLATEAU_COLUMNS, (task, knob, int(trained), int(length), *spread_over), strict=True)))
    return Frame.from_rows(parts, PLATEAU_COLUMNS)


@figure(rows=plateau_rows)
def loss_plateau(
    data: Frame, frame: Frame, *, knobs: Mapping[str, str], look: Look = LIGHT, height: int = 210
) -> go.Figure:
    """Loss over prefix length, and its plateau over training length: a row per task, a panel per value of its knob.

    Lines are medians over seeds, bands their extremes. The longer the training length N, which a dot marks, the
    stronger the colour. The last panel of a row has the plateaus against N, a line per value of the knob.

    Args:
        frame: joined rows of runs at one step each, of several training lengths (see :func:`plateau_rows`).
        knobs: the parameter that makes each task harder, by task.
        height: pixels per row.

    Raises:
        NotMeasured: without losses of those tasks.
    """
    tasks = [task for task in knobs if task in data["task"].tolist()]
    values = {task: sorted(unique(data.where(task=task)["knob"])) for task in tasks}
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
    figure.update_annotations(font={"size": look.size, "color": TOKENS[look.theme]["ink2"]})
    figure.update_xaxes(type="log", showgrid=True, tickvals=[4.0**k for k in range(12)])
    # Plotly writes powers of ten a quarter larger than it is told.
    powers = {"size": look.size / 1.25, "color": TOKENS[look.theme]["ink3"]}
    figure.update_yaxes(type="log", exponentformat="power", dtick=1, tickfont=powers)
    for i, task in enumerate(tasks, start=1):
        for c, knob in enumerate(values[task], start=1):
            part = data.where(task=task, knob=knob)
            for colour, ((n,), line) in zip(
                _colours(part["trained"], look.theme), part.sort("trained").group("trained"), strict=True
            ):
                _add_line(figure, line, "length", f"N {whole(n)}", colour, {"row": i, "col": c})
                edge = at_trained(line, n)
                marker = {"color": TOKENS[look.theme]["train"], "size": 6}
                figure.add_scatter(
                    x=edge["length"], y=edge["value"], mode="markers", marker=marker, hoverinfo="skip", row=i, col=c
                )
        summary = plateaus(data.where(task=task))
        for colour, ((knob,), line) in zip(_colours(summary["knob"], look.theme), summary.group("knob"), strict=True):
            name = f"{knobs[task]} {magnitude(knob)}"
            _add_line(figure, line, "trained", name, colour, {"row": i, "col": columns})
        _name_lines(figure, i, columns, look.size)
        trained = sorted(unique(summary["trained"]))
        figure.update_xaxes(title_text="training length N", row=i, col=columns, tickvals=trained)
        figure.update_yaxes(title_text="loss", row=i, col=1)
    figure.update_xaxes(title_text="prefix length", row=len(tasks), col=1)
    figure.update_layout(
        template=template(look),
        paper_bgcolor=TOKENS[look.theme]["surface"],
        height=60 + height * len(tasks),
        width=230 * columns,
        margin={"l": 60, "r": 70, "t": 36, "b": 44},
        meta={"title": "Plateau", "alt": " ".join(plateau_sentences(data, knobs=knobs))},
    )
    return figure


def plateaus(data: Frame) -> Frame:
    """The plateau of each task, knob and N; ``growth``: the loss at the end of its octaves over that at their start."""
    longest = data["length"].max()
    far = data.where(data["length"] >= longest / 2**OCTAVES).sort("length")
    made = []
    for key, line in sorted(far.group(*PLATEAU_COLUMNS[:3]), key=lambda group: group[0]):
        means = {name: float(line[name].mean()) for name in ("value", "low", "high")}
        made.append({**dict(zip(PLATEAU_COLUMNS, key, strict=False)), **means, "growth": growth(line["value"])})
    return Frame.from_rows(made, [*PLATEAU_COLUMNS[:3], "value", "low", "high", "growth"])


def growth(losses: Values) -> float:
    """The last loss over the first, of losses in the order of length: below 1 where they fall."""
    return float(losses[-1] / losses[0])


def at_trained(line: Frame, trained: int) -> Frame:
    """The point of a line at N itself, which a dot marks; none where that length was not measured."""
    return line.where(length=trained)


@of_rows
def plateau_sentences(data: Frame, *, knobs: Mapping[str, str]) -> list[str]:
    """Whether the data support the three claims, a sentence each per task: yes, or where not."""
    sentences = []
    for (task,), task_rows in plateaus(data).group("task"):
        knob = knobs[str(task)]
        where = [
            f"{knob} {magnitude(row['knob'])}, N {whole(row['trained'])} (x {row['growth']:.2f})"
            for row in task_rows.rows()
            if row["growth"] > FLAT
        ]
        sentences.append(f"{task}: the loss {_claim_sentence(where, 'levels off', 'still grows at')}.")
        level = {(row["knob"], row["trained"]): row["value"] for row in task_rows.rows()}
        harder, longer = (sorted(set(values)) for values in zip(*level, strict=True))
        falls = [
            f"{knob} {magnitude(k)} (N {whole(a)} to {whole(b)}: {_two(level, (k, a), (k, b))})"
            for k in harder
            for a, b in pairwise(longer)
            if not level.get((k, b), math.nan) < level.get((k, a), math.nan)
        ]
        sentences.append(
            f"{task}: its plateau {_claim_sentence(falls, 'falls with training length', 'does not fall at')}."
        )
        rises = [
            f"N {whole(n)} ({knob} {magnitude(a)} to {magnitude(b)}: {_two(level, (a, n), (b, n))})"
            for n in longer
            for a, b in pairwise(harder)
            if not level.get((b, n), math.nan) > level.get((a, n), math.nan)
        ]
        sentences.append(f"{task}: its plateau {_claim_sentence(rises, f'rises with {knob}', 'does not rise at')}.")
    return sentences


def _two(level: Mapping[tuple[float, int], float], one: tuple[float, int], other: tuple[float, int]) -> str:
    """Two plateaus, ``0.2 to 0.3``."""
    return " to ".join(magnitude(level.get(at, math.nan)) for at in (one, other))


def _claim_sentence(against: list[str], claim: str, otherwise: str) -> str:
    return f"{claim} everywhere" if not against else f"{otherwise} {'; '.join(against)}"


def _colours(of: Values, theme: Theme) -> list[str]:
    """A shade per distinct value, the last one the darkest (on dark, the lightest)."""
    return [colour_at(AMOUNT[theme], share) for share in np.linspace(1, _PALEST, len(unique(of)))[::-1]]


def _add_line(figure: go.Figure, line: Frame, along: str, name: str, colour: str, at: dict[str, int]) -> None:
    """One line with its band over ``along``, and its name at its end."""
    line = line.sort(along)
    x, y = line[along].astype(float), line["value"].astype(float)
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
