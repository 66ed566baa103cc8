"""The panels of the Run page: three kinds of evidence by three axes, and how training went."""

from __future__ import annotations

from dataclasses import replace

from workbench.core.thresholds import LEVEL_TEXT
from workbench.dashboard.panels.panel_spec import Panel as Panel
from workbench.dashboard.state.run_kinds import RunKind

_CODES = (
    f"Decodability of the task state (summary, blue) and of position (orange), with {LEVEL_TEXT} intervals; dotted "
    "blue and orange probes are refitted at each length, the solid blue one is not. Where solid blue falls and dotted "
    "blue does not, the code changes with length; dashed grey is the highest control."
)

PANELS: tuple[Panel, ...] = (
    Panel(
        id="accuracy-training",
        row="behaviour",
        column="training",
        title="Accuracy",
        figure="accuracy_heatmap",
        without=("floor",),
        measurement="behaviour",
        quantities=("accuracy",),
        about="Accuracy (whole answers right; colour, from chance to 1) by checkpoint (horizontal) and prefix length "
        "(vertical); grey cells are not measured. Lengths below the dashed line were trained; above it, a model that "
        "generalizes keeps its colour.",
    ),
    Panel(
        id="accuracy-length",
        row="behaviour",
        column="length",
        title="Accuracy",
        figure="accuracy_over_length",
        measurement="behaviour",
        quantities=("accuracy",),
        about=f"Accuracy (whole answers right) over prefix length, with {LEVEL_TEXT} intervals, on the matched test "
        "set (baseline dashed: chance or bigram) and the challenge test set (baseline dotted: the best shortcut). A "
        "scale-robust model stays in the grey band; in the hatched zone the challenge test set is not tested.",
    ),
    Panel(
        id="failure",
        row="behaviour",
        column="cursor",
        title="Failure length",
        figure="failure_length",
        measurement="behaviour",
        quantities=("failure_length",),
        about="Filled: the first prefix length at which the model fails, per test set; hollow: attended "
        "keys (BOS included) at which the selected head is predicted to lose its margin. Further right is "
        "better: an arrow means no failure up to the longest tested length, and in the hatched zone challenge is not "
        "tested.",
    ),
    Panel(
        id="decodability-training",
        row="representation",
        column="training",
        title="Decodability",
        figure="decodability_over_training",
        without=("layer",),
        measurement="probes.summary",
        quantities=("summary_decodability", "position_decodability"),
        about=_CODES,
    ),
    Panel(
        id="decodability-length",
        row="representation",
        column="length",
        title="Decodability",
        figure="decodability_over_length",
        without=("layer",),
        measurement="probes.summary",
        quantities=("summary_decodability", "position_decodability"),
        about=_CODES,
    ),
    Panel(
        id="layers",
        row="representation",
        column="cursor",
        title="By layer",
        figure="decodability_by_layer",
        measurement="probes.summary",
        quantities=("summary_decodability", "position_decodability"),
        about="Decodability of the task state (summary, blue) and of position (orange) in the residual stream before "
        "the first block and after each block. Higher is better decoded; only values above the highest control "
        "(dashed grey) are evidence.",
    ),
    Panel(
        id="heads-training",
        row="mechanism",
        column="training",
        title="Hardmax distance",
        figure="head_over_training",
        measurement="circuits.hardmax",
        quantities=("hardmax_distance",),
        about=f"Hardmax distance over training steps, with {LEVEL_TEXT} intervals: the selected head is the thick "
        "line, the others are grey. At 0, attention is uniform on a set of keys and zero elsewhere; higher means "
        "softer attention.",
    ),
    Panel(
        id="heads-length",
        row="mechanism",
        column="length",
        title="Hardmax distance",
        figure="head_over_length",
        measurement="circuits.hardmax",
        quantities=("hardmax_distance",),
        about=f"Hardmax distance over prefix length, with {LEVEL_TEXT} intervals: the selected head is the thick "
        "line, the others are grey. A line that rises right of the magenta line is a head whose attention softens "
        "with length.",
    ),
    Panel(
        id="head-grid",
        row="mechanism",
        column="cursor",
        title="Hardmax distance by head",
        figure="head_grid_figure",
        measurement="circuits.hardmax",
        quantities=("hardmax_distance",),
        about="Hardmax distance of each head, a cell per head; the small line in a cell runs over prefix length. At 0 "
        "attention is hard, and higher means softer; click a cell to select its head.",
        form="heads",
    ),
    Panel(
        id="loss",
        row="optimisation",
        column="training",
        title="Loss and accuracy",
        figure="loss_over_training",
        measurement="training",
        quantities=(),
        about="Top: training loss over steps; bottom: accuracy at the longest trained length (inside) and at twice "
        "that length (outside), from 128 sequences each. Where only the outside line drops, the model does not "
        "generalize. Neither line is used to select settings or checkpoints.",
        source="log",
    ),
)

