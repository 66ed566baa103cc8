"""Plain addresses for what a panel shows: CSV of its rows, its figure as JSON, the snippet that draws it.

``/data/<panel>.csv``, ``.json`` and ``.py`` take the same query string as the page, so a link to a view
is also a link to its data.
"""

from __future__ import annotations

import json
from typing import Any

import plotly.graph_objects as go
from flask import Flask, Response, request

from workbench.dashboard import attention
from workbench.dashboard.answers import Answers
from workbench.dashboard.cursor import Cursor, parse, resolve
from workbench.dashboard.panels import BY_ID
from workbench.dashboard.store import RunView
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import whole

ATTENTION_SECONDS = 60.0
SIZES = {"attention": (900, 620)}
SIZE = (640, 360)


class Unknown(LookupError):
    """The address names a run, panel or format that does not exist."""


def connect(server: Flask, answers: Answers) -> None:
    """Add the addresses to the app's server."""

    @server.get("/data/<name>.<kind>")
    def data(name: str, kind: str) -> Response:
        try:
            return answer(answers, name, kind, request.query_string.decode(), request.args.get("theme", "light"))
        except (Unknown, NotMeasured) as error:
            return Response(f"{error}\n", status=404, mimetype="text/plain")


def answer(answers: Answers, name: str, kind: str, search: str, theme: str = "light") -> Response:
    """One export.

    Raises:
        Unknown: for a run, panel or format that does not exist.
        NotMeasured: without rows there.
    """
    run = answers.store.run(parse(search).get("run", ""))
    if run is None:
        raise Unknown(f"there is no run {parse(search).get('run', '')!r} here")
    if name not in BY_ID and name != "attention":
        raise Unknown(f"there is no panel {name!r}; the panels are {', '.join([*BY_ID, 'attention'])}")
    if kind not in ("csv", "json", "py"):
        raise Unknown(f"there is no export {kind!r}; the exports are csv, json and py")
    cursor, _ = resolve(search, run)
    if kind == "csv":
        frame = _rows(answers, name, run, cursor)
        file = f"{run.name.replace('/', '-')}-{name}.csv"
        return Response(
            frame.to_csv(index=False),
            mimetype="text/csv",
            headers={"Content-Disposition": f'attachment; filename="{file}"'},
        )
    if kind == "py":
        text = attention.snippet(run, cursor) if name == "attention" else BY_ID[name].snippet(run, cursor)
        return Response(text, mimetype="text/x-python")
    figure = _figure(answers, name, run, cursor, theme if theme in ("light", "dark") else "light")
    return Response(json.dumps(picture(figure, name, run, cursor)), mimetype="application/json")


def picture(figure: go.Figure, name: str, run: RunView, cursor: Cursor) -> dict[str, Any]:
    """The figure with what a picture must say on its own: title, slice, run and cursor."""
    said = figure.layout.meta
    at = (f"id {run.config['id']}", f"step {whole(cursor.step)}", f"length {whole(cursor.length)}")
    where = " \u00b7 ".join((run.name, *at))
    width, height = SIZES.get(name, SIZE)
    return {
        "figure": json.loads(figure.to_json()),
        "title": said["title"],
        "slice": said["slice"],
        "where": where,
        "file": f"{run.name.replace('/', '-')}-{name}",
        "width": width,
        "height": height,
    }


def _rows(answers: Answers, name: str, run: RunView, cursor: Cursor) -> Any:
    if name != "attention":
        return BY_ID[name].data(run, cursor)
    return attention.data(_sampled(answers, run, cursor), cursor)


def _figure(answers: Answers, name: str, run: RunView, cursor: Cursor, theme: str) -> go.Figure:
    if name != "attention":
        return BY_ID[name].draw(run, cursor, theme, 11, line=True)
    return attention.draw(_sampled(answers, run, cursor), run, cursor, theme, 11)


def _sampled(answers: Answers, run: RunView, cursor: Cursor) -> dict[str, Any]:
    if not run.n_heads:
        raise Unknown(f"{run.name} is a state-space model and has no attention pattern")
    if attention.too_long(cursor):
        raise Unknown(f"a pattern has at most {attention.LONGEST} positions; choose a shorter prefix length")
    job = answers.worker.wait(answers.ask(run, cursor, session="export"), ATTENTION_SECONDS)
    if job is None or job.state != "done":
        raise Unknown(job.error if job is not None and job.error else "the pattern is not there yet; ask again")
    result: dict[str, Any] = job.result
    return result
