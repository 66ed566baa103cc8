"""The Compare page: A, B and their difference at one selection, all seeds of both, or up to eight configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from dash import Dash, Input, Output, State, dcc, html

from workbench.core.verdicts import LENGTH_COUPLED, SCALE_ROBUST
from workbench.dashboard.components import prose
from workbench.dashboard.components.cursorbar import run_select
from workbench.dashboard.components.icons import chip, glyph, icon
from workbench.dashboard.components.slider_curves import verdict_at
from workbench.dashboard.pages import compare_many
from workbench.dashboard.pages.cursor_page import CursorPage
from workbench.dashboard.panels import callbacks, panel_frame
from workbench.dashboard.panels.callbacks import PARTS, browser, place
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor, PanelSource
from workbench.dashboard.panels.panel_updates import memory
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.chosen_configurations import choose_configurations, escape_name, link_value, seeds_like
from workbench.dashboard.state.cursor import Cursor, Notice, default_step
from workbench.dashboard.state.run_kinds import NEIGHBOURS, ComparedRun, compared_as
from workbench.dashboard.state.run_view import RunView
from workbench.figures.labels import MISSING, proportion, whole
from workbench.figures.panels.many_seeds import SHOWN
from workbench.figures.rows.multiples import step_partners
from workbench.tasks.known_tasks import task_label

BADGES = {"a": "A", "b": "B", "d": "A \u2212 B"}
TITLES = {
    "accuracy": ("Accuracy", "A and B have the same range of colours."),
    "decodability": ("Decodability", "Of the task state (summary) and of position, over prefix length."),
    "heads": ("Hardmax distance", "By head, at the selected step and length."),
    "in-context": ("Accuracy in context", "Over the number of items in the prompt."),
    "seeds-accuracy": ("Accuracy", "Every seed of A and of B, with medians."),
    "seeds-summary": ("Task state (summary)", "Decodability after the last block, by one probe for all lengths."),
    "seeds-position": ("Position", "Decodability after the last block, by a probe refitted at each length."),
}
_RANGE = "Thin lines are seeds, and the thick line is their median. The band runs from the lowest to the highest seed."
_DIFFERENCE = (
    "A \u2212 B, at equal multiples of each run\u2019s N, or at equal lengths where the axis shows tokens. Positive "
    "values mean that A is higher. The interval assumes that the runs are independent (method square-and-add)."
)


def seeds_of(run: RunView, at: PanelCursor) -> list[RunView]:
    """Return all runs that differ from a run only in their seeds, with the run itself."""
    return seeds_like(at.store, run) if at.store is not None else [run]


def _seeds(run: RunView, at: PanelCursor, shown: str, name: str) -> PanelSource:
    """One quantity's rows of all seeds of a run."""
    assert at.store is not None
    where = SHOWN[shown]
    seeds = seeds_of(run, at)
    names = [one.name for one in seeds]
    frame = at.store.across(runs=seeds, **where)
    given = "".join(f", {key}={value!r}" for key, value in where.items())
    code = f"Table.load({run.root.as_posix()!r}).frame(run={names!r}{given})"
    return PanelSource(frame, " ".join(one.rows_version for one in seeds), name, code)


def _panels() -> tuple[Panel, ...]:
    panels: list[Panel] = []

    sides: tuple[Literal["a", "b"], ...] = ("a", "b")

    def three(row: str, figure: str, other: str, without: tuple[str, ...] = (), **more: Any) -> None:
        title = TITLES[row][0]
        for side in sides:
            panels.append(
                Panel(
                    id=f"cmp-{row}-{side}",
                    row=row,
                    column=side,
                    title=title,
                    figure=figure,
                    without=without,
                    side=side,
                    **more,
                )
            )
        panels.append(
            Panel(
                id=f"cmp-{row}-d",
                row=row,
                column="d",
                title=f"{title}, A \u2212 B",
                figure=other,
                source="both",
                **more | {"about": _DIFFERENCE},
            )
        )

    three(
        "accuracy",
        "accuracy_heatmap",
        "accuracy_difference",
        measurement="behaviour",
        quantities=("accuracy",),
        about="Accuracy (colour) by checkpoint (horizontal) and prefix length (vertical). Lengths below the dashed "
        "line were trained.",
    )
    three(
        "decodability",
        "decodability_over_length",
        "decodability_difference",
        without=("layer",),
        measurement="probes.summary",
        quantities=("summary_decodability", "position_decodability"),
        about="Decodability over prefix length; solid blue is the task state by one probe fitted at trained lengths, "
        "dotted blue and orange (position) are refitted at each length. Higher is better decoded.",
    )
    three(
        "heads",
        "head_grid_figure",
        "head_grid_difference_figure",
        measurement="circuits.hardmax",
        quantities=("hardmax_distance",),
        about="Hardmax distance, a cell per head; the small line in a cell runs over prefix length. At 0 attention "
        "is hard, and higher means softer.",
        form="heads",
    )
    return tuple(panels)


