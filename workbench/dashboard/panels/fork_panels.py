"""The forks of a run on its page: their accuracy below that of the run, and the run that a fork was split from."""

from __future__ import annotations

from collections.abc import Sequence

from dash import Dash, html

from workbench.core.failures import isolate_errors
from workbench.core.names import BEHAVIOUR
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.panels import callbacks, panel_frame
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor, PanelSource
from workbench.dashboard.panels.panel_updates import memory
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.cursor import link
from workbench.dashboard.state.forks import other_lengths
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.store import Store
from workbench.figures.labels import whole
from workbench.figures.panels.forks import WHERE
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import tidy

MOST_NAMED = 6
"""Forks that the row names with a link."""
NAME, QUESTION = "Forks", "Do they end as this run does?"
HOW = (
    "A fork has the weights of this run up to its step, and other training data from there on. If all forks from a "
    "step end like this run, while runs with other seeds end differently, the outcome was decided by that step. Forks "
    "are not seeds of this run, and no band or count of seeds includes them."
)


def drawable_rows(fork: RunView) -> Frame:
    """Return the accuracies of a fork that a line can be drawn of; no rows if they contradict each other."""
    rows = fork.frame.where(measurement=BEHAVIOUR, **WHERE)
    with isolate_errors(lambda _: None, f"forks: rows of {fork.name}"):
        tidy(rows, fork.name, ["step", "length"])
        return rows
    return rows.take([])


def _with_forks(at: PanelCursor) -> tuple[PanelSource, ...]:
    """The behaviour of the run, and the accuracies of its forks."""
    run = at.run
    forks = [] if at.store is None else at.store.forks_of(run)
    version = " ".join(view.rows_version for view in (run, *forks))
    frame = run.memo(
        ("fork rows", version),
        lambda: Frame.concat([run.frame.where(measurement=BEHAVIOUR), *map(drawable_rows, forks)]),
    )
    names = [view.name for view in (run, *forks)]
    return (PanelSource(frame, version, "frame", f"Table.load({run.root.as_posix()!r}).frame(run={names!r})"),)


PANELS: tuple[Panel, ...] = (
    Panel(
        id="forks-training",
        row="forks",
        column="training",
        title="Accuracy of forks",
        figure="forks_over_training",
        measurement=BEHAVIOUR,
        quantities=("accuracy",),
        about="Accuracy (whole answers right, matched test set) at the selected length over training steps; thick: "
        "this run, thin: each fork from its step on. Dashed forks train on other lengths; if thin lines from one step "
        "end apart, the outcome was open there.",
        read=_with_forks,
    ),
    Panel(
        id="forks-length",
        row="forks",
        column="length",
        title="Accuracy of forks",
        figure="forks_over_length",
        measurement=BEHAVIOUR,
        quantities=("accuracy",),
        about="Accuracy (whole answers right, matched test set) over prefix length at the selected step; thick: this "
        "run, thin: each fork with rows at that step. If the thin lines stay together, the forks generalize alike.",
        read=_with_forks,
    ),
)


def section(run: RunView, forks: Sequence[RunView]) -> list[html.Div]:
    """Return the row of the forks of a run; empty for a run without forks, and for one without rows."""
    if not forks or not run.brief.rows:
        return []
    rail = [
        html.H2(NAME),
        html.P(QUESTION, className="soft"),
        html.P(_summary(run, forks)),
        html.P(_links(run, forks), className="soft fork-links"),
        *_to_measure(run, forks),
        panel_frame.how_to_read(HOW),
    ]
    row = panel_frame.matrix_row(rail, PANELS, run.specs, "two")
    return [html.Div([row, memory(PANELS)], id="forks", className="matrix more-row late")]


def _summary(run: RunView, forks: Sequence[RunView]) -> str:
    """How many forks there are, from which steps, and how many train on other lengths."""
    steps = sorted({fork.fork[1] for fork in forks if fork.fork is not None})
    changed = sum(bool(other_lengths(run, fork)) for fork in forks)
    count = f"{len(forks):,} fork{'s' * (len(forks) != 1)}"
    where = f"step{'s' * (len(steps) != 1)} {' and '.join(', '.join(map(whole, steps)).rsplit(', ', 1))}"
    other = f" {changed:,} of them train{'s' * (changed == 1)} on other lengths." if changed else ""
    return f"{count} from {where}.{other}"


def _links(run: RunView, forks: Sequence[RunView]) -> list[html.A | str]:
    """Links to the pages of the first forks, and how many more there are."""
    parts: list[html.A | str] = []
    for fork in forks[:MOST_NAMED]:
        short = fork.name.removeprefix(f"{run.name}-").rpartition("/")[2]
        parts += [html.A(short, href=link(fork.name), title=fork.name, **{"data-nav": "1"}), ", "]
    more = len(forks) - MOST_NAMED
    return [*parts[:-1], f" and {more:,} more"] if more > 0 else parts[:-1]


def _to_measure(run: RunView, forks: Sequence[RunView]) -> list[html.P | html.Div]:
    """The command that measures the forks without a row of accuracy; empty if there are none."""
    absent = [fork for fork in forks if BEHAVIOUR not in fork.measurement_names]
    if not absent:
        return []
    folders = " ".join(fork.typed_path for fork in absent[:MOST_NAMED])
    training = sum(fork.live for fork in absent)
    live = f" ({training:,} still training)" if training else ""
    return [
        html.P(f"{len(absent):,} of {len(forks):,} not measured{live}:"),
        command(f"lengthlens measure {folders} --only behaviour"),
    ]


def parent_line(store: Store, run: RunView) -> list[html.P]:
    """Return the sentence on the run that a fork was split from, with a link; empty for other runs."""
    if run.fork is None:
        return []
    parent, step = store.parent_of(run), run.fork[1]
    if parent is None:
        said = f"Fork at step {whole(step)} of a run that is not in this folder (id {run.fork[0][:8]})."
        return [html.P(said, className="meta fork-of")]
    lengths = other_lengths(parent, run)
    data = f"other training data, with {lengths}" if lengths else "other training sequences"
    return [
        html.P(
            [
                f"Fork at step {whole(step)} of ",
                html.A(parent.name, href=link(parent.name), className="mono", **{"data-nav": "1"}),
                f". From that step on, it has {data}.",
            ],
            className="meta fork-of",
        )
    ]


def connect(app: Dash, context: Context) -> None:
    """Register the callbacks of the panels."""
    callbacks.panels(app, context, PANELS, late=True)
