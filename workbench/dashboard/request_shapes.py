"""What a question of the browser may hold: everything is checked once, before any callback sees it.

A page asks by posting which callback it means and what its components hold. Whoever can post can write anything into
that, so that every component and property a callback reads has a shape here; a question that does not have it is
refused with one sentence. What is of the right shape and names nothing that a run has is the callback's to answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NotRequired

import orjson
from dash import Dash
from dash.exceptions import DependencyException
from flask import Response, request
from flask.json.provider import DefaultJSONProvider
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic import with_config as configured
from typing_extensions import TypedDict

from workbench.core.errors import LensError
from workbench.dashboard.guard import MOST_BYTES
from workbench.dashboard.panels.sequence.sequence_query import LAWS
from workbench.dashboard.state.cursor import MOST_DIGITS, VIEWS
from workbench.models.interventions import REPAIRS
from workbench.runs.run_notes import MOST as MOST_NOTE
from workbench.runs.saved_views import LONGEST_LINK

ASKED_AT = "/_dash-update-component"
MOST_NAME = 200
"""Characters that a name of a view may be typed with; how many it may have is said where it is saved."""
LONGEST = 300_000
"""Characters of a typed text, as many as its input takes."""

Text = Annotated[str, Field(max_length=LONGEST)]
Name = Annotated[str, Field(max_length=4096)]
Whole = Annotated[int, Field(ge=0, le=10**MOST_DIGITS - 1)]
Head = Annotated[str, Field(pattern=r"^[0-9]{1,6}\.[0-9]{1,6}\z")]
Digits = Annotated[str, Field(pattern=r"^[0-9]{0,18}\z")]
Ordinal = Annotated[str, Field(pattern=r"^[0-9]{1,18}\z")]
Layer = Annotated[str, Field(pattern=r"^(-1|[0-9]{0,6})\z")]
"""A layer that probes read; -1 is the embedding, nothing the last."""
Multiple = Annotated[str, Field(pattern=r"^[0-9]{1,6}(\.[0-9]{1,6})?x\z")]
"""A multiple of the trained length, ``4x``."""
Share = Annotated[str, Field(pattern=r"^[1-9][0-9]?/[1-9][0-9]?\z")]
"""A share of training, ``1/4``."""
View = Literal[VIEWS]  # type: ignore[valid-type]


@configured(ConfigDict(extra="forbid"))
class Extras(TypedDict, total=False):
    """What pages keep in their links beside the cursor."""

    quantity: Name
    connection: Name
    run2: Name
    seeds: Name
    steps: Name
    configs: Text
    seq: Text
    law: Name
    edits: Name
    pos: Digits
    site: Layer
    zoom: Name
    q: Name
    view: View
    sample: Ordinal


@configured(ConfigDict(extra="forbid"))
class StyleShape(TypedDict):
    """Theme and type size."""

    theme: Literal["light", "dark"]
    size: Annotated[int, Field(ge=6, le=40)]


class PanelPlace(TypedDict):
    """Where a browser is, and the run it saw last."""

    path: Text
    search: Text
    last: Name


class Here(TypedDict):
    """What the browser was told of its page."""

    run: Name
    waits: bool


@configured(ConfigDict(extra="forbid"))
class Late(TypedDict):
    """The cursor, for what stands below the first screen."""

    step: Whole
    length: Whole
    head: Head


class Link(TypedDict):
    """The canonical link of a view."""

    path: Name
    run: Name
    href: Text


@configured(ConfigDict(extra="forbid"))
class Keys(TypedDict):
    """A board's two jobs."""

    look: Name
    read: Name


class Jobs(TypedDict):
    """What a board asked for, and when."""

    keys: Keys
    since: Annotated[float, Field(ge=0, le=1e12)]


class Seen(TypedDict):
    """What a board shows."""

    seen: Text


class Query(TypedDict):
    """The chosen query, and the last there is."""

    prefix: Annotated[int, Field(ge=-1, le=10**9)]
    last: Annotated[int, Field(ge=-1, le=10**9)]


class Tokens(TypedDict):
    """The sequence on screen."""

    text: Text


@configured(ConfigDict(extra="forbid"))
class MapsPlace(TypedDict):
    """The sequence whose heads are in view."""

    step: Whole
    length: Whole
    sample: Whole


class PatternPart(TypedDict):
    """A part of a pattern."""

    part: Name


class Gone(TypedDict):
    """An edit that is taken away."""

    edit: Name


class Choice(TypedDict):
    """One entry of a select."""

    value: Name


class ScaleChoice(TypedDict):
    """What of a run's scales the server reads again."""

    run: NotRequired[Name]
    steps: NotRequired[list[Whole]]
    lengths: NotRequired[list[Whole]]
    layers: Whole


class Measure(TypedDict):
    """A wish to measure, or to stop measuring."""

    run: NotRequired[Name]
    only: NotRequired[Name]
    cancel: NotRequired[Any]


