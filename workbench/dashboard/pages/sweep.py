"""The Sweep page: a phase diagram of any quantity over any two axes of the runs' configurations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import dash_mantine_components as dmc
import pandas as pd
import plotly.graph_objects as go
from dash import Dash, Input, Output, State, dcc, html, no_update
from dash.exceptions import PreventUpdate

from workbench.dashboard import panel
from workbench.dashboard.cursor import Notice, integer, query
from workbench.dashboard.registry import Drawn, FreePage, Visit
from workbench.dashboard.shell import banner, chevron, command, problems
from workbench.dashboard.store import Store
from workbench.dashboard.wiring import LOOK
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import whole
from workbench.figures.phase import REDUCTIONS, axes_of, axis_title, flatten, phase_diagram, phase_diagram_data

if TYPE_CHECKING:
    from workbench.dashboard.answers import Answers

KEYS = ("quantity", "x", "y", "step", "len", "over")
SERIES = ("measurement", "quantity", "law", "target", "mode")
"""What tells the lines of one quantity apart; a choice of the page fixes all of them."""
FIRST = ("behaviour", "accuracy", "matched", "", "teacher_forced")
LIKELY = ("training.learning_rate", "model.d_model", "model.positions.name", "task.name", "seeds.init")
PAIRS = (("training.learning_rate", "model.d_model"), ("model.positions.name", "task.name"))
"""What runs are usually swept over; the first pair that they do cross is shown at first."""
LAST = "last"


@dataclass(frozen=True)
class Sweep:
    """What the page shows.

    Attributes:
        series: measurement, quantity, law, target and mode.
        x: configuration axis to the right.
        y: configuration axis upwards.
        step: the last step that counts, or None for each run's last.
        length: prefix length, or None where the quantity has none.
        over: how layers and heads of a run become one value.
    """

    series: tuple[str, ...]
    x: str
    y: str
    step: int | None
    length: int | None
    over: str = "mean"

    def written(self) -> dict[str, str]:
        """The parts of its link, defaults left out."""
        parts = {"quantity": "|".join(self.series), "x": self.x, "y": self.y}
        parts |= {"step": str(self.step)} if self.step is not None else {}
        parts |= {"len": str(self.length)} if self.length is not None else {}
        return parts | ({"over": self.over} if self.over != "mean" else {})


class Choices:
    """What the runs here offer to choose from.

    Args:
        store: all runs.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.configs = {name: run.config for name, run in store.runs().items()}
        axes = axes_of(self.configs)
        order = {name: place for place, name in enumerate(LIKELY)}
        first = next((pair for pair in PAIRS if self._cross(pair)), ())
        listed = sorted(axes, key=lambda name: (order.get(name, len(order)), name))
        self.axes = [*first, *(name for name in listed if name not in first)] or ["task.name", "seeds.init"]
        self.pairs = sorted({pair for run in store.runs().values() for pair in run.brief.quantities})
        self.steps = sorted({step for run in store.runs().values() for step in run.measured_steps})

    def _cross(self, pair: tuple[str, str]) -> bool:
        """Whether every run has a place on both axes, and a third or more of their cells have a run."""
        places = [tuple(flatten(config).get(name) for name in pair) for config in self.configs.values()]
        sides = [len({place[k] for place in places}) for k in (0, 1)]
        return (
            min(sides, default=0) > 1
            and not any(None in p for p in places)
            and 3 * len({*places}) >= sides[0] * sides[1]
        )

    def rows(self, series: Sequence[str]) -> pd.DataFrame:
        """All runs' rows of one series, controls left out."""
        names = dict(zip(SERIES, series, strict=True))
        rows = self.store.across(names.pop("measurement"), names.pop("quantity"), control="")
        return rows[(rows[list(names)] == pd.Series(names)).all(axis=1)] if len(rows) else rows

    def series(self, measurement: str, quantity: str) -> list[tuple[str, ...]]:
        """The series that a quantity has, the most usual law, target and mode first."""
        rows = self.store.across(measurement, quantity, control="")
        found = rows[rows["value"].notna()][list(SERIES)].drop_duplicates()
        listed = [tuple(str(value) for value in row) for row in found.itertuples(index=False)]
        return sorted(listed, key=lambda one: (one != FIRST, one[2] != "matched", one[4] != "transfer", one))


