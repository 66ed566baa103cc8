"""Saved views: the drawer that saves the view on screen under a name, and opens and deletes others.

They are files of the first folder of runs (:mod:`workbench.runs.saved_views`); those of further folders are listed too.
The browser writes its requests to one store, ``views-ask`` (``assets/js/views.js``).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

import dash_mantine_components as dmc
from dash import Dash, Input, Output, dcc, html, no_update
from dash.exceptions import PreventUpdate
from pydantic import Field
from typing_extensions import TypedDict

from workbench.core.errors import LensError
from workbench.dashboard.components.icons import icon
from workbench.dashboard.pages.all_pages import page_at
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.request_values import Whole, declare, exact
from workbench.dashboard.state.run_view import display_path
from workbench.runs.saved_views import FOLDER, LONGEST_LINK, LONGEST_NAME, SavedView, delete_view, read_views, save_view

MOST_NAME = 200
"""Characters that a name of a view may be typed with; the saved name has its own limit."""


@exact
class ViewAsk(TypedDict):
    """A wish about saved views."""

    do: Literal["list", "save", "delete"]
    at: Whole
    name: NotRequired[Annotated[str, Field(max_length=MOST_NAME)]]
    link: NotRequired[Annotated[str, Field(max_length=LONGEST_LINK)]]
    file: NotRequired[Annotated[str, Field(pattern=r"^[0-9]{1,3}:[a-z0-9-]{1,255}\z")]]


declare({"views-ask.data": ViewAsk | None})


def drawer() -> dmc.Drawer:
    """The drawer, empty until it is opened."""
    return dmc.Drawer(
        [
            dcc.Store(id="views-ask"),
            html.P(
                "Save the current view as a link. The link contains the filters, the axis, the runs, and the "
                "selected step and length."
            ),
            html.Div(
                [
                    dmc.TextInput(
                        id="views-name",
                        placeholder="Name of this view",
                        size="xs",
                        attributes={
                            "input": {
                                "aria-label": "Name of this view",
                                "maxLength": LONGEST_NAME,
                                "autoComplete": "off",
                            }
                        },
                    ),
                    html.Button("Save this view", type="button", className="button", **{"data-view-save": "1"}),
                ],
                className="ways",
            ),
            html.P(id="views-said", className="soft", role="status"),
            html.H3("Saved views"),
            html.Div(id="views-list"),
        ],
        id="views",
        title="Views",
        position="right",
        size=420,
        keepMounted=True,
        closeButtonProps={"aria-label": "Close views"},
    )


def view_list(context: Context) -> list[Any]:
    """Every view with its link, and what is wrong with other files."""
    children: list[Any] = []
    problems: list[str] = []
    for place, root in enumerate(context.store.roots):
        views, unreadable = read_views(root)
        problems += unreadable
        for view in views:
            page = page_at(view.link.partition("?")[0])
            if page is None:
                problems.append(f"{display_path(root / FOLDER / view.file)}.json names a page that does not exist")
            else:
                children.append(_line(view, page.name, f"{place}:{view.file}"))
    none = html.P(
        f"None yet. They are kept as files in {display_path(context.store.roots[0] / FOLDER)}/.", className="soft"
    )
    errors = [html.Div([icon("warn"), html.P(f"{unreadable}.")], className="banner error") for unreadable in problems]
    return [html.Ul(children, className="views") if children else none, *errors]


def _line(view: SavedView, page: str, ident: str) -> html.Li:
    return html.Li(
        [
            html.A(view.name, href=view.link, **{"data-nav": "1", "data-view-open": "1"}),
            html.Span(page, className="soft"),
            html.Button(
                icon("close"),
                className="ib",
                type="button",
                title="Delete this view",
                **{"data-view-delete": ident, "aria-label": f"Delete the view {view.name}"},
            ),
        ]
    )


def handle_request(context: Context, asked: Mapping[str, Any]) -> str:
    """Carry out a request; returns a message, or "" if only the list was requested."""
    try:
        if asked["do"] == "save":
            if page_at(str(asked.get("link", "")).partition("?")[0]) is None:
                return "Nothing was saved: this address is not a page of the dashboard."
            view = save_view(context.store.roots[0], str(asked.get("name", "")), str(asked.get("link", "")))
            return f"Saved {view.name} as {display_path(context.store.roots[0] / FOLDER / view.file)}.json."
        if asked["do"] == "delete":
            place, _, file = str(asked.get("file", "")).partition(":")
            roots = context.store.roots
            if not place.isdigit() or int(place) >= len(roots):
                return "Nothing was deleted: this view does not exist any more."
            return f"Deleted {delete_view(roots[int(place)], file).name}."
    except LensError as error:
        verb = {"save": "saved", "delete": "deleted"}[asked["do"]]
        return f"Nothing was {verb}: {str(error).rstrip('.')}."
    return ""


def connect(app: Dash, context: Context) -> None:
    """Register the drawer's callback."""

    @app.callback(
        Output("views-list", "children"),
        Output("views-said", "children"),
        Output("views-name", "value"),
        Input("views-ask", "data"),
        prevent_initial_call=True,
    )
    def answered(asked: dict[str, Any] | None) -> Any:
        if asked is None:
            raise PreventUpdate
        said = handle_request(context, asked)
        return view_list(context), said, "" if said.startswith("Saved") else no_update