def _seed_panels() -> tuple[Panel, ...]:
    panels: list[Panel] = []
    for quantity in ("accuracy", "summary", "position"):
        row = f"seeds-{quantity}"
        for side in ("a", "b", "d"):
            both = side == "d"

            def read(at: PanelCursor, quantity: str = quantity, both: bool = both) -> tuple[PanelSource, ...]:
                if not both:
                    return (_seeds(at.run, at, quantity, "frame"),)
                return _seeds(at.run, at, quantity, "a"), _seeds(at.other or at.run, at, quantity, "b")

            panels.append(
                Panel(
                    id=f"cmp-{row}-{side}",
                    row=row,
                    column=side,
                    title=TITLES[row][0] + (", A and B" if both else ""),
                    figure="seeds_compared" if both else "seeds_over_length",
                    measurement=SHOWN[quantity]["measurement"],
                    quantities=(SHOWN[quantity]["quantity"],),
                    about="Medians over seeds: A is solid, B is dashed. Bands run from the lowest to the highest seed."
                    if both
                    else _RANGE,
                    side="b" if side == "b" else "a",
                    settings={"shown": quantity} if both else {"shown": quantity, "colour": side},
                    read=read,
                )
            )
    return tuple(panels)


def _in_context_panels() -> tuple[Panel, ...]:
    """Panels of accuracy over items, for two models that were evaluated in a prompt."""
    shared: dict[str, Any] = {
        "row": "in-context",
        "measurement": "behaviour.in_context",
        "quantities": ("answer_accuracy", "candidate_accuracy"),
    }
    sides: tuple[Literal["a", "b"], ...] = ("a", "b")
    title, about = TITLES["in-context"]
    each = [
        Panel(id=f"cmp-in-context-{side}", column=side, title=title, figure="in_context_over_length", side=side,
              about=about, **shared)
        for side in sides
    ]  # fmt: skip
    difference = Panel(
        id="cmp-in-context-d", column="d", title=f"{title}, A \u2212 B", figure="in_context_difference", source="both",
        about="A \u2212 B at equal numbers of items; positive values mean that A is higher. The interval "
        "assumes that the runs are independent (method square-and-add). For right and left neighbour, the sentence "
        "above compares answers on the same sequences.",
        **shared,
    )  # fmt: skip
    # Panels of a group are drawn by one call, which asks for all of them: those of heads here are others.
    heads = (replace(one, id=one.id.replace("heads", "in-context-heads")) for one in PANELS if one.row == "heads")
    return (*each, difference, *heads)


PANELS, SEED_PANELS = _panels(), _seed_panels()
IN_CONTEXT = _in_context_panels()
COMPARED = {"prefixes": PANELS, "items": IN_CONTEXT}
"""What kinds of run call their panels here -> these."""


def check(context: Context, run: RunView, extras: Mapping[str, str]) -> tuple[dict[str, str], list[Notice]]:
    """Return the valid extras of a link. B is the run that the link names, or else the most informative one
    (:func:`likeliest`).

    If the link chooses configurations, the page shows them, and B only if the link names it.
    """
    runs, notices = context.store.comparable_runs(), []
    name_b = extras.get("run2", "")
    steps = extras.get("steps", "")
    if steps not in ("", "step"):
        message = f"This link pairs checkpoints by \u201c{steps[:40]}\u201d, which does not exist."
        notices.append(Notice(message, "The page pairs checkpoints at equal shares of each run’s training.", "Keep"))
    seeds = "1" if extras.get("seeds") == "1" else ""
    kept = {"run2": name_b, "seeds": seeds, "steps": "step" if steps == "step" else "", "configs": ""}
    if extras.get("configs"):
        configurations, stale = choose_configurations(context.store, run, extras["configs"])
        configs = link_value(configurations, run)
        return kept | {"run2": name_b if name_b in runs else "", "configs": configs}, [*notices, *stale]
    if name_b not in runs:
        default = likeliest(run, [one for one in runs.values() if one.name != run.name and one.measurement_names]).name
        message = f"This link names the second run {name_b}, which is not in this folder."
        notices += [Notice(message, f"The page shows {default}.", f"Keep {default}")] if name_b else []
        kept["run2"] = default
    return kept, notices


