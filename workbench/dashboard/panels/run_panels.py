"""The panels of the Run page: three kinds of evidence by three axes, and how training went."""

from __future__ import annotations

from dataclasses import replace

from workbench.dashboard.panels.panel_spec import Panel as Panel

_BAND = "Bands and whiskers are 95 % intervals; the sequence is the unit."
_CODES = (
    "Summary solid: one probe fitted at trained lengths and then frozen, so that it asks for one code at every "
    "length; dotted: refitted at each length. Position: refitted at each length, so that it asks whether position "
    "can be read at all. Dashed grey: the highest control. "
)

PANELS: tuple[Panel, ...] = (
    Panel(
        id="accuracy-training",
        row="behaviour",
        column="training",
        title="Accuracy",
        figure="accuracy_heatmap",
        takes=("trained", "checkpoints"),
        needs=(),
        measurement="behaviour",
        quantities=("accuracy",),
        about="Every checkpoint and prefix length, from chance to 1; grey: not measured. Below the dashed line: "
        "trained "
        "lengths.",
    ),
    Panel(
        id="accuracy-length",
        row="behaviour",
        column="length",
        title="Accuracy",
        figure="accuracy_over_length",
        takes=("trained", "step"),
        needs=("step",),
        measurement="behaviour",
        quantities=("accuracy",),
        about="Matched and challenge strings. The grey band is the accuracy a scale-robust run must keep. " + _BAND,
    ),
    Panel(
        id="failure",
        row="behaviour",
        column="cursor",
        title="Failure length",
        figure="failure_length",
        takes=("trained", "step", "layer", "head"),
        needs=("step", "head"),
        measurement="behaviour",
        quantities=("failure_length",),
        about="An arrow into the grey zone: no failure up to the longest length measured. Hollow: computed, not "
        "observed; the critical length of a head is counted in keys, <bos> among them.",
    ),
    Panel(
        id="decodability-training",
        row="representation",
        column="training",
        title="Decodability",
        figure="decodability_over_training",
        takes=("trained", "length"),
        needs=("length",),
        measurement="probes.summary",
        quantities=("summary_decodability", "position_decodability"),
        about=_CODES + _BAND,
    ),
    Panel(
        id="decodability-length",
        row="representation",
        column="length",
        title="Decodability",
        figure="decodability_over_length",
        takes=("trained", "step"),
        needs=("step",),
        measurement="probes.summary",
        quantities=("summary_decodability", "position_decodability"),
        about=_CODES + _BAND,
    ),
    Panel(
        id="layers",
        row="representation",
        column="cursor",
        title="By layer",
        figure="decodability_by_layer",
        takes=("step", "length"),
        needs=("step", "length"),
        measurement="probes.summary",
        quantities=("summary_decodability", "position_decodability"),
        about="The residual stream before the first block and after each. Dashed grey: the highest control.",
    ),
    Panel(
        id="heads-training",
        row="mechanism",
        column="training",
        title="Hardmax distance",
        figure="head_over_training",
        takes=("trained", "length", "layer", "head"),
        needs=("length", "head"),
        measurement="circuits.hardmax",
        quantities=("hardmax_distance",),
        about="The chosen head in ink, the others grey. 0: uniform on a set of keys and zero elsewhere. " + _BAND,
    ),
    Panel(
        id="heads-length",
        row="mechanism",
        column="length",
        title="Hardmax distance",
        figure="head_over_length",
        takes=("trained", "step", "layer", "head"),
        needs=("step", "head"),
        measurement="circuits.hardmax",
        quantities=("hardmax_distance",),
        about="The chosen head in ink, the others grey. " + _BAND,
    ),
    Panel(
        id="head-grid",
        row="mechanism",
        column="cursor",
        title="Hardmax distance by head",
        figure="head_grid_figure",
        takes=("step", "length", "layer", "head"),
        needs=("step", "length", "head"),
        measurement="circuits.hardmax",
        quantities=("hardmax_distance",),
        about="One cell per head; the small line runs over prefix length. A click chooses the head.",
        form="heads",
    ),
    Panel(
        id="loss",
        row="optimisation",
        column="training",
        title="Loss and accuracy",
        figure="loss_over_training",
        takes=(),
        needs=(),
        measurement="training",
        quantities=(),
        about="As logged while training: the loss above; below, accuracy at the longest trained length (inside) "
        "and at twice "
        "it (outside), 128 strings each. Nothing is selected on either.",
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
        takes=("trained",),
        needs=(),
        measurement="probes.length_coupling",
        quantities=("length_coupling", "length_coupling_in"),
        about="0: the same code past the trained lengths as within them; 1: nothing of it is left. Checkpoints "
        "that are not "
        "fitted are grey and dotted: they have no code yet that could stay the same. " + _BAND,
    ),
    Panel(
        id="coupling-length",
        row="code",
        column="length",
        title="Length coupling",
        figure="coupling_over_length",
        takes=("trained", "step"),
        needs=("step",),
        measurement="probes.length_coupling",
        quantities=("length_coupling_at",),
        about="How far the code at each length is from that of the longest trained length: of what the output "
        "uses, and of "
        "what the last block stores. " + _BAND,
    ),
    Panel(
        id="selectivity-training",
        row="use",
        column="training",
        title="Selectivity of the summary",
        figure="selectivity_over_training",
        takes=("trained", "length"),
        needs=("length",),
        measurement="probes.summary",
        quantities=("selectivity",),
        about="Solid: by how much the summary reads better than its best rival, after the last block. Dotted: how "
        "well it "
        "reads. Dashed grey: how well it reads before training. " + _BAND,
    ),
    Panel(
        id="erasure-length",
        row="use",
        column="length",
        title="Accuracy without it",
        figure="erasure_over_length",
        takes=("trained", "step", "layer"),
        needs=("step", "head"),
        measurement="probes.erasure",
        quantities=("erased_accuracy",),
        about="Accuracy when the summary, or the position, is erased from the stream after the chosen head's "
        "layer; dashed: "
        "when as many directions are erased at random. " + _BAND,
    ),
)