def read(asked: Mapping[str, str], choices: Choices) -> tuple[Sweep, list[Notice]]:
    """What a link means here, with a notice for each part that the runs do not have."""
    notices: list[Notice] = []

    def refuse(what: str, shown: str) -> None:
        notices.append(Notice(f"This link names {what}, which no run here has.", f"Shown: {shown}.", "Keep"))

    series = _series(asked.get("quantity", ""), choices, refuse)
    axes = []
    for place, key in enumerate(("x", "y")):
        default = next((name for name in choices.axes if name not in axes), choices.axes[place % len(choices.axes)])
        wanted = asked.get(key, default)
        if wanted not in choices.axes:
            refuse(f"the axis {wanted}", axis_title(default))
            wanted = default
        axes.append(wanted)
    rows = choices.rows(series)
    lengths = sorted(int(n) for n in rows["length"].dropna().unique())
    length = integer(asked.get("len"))
    if length is not None and length not in lengths:
        refuse(f"length {whole(length)}", "the longest")
    if length not in lengths:
        length = lengths[-1] if lengths else None
    step = integer(asked.get("step"))
    over = asked.get("over", "mean")
    if over not in REDUCTIONS:
        refuse(f"\u201c{over}\u201d over layers and heads", "the mean")
        over = "mean"
    return Sweep(series, axes[0], axes[1], step, length, over), notices


def _series(text: str, choices: Choices, refuse: Any) -> tuple[str, ...]:
    wanted = tuple(text.split("|"))
    if len(wanted) == len(SERIES) and wanted[:2] in choices.pairs and wanted in choices.series(*wanted[:2]):
        return wanted
    pairs = [pair for pair in (FIRST[:2], *choices.pairs) if pair in choices.pairs]
    known = next((found for pair in pairs if (found := choices.series(*pair))), [FIRST])
    if text:
        refuse(f"the quantity {text}", _name(known[0]))
    return known[0]


def _name(series: Sequence[str]) -> str:
    quantity = series[1].replace("_", " ")
    rest = [part.replace("_", " ") for part in series[2:] if part not in ("", "matched", "teacher_forced")]
    return f"{quantity} ({', '.join(rest)})" if rest else quantity


@dataclass(frozen=True)
class PhasePanel:
    """The page's one panel, and its exports."""

    id: str = "phase"
    title: str = "Phase diagram"
    size: tuple[int, int] = (900, 560)

    def rows(self, answers: Answers, asked: Mapping[str, str]) -> pd.DataFrame:
        """The cells, a row each."""
        choices, sweep = _asked(answers, asked)
        return phase_diagram_data(choices.rows(sweep.series), choices.configs, **_arguments(sweep))

    def figure(self, answers: Answers, asked: Mapping[str, str], theme: str, size: int) -> go.Figure:
        """The diagram; raises NotMeasured where no run has a value."""
        choices, sweep = _asked(answers, asked)
        low, high = _range(answers.store, sweep.series)
        return phase_diagram(
            choices.rows(sweep.series),
            choices.configs,
            **_arguments(sweep),
            low=low,
            high=high,
            title=_name(sweep.series).capitalize(),
            theme=theme,  # type: ignore[arg-type]
            size=size,
        )

    def code(self, answers: Answers, asked: Mapping[str, str]) -> str:
        """Python that draws the same from the folder."""
        _, sweep = _asked(answers, asked)
        low, high = _range(answers.store, sweep.series)
        root = answers.store.roots[0].as_posix()
        where = "".join(f", {name}={value!r}" for name, value in zip(SERIES, sweep.series, strict=True))
        given = {**_arguments(sweep), "low": low, "high": high}
        arguments = "".join(f", {name}={value!r}" for name, value in given.items())
        return (
            "from workbench.figures import phase_diagram\n"
            "from workbench.runs.folder import find_runs\n"
            "from workbench.table import Table\n\n"
            f'configs = {{run.name: run.config for run in find_runs("{root}")}}\n'
            f'frame = Table.load("{root}").frame(control=""{where})\n'
            f"phase_diagram(frame, configs{arguments})\n"
        )

    def where(self, asked: Mapping[str, str]) -> str:
        """What its picture is of."""
        return "all runs"