OPPOSITE = {SCALE_ROBUST: LENGTH_COUPLED, LENGTH_COUPLED: SCALE_ROBUST}


def likeliest(run: RunView, others: Sequence[RunView]) -> RunView:
    """Return the run with which a run is compared, if the link names no other run.

    The first choice is the same configuration with another seed. The next is a run of the same task with the opposite
    verdict, each at its last checkpoint. Then follow any run of the same task, any other run, and the run itself. A
    model that was evaluated in a prompt shares no panel with a trained one, so runs of the other kind come last.
    """
    others = [one for one in others if one.kind is run.kind] or others
    alike = [one for one in others if one.task == run.task]
    opposite = OPPOSITE.get(verdict_at(run, default_step(run)))
    seeds = [one for one in alike if one.family == run.family]
    apart = [one for one in alike if verdict_at(one, default_step(one)) == opposite]
    return next(iter([*seeds, *apart, *alike, *others]), run)


def pick(extras: Mapping[str, str]) -> html.Div:
    """Return the first cell of the selection row: buttons that swap the runs, show all seeds, or compare
    configurations.
    """
    if extras.get("configs"):
        return compare_many.pick(extras)
    pressed = {"data-seeds": "1", "aria-pressed": "true" if extras.get("seeds") == "1" else "false"}
    swap = html.Button([icon("swap"), "Swap A and B"], className="button", type="button", **{"data-swap": "1"})
    seeds = html.Button("Seeds", className="button", type="button", **pressed)
    others = {"data-configs": escape_name(extras.get("run2", "")), "title": "Up to eight configurations, a line each"}
    many = html.Button("More", className="button", type="button", **others)
    caption = [html.Span("Two runs, steps paired by", className="caption"), compare_many.shares(extras)]
    return html.Div(
        [html.Div(caption, className="paired"), html.Div([swap, seeds, many], className="buttons")],
        className="cell pick two",
    )


def content(context: Context, run: RunView, cursor: Cursor, extras: Mapping[str, str]) -> list[Any]:
    """Return three equal columns (A, B and their difference), with a row of panels for each kind of evidence."""
    at = PanelCursor.from_link(context.store, run, cursor, extras)
    if at.configurations:
        return compare_many.content(context, at)
    run_b = at.other or run
    names = [name for name, one in context.store.comparable_runs().items() if one.measurement_names] or [run.name]
    seeds = extras.get("seeds") == "1"
    panels = SEED_PANELS if seeds else COMPARED[compared_as(run, run_b).compared]
    heads: list[Any] = []
    for side, ident, here in (("a", "run-select", at), ("b", "run2-select", at.other_side)):
        select = run_select(here.run, here.cursor, names, ident, label=f"Run {side.upper()}")
        heads.append(_head(side, select))
    heads.append(_head("d", html.Strong("Medians over seeds" if seeds else "Difference"), seeds))
    specs = {**run_b.specs, **run.specs}
    rows: list[Any] = []
    for row in dict.fromkeys(made.row for made in panels):
        title, says = TITLES[row]
        rail = [html.H2(title), html.P(says, className="soft")]
        rows.append(panel_frame.matrix_row(rail, [made for made in panels if made.row == row], specs))
    stores = [dcc.Store(id="lines-beside", data=at.lines_beside), dcc.Store(id="stops-beside", data=at.stops_beside)]
    below = [*rows, memory(panels), *stores]
    matrix = html.Div([html.Div(heads, className="matrix-row sides"), *below], className="matrix compare")
    return [html.H1("Compare two runs", className="sr"), matrix]


def _head(side: str, what: Any, seeds: bool = False) -> html.Div:
    letters = [letter for letter in "AB" if side in (letter.lower(), "d")]
    badges = [html.Span(letter, className=f"badge {letter.lower()}") for letter in letters]
    if side == "d" and not seeds:
        badges.insert(1, html.Span("\u2212", **{"aria-hidden": "true"}))
    return html.Div(
        [
            html.Div([*badges, what, html.Span(id=f"cmp-chip-{side}")], className="who"),
            html.P(id=f"cmp-said-{side}", className="why"),
        ],
        className=f"side {side}",
        style={"gridArea": side},
    )