WHY: tuple[Panel, ...] = (
    Panel(
        id="restored",
        row="why",
        column="training",
        title="What restores it",
        figure="restored_shares",
        takes=("step",),
        needs=("step",),
        measurement="diagnosis",
        quantities=("restored_share",),
        about="A bar per repair that is applicable: the share of the loss that it gives back, in ink the one that "
        "names the cause. Hollow: the same kind of edit with the wrong constant. " + _BAND,
    ),
    Panel(
        id="harm",
        row="why",
        column="length",
        title="Harm at N",
        figure="harm_inside",
        takes=("step",),
        needs=("step",),
        measurement="diagnosis",
        quantities=("harm_inside",),
        about="What the same repairs cost at the longest trained length, where nothing is to be mended: in the grey "
        "zone a repair is not applicable. Hollow: the control.",
    ),
)

CIRCUIT: tuple[Panel, ...] = (
    Panel(
        id="circuit-graph",
        row="circuit",
        column="training",
        title="Circuit graph",
        figure="circuit_graph",
        takes=("trained", "step", "length", "connection"),
        needs=("step", "length", "extras"),
        measurement="circuits.connections",
        quantities=("connection_drop",),
        about="An edge is a connection whose cutting is shown to cost accuracy; the wider, the more. Its colour is "
        "what it costs here less what it costs at N. Dotted: shown at N, not here; dashed: accuracy rises without it. "
        "A node is the darker, the more is lost without all connections out of it. A click on an edge shows it over "
        "length.",
    ),
    Panel(
        id="connection-length",
        row="circuit",
        column="length",
        title="Without one connection",
        figure="connection_over_length",
        takes=("trained", "step", "length", "connection"),
        needs=("step", "length", "extras"),
        measurement="circuits.connections",
        quantities=("connection_drop",),
        about="Accuracy lost when the receiver alone reads the sender\u2019s mean. Dashed grey: when what it reads "
        "changes by as much in random directions. " + _BAND,
    ),
)