BY_MATRIX = {panel.id: panel for panel in PANELS}

DEEPER: tuple[Panel, ...] = (
    Panel(
        id="coupling-training",
        row="code",
        column="training",
        title="Length coupling",
        figure="coupling_over_training",
        measurement="probes.length_coupling",
        quantities=("length_coupling", "length_coupling_in"),
        about=f"Length coupling over training steps, with {LEVEL_TEXT} intervals; checkpoints that do not solve "
        "the trained lengths are grey and dotted, since they have no code yet. At 0 the code is the same at "
        "longer lengths as at trained lengths; at 1 nothing of that code is left.",
    ),
    Panel(
        id="coupling-length",
        row="code",
        column="length",
        title="Length coupling",
        figure="coupling_over_length",
        measurement="probes.length_coupling",
        quantities=("length_coupling_at",),
        about="Change of the code from trained lengths to each prefix length: of the code that the output uses, and "
        f"of the code that the last block stores, with {LEVEL_TEXT} intervals. At 0 the code is the same; at 1 "
        "nothing of it is left.",
    ),
    Panel(
        id="selectivity-training",
        row="use",
        column="training",
        title="Selectivity of the task state",
        figure="selectivity_over_training",
        measurement="probes.summary",
        quantities=("selectivity",),
        about="After the last block: solid, decodability of the task state minus that of its highest control, with "
        f"{LEVEL_TEXT} intervals; dotted, its decodability; dashed grey, its decodability before training. Where the "
        "solid line is near 0, the probe may decode something else.",
    ),
    Panel(
        id="erasure-length",
        row="use",
        column="length",
        title="Accuracy after erasure",
        figure="erasure_over_length",
        measurement="probes.erasure",
        quantities=("erased_accuracy",),
        about="Accuracy over prefix length after erasing the task state (summary) or position from the residual "
        f"stream behind the selected head\u2019s layer, with {LEVEL_TEXT} intervals. An accuracy below the dashed "
        "line, where equally many random directions are erased, means that the output uses what was erased.",
    ),
)

WHY: tuple[Panel, ...] = (
    Panel(
        id="restored",
        row="why",
        column="training",
        title="Accuracy recovered",
        figure="restored_shares",
        measurement="diagnosis",
        quantities=("restored_share",),
        about="Share of the accuracy drop that each applicable intervention recovers, with "
        f"{LEVEL_TEXT} intervals; the highlighted bar names the cause. Hollow diamonds are controls, the same "
        "intervention with a wrong constant: evidence for the cause is a bar far longer than its control.",
    ),
    Panel(
        id="harm",
        row="why",
        column="length",
        title="Cost at N",
        figure="harm_inside",
        measurement="diagnosis",
        quantities=("harm_inside",),
        about="Accuracy that each intervention costs at the longest trained length N, where there is nothing to "
        "recover; hollow diamonds are its controls. Near 0 is good; in the grey zone the cost is too high and the "
        "intervention is not applicable.",
    ),
)

CIRCUIT: tuple[Panel, ...] = (
    Panel(
        id="circuit-graph",
        row="circuit",
        column="training",
        title="Circuit graph",
        figure="circuits_over_length",
        measurement="circuits.connections",
        quantities=("connection_drop",),
        about="Each line is a connection, and its number is the cost of cutting it. The colour is the cost here "
        "minus that at N. A dotted line changes accuracy significantly only at N, and cutting a dashed line raises "
        "accuracy. The stronger the colour of a node, the more it costs to cut all its outputs. Click a line to plot "
        "it, or a node to pin it.",
    ),
    Panel(
        id="connection-length",
        row="circuit",
        column="length",
        title="Cost of cutting one connection",
        figure="connection_over_length",
        measurement="circuits.connections",
        quantities=("connection_drop",),
        about="Accuracy drop over prefix length when this receiver reads the mean of the sender; dashed grey: when "
        f"its input changes by the same amount in random directions, with {LEVEL_TEXT} intervals. Above the dashed "
        "line, the content of the connection matters.",
    ),
)

