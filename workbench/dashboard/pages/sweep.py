"""The Sweep page: a phase diagram of any quantity over two settings of the runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import dash_mantine_components as dmc
import pandas as pd
import plotly.graph_objects as go
from dash import ClientsideFunction, Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate
from pydantic import Field

from workbench.dashboard.components.icons import chevron
from workbench.dashboard.components.page_frame import banner, command, problems
from workbench.dashboard.components.sweepbar import bar, length_scale, step_scale
from workbench.dashboard.pages.base import Drawn, FreePage, Visit
from workbench.dashboard.panels import panel_frame
from workbench.dashboard.panels.callbacks import LOOK
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import query
from workbench.dashboard.state.request_values import Name, declare
from workbench.dashboard.state.run_brief import SERIES
from workbench.dashboard.state.series_rows import REACH_SERIES, Reading
from workbench.dashboard.state.store import Store
from workbench.dashboard.state.sweep_query import (
    MOST_VALUES,
    ORIGIN,
    SWEEP_KEYS,
    Choices,
    StepStop,
    Stop,
    SweepQuery,
    choices_of,
    parse_stop,
    parted_step,
    read,
    series_name,
)
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import whole
from workbench.figures.look import Look, Theme
from workbench.figures.panels.phase_diagram import REDUCTIONS, TASK, axis_title, axis_value, phase_diagram
from workbench.figures.rows.frame import Frame
from workbench.figures.style.plain_figure import Drawing
from workbench.table.wording import quantity_label

declare(
    {
        "sweep-asked.data": dict[Name, Name] | None,
        "sweep-quantity.value": Annotated[str, Field(pattern=r"^[^|]+\|[^|]+(\|[^|]*)*\z", max_length=1000)],
        "sweep-kind.value": Annotated[str, Field(pattern=r"^[^|]*(\|[^|]*){4}\z", max_length=1000)],
        "sweep-x.value": Name,
        "sweep-y.value": Name,
        "sweep-over.value": Name,
        "sweep-fix.value": Annotated[list[Name], Field(max_length=1000)] | None,
    }
)

READING_MS = 800
"""Time between two looks at how far the reading of a series is."""


@dataclass(frozen=True)
class PhasePanel:
    """The only panel of the page, with its exports."""

    id: str = "phase"
    title: str = "Phase diagram"
    size: tuple[int, int] = (900, 560)

    def rows(self, context: Context, asked: Mapping[str, str]) -> pd.DataFrame:
        """Return one row for each cell of the diagram."""
        found: Frame = phase_diagram.data(
            *self._rows_and_names(context, asked),
            **_arguments(*_choices_and_query(context, asked)),
            verdicts=_verdicts(context),
        )
        return found.to_pandas()

    def figure(self, context: Context, asked: Mapping[str, str], theme: Theme, size: int) -> go.Figure:
        """Return the diagram; raises NotMeasured if no run has a value."""
        return phase_diagram(*self._rows_and_names(context, asked), **self._arguments(context, asked, theme, size))

    def plain(self, context: Context, asked: Mapping[str, str], theme: Theme, size: int) -> Drawing:
        """Return the figure without plotly's checks."""
        given = self._arguments(context, asked, theme, size)
        return phase_diagram.plain(*self._rows_and_names(context, asked), **given)

    def reading(self, context: Context, asked: Mapping[str, str]) -> Reading | None:
        """Return how many of its runs are loaded, or None once all are."""
        choices, sweep = _choices_and_query(context, asked)
        found = choices.rows(sweep, wait=False)
        return found if isinstance(found, Reading) else None

    def _rows_and_names(self, context: Context, asked: Mapping[str, str]) -> tuple[Frame, Mapping[str, Any]]:
        choices, sweep = _choices_and_query(context, asked)
        rows = choices.rows(sweep)
        assert isinstance(rows, Frame)  # it was waited for
        return rows, choices.swept

    def _arguments(self, context: Context, asked: Mapping[str, str], theme: Theme, size: int) -> dict[str, Any]:
        choices, sweep = _choices_and_query(context, asked)
        low, high = _range(context.store, sweep.series)
        title = series_name(sweep.series).capitalize()
        look = {"title": title, "look": Look(theme, size), "from_chance": _from_chance(sweep)}
        return {**_arguments(choices, sweep), "verdicts": _verdicts(context), "low": low, "high": high, **look}

    def code(self, context: Context, asked: Mapping[str, str]) -> str:
        """Return Python code that draws the same diagram from the folder."""
        choices, sweep = _choices_and_query(context, asked)
        low, high = _range(context.store, sweep.series)
        root = context.store.roots[0].as_posix()
        where = "".join(f", {name}={value!r}" for name, value in zip(SERIES, sweep.series, strict=True))
        rows = f'Table.load({root!r}).frame(control=""{where})'
        if sweep.series == REACH_SERIES:
            rows = f"Table.load({root!r}).reach()"
        given = {**_arguments(choices, sweep), "low": low, "high": high, "from_chance": _from_chance(sweep)}
        del given["chances"], given["lasts"]
        arguments = "".join(f", {name}={value!r}" for name, value in given.items())
        return (
            "from workbench.figures import phase_diagram\n"
            "from workbench.runs.run import find_runs\n"
            "from workbench.table import Table\n\n"
            f"configs = {{run.name: run.config for run in find_runs({root!r})}}\n"
            f"frame = {rows}\n"
            f'chance = Table.load({root!r}).frame(measurement="behaviour", quantity="chance")\n'
            'chances = chance.groupby("run")["value"].min().to_dict()\n'
            f'verdict = Table.load({root!r}).frame(measurement="behaviour", quantity="verdict")\n'
            'verdicts = {run: dict(zip(rows["step"], rows["label"])) for run, rows in verdict.groupby("run")}\n'
            f"phase_diagram(frame, configs{arguments}, chances=chances, verdicts=verdicts)\n"
        )

    def where(self, asked: Mapping[str, str]) -> str:
        """Return what the exported picture shows, for its file name and caption."""
        return "all runs"