def heads_of(at: PanelCursor, seeds: bool) -> tuple[Any, ...]:
    """Return the verdicts and sentences of A and B, and the settings in which they differ."""
    parts: list[Any] = []
    for side in (at, at.other_side):
        verdict = verdict_at(side.run, side.cursor.step)
        if seeds:
            count = len(seeds_of(side.run, side))
            text: list[Any] = [f"{count} seed{'' if count == 1 else 's'} of this configuration."]
        else:
            text = prose.verdict(side.run, side.cursor)
        if side.cursor.step != at.cursor.step:
            text = [*text, html.Span(other_step(at, side), className="soft")]
        parts += [chip(verdict), text]
    return (*parts, [] if seeds else _difference(at))


def other_step(at: PanelCursor, beside: PanelCursor) -> str:
    """Return why the page shows B at another step than A; "" if it does not."""
    (mine, end), (step, end_b) = ((view.cursor.step, default_step(view.run)) for view in (at, beside))
    if mine == end:
        return f" The last checkpoints are compared: A at step {whole(mine)}, B at step {whole(step)}."
    if at.pairing == "step":
        return f" B has no step {whole(mine)}; the page shows step {whole(step)}."
    shares = [proportion(view / last) if last else MISSING for view, last in ((mine, end), (step, end_b))]
    near = step_partners(at.run.measured_steps, beside.run.measured_steps).get(mine) == step
    why = "Same share of training, within a quarter" if near else "B has no checkpoint near this share of training"
    return f" {why}: A at step {whole(mine)} ({shares[0]}), B at step {whole(step)} ({shares[1]})."


def _difference(at: PanelCursor) -> list[Any]:
    a, b = (ComparedRun(one.run.frame, one.run.task, one.run.trained, one.cursor.step) for one in (at, at.other_side))
    said = prose.pieces(compared_as(at.run, at.other_side.run).difference(a, b, at.axis))
    if a.task == b.task or {a.task, b.task} == NEIGHBOURS:
        return said
    return [f"The tasks differ: A is {task_label(a.task)}, B is {task_label(b.task)}. ", *said]


def connect(app: Dash, context: Context) -> None:
    """Register the page's callbacks."""
    browser(app, "beside", Input("lines-beside", "data"))
    browser(app, "stopsBeside", Input("stops-beside", "data"))
    browser(app, "openOther", Input("run2-select", "value"), prevent_initial_call=True)
    compare_many.connect(app, context)
    for group in (PANELS, SEED_PANELS, IN_CONTEXT, compare_many.PANELS):
        callbacks.panels(app, context, group)

    @app.callback(
        *[Output(f"cmp-{what}-{side}", "children") for side in "ab" for what in ("chip", "said")],
        Output("cmp-said-d", "children"),
        Output("run2-select", "leftSection"),
        Input("step", "data"),
        Input("run-version", "data"),
        State("length", "data"),
        State("head", "data"),
        State("run", "data"),
        State("extras", "data"),
        Input("axis", "data"),
    )
    def write_extras(step: int, _: Any, length: int, head: str, run: str, extras: dict[str, str], axis: str) -> Any:
        view, cursor = place(context, run, step, length, head)
        at = PanelCursor.from_link(context.store, view, cursor, extras | {"axis": axis})
        return *heads_of(at, extras.get("seeds") == "1"), glyph(
            verdict_at(at.other_side.run, at.other_side.cursor.step)
        )

    @app.callback(
        Output("lines-beside", "data"),
        Input("step", "data"),
        Input("length", "data"),
        Input("run-version", "data"),
        Input("axis", "data"),
        State("head", "data"),
        State("run", "data"),
        State("extras", "data"),
    )
    def lines(step: int, length: int, _: Any, axis: str, head: str, run: str, extras: dict[str, str]) -> Any:
        view, cursor = place(context, run, step, length, head)
        return PanelCursor.from_link(context.store, view, cursor, extras | {"axis": axis}).lines_beside

    @app.callback(
        Output("stops-beside", "data"),
        Input("run-version", "data"),
        Input("axis", "data"),
        *[State(part, "data") for part in PARTS],
        State("run", "data"),
        State("extras", "data"),
    )
    def stops(_: Any, axis: str, step: int, length: int, head: str, run: str, extras: dict[str, str]) -> Any:
        view, cursor = place(context, run, step, length, head)
        return PanelCursor.from_link(context.store, view, cursor, extras | {"axis": axis}).stops_beside


PAGE = CursorPage(
    path="/compare",
    name="Compare",
    connect=connect,
    content=content,
    extras={"run2": "", "seeds": "", "steps": "", "configs": ""},
    check=check,
    pick=pick,
    explicit=True,
    panels=PANELS + SEED_PANELS + IN_CONTEXT + compare_many.PANELS,
)
