"""The folded section *More pictures* of the Run page: six panels that combine several kinds of evidence."""

from __future__ import annotations

from dash import Dash, html

from workbench.core.thresholds import LEVEL_TEXT, MOST_COST, NAMING_SHARE
from workbench.dashboard.panels import callbacks, panel_frame
from workbench.dashboard.panels.panel_spec import Panel, PanelCursor, PanelSource
from workbench.dashboard.panels.panel_updates import memory
from workbench.dashboard.server.context import Context
from workbench.dashboard.state.chosen_configurations import seeds_like
from workbench.dashboard.state.run_view import RunView
from workbench.figures.rows.frame import Frame

MOST_SEEDS = 8
"""Seeds of one configuration in the order of events, the run itself included."""
EVENT_ROWS = ("behaviour", "probes.summary", "probes.position", "circuits.head_effect", "circuits.hardmax")
"""Measurements that decide an event."""


def _with_seeds(at: PanelCursor) -> tuple[PanelSource, ...]:
    """The rows that decide events, of the run and of further seeds of its configuration."""
    run = at.run
    alike = [] if at.store is None else [one for one in seeds_like(at.store, run) if one.name != run.name]
    runs = [run, *alike[: MOST_SEEDS - 1]]
    version = " ".join(one.rows_version for one in runs)
    frame = run.memo(
        ("event rows", version),
        lambda: Frame.concat([one.frame.where(measurement=list(EVENT_ROWS)) for one in runs]),
    )
    code = f"Table.load({run.root.as_posix()!r}).frame(run={[one.name for one in runs]!r})"
    return (PanelSource(frame, version, "frame", code),)


PICTURES: tuple[Panel, ...] = (
    Panel(
        id="event-order",
        row="pictures-training",
        column="training",
        title="Order of events",
        figure="event_order",
        measurement="behaviour",
        quantities=("verdict", "necessary_head", "hardmax_verdict"),
        about="Each lane is an event: it began after the hollow dot (last step without) and no later than the filled "
        "dot (first step with), and holds at every later step. Faint marks are other seeds. Events with overlapping "
        "brackets cannot be ordered, and an earlier event need not cause a later one.",
        read=_with_seeds,
    ),
    Panel(
        id="verdict-states",
        row="pictures-training",
        column="length",
        title="Verdict by step and length",
        figure="verdict_state_map",
        measurement="behaviour",
        quantities=("failure_length",),
        about="State that the verdict assigns to each checkpoint (horizontal) and prefix length (vertical); in a "
        "halved cell, left is matched and right is challenge. The solid line (matched) and the dotted line "
        "(challenge) mark the first failing length; blank cells are not tested.",
    ),
    Panel(
        id="failure-anatomy",
        row="pictures-failure",
        column="training",
        title="Right, wrong, and shortcuts",
        figure="failure_anatomy",
        measurement="behaviour",
        quantities=("accuracy", "shortcut_agreement"),
        about="Bars: shares of right and wrong answers from N on, matched left and challenge right. Markers: share of "
        "sequences on which the model and a shortcut are both right or both wrong, with "
        f"{LEVEL_TEXT} intervals. A filled marker means that the model is shown to follow the shortcut; coloured wrong "
        "answers are then wrong where the shortcut is wrong.",
    ),
    Panel(
        id="intervention-matrix",
        row="pictures-failure",
        column="length",
        title="Cost and recovery of each intervention",
        figure="intervention_matrix",
        measurement="diagnosis",
        quantities=("restored_share", "harm_inside"),
        about="Each dot is an intervention: its cost at N (horizontal) and the share of the accuracy drop that it "
        f"recovers (vertical, {LEVEL_TEXT} intervals); diamonds are controls. In the shaded corner it recovers at "
        f"least {NAMING_SHARE:g} and costs at most {MOST_COST:g}; the name of the cause is bold.",
    ),
    Panel(
        id="attended-distance",
        row="pictures-inside",
        column="training",
        title="How far back it attends",
        figure="attended_distance",
        measurement="circuits.positional",
        quantities=("attention_locality", "argmax_mass", "oracle_key_gap"),
        about="Distance back that holds 19/20 of a head\u2019s attention, over prefix length. The thick line is the "
        "selected head; on the dashed line a head attends to the whole prefix. Larger dots mean more attention on the "
        "top keys. The figure shows how far the answer\u2019s key scores below the best key, but not where it is.",
    ),
    Panel(
        id="code-fan",
        row="pictures-inside",
        column="length",
        title="Rotation of the code over length",
        figure="code_fan",
        measurement="probes.drift",
        quantities=("drift",),
        about=f"Angle between the code of the task state at each prefix length and at N, with {LEVEL_TEXT} intervals "
        "as arcs. Rays along the lower axis have the direction of the code at N. Compare with the hollow controls; a "
        "code that keeps its direction may still change in size, see Length coupling.",
    ),
)
"""The panels, which also exist in notebooks under the names of their figures."""

PICTURE_ROWS: dict[str, tuple[str, str, str]] = {
    "pictures-training": (
        "Over training",
        "When did each change happen?",
        "Left: each event lies between the last measured step without it and the first with it. Right: each cell is a "
        "step and a length; in a halved cell, the matched test set is left and the challenge test set right.",
    ),
    "pictures-failure": (
        "Failure",
        "How does it fail, and what recovers accuracy?",
        "Left: a bar is the share of right answers. A marker is the share of sequences on which the model and a "
        "shortcut are both right or both wrong. Between the two, wrong answers have the colour of a followed shortcut. "
        "Right: a good intervention costs little at N and recovers much past N.",
    ),
    "pictures-inside": (
        "Inside",
        "What do attention and the code do past N?",
        "Left: the line of a head that looks back a fixed distance stays level; the line of a head that attends to "
        "the whole prefix follows the dashed line. Right: if the rays lie together, the code has the same direction "
        "at all lengths.",
    ),
}


def section(run: RunView) -> list[html.Details]:
    """Return the folded section with its three rows of two panels."""
    rows = []
    for row, (name, question, help_text) in PICTURE_ROWS.items():
        rail = [html.H2(name), html.P(question, className="soft"), panel_frame.how_to_read(help_text)]
        shells = panel_frame.matrix_row(rail, [panel for panel in PICTURES if panel.row == row], run.specs, "two")
        rows.append(html.Div(shells, className="matrix more-row late"))
    summary = html.Summary("More pictures: order of events, states, interventions, shortcuts, attention, code")
    return [html.Details([summary, *rows, memory(PICTURES)], id="pictures", className="pictures")]


def connect(app: Dash, context: Context) -> None:
    """Register the callbacks of the panels."""
    callbacks.panels(app, context, PICTURES, late=True)