PHASE = PhasePanel()


def _choices_and_query(context: Context, asked: Mapping[str, str]) -> tuple[Choices, SweepQuery]:
    choices = choices_of(context.store)
    return choices, read(asked, choices)[0]


def _arguments(choices: Choices, sweep: SweepQuery) -> dict[str, Any]:
    return {
        "x": sweep.x,
        "y": sweep.y,
        "step": sweep.step,
        "length": sweep.length,
        "times": sweep.times,
        "fixed": choices.fixed_values(sweep.fixed),
        "chances": choices.chances,
        "over": sweep.over,
        "share": sweep.share,
        "lasts": choices.lasts(sweep.series) if sweep.share is not None else None,
    }


def _left_out(runs: int) -> str:
    """How many runs are left out of the diagram."""
    evaluated = "One run that was" if runs == 1 else f"{whole(runs)} runs that were"
    verb = "is" if runs == 1 else "are"
    reason = "because their lengths count items of the prompt"
    return f" {evaluated} evaluated in a prompt {verb} left out, {reason}." if runs else ""


def _held(choices: Choices) -> str:
    """Which settings are held fixed at first, and how to see the other runs."""
    said = dict(choices.fixed("", ""))
    sentences = {
        ORIGIN: "Compiled models are left out until you clear \u201corigin: trained\u201d under Hold fixed.",
        TASK: "At first the page shows only the task with the most runs. Clear it under Hold fixed, or choose the task "
        "as an axis, to see the others.",
    }
    return "".join(f" {sentence}" for axis, sentence in sentences.items() if axis in said)


def _range(store: Store, series: Sequence[str]) -> tuple[float | None, float | None]:
    """The colours' range where the quantity has one of its own."""
    if tuple(series) == REACH_SERIES:
        return 0.0, 1.0
    known = {q["name"]: q for q in store.specs.get(series[0], {}).get("quantities", ())}
    quantity = known.get(series[1], {})
    low, high = quantity.get("low"), quantity.get("high")
    return (None, None) if low is None or high is None else (low, high)