class Measuring(TypedDict):
    """What is being measured."""

    key: Name
    run: Name
    what: Name


@configured(ConfigDict(extra="forbid"))
class WrongStringsJob(TypedDict):
    """What was asked about wrong strings, and the job that answers."""

    asked: Name
    key: Name


@configured(ConfigDict(extra="forbid"))
class ViewAsk(TypedDict):
    """A wish about saved views."""

    do: Literal["list", "save", "delete"]
    at: Whole
    name: NotRequired[Annotated[str, Field(max_length=MOST_NAME)]]
    link: NotRequired[Annotated[str, Field(max_length=LONGEST_LINK)]]
    file: NotRequired[Annotated[str, Field(pattern=r"^[0-9]{1,3}:[a-z0-9-]{1,255}\z")]]


Plain = Name | int | float | bool | None
Count = Whole | None
Version = Name | None

SHAPES: dict[str, Any] = {
    "place.data": PanelPlace | None,
    "here.data": Here | None,
    "look.data": StyleShape | None,
    "page-look.data": StyleShape | None,
    "version.data": Version,
    "page-version.data": Version,
    "run-version.data": Version,
    "log-version.data": Version,
    "run-check.data": Any,
    "rows-check.data": Any,
    "keep-run.data": Any,
    "step.data": Whole | None,
    "length.data": Whole | None,
    "head.data": Head | None,
    "axis.data": Literal["times", "length"] | None,
    "late.data": Late,
    "run.data": Name,
    "extras.data": Extras,
    "link.data": Link,
    "scale.data": ScaleChoice,
    "run-select.leftSection": Any,
    "step-scent.style": Any,
    "length-scent.style": Any,
    "ledger-open.data": bool,
    **{f"{name}.children": Any for name in ("banner", "verdict-line", "why", "ledger-said", "ledger")},
    **{f"rail-{row}.children": Any for row in ("behaviour", "representation", "mechanism")},
    "diagnosis.className": Any,
    "circuit.className": Any,
    "connection-select.data": Any,
    "verdict.data": Name | None,
    "task.value": Name | None,
    "positions.value": Name | None,
    "ties.value": Name | None,
    "tag.value": Name | None,
    "where.value": Annotated[list[Name], Field(max_length=1000)] | None,
    "note-text.value": Annotated[str, Field(max_length=MOST_NOTE)] | None,
    "note-tags.value": Name | None,
    "note-seen.data": Name,
    "filter.value": Name | None,
    "seeds.value": Name | None,
    "more-quantity.value": Name,
    "connection-select.value": Name | None,
    "head-quantity.value": Name | None,
    "head-quantity.data": list[Choice] | None,
    "maps-at.data": MapsPlace | None,
    "maps-job.data": Name | None,
    "maps-news.data": Text | None,
    "maps-session.data": Annotated[str, Field(max_length=64)],
    "maps-words.data": Any,
    "maps-cancel.data": Any,
    "measure-ask.data": Measure | None,
    "measure-job.data": Measuring | None,
    "sweep-asked.data": dict[Name, Name] | None,
    "sweep-quantity.value": Annotated[str, Field(pattern=r"^[^|]+\|[^|]+(\|[^|]*)*\z", max_length=1000)],
    "sweep-kind.value": Annotated[str, Field(pattern=r"^[^|]*(\|[^|]*){4}\z", max_length=1000)],
    "sweep-x.value": Name,
    "sweep-y.value": Name,
    "sweep-over.value": Name,
    "sweep-unit.value": Name,
    "sweep-fix.value": Annotated[list[Name], Field(max_length=1000)] | None,
    "sweep-pace.value": Literal["share", "step"],
    "sweep-step-at.data": Whole | Share | None,
    "sweep-length-at.data": Whole | Multiple | None,
    "theory-job.data": Name,
    "theory-run.data": Name,
    "try-kind.value": Literal["zero", "mean", "hardmax", "hardmax-all", "patch", "repair"],
    "try-head.value": Head | None,
    "try-block.value": Annotated[str, Field(pattern=r"^[0-9]{1,6}\z")] | None,
    "try-prefix.value": Whole | float | Name | None,
    "try-repair.value": Literal[REPAIRS],
    "try-law.value": Literal[LAWS],
    "try-text.value": Text | None,
    "try-drop.data": Gone | None,
    "views-ask.data": ViewAsk | None,
    "wrong-strings-job.data": WrongStringsJob | None,
    "wrong-strings-cancel.data": Any,
}
"""Component and property -> what it may hold."""

FAMILIES: dict[str, Any] = {
    ".n_intervals": Count,
    ".n_clicks": Count,
    ".n_submit": Count,
    "-mode.data": Literal["figure", "table"],
    "-shown.data": dict[Name, list[Whole]] | None,
    "-board-jobs.data": Jobs | None,
    "-board-news.data": Text | None,
    "-board-drawn.data": Seen,
    "-board-tokens.data": Tokens | None,
    "-board-query.data": Query | None,
    "-board-zoom.data": PatternPart | None,
    "-board-cancel.data": Any,
    "-board-session.data": Annotated[str, Field(max_length=64)],
    "-board-site.value": Annotated[str, Field(pattern=r"^(-1|[0-9]{1,6})\z")],
    "-board-view.value": View,
}
"""The same, for all whose name ends so."""


