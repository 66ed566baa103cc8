"""The attention panel: the chosen head on one drawn sequence, computed by the worker.

It asks for a model only once it is on screen, follows the cursor, and shows progress and errors in
its own place.
"""

from __future__ import annotations

import time
from typing import Any

import dash_mantine_components as dmc
import numpy as np
from dash import dcc, html

from workbench import figures
from workbench.dashboard.cursor import Cursor
from workbench.dashboard.panel import BLANK, CONFIG, does_not_apply, failed, frame
from workbench.dashboard.shell import command, icon
from workbench.dashboard.store import RunView
from workbench.dashboard.worker import Job
from workbench.figures.labels import head_name, proportion, whole
from workbench.figures.tokens import AMOUNT, colour_at, text_on

SAMPLE = "circuits.scores:attention_sample"
LAW = "matched"
POLL_MS = 250
LONGEST = 2048
"""Most positions of a sequence that is drawn; the figure pools them to 512 cells a side."""
STRIP = 64
"""Tokens shown at once in the strip below the pattern."""
TOP = 0.25
"""Attention weight at which a token's tint is full, as in the pattern's colour bar."""

VIEWS = [
    {"value": "attention", "label": "Attention"},
    {"value": "times_length", "label": "\u00d7 length"},
    {"value": "score", "label": "Score"},
]

ABOUT = (
    "One sequence of the matched law at the cursor's length. Rows are queries, columns are keys; keys after "
    "the query are grey. \u00d7 length multiplies each weight by the number of keys the query sees, so 1 is "
    "uniform attention. Score is what softmax is given, relative to the highest of its row. One sequence is "
    "an example, not a measurement: the panels above hold the numbers.",
)


def shell(run: RunView, cursor: Cursor) -> html.Section:
    """The panel, before anything is asked."""
    tools = [
        dmc.SegmentedControl(id="view", data=VIEWS, value=cursor.view, size="xs"),
        html.Button(
            [icon("dice"), "Sample"],
            id="resample",
            className="button",
            type="button",
            title="Draw another sequence",
        ),
    ]
    body = [
        html.Figure(
            dcc.Graph(id="attention-graph", config=CONFIG, figure=BLANK, className="graph", responsive=True),
            id="attention-figure",
            role="img",
        ),
        html.Div(id="attention-strip", className="strip"),
        dcc.Interval(id="attention-poll", interval=POLL_MS, disabled=True),
        dcc.Store(id="attention-job"),
    ]
    return frame(
        "attention",
        "Attention pattern",
        [html.P(text) for text in ABOUT],
        body,
        tools,
    )


def request(run: RunView, cursor: Cursor) -> dict[str, Any]:
    """Arguments of the worker's function for this cursor."""
    return {
        "run_path": str(run.path),
        "step": cursor.step,
        "law": LAW,
        "length": cursor.length,
        "layer": cursor.layer,
        "head": cursor.head,
        "seed": cursor.sample,
        "cells": LONGEST,
    }


def too_long(cursor: Cursor) -> bool:
    """Whether the sequence at the cursor has too many positions for a pattern (BOS counts)."""
    return cursor.length + 1 > LONGEST


def unfit() -> list[Any]:
    """Why no pattern is drawn at a very long prefix."""
    return does_not_apply(
        f"A pattern is drawn for at most {whole(LONGEST)} positions. Choose a shorter prefix length; the panels "
        "above hold the measured ones."
    )


def without_heads() -> list[Any]:
    """Why no pattern is drawn for a state-space model."""
    return does_not_apply(
        "This state-space model has no attention. Where its layers look is measured by circuits.effective_attention."
    )


def draw(result: dict[str, Any], run: RunView, cursor: Cursor, theme: str, size: int) -> Any:
    """The figure of a worker's answer."""
    values = np.asarray(result["scores" if cursor.view == "score" else "pattern"])
    return figures.attention_pattern(
        values,
        list(result["tokens"]),
        trained=run.trained,
        query=len(result["tokens"]) - 1,
        layer=cursor.layer,
        head=cursor.head,
        view=cursor.view,
        theme=theme,
        size=size,
    )


def data(result: dict[str, Any], cursor: Cursor) -> Any:
    """The cells of the figure as rows."""
    values = np.asarray(result["scores" if cursor.view == "score" else "pattern"])
    return figures.attention_pattern_data(values, list(result["tokens"]), view=cursor.view)