def _from_chance(sweep: SweepQuery) -> bool:
    """Whether colours begin at the chance level of the tasks: only an accuracy has one."""
    return sweep.series[1] == "accuracy"


def _verdicts(context: Context) -> dict[str, Mapping[int, str]]:
    return {name: run.brief.verdicts for name, run in context.store.comparable_runs().items()}


def layout(context: Context, visit: Visit) -> Drawn:
    """Return the bar and the select boxes, with the diagram below."""
    choices = choices_of(context.store)
    if not choices.pairs:
        said = html.P("A phase diagram needs measured runs. This command trains and measures many:")
        body: list[Any] = [html.Div([said, command("lengthlens sweep gallery")], className="empty")]
        notices = list(visit.notices)
        steered: list[Any] = []
    else:
        sweep, notices = read(visit.query, choices)
        notices = [*visit.notices, *notices]
        body = [
            _selects(sweep, choices),
            _panel(),
            dcc.Store(id="sweep-asked", data=sweep.address_parts(choices.fixed(sweep.x, sweep.y))),
            dcc.Store(id="link"),
            dcc.Interval(id="sweep-reading", interval=READING_MS, disabled=True),
        ]
        steps = {pace: step_scale(choices.step_stops(pace == "share"), choices.last) for pace in ("share", "step")}
        steered = [bar(steps, sweep.step_stop, _length_scales(choices, sweep.series), sweep.stop)]
    content = html.Div(
        [
            html.Div(banner(notices, "/sweep"), id="banner"),
            html.Div(
                [
                    html.H1("Which configurations keep working?"),
                    html.P(
                        "One quantity over two settings in which these runs differ. A cell is the median of the runs "
                        "that were measured at exactly this length, or this multiple of their own N; grey cells have "
                        "none. Each dot is a run: click it to open the run. Runs of tasks with different chance "
                        f"levels are not pooled.{_left_out(choices.left_out)}{_held(choices)}",
                        className="why",
                    ),
                ],
                className="headline",
            ),
            html.Div(problems(context.store.problems, context.store.part), id="problems"),
            *body,
        ],
        className="content sweep-page",
    )
    more = not choices.pairs or context.store.progress is not None
    return Drawn([*steered, content], "Sweep", waits=more)


def _length_scales(choices: Choices, series: Sequence[str]) -> dict[str, dict[str, Any]]:
    """The scales of the length slider for a series, by unit."""
    return {unit: length_scale(choices.stops(series, unit == "times"), choices.trained) for unit in ("times", "tokens")}


def _selects(sweep: SweepQuery, choices: Choices) -> html.Div:
    quantities = []
    for measurement, pairs in _grouped(choices.pairs).items():
        items = [{"value": "|".join(pair), "label": quantity_label(pair[1])} for pair in pairs]
        quantities.append({"group": measurement, "items": items})
    kinds = choices.series(*sweep.series[:2])
    axes = [{"value": name, "label": axis_title(name)} for name in choices.axes]
    offered = [{"value": "|".join(kind), "label": _kind(kind)} for kind in kinds]
    lined = [
        _select("sweep-quantity", "Quantity", quantities, "|".join(sweep.series[:2]), 230, searchable=True),
        _select("sweep-kind", "Test set and mode", offered, "|".join(sweep.series), 190),
        _select("sweep-x", "Horizontal axis", axes, sweep.x, 190),
        _select("sweep-y", "Vertical axis", axes, sweep.y, 190),
        _fixed(sweep, choices),
        _select("sweep-over", "Layers and heads", [{"value": o, "label": o} for o in REDUCTIONS], sweep.over, 120),
    ]
    return html.Div(lined, className="toolbar selects")


