"""A run's note and tags, shown and edited on its page; their files are next to its ``run.json``."""

from __future__ import annotations

from typing import Annotated, Any

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate
from pydantic import Field

from workbench.core.errors import LensError
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.request_values import Name, declare
from workbench.dashboard.state.run_view import RunView
from workbench.runs.run_notes import MOST, NOTE, TAGS, RunNotes, write_notes

declare(
    {
        "note-text.value": Annotated[str, Field(max_length=MOST)] | None,
        "note-tags.value": Name | None,
        "note-seen.data": Name,
    }
)


def section(run: RunView) -> html.Details:
    """The note's first line and the tags, which open into what edits them."""
    notes = run.notes
    return html.Details(
        [
            html.Summary(saved_message(notes), id="note-said"),
            html.Div(
                [
                    dmc.TextInput(
                        id="note-tags",
                        label="Tags, with commas between them",
                        value=", ".join(notes.tags),
                        size="xs",
                        maw=520,
                        attributes={"input": {"autoComplete": "off"}},
                    ),
                    dmc.Textarea(
                        id="note-text",
                        label="Note",
                        value=notes.text,
                        size="xs",
                        minRows=3,
                        maxRows=14,
                        autosize=True,
                        maw=760,
                        attributes={"input": {"maxLength": MOST}},
                    ),
                    html.Div(
                        [
                            html.Button("Save", id="note-save", type="button", className="button", n_clicks=0),
                            html.Span(where(run), id="note-saved", className="soft", role="status"),
                        ],
                        className="ways",
                    ),
                    dcc.Store(id="note-seen", data=notes.state),
                ],
                className="note-body",
            ),
        ],
        id="run-notes",
        className="evidence run-notes",
    )


def saved_message(notes: RunNotes) -> list[Any]:
    """One line: the tags and how the note begins, or that there is none."""
    chips = [html.Span(tag, className="tag") for tag in notes.tags]
    if notes.problems:
        return [*chips, f"Notes: {notes.problems[0]}, and is not shown."]
    if not notes.text:
        return [*chips, "Notes and tags" if not chips else ""]
    return [*chips, notes.first_line]


def where(run: RunView) -> str:
    """Where they lie."""
    return f"Saved as {NOTE} and {TAGS} in {run.shown_path}/."


def save_notes(context: Context, name: str, text: str, tags: str, seen: str) -> tuple[str, RunNotes | None]:
    """Write the notes; returns a message and the notes as they are now, or None if nothing was written."""
    run = context.store.run(name)
    if run is None:
        return f"There is no run {name} any more; nothing was saved.", None
    try:
        notes = write_notes(run.path, text, tags.split(","), seen)
    except LensError as error:
        return f"Nothing was saved: {str(error).rstrip('.')}.", None
    context.store.refresh(force=True)
    return f"Saved. {where(run)}", notes


def connect(app: Dash, context: Context) -> None:
    """Register the button's callback."""

    @app.callback(
        Output("note-saved", "children"),
        Output("note-said", "children"),
        Output("note-seen", "data"),
        Output("note-tags", "value"),
        Input("note-save", "n_clicks"),
        State("note-text", "value"),
        State("note-tags", "value"),
        State("note-seen", "data"),
        State("run", "data"),
        prevent_initial_call=True,
    )
    def save(clicks: int, text: str | None, tags: str | None, seen: str, name: str) -> Any:
        if not clicks:
            raise PreventUpdate
        line, notes = save_notes(context, name, text or "", tags or "", seen)
        if notes is None:
            return line, no_update, no_update, no_update
        return line, saved_message(notes), notes.state, ", ".join(notes.tags)