MORE = (
    Panel(
        id="more-training",
        row="more",
        column="training",
        title="Over training",
        figure="quantity_over_training",
        measurement="",
        quantities=(),
        about="The chosen quantity over training steps; the label of a line names what distinguishes it. The "
        "selected head is the thick line, and other heads are grey.",
    ),
    Panel(
        id="more-length",
        row="more",
        column="length",
        title="Over prefix length",
        figure="quantity_over_length",
        measurement="",
        quantities=(),
        about="The chosen quantity over prefix length; the label of a line names what distinguishes it. The selected "
        "head is the thick line, and other heads are grey.",
    ),
)

IN_CONTEXT: tuple[Panel, ...] = (
    Panel(
        id="in-context",
        row="behaviour",
        column="training",
        title="Accuracy in context",
        figure="in_context_over_length",
        measurement="behaviour.in_context",
        quantities=("answer_accuracy", "candidate_accuracy", "candidate_chance"),
        about="Accuracy (share of all answer tokens) over the number of items in the prompt, with "
        f"{LEVEL_TEXT} intervals: among all tokens of the model, and among only the task\u2019s symbols. A model "
        "whose verdict is that it holds stays in the grey band.",
    ),
    Panel(
        id="in-context-heads",
        row="mechanism",
        column="training",
        title="Induction heads",
        figure="inducing_heads_over_length",
        measurement="circuits.heads",
        quantities=("induction_mass",),
        about="Attention to the key after the earlier occurrence of the current token, over the number of items, "
        f"with {LEVEL_TEXT} intervals: the thick line is the selected head. Higher is a stronger induction head; the "
        "grey lines are the six heads with the most such attention at the fewest items.",
    ),
    replace(BY_MATRIX["heads-length"], id="in-context-hardmax"),
    replace(BY_MATRIX["head-grid"], id="in-context-grid"),
)
"""Panels of a model that others trained and that was evaluated in a prompt: over items, not over training."""

IN_CONTEXT_DEEPER: tuple[Panel, ...] = (
    Panel(
        id="in-context-changed",
        row="in-context-use",
        column="training",
        title="Interventions on heads",
        figure="changed_heads_over_length",
        measurement="circuits.in_context",
        quantities=("changed_gain",),
        about="Change of the accuracy among all tokens when heads are changed, over the number of items, with "
        f"{LEVEL_TEXT} intervals; dashed: the same change of other heads. Label “forced” puts all weight of the "
        "reading heads on the answer, “log K” scales scores with the number of attended keys, and “out” replaces "
        "outputs by their means.",
    ),
    Panel(
        id="in-context-layers",
        row="in-context-use",
        column="length",
        title="Decoded after each layer",
        figure="held_by_layer",
        measurement="probes.in_context",
        quantities=("lens_accuracy", "item_position_r2"),
        about="After each layer: accuracy among the task\u2019s symbols when the residual stream is unembedded "
        "directly (blue), and R\u00b2 of a linear probe of the item\u2019s index (orange). Higher is better decoded; "
        "dashed grey is the same probe on embeddings.",
    ),
)
"""Further panels of such a model, shown if any of their measurements exists."""

SECTION_PANELS: dict[str, tuple[Panel, ...]] = {
    "evidence": PANELS,
    "why": WHY,
    "deeper": DEEPER,
    "circuit": CIRCUIT,
    "items": IN_CONTEXT,
    "items-deeper": IN_CONTEXT_DEEPER,
}
"""Section of the Run page -> its panels, where they are the same for every run with that section."""


def panels_of(kind: RunKind) -> tuple[tuple[Panel, ...], tuple[Panel, ...]]:
    """Return the panels that every page of a kind shows, and those that are shown only for runs where they were
    measured.
    """
    first, *further = (SECTION_PANELS[section] for section in kind.sections if section in SECTION_PANELS)
    return first, tuple(panel for panels in further for panel in panels)


BY_ID = {panel.id: panel for panels in SECTION_PANELS.values() for panel in panels}