MORE = (
    Panel(
        id="more-training",
        row="more",
        column="training",
        title="Over training",
        figure="quantity_over_training",
        takes=("measurement", "quantity", "trained", "length", "layer", "head"),
        needs=("length", "head", "extras"),
        measurement="",
        quantities=(),
        about="Any quantity in the table. Lines are named by what tells them apart; of heads, the chosen one is in "
        "ink.",
    ),
    Panel(
        id="more-length",
        row="more",
        column="length",
        title="Over prefix length",
        figure="quantity_over_length",
        takes=("measurement", "quantity", "trained", "step", "layer", "head"),
        needs=("step", "head", "extras"),
        measurement="",
        quantities=(),
        about="Any quantity in the table. Lines are named by what tells them apart; of heads, the chosen one is in "
        "ink.",
    ),
)

IN_CONTEXT: tuple[Panel, ...] = (
    Panel(
        id="in-context",
        row="behaviour",
        column="training",
        title="Accuracy in context",
        figure="in_context_over_length",
        takes=("trained", "step"),
        needs=("step",),
        measurement="behaviour.in_context",
        quantities=("answer_accuracy", "candidate_accuracy", "candidate_chance"),
        about="How often an answer is right over the items of the question: among all tokens of the model, and among "
        "the task's symbols alone. The grey band is the accuracy that holding asks for. " + _BAND,
    ),
    Panel(
        id="in-context-heads",
        row="mechanism",
        column="training",
        title="Heads that look behind the repeat",
        figure="inducing_heads_over_length",
        takes=("trained", "step", "layer", "head"),
        needs=("step", "head"),
        measurement="circuits.heads",
        quantities=("induction_mass",),
        about="Share of attention on the key behind the earlier occurrence of the token at hand: the chosen head in "
        "ink, in grey the six that have most at the fewest items. " + _BAND,
    ),
    replace(BY_MATRIX["heads-length"], id="in-context-hardmax"),
    replace(BY_MATRIX["head-grid"], id="in-context-grid"),
)
"""Of a model that others trained and that was asked in its prompt: over items, not over training."""

IN_CONTEXT_DEEPER: tuple[Panel, ...] = (
    Panel(
        id="in-context-changed",
        row="in-context-use",
        column="training",
        title="With heads changed",
        figure="changed_heads_over_length",
        takes=("trained", "step"),
        needs=("step",),
        measurement="circuits.in_context",
        quantities=("changed_gain",),
        about="Accuracy among all tokens with heads changed, minus that of the model as it is. Readers: heads that "
        "attend to the answer at the fewest items and without which it is less likely there. Held: all their weight on "
        "the answer, which no model could do by itself; log K: scores scaled with the keys seen; out: replaced by "
        "means. Dashed: as many other heads. " + _BAND,
    ),
    Panel(
        id="in-context-layers",
        row="in-context-use",
        column="length",
        title="Held behind each layer",
        figure="held_by_layer",
        takes=("step", "length"),
        needs=("step", "length"),
        measurement="probes.in_context",
        quantities=("lens_accuracy", "item_position_r2"),
        about="Answer: right among the symbols when the residual stream goes straight to the output. Place: R\u00b2 of "
        "the number of an item by a linear probe; dashed, the same of embeddings. " + _BAND,
    ),
)
"""Further questions to such a model, shown where any of them was asked."""

BY_ID = {panel.id: panel for panel in (*PANELS, *IN_CONTEXT, *IN_CONTEXT_DEEPER, *DEEPER, *WHY, *CIRCUIT)}