def _fixed(sweep: SweepQuery, choices: Choices) -> html.Div:
    """The menu of fixed settings: any value of any axis, several at once."""
    groups = [
        {
            "group": axis_title(axis),
            "items": [_fixed_option(axis, text, value) for text, value in choices.values[axis].items()],
        }
        for axis in choices.axes
        if 1 < len(choices.values.get(axis, ())) <= MOST_VALUES
    ]
    many = dmc.MultiSelect(
        id="sweep-fix",
        data=groups,
        value=[f"{axis}={value}" for axis, value in sweep.fixed],
        placeholder="nothing" if not sweep.fixed else "",
        size="xs",
        w=340,
        searchable=True,
        clearable=True,
        maxDropdownHeight=360,
    )
    return html.Div([html.Label("Hold fixed", htmlFor="sweep-fix", className="caption"), many])


def _fixed_option(axis: str, text: str, value: Any) -> dict[str, str]:
    return {"value": f"{axis}={text}", "label": f"{axis_title(axis)}: {axis_value(axis, value)}"}


def _grouped(pairs: Sequence[tuple[str, str]]) -> dict[str, list[tuple[str, str]]]:
    grouped: dict[str, list[tuple[str, str]]] = {}
    for pair in pairs:
        grouped.setdefault(pair[0], []).append(pair)
    return grouped


def _kind(series: Sequence[str]) -> str:
    parts = [part.replace("_", " ") for part in series[2:] if part]
    return ", ".join(parts) or "as it is"


def _select(ident: str, name: str, data: list[Any], value: str, width: int, searchable: bool = False) -> html.Div:
    return html.Div(
        [
            html.Label(name, htmlFor=ident, className="caption"),
            dmc.Select(
                id=ident,
                data=data,
                value=value,
                allowDeselect=False,
                rightSection=chevron(),
                size="xs",
                w=width,
                searchable=searchable,
                maxDropdownHeight=360,
            ),
        ]
    )


def _panel() -> html.Div:
    about = [
        (
            "",
            "Colours span the range of the quantity, or the range of the cells if the quantity has none. The colours "
            "of an accuracy begin at the chance level of its task.",
        ),
        (
            "Count",
            "A count such as 4/5 below a number means that 5 runs have a verdict at their step, and that 4 of these "
            "are scale-robust. The mark is a flat curve that ends in a point.",
        ),
        (
            "Dots",
            "Each dot is a run, from the lowest colour (left) to the highest (right), on one scale in all cells. "
            "Open dots do not solve the trained lengths at their step. Click a dot to open the run; dots are left "
            "out where there is no room.",
        ),
    ]
    body = panel_frame.graph_body("phase")
    heading = html.H2("The diagram", className="sr")
    return html.Div([heading, panel_frame.frame("phase", "Phase diagram", about, body)], className="sweep-diagram")