class Malformed(LensError, ValueError):
    """A question that no page of this dashboard asks; the message names what is wrong with it."""


class StrictJSON(DefaultJSONProvider):
    """JSON as the standard has it: no NaN, no lone surrogates, nothing nested beyond any sense."""

    def loads(self, s: str | bytes, **_: Any) -> Any:
        """The value; raises ValueError."""
        return orjson.loads(s)


class Questions:
    """What the callbacks of an app may be asked.

    Args:
        app: the app, with all its callbacks.

    Attributes:
        shapeless: what callbacks read that nothing here gives a shape; it may be text, a number or nothing.
    """

    def __init__(self, app: Dash) -> None:
        self._callbacks: dict[str, list[list[tuple[str, str]]]] = {}
        self._outputs: dict[str, Any] = {}
        self._shapes: dict[tuple[str, str], TypeAdapter[Any]] = {}
        self.shapeless: set[str] = set()
        for ident, callback in app.callback_map.items():
            if "callback" not in callback:  # the browser answers it
                continue
            read = [[(one["id"], one["property"]) for one in callback[kind]] for kind in ("inputs", "state")]
            self._callbacks[ident] = read
            self._outputs[ident] = None if callback["no_output"] else outputs_of(ident)
            for one in (*read[0], *read[1]):
                shape = shape_of(".".join(one))
                self.shapeless |= {".".join(one)} if shape is None else set()
                self._shapes[one] = TypeAdapter(Plain if shape is None else shape)

    def check(self, body: Any) -> None:
        """Whether a callback can be asked this; raises :class:`Malformed`."""
        if not isinstance(body, dict):
            raise Malformed("The question is no object.")
        ident = body.get("output")
        if not isinstance(ident, str) or ident not in self._callbacks:
            raise Malformed(f"There is no callback {ascii(ident)[:80]}.")
        known = []
        for kind, wanted in zip(("inputs", "state"), self._callbacks[ident], strict=True):
            self._check_values(kind, body.get(kind, []), wanted)
            known += [".".join(one) for one in wanted]
        if body.get("outputs") != self._outputs[ident]:
            raise Malformed("The question names other outputs than its callback has.")
        changed = body.get("changedPropIds", [])
        if not isinstance(changed, list) or any(one not in known for one in changed):
            raise Malformed("The question says that something changed which its callback does not read.")

    def _check_values(self, kind: str, given: Any, wanted: list[tuple[str, str]]) -> None:
        named = [(one.get("id"), one.get("property")) if isinstance(one, dict) else None for one in _listed(given)]
        if named != wanted:
            raise Malformed(f"The question's {kind} are not those of its callback.")
        for one, value in zip(wanted, given, strict=True):
            try:
                self._shapes[one].validate_python(value.get("value"), strict=True)
            except ValidationError as error:
                first = error.errors(include_input=False, include_url=False)[0]
                at = ".".join(map(str, (*one, *first["loc"])))
                raise Malformed(f"{at[:120]}: {first['msg']}.") from None


def outputs_of(ident: str) -> dict[str, str] | list[dict[str, str]]:
    """What a callback of that name writes, as the browser says it: ``a.b``, or ``..a.b...c.d..`` for several."""

    def named(text: str) -> dict[str, str]:
        one, _, prop = text.rpartition(".")
        return {"id": one, "property": prop}

    return [named(text) for text in ident[2:-2].split("...")] if ident.startswith("..") else named(ident)


def _listed(given: Any) -> list[Any]:
    return given if isinstance(given, list) else [None]


def shape_of(name: str) -> Any:
    """What a component's property may hold, by ``id.property``; None where nothing says so."""
    found = [shape for ending, shape in FAMILIES.items() if name.endswith(ending)]
    return SHAPES.get(name, found[0] if found else None)


def connect(app: Dash) -> None:
    """Check every question to an app that has all its callbacks."""
    questions, server = Questions(app), app.server
    server.json = StrictJSON(server)
    server.config["MAX_CONTENT_LENGTH"] = MOST_BYTES

    @server.before_request
    def checked() -> Response | None:
        if request.path == ASKED_AT and request.method == "POST":
            questions.check(request.get_json())
        return None

    @server.errorhandler(LensError)
    def refused(error: LensError) -> Response:
        """What is meant for readers is said to them; anything else is our defect, and logged as one."""
        return said(400, str(error))

    @server.errorhandler(DependencyException)
    def missing(_: DependencyException) -> Response:
        return said(404, "There is no such file.")


def said(status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    """One sentence as an answer."""
    return Response(f"{sentence}\n", status=status, mimetype="text/plain", headers=dict(headers or {}))