ROWS: dict[str, tuple[str, str]] = {
    "behaviour": ("Behaviour", "Does the model keep working?"),
    "representation": ("Representation", "What does the residual stream encode?"),
    "mechanism": ("Mechanism", "Is its attention hard or soft?"),
}
IN_CONTEXT_ROWS: dict[str, tuple[str, str, str]] = {
    "behaviour": ("Behaviour", "Does the model keep answering?", "one tall"),
    "mechanism": ("Mechanism", "Do its induction heads keep attending?", ""),
}
"""Kind of evidence -> its name, its question, and the class of its row."""
IN_CONTEXT_DEEPER_ROWS: dict[str, tuple[str, str, str]] = {
    "in-context-use": ("Use", "Which heads matter, and what recovers accuracy?", "two"),
}
DEEPER_ROWS: dict[str, tuple[str, str]] = {
    "code": ("Code", "Is the code the same past training?"),
    "use": ("Use", "Does the output use what the probes decode?"),
}
CIRCUIT_ROW: dict[str, tuple[str, str]] = {"circuit": ("Circuit", "Which component reads which?")}
WHY_ROW: dict[str, tuple[str, str]] = {"why": ("Why", "What causes the accuracy drop, and what recovers it?")}
COLUMNS: dict[str, str] = {
    "training": "Over training",
    "length": "Over prefix length",
    "cursor": "Selected step and length",
}
HOW: dict[str, str] = {
    "behaviour": "Lengths right of the magenta line, or above it in the heatmap, were never trained. A model that "
    "keeps working stays in the grey band, on the matched and on the challenge test set. An arrow in the right panel "
    "means: no failure up to the longest tested length.",
    "representation": "Blue is the task state (what the answer needs of the prefix, e.g. a count), and orange is "
    "the position. The transfer probe (solid) is one probe "
    "for all lengths. Where it falls and the refit probe (dotted) does not, the code changes with length. Only values "
    "above the dashed controls are evidence.",
    "mechanism": "At 0, attention is uniform on its tie set and zero elsewhere. The thick line is the selected head. "
    "If it rises right of the magenta line, its attention softens with length. Click a cell of the grid to select "
    "another head.",
    "why": "A bar is the share of the accuracy drop that one intervention recovers, and hollow marks are its control. "
    "The intervention that names the cause recovers far more than its control and costs almost nothing at N.",
    "circuit": "Each connection is cut separately, and all others stay. If several connections carry the same "
    "information, no single cut lowers accuracy: a node with a strong colour and no lines sends information through "
    "more than one connection. Violet past N means that a cut costs less than at N, perhaps because less accuracy is "
    "left. The line below the graph gives the accuracy drop without any input, here and at N.",
    "code": "At 0, the task state is encoded as at trained lengths, so that a transfer probe can read it. At 1, "
    "nothing of that code is left.",
    "use": "If the task state is only decodable, accuracy stays the same when it is erased. If the output uses the "
    "task state, accuracy drops when it is erased, but not when random directions are erased.",
    "in-context-use": "Readers are the heads that attend to the answer at the fewest items and whose removal makes "
    "the answer less likely. If forcing their attention onto the answer recovers accuracy, and forcing other heads "
    "does not, their attention is what fails. If no reader recovers accuracy, the failure is in another component. "
    "Forcing needs the answer, so no model could do it by itself.",
    "heads": "A row of a map is a query, a column is a key, and a stronger colour is more attention. A column with a "
    "strong colour in many heads is a token that all of them attend to. A diagonal is attention at a fixed distance.",
    "more": "The left panel shows training steps at the selected length. The right panel shows prefix lengths at the "
    f"selected step. Bands are {LEVEL_TEXT} intervals.",
    "training": "These values were logged during training. Nothing is selected on accuracy beyond the trained lengths.",
}
"""Row of the Run page -> how it is read; its jargon is that of :mod:`workbench.dashboard.components.terms`."""
SUMMARY = "summary"
"""CSS class of lines of the task state."""
LEGEND: tuple[tuple[str, str], ...] = (
    (f"solid {SUMMARY}", "task state (summary), one probe fitted at trained lengths (transfer)"),
    ("dotted", "task state (summary), refitted at each length"),
    ("solid position", "position, refitted at each length"),
    ("dashed", "highest control"),
    ("trained", "longest trained length"),
    ("hatched", "challenge test set not tested"),
)
"""Style of a line, as a class of assets/css/run.css, and what it stands for."""
BANDS = "Bands and whiskers are 95\u00a0% intervals; n counts sequences."
EVIDENCE: dict[str, str] = {
    "fit": "accuracy-training",
    "past training": "accuracy-length",
    "small margins": "failure",
    "summary": "decodability-length",
    "position": "decodability-length",
    "head": "heads-length",
}
"""What a clause of the evidence is about -> the panel that shows it."""