def connect(app: Dash, context: Context) -> None:
    """Register the page's callbacks."""
    for name in ("step", "length"):
        app.clientside_callback(
            ClientsideFunction("sweep", name),
            *[Output(f"sweep-{name}-{part}", "children") for part in ("value", "where")],
            Output(f"sweep-{name}-where", "className"),
            Input(f"sweep-{name}", "value"),
            Input(f"sweep-{name}-scale", "data"),
        )

    # In the browser: a key that is pressed right after a change of unit moves the slider on its new scale.
    for name, unit, tint in (("step", "pace", []), ("length", "unit", [Output("sweep-length-trained", "style")])):
        app.clientside_callback(
            ClientsideFunction("sweep", f"{name}Scale"),
            *[Output(f"sweep-{name}", part) for part in ("min", "max", "marks", "disabled", "value")],
            Output(f"sweep-{name}-scale", "data"),
            Output(f"sweep-{name}-at", "data"),
            *tint,
            Input(f"sweep-{unit}", "value"),
            Input(f"sweep-{name}-scales", "data"),
            State(f"sweep-{name}-at", "data"),
            prevent_initial_call=True,
        )

    app.clientside_callback(
        ClientsideFunction("sweep", "opened"), Input("phase-graph", "clickData"), prevent_initial_call=True
    )

    @app.callback(
        Output("sweep-kind", "data"),
        Output("sweep-kind", "value"),
        Input("sweep-quantity", "value"),
        prevent_initial_call=True,
    )
    def chosen(quantity: str) -> Any:
        pair = quantity.split("|")[:2]
        kinds = choices_of(context.store).series(*pair) or [(*pair, "", "", "")]
        return [{"value": "|".join(k), "label": _kind(k)} for k in kinds], "|".join(kinds[0])

    @app.callback(Output("sweep-length-scales", "data"), Input("sweep-kind", "value"), prevent_initial_call=True)
    def measured_at(kind: str) -> Any:
        """Each quantity has lengths of its own."""
        return _length_scales(choices_of(context.store), kind.split("|"))

    @app.callback(
        Output("sweep-asked", "data"),
        Output("link", "data", allow_duplicate=True),
        Output("banner", "children", allow_duplicate=True),
        *[Input(ident, "value") for ident in ("sweep-kind", "sweep-x", "sweep-y", "sweep-over", "sweep-fix")],
        *[Input(ident, "data") for ident in ("sweep-step-at", "sweep-length-at")],
        State("sweep-asked", "data"),
        prevent_initial_call=True,
    )
    def moved(
        kind: str, x: str, y: str, over: str, fix: list[str] | None, at: StepStop, stop: Stop, shown: dict[str, str]
    ) -> Any:
        fixed = tuple((axis, value) for axis, _, value in (part.partition("=") for part in fix or ()))
        step, share = parted_step(at)
        sweep = SweepQuery(tuple(kind.split("|")), x, y, step, *parse_stop(stop), fixed, over, share)
        parts = sweep.address_parts(choices_of(context.store).fixed(x, y))
        if parts == shown:  # a control repeated its value: the notices about the link stay
            raise PreventUpdate
        return parts, {"path": "/sweep", "run": "", "href": "/sweep" + query(parts)}, []

    @app.callback(
        Output("phase-graph", "figure"),
        Output("phase-table", "children"),
        Output("phase-state", "children"),
        Output("phase-slice", "children"),
        Output("phase-figure", "aria-label"),
        Output("phase-body", "className"),
        Output("phase-title", "children"),
        Output("sweep-reading", "disabled"),
        Input("sweep-asked", "data"),
        LOOK,
        Input("phase-mode", "data"),
        Input("sweep-reading", "n_intervals"),
        Input("page-version", "data"),
    )
    def draw(asked: dict[str, str], look: Any, mode: str, *_: Any) -> Any:
        if asked is None or look is None:
            raise PreventUpdate
        return render_diagram(context, asked, look, mode)


def render_diagram(context: Context, asked: Mapping[str, str], look: Mapping[str, Any], mode: str) -> tuple[Any, ...]:
    """Return figure, table, state, slice, texts, class and title of the panel, and whether all runs are loaded."""
    try:
        far = PHASE.reading(context, asked)
        if far is not None:
            said = f"{whole(far.done)} of {whole(far.of)} runs have been loaded."
            return no_update, [], panel_frame.being_read(said), "", said, "body stated", "Phase diagram", False
        if mode == "table":
            table = panel_frame.plain_table(PHASE.rows(context, asked), "Phase diagram")
            return no_update, table, [], no_update, no_update, "body tabled", no_update, True
        figure = PHASE.plain(context, asked, look["theme"], look["size"]).to_plotly_json()
    except NotMeasured as missing:
        state = panel_frame.does_not_apply(missing.message)
        return no_update, [], state, "", missing.message, "body stated", "Phase diagram", True
    words = figure["layout"]["meta"]
    return figure, [], [], words["slice"], words["alt"], "body ready", words["title"], True


PAGE = FreePage(path="/sweep", name="Sweep", layout=layout, connect=connect, panels=(PHASE,), keys=SWEEP_KEYS)