PHASE = PhasePanel()


def _asked(answers: Answers, asked: Mapping[str, str]) -> tuple[Choices, Sweep]:
    choices = Choices(answers.store)
    return choices, read(asked, choices)[0]


def _arguments(sweep: Sweep) -> dict[str, Any]:
    return {"x": sweep.x, "y": sweep.y, "step": sweep.step, "length": sweep.length, "over": sweep.over}


def _range(store: Store, series: Sequence[str]) -> tuple[float | None, float | None]:
    """The colours' range where the quantity has one of its own; accuracies start at chance."""
    known = {q["name"]: q for q in store.specs.get(series[0], {}).get("quantities", ())}
    quantity = known.get(series[1], {})
    low, high = quantity.get("low"), quantity.get("high")
    if low is None or high is None:
        return None, None
    chances = [run.brief.chance for run in store.runs().values() if run.brief.chance]
    return (min(chances, default=low) if series[1] == "accuracy" else low), high


def layout(answers: Answers, visit: Visit) -> Drawn:
    """Selects above, the diagram below."""
    choices = Choices(answers.store)
    if not choices.pairs:
        said = html.P("A phase diagram needs measured runs. This trains many, and measures them:")
        body: list[Any] = [html.Div([said, command("lengthlens sweep sweeps/gallery.yaml")], className="empty")]
        notices = list(visit.notices)
    else:
        sweep, notices = read(visit.asked, choices)
        notices = [*visit.notices, *notices]
        body = [
            _selects(sweep, choices),
            _panel(),
            dcc.Store(id="sweep-asked", data=sweep.written()),
            dcc.Store(id="link"),
        ]
    content = html.Div(
        [
            html.Div(banner(notices, "/sweep"), id="banner"),
            html.Div(
                [
                    html.H1("Which configurations keep working?"),
                    html.P(
                        "One quantity over two axes along which the runs here differ. A cell is the median of its "
                        "runs; grey: no run.",
                        className="why",
                    ),
                ],
                className="headline",
            ),
            html.Div(problems(answers.store.problems), id="problems"),
            *body,
        ],
        className="content sweep-page",
    )
    return Drawn([content], "Sweep", waits=not choices.pairs)


