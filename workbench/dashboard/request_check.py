"""The check of every request to the dashboard, before any callback sees it.

A page sends which callback it means and what its components hold. Anybody who can send requests can write anything
into one. So every property that a callback reads has a declared type (:mod:`workbench.dashboard.state.request_values`),
and a request that does not fit is refused with one sentence. A value of the right type that names nothing of a run is
left to the callback.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson
from dash import Dash
from dash.exceptions import DependencyException
from flask import Response, request
from flask.json.provider import DefaultJSONProvider
from pydantic import TypeAdapter, ValidationError

from workbench.core.errors import LensError
from workbench.dashboard.guard import MOST_BYTES
from workbench.dashboard.state.request_values import Name, type_of

CALLBACK_PATH = "/_dash-update-component"
Plain = Name | int | float | bool | None
"""What an undeclared property may hold."""


class Malformed(LensError, ValueError):
    """A request that no page of this dashboard sends; the message states what is wrong with it."""


class StrictJSON(DefaultJSONProvider):
    """A JSON provider that accepts only standard JSON: no NaN, no lone surrogates, no extreme nesting."""

    def loads(self, s: str | bytes, **_: Any) -> Any:
        """Parse JSON; raises ValueError if it is not standard JSON."""
        return orjson.loads(s)


class Questions:
    """The requests that the callbacks of an app accept."""

    def __init__(self, app: Dash) -> None:
        self._callbacks: dict[str, list[list[tuple[str, str]]]] = {}
        self._outputs: dict[str, Any] = {}
        self._types: dict[tuple[str, str], TypeAdapter[Any]] = {}
        self.undeclared: set[str] = set()
        for ident, callback in app.callback_map.items():
            if "callback" not in callback:  # the browser answers it
                continue
            read = [[(one["id"], one["property"]) for one in callback[kind]] for kind in ("inputs", "state")]
            self._callbacks[ident] = read
            self._outputs[ident] = None if callback["no_output"] else outputs_of(ident)
            for one in (*read[0], *read[1]):
                value_type = type_of(".".join(one))
                self.undeclared |= {".".join(one)} if value_type is None else set()
                self._types[one] = TypeAdapter(Plain if value_type is None else value_type)

    def check(self, body: Any) -> None:
        """Check that a callback accepts this request; raises :class:`Malformed`."""
        if not isinstance(body, dict):
            raise Malformed("The request is not a JSON object.")
        ident = body.get("output")
        if not isinstance(ident, str) or ident not in self._callbacks:
            raise Malformed(f"There is no callback {ascii(ident)[:80]}.")
        expected = []
        for kind, wanted in zip(("inputs", "state"), self._callbacks[ident], strict=True):
            self._check_values(kind, body.get(kind, []), wanted)
            expected += [".".join(one) for one in wanted]
        if body.get("outputs") != self._outputs[ident]:
            raise Malformed("The outputs of the request are not those of its callback. Reload the page.")
        changed = body.get("changedPropIds", [])
        if not isinstance(changed, list) or any(one not in expected for one in changed):
            raise Malformed("The request reports a changed property that its callback does not read. Reload the page.")

    def _check_values(self, kind: str, given: Any, wanted: list[tuple[str, str]]) -> None:
        named = [(one.get("id"), one.get("property")) if isinstance(one, dict) else None for one in _listed(given)]
        if named != wanted:
            raise Malformed(f"The request has other {kind} values than its callback.")
        for one, value in zip(wanted, given, strict=True):
            try:
                self._types[one].validate_python(value.get("value"), strict=True)
            except ValidationError as error:
                first = error.errors(include_input=False, include_url=False)[0]
                at = ".".join(map(str, (*one, *first["loc"])))
                raise Malformed(f"{at[:120]}: {first['msg']}.") from None


def outputs_of(ident: str) -> dict[str, str] | list[dict[str, str]]:
    """Return the outputs of the callback with this name, in the browser's notation: ``a.b``, or ``..a.b...c.d..`` for
    several.
    """

    def output(text: str) -> dict[str, str]:
        one, _, prop = text.rpartition(".")
        return {"id": one, "property": prop}

    return [output(text) for text in ident[2:-2].split("...")] if ident.startswith("..") else output(ident)


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [None]


def connect(app: Dash) -> None:
    """Check every question to an app that has all its callbacks."""
    questions, server = Questions(app), app.server
    server.json = StrictJSON(server)
    server.config["MAX_CONTENT_LENGTH"] = MOST_BYTES

    @server.before_request
    def checked() -> Response | None:
        if request.path == CALLBACK_PATH and request.method == "POST":
            questions.check(request.get_json())
        return None

    @server.errorhandler(LensError)
    def refused(error: LensError) -> Response:
        """The answer to a rejected request: messages meant for readers are sent; anything else is a defect and is
        logged."""
        return error_response(400, str(error))

    @server.errorhandler(DependencyException)
    def missing(_: DependencyException) -> Response:
        return error_response(404, "There is no such file.")


def error_response(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """Return an HTTP response that contains one sentence."""
    return Response(f"{sentence}\n", status=status, mimetype="text/plain", headers=dict(headers or {}))