def strip(result: dict[str, Any], theme: str) -> list[Any]:
    """The last tokens, tinted by how much the last query attends to each."""
    tokens = [str(t) for t in result["tokens"]]
    weights = np.asarray(result["pattern"])[-1]
    start = max(0, len(tokens) - STRIP)
    chips = []
    for i in range(start, len(tokens)):
        weight = float(weights[i])
        fill = colour_at(AMOUNT[theme], min(1.0, weight / TOP) ** 0.5)
        last = i == len(tokens) - 1
        chips.append(
            html.Span(
                tokens[i],
                className="query" if last else "",
                style={"background": fill, "color": text_on(fill)},
                title=f"position {i}: {tokens[i]}, attention {proportion(weight, 3)}",
            )
        )
    return [
        html.Span(f"last {STRIP} of {whole(len(tokens))}" if start else "tokens", className="caption"),
        html.Div(chips, className="tokens mono"),
    ]


def note(result: dict[str, Any], cursor: Cursor) -> list[Any]:
    """One sentence for the rail: what the last query looks at most."""
    weights = np.asarray(result["pattern"])[-1].astype(float)
    tokens = [str(t) for t in result["tokens"]]
    shares: dict[str, float] = {}
    for token, weight in zip(tokens, weights, strict=True):
        shares[token] = shares.get(token, 0.0) + float(weight)
    top, share = max(shares.items(), key=lambda item: item[1])
    keys = tokens.count(top)
    said: list[Any] = [
        html.Strong(head_name(cursor.layer, cursor.head), className="num"),
        f" gives {proportion(share)} of the last query's attention to ",
        html.Code(top),
        f": {keys:,} of {len(tokens):,} keys, a share of {proportion(keys / len(tokens))}.",
    ]
    answered = result.get("correct", [None])[-1]
    if answered is not None:
        said.append(f" The model's answer there is {'right' if answered else 'wrong'}.")
    return [*said, " The tokens below the pattern are tinted by it."]


def waiting(job: Job) -> list[Any]:
    """How far the worker is, with a way to stop it."""
    if job.total:
        share = f"{100 * job.done / job.total:.0f}%"
        text = f"{job.doing or 'the attention pattern'} \u00b7 {job.done:,} of {job.total:,}"
        bar = html.Div(html.Div(style={"width": share}), className="bar")
    else:
        seconds = 0 if job.started is None else round(time.monotonic() - job.started)
        doing = "starting the worker, then reading the checkpoint" if job.cold else "reading the checkpoint"
        text = "waiting for the worker" if job.state == "queued" else f"{doing} \u00b7 {seconds} s"
        bar = html.Div(html.Div(), className="bar running")
    return [
        html.P([html.Strong("Computing"), " ", html.Span(text, className="num")], className="head"),
        bar,
        html.Button("Cancel", id="attention-cancel", className="button", type="button", n_clicks=0),
    ]


def broken(job: Job, run: RunView) -> list[Any]:
    """Why there is no pattern, and the way out."""
    if job.state == "cancelled":
        return [
            html.P([icon("info"), html.Strong("Cancelled")], className="head"),
            html.P("Nothing was computed. Sample, or move the cursor, to ask again."),
        ]
    damaged = "damaged" in job.error
    title = "Damaged checkpoint" if damaged else "This could not be computed"
    hint = command(f"lengthlens check {run.shown_path}") if damaged else None
    return failed(title, job.error, hint)


def snippet(run: RunView, cursor: Cursor) -> str:
    """Python that computes and draws the same pattern in a notebook."""
    values = "scores" if cursor.view == "score" else "pattern"
    cells = f", cells={LONGEST}" if cursor.length + 1 > 512 else ""  # else the sample comes pooled
    return (
        "from circuits.scores import attention_sample\n"
        "from workbench.figures import attention_pattern\n\n"
        f'sample = attention_sample(run_path="{run.shown_path}", step={cursor.step}, law="{LAW}", '
        f"length={cursor.length}, layer={cursor.layer}, head={cursor.head}, seed={cursor.sample}{cells})\n"
        f'attention_pattern(sample["{values}"], sample["tokens"], trained={run.trained}, '
        f'layer={cursor.layer}, head={cursor.head}, view="{cursor.view}")\n'
    )