def _selects(sweep: Sweep, choices: Choices) -> html.Div:
    quantities = []
    for measurement, pairs in _grouped(choices.pairs).items():
        items = [{"value": "|".join(pair), "label": pair[1].replace("_", " ")} for pair in pairs]
        quantities.append({"group": measurement, "items": items})
    kinds = choices.series(*sweep.series[:2])
    axes = [{"value": name, "label": axis_title(name)} for name in choices.axes]
    lengths = sorted(int(n) for n in choices.rows(sweep.series)["length"].dropna().unique())
    steps = [{"value": LAST, "label": "each run's last"}]
    steps += [{"value": str(step), "label": whole(step)} for step in choices.steps]
    offered = [{"value": "|".join(kind), "label": _kind(kind)} for kind in kinds]
    lined = [
        _select("sweep-quantity", "Quantity", quantities, "|".join(sweep.series[:2]), 230, searchable=True),
        _select("sweep-kind", "Law and mode", offered, "|".join(sweep.series), 190),
        _select("sweep-x", "To the right", axes, sweep.x, 190),
        _select("sweep-y", "Upwards", axes, sweep.y, 190),
        _select("sweep-step", "Training step", steps, LAST if sweep.step is None else str(sweep.step), 140),
        _select(
            "sweep-length",
            "Prefix length",
            [{"value": str(n), "label": whole(n)} for n in lengths] or [{"value": "", "label": "none"}],
            str(sweep.length or ""),
            120,
        ),
        _select("sweep-over", "Layers and heads", [{"value": o, "label": o} for o in REDUCTIONS], sweep.over, 120),
    ]
    return html.Div(lined, className="toolbar selects")


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
    about = [("", "Colours have the quantity's own range where it has one, else that of the cells.")]
    body = panel.graph_body("phase")
    return html.Div(panel.frame("phase", "Phase diagram", about, body), className="sweep-diagram")


def connect(app: Dash, answers: Answers) -> None:
    """Register the page's callbacks."""
    ids = ("sweep-kind", "sweep-x", "sweep-y", "sweep-step", "sweep-length", "sweep-over")

    @app.callback(
        Output("sweep-kind", "data"),
        Output("sweep-kind", "value"),
        Output("sweep-length", "data"),
        Output("sweep-length", "value"),
        Input("sweep-quantity", "value"),
        State("sweep-length", "value"),
        prevent_initial_call=True,
    )
    def chosen(quantity: str, length: str) -> Any:
        choices = Choices(answers.store)
        kinds = choices.series(*quantity.split("|")[:2]) or [(*quantity.split("|")[:2], "", "", "")]
        lengths = sorted(int(n) for n in choices.rows(kinds[0])["length"].dropna().unique())
        offered = [{"value": str(n), "label": whole(n)} for n in lengths] or [{"value": "", "label": "none"}]
        kept = length if length and int(length) in lengths else str(lengths[-1]) if lengths else ""
        return [{"value": "|".join(k), "label": _kind(k)} for k in kinds], "|".join(kinds[0]), offered, kept

    @app.callback(
        Output("sweep-asked", "data"),
        Output("link", "data", allow_duplicate=True),
        Output("banner", "children", allow_duplicate=True),
        *[Input(ident, "value") for ident in ids],
        prevent_initial_call=True,
    )
    def moved(kind: str, x: str, y: str, step: str, length: str, over: str) -> Any:
        at = None if step == LAST else integer(step)
        parts = Sweep(tuple(kind.split("|")), x, y, at, integer(length), over).written()
        return parts, {"path": "/sweep", "run": "", "href": "/sweep" + query(parts)}, []

    @app.callback(
        Output("phase-graph", "figure"),
        Output("phase-table", "children"),
        Output("phase-state", "children"),
        Output("phase-slice", "children"),
        Output("phase-figure", "aria-label"),
        Output("phase-body", "className"),
        Output("phase-title", "children"),
        Input("sweep-asked", "data"),
        LOOK,
        Input("phase-mode", "data"),
    )
    def draw(asked: dict[str, str], look: Any, mode: str) -> Any:
        if asked is None or look is None:
            raise PreventUpdate
        try:
            if mode == "table":
                table = panel.plain_table(PHASE.rows(answers, asked), "Phase diagram")
                return no_update, table, [], no_update, no_update, "body tabled", no_update
            figure = PHASE.figure(answers, asked, look["theme"], look["size"])
        except NotMeasured as missing:
            state = panel.does_not_apply(missing.message)
            return no_update, [], state, "", missing.message, "body stated", "Phase diagram"
        said = figure.layout.meta
        return figure, [], [], said["slice"], said["alt"], "body ready", said["title"]


PAGE = FreePage(path="/sweep", name="Sweep", order=60, layout=layout, connect=connect, panels=(PHASE,))