ROWS: dict[str, tuple[str, str]] = {
    "behaviour": ("Behaviour", "Does it keep working?"),
    "representation": ("Representation", "What does it carry?"),
    "mechanism": ("Mechanism", "Is its attention hard or soft?"),
}
IN_CONTEXT_ROWS: dict[str, tuple[str, str, str]] = {
    "behaviour": ("Behaviour", "Does it keep answering?", "one tall"),
    "mechanism": ("Mechanism", "Do its heads keep looking?", ""),
}
"""Kind of evidence -> its name, its question, and the class of its row."""
IN_CONTEXT_DEEPER_ROWS: dict[str, tuple[str, str, str]] = {
    "in-context-use": ("Use", "Which heads decide, and what would mend it?", "two"),
}
DEEPER_ROWS: dict[str, tuple[str, str]] = {
    "code": ("Code", "Is it the same code past training?"),
    "use": ("Use", "Does the output depend on it?"),
}
CIRCUIT_ROW: dict[str, tuple[str, str]] = {"circuit": ("Circuit", "Who reads whom?")}
WHY_ROW: dict[str, tuple[str, str]] = {"why": ("Why", "What breaks it, what mends it?")}
COLUMNS: dict[str, str] = {
    "training": "Over training",
    "length": "Over prefix length",
    "cursor": "At the cursor",
}
HOW: dict[str, str] = {
    "behaviour": "Right of the magenta line, or above it, lie lengths that training never showed. A run that keeps "
    "working stays in the grey band, on matched and on challenge strings. An arrow on the right: it fails nowhere "
    "up to the longest length measured.",
    "representation": "Blue is the summary, orange is position. The transfer probe is one code for all lengths; where "
    "it falls and the refit one does not, the code has moved. Only what stands above the dashed controls says "
    "something.",
    "mechanism": "0: attention is uniform on its tie set and zero elsewhere. The chosen head is in ink; one that rises "
    "right of the magenta line has softened with length. A click in the grid chooses another head.",
    "why": "A bar is the share of the loss that one edit gives back, and hollow marks are its control: an edit that "
    "names the cause stands far above it, and does no harm at N.",
    "circuit": "Each connection is cut alone, all others stay. What several carry is lost by no single cut: a dark "
    "node without an edge out of it sends what it carries by more than one. Violet past N: less is lost than at N, "
    "perhaps because less is left to lose; the line below says what is lost without any input, here and at N.",
    "code": "0: what is read at a length lies where it lay at trained ones, as a transfer probe needs. 1: nothing of "
    "that is left.",
    "use": "A summary that is only readable can be erased without harm. One that is used costs accuracy when it goes, "
    "and random directions do not.",
    "in-context-use": "Readers that give back much when they are held, where other heads do not, have let go of the "
    "answer: their attention is what fails. What no reader gives back is lost elsewhere.",
    "heads": "A row of a map is a query, a column a key, dark is attention. Columns that are dark in many heads are "
    "tokens that all look at; a diagonal is a fixed distance.",
    "more": "Left: over training, at the cursor\u2019s length. Right: over prefix length, at the cursor\u2019s step. "
    "Bands are 95 % intervals.",
    "training": "As logged while training. Nothing is selected on what lies beyond the trained lengths.",
}
"""Row of the Run page -> how it is read; its jargon is that of :mod:`workbench.dashboard.components.terms`."""
LEGEND: tuple[tuple[str, str], ...] = (
    ("solid summary", "summary, fitted at trained lengths (transfer)"),
    ("dotted", "summary, refitted at each length"),
    ("solid position", "position, refitted at each length"),
    ("dashed", "highest control"),
    ("trained", "longest trained length"),
)
"""Style of a line, as a class of assets/css/run.css, and what it stands for."""
BANDS = "Bands and whiskers are 95\u00a0% intervals; n counts sequences."
EVIDENCE: dict[str, str] = {
    "fit": "accuracy-training",
    "past training": "accuracy-length",
    "near ties": "failure",
    "summary": "decodability-length",
    "position": "decodability-length",
    "head": "heads-length",
}
"""What a clause of the evidence is about -> the panel that shows it."""
