"""Compare up to eight configurations: a line for each with the band of its seeds, and their values at the selection."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import dash_mantine_components as dmc
from dash import Dash, Input, Output, State, html

from workbench.core.thresholds import LEVEL_TEXT
from workbench.core.verdicts import WORDS
from workbench.dashboard.components.cursorbar import run_select
from workbench.dashboard.components.icons import glyph
from workbench.dashboard.components.slider_curves import verdict_at
from workbench.dashboard.panels import panel_frame
from workbench.dashboard.panels.callbacks import browser, place
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor, PanelSource
from workbench.dashboard.panels.panel_updates import memory
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.chosen_configurations import Configuration, measured_configurations
from workbench.dashboard.state.cursor import link
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import MISSING, estimate, multiple, span_of_steps, whole
from workbench.figures.panels.many_configurations import MOST_CONFIGURATIONS, configurations_over_length
from workbench.figures.panels.many_seeds import SHOWN
from workbench.figures.panels.phase_diagram import axes_of, axis_title, axis_value, settings_of
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.multiples import partners

ROWS = {
    "accuracy": ("Accuracy", "Medians over seeds, on both test sets."),
    "decodability": ("Decodability", "After the last block."),
}
SHOWN_IN = {
    "accuracy": ("accuracy", "a", "Accuracy, matched test set", "Accuracy on sequences as in training"),
    "challenge": (
        "accuracy",
        "b",
        "Accuracy, challenge test set",
        "Accuracy where neither end of a sequence gives the answer away",
    ),
    "summary": (
        "decodability",
        "a",
        "Task state (summary)",
        "Decodability by one probe, fitted at trained lengths and frozen",
    ),
    "position": ("decodability", "b", "Position", "Decodability by a probe that is refitted at each length"),
}
_ABOUT = (
    ", a line per configuration: the median of its seeds, with a band from the lowest to the highest. For a single "
    "seed the band is its {LEVEL_TEXT} interval."
)
MOST_SETTINGS = 3
"""Settings that distinguish a configuration from the others."""


def rows_of(at: PanelCursor, shown: str) -> Frame:
    """Return the rows of one quantity for all seeds of the configurations."""
    runs = [run for one in at.configurations for run in one.runs]
    frames = [run.memo(("compared", shown), partial(_picked, run, shown)) for run in runs]
    return Frame.concat([frame for frame in frames if len(frame)] or frames[:1])


def _picked(run: RunView, shown: str) -> Frame:
    return run.frame.where(**SHOWN[shown])


def _panel(shown: str) -> Panel:
    row, column, title, says = SHOWN_IN[shown]
    where = SHOWN[shown]

    def read(at: PanelCursor) -> tuple[PanelSource, ...]:
        runs = [run for one in at.configurations for run in one.runs]
        if not runs:
            raise NotMeasured(
                where["measurement"], "This link names no configuration. Go back and choose up to eight.", helps=False
            )
        given = "".join(f", {key}={value!r}" for key, value in where.items())
        code = f"Table.load({at.run.root.as_posix()!r}).frame(run={[run.name for run in runs]!r}{given})"
        return (PanelSource(rows_of(at, shown), " ".join(run.rows_version for run in runs), "frame", code),)

    return Panel(
        id=f"many-{shown}",
        row=row,
        column=column,
        title=title,
        figure="configurations_over_length",
        measurement=where["measurement"],
        quantities=(where["quantity"],),
        about=says + _ABOUT,
        settings={"shown": shown},
        read=read,
    )


PANELS = tuple(_panel(shown) for shown in SHOWN_IN)


def shares(extras: Mapping[str, str]) -> html.Button:
    """Return how checkpoints are paired: by equal shares of training, or by equal steps."""
    return html.Button(
        "share",
        className="unit",
        type="button",
        title="Pair checkpoints at equal shares of each run's training (last with last, others within a quarter), or "
        "at equal steps",
        **{
            "data-shares": "1",
            "aria-pressed": "false" if extras.get("steps") == "step" else "true",
            "aria-label": "Checkpoints at equal shares of training",
        },
    )


def pick(extras: Mapping[str, str]) -> html.Div:
    """Return the first cell of the selection row: a button back to two runs."""
    back = html.Button("Two runs", className="button", type="button", **{"data-configs": ""})
    caption = [html.Span("Steps paired by", className="caption"), shares(extras)]
    return html.Div(
        [html.Div(caption, className="paired"), html.Div([back], className="buttons")], className="cell pick two"
    )


def content(context: Context, at: PanelCursor) -> list[Any]:
    """Return the menu of configurations, their values at the selection, and a row of panels per kind of evidence."""
    specs: dict[str, Any] = {}
    for one in at.configurations:
        specs |= one.runs[0].specs
    rows = []
    for row, (title, says) in ROWS.items():
        rail = [html.H2(title), html.P(says, className="soft")]
        rows.append(panel_frame.matrix_row(rail, [made for made in PANELS if made.row == row], specs, "halves"))
    table = html.Div(at_cursor(at), id="many-at-cursor", className="many-table", tabIndex=0)
    # The sliders follow the first one's first run, which the bar marks with its verdict in a select of runs.
    first = html.Div(run_select(at.run, at.cursor, [at.run.name], label="Run of the sliders"), hidden=True)
    parts = [_select(context, at), first, table, *rows, memory(PANELS)]
    matrix = html.Div(parts, className="matrix compare many")
    return [html.H1("Compare configurations", className="sr"), matrix]


def _select(context: Context, at: PanelCursor) -> html.Div:
    chosen = [one.runs[0].name for one in at.configurations]
    names = {**{one.runs[0].name: one.name for one in at.configurations}, **measured_configurations(context.store)}
    many = dmc.MultiSelect(
        id="many-select",
        data=[{"value": run, "label": name} for run, name in names.items()],
        value=chosen,
        maxValues=MOST_CONFIGURATIONS,
        searchable=True,
        size="xs",
        maxDropdownHeight=360,
        nothingFoundMessage="No configuration of that name",
        hidePickedOptions=True,
    )
    said = f"Choose up to {MOST_CONFIGURATIONS} configurations; the sliders take their steps and lengths from the first"
    return html.Div([html.Label(said, htmlFor="many-select", className="caption"), many], className="many-select")


def at_cursor(at: PanelCursor) -> html.Table:
    """Return a table of the configurations, with their accuracies at the selected step and length."""
    values = {quantity: _values(at, quantity) for quantity in ("accuracy", "challenge")}
    times = multiple(at.cursor.length / at.run.trained)
    where = f"at {times} \u00d7 N" if at.axis == "times" else f"at length {whole(at.cursor.length)}"
    telling = _telling(at.configurations)
    names = [
        "Line",
        "Configuration",
        *(axis_title(axis).capitalize() for axis in telling),
        "Seeds by verdict",
        "Step",
        "N",
    ]
    heads = [html.Th(name, scope="col") for name in [*names, f"Matched, {where}", f"Challenge, {where}"]]
    lines = []
    for configuration in at.configurations:
        letter = configuration.letter
        settings = settings_of(configuration.runs[0].config)
        cells: list[Any] = [
            html.Td(html.Span(letter, className=f"badge many-{letter.lower()}")),
            html.Th(
                html.A(configuration.name, href=link(configuration.runs[0].name), **{"data-nav": "1"}),
                scope="row",
                title=_seeds_said(configuration),
            ),
            *(html.Td(axis_value(axis, settings.get(axis)), className="soft") for axis in telling),
            html.Td(_verdicts(at, configuration)),
            html.Td(_steps(at, configuration), className="num"),
            html.Td(whole(configuration.runs[0].trained), className="num"),
            *(html.Td(values[quantity].get(letter, MISSING), className="num") for quantity in values),
        ]
        lines.append(html.Tr(cells))
    caption = html.Caption(
        f"Accuracies: the median of the seeds and their range; for a single seed, its {LEVEL_TEXT} interval."
    )
    return html.Table([caption, html.Thead(html.Tr(heads)), html.Tbody(lines)])


def _telling(configurations: Sequence[Configuration]) -> list[str]:
    """The settings in which they differ, the most distinctive first; without seeds."""
    axes = axes_of({one.letter: one.runs[0].config for one in configurations})
    first = ("task.name", "model.positions.name", "model.ids.name")
    order = {axis: place for place, axis in enumerate(first)}
    named = [axis for axis in axes if not axis.startswith("seeds.")]
    return sorted(named, key=lambda axis: (order.get(axis, len(order)), axis))[:MOST_SETTINGS]


def _seeds_said(one: Configuration) -> str:
    names = ", ".join(run.name for run in one.runs)
    return names if one.seeds <= len(one.runs) else f"{names}: the first {len(one.runs)} of {whole(one.seeds)} seeds"


def _verdicts(at: PanelCursor, one: Configuration) -> list[Any]:
    """How many of its seeds have which verdict at their steps."""
    steps = at.configuration_values["configurations"][one.letter]
    counted = Counter(verdict_at(run, steps[run.name]) for run in one.runs)
    made: list[Any] = []
    for verdict in (known for known in WORDS if counted[known]):
        made += [glyph(verdict), html.Span(f"{counted[verdict]} {WORDS[verdict].lower()} ", className="num")]
    more = one.seeds - len(one.runs)
    return [*made, html.Span(f"and {whole(more)} not read", className="soft")] if more > 0 else made


def _steps(at: PanelCursor, one: Configuration) -> str:
    steps = sorted(at.configuration_values["configurations"][one.letter].values())
    return span_of_steps(steps[0], steps[-1]).removeprefix("steps ").removeprefix("step ")


def _values(at: PanelCursor, shown: str) -> dict[str, str]:
    """Letter -> the accuracy, with its band, at the length that is paired with the selected one."""
    given = at.configuration_values
    try:
        data = configurations_over_length.data(rows_of(at, shown), configurations=given["configurations"], shown=shown)
    except NotMeasured:
        return {}
    values = {}
    for configuration in at.configurations:
        own = data.where(series=configuration.letter)
        lengths = [int(n) for n in own["length"]]
        pairs = partners(at.run.lengths, at.run.trained, lengths, configuration.runs[0].trained, at.axis)
        here = own.where(length=pairs.get(at.cursor.length, -1))
        if len(here):
            value, low, high = (float(here[name][0]) for name in ("value", "low", "high"))
            values[configuration.letter] = estimate(value, low, high)
    return values


def connect(app: Dash, context: Context) -> None:
    """Register the callback of the table and the script of the select box."""
    browser(app, "openConfigurations", Input("many-select", "value"), prevent_initial_call=True)

    @app.callback(
        Output("many-at-cursor", "children"),
        Input("step", "data"),
        Input("length", "data"),
        Input("run-version", "data"),
        Input("axis", "data"),
        State("head", "data"),
        State("run", "data"),
        State("extras", "data"),
    )
    def moved(step: int, length: int, _: Any, axis: str, head: str, run: str, extras: dict[str, str]) -> Any:
        view, cursor = place(context, run, step, length, head)
        at = PanelCursor.from_link(context.store, view, cursor, (extras or {}) | {"axis": axis})
        return at_cursor(at) if at.configurations else []
