"""The panels of the Run page: three kinds of evidence by three axes, and how training went."""

from __future__ import annotations

from workbench.dashboard.drawing import Panel as Panel

_BAND = "Bands and whiskers are 95 % intervals; the sequence is the unit."
_CODES = (
    "Summary solid: one probe fitted at trained lengths and then frozen, so that it asks for one code at every "
    "length; dotted: refitted at each length. Position: refitted at each length, so that it asks whether position "
    "can be read at all. Dashed grey: the highest control. "
)

PANELS: tuple[Panel, ...] = (
    Panel(
        "accuracy-training",
        "behaviour",
        "training",
        "Accuracy",
        "accuracy_heatmap",
        ("trained", "checkpoints"),
        (),
        "behaviour",
        ("accuracy",),
        "Every checkpoint and prefix length, from chance to 1; grey: not measured. Below the dashed line: trained "
        "lengths.",
    ),
    Panel(
        "accuracy-length",
        "behaviour",
        "length",
        "Accuracy",
        "accuracy_over_length",
        ("trained", "step"),
        ("step",),
        "behaviour",
        ("accuracy",),
        "Matched and challenge strings. The grey band is the accuracy a scale-robust run must keep. " + _BAND,
    ),
    Panel(
        "failure",
        "behaviour",
        "cursor",
        "Failure length",
        "failure_length",
        ("trained", "step", "layer", "head"),
        ("step", "head"),
        "behaviour",
        ("failure_length",),
        "An arrow into the grey zone: no failure up to the longest length measured.",
    ),
    Panel(
        "decodability-training",
        "representation",
        "training",
        "Decodability",
        "decodability_over_training",
        ("trained", "length"),
        ("length",),
        "probes.summary",
        ("summary_decodability", "position_decodability"),
        _CODES + _BAND,
    ),
    Panel(
        "decodability-length",
        "representation",
        "length",
        "Decodability",
        "decodability_over_length",
        ("trained", "step"),
        ("step",),
        "probes.summary",
        ("summary_decodability", "position_decodability"),
        _CODES + _BAND,
    ),
    Panel(
        "layers",
        "representation",
        "cursor",
        "By layer",
        "decodability_by_layer",
        ("step", "length"),
        ("step", "length"),
        "probes.summary",
        ("summary_decodability", "position_decodability"),
        "The residual stream before the first block and after each. Dashed grey: the highest control.",
    ),
    Panel(
        "heads-training",
        "mechanism",
        "training",
        "Hardmax distance",
        "head_over_training",
        ("trained", "length", "layer", "head"),
        ("length", "head"),
        "circuits.hardmax",
        ("hardmax_distance",),
        "The chosen head in ink, the others grey. 0: uniform on a set of keys and zero elsewhere. " + _BAND,
    ),
    Panel(
        "heads-length",
        "mechanism",
        "length",
        "Hardmax distance",
        "head_over_length",
        ("trained", "step", "layer", "head"),
        ("step", "head"),
        "circuits.hardmax",
        ("hardmax_distance",),
        "The chosen head in ink, the others grey. " + _BAND,
    ),
    Panel(
        "head-grid",
        "mechanism",
        "cursor",
        "Hardmax distance by head",
        "head_grid_figure",
        ("step", "length", "layer", "head"),
        ("step", "length", "head"),
        "circuits.hardmax",
        ("hardmax_distance",),
        "One cell per head; the small line runs over prefix length. A click chooses the head.",
        form="heads",
    ),
    Panel(
        "loss",
        "optimisation",
        "training",
        "Loss and accuracy",
        "loss_over_training",
        (),
        (),
        "training",
        (),
        "As logged while training: the loss above; below, accuracy at the longest trained length (inside) and at twice "
        "it (outside), 128 strings each. Nothing is selected on either.",
        source="log",
    ),
)

DEEPER: tuple[Panel, ...] = (
    Panel(
        "coupling-training",
        "code",
        "training",
        "Length coupling",
        "coupling_over_training",
        ("trained",),
        (),
        "probes.length_coupling",
        ("length_coupling", "length_coupling_in"),
        "0: the same code past the trained lengths as within them; 1: nothing of it is left. Checkpoints that are not "
        "fitted are grey and dotted: they have no code yet that could stay the same. " + _BAND,
    ),
    Panel(
        "coupling-length",
        "code",
        "length",
        "Length coupling",
        "coupling_over_length",
        ("trained", "step"),
        ("step",),
        "probes.length_coupling",
        ("length_coupling_at",),
        "How far the code at each length is from that of the longest trained length: of what the output uses, and of "
        "what the last block stores. " + _BAND,
    ),
    Panel(
        "selectivity-training",
        "use",
        "training",
        "Selectivity of the summary",
        "selectivity_over_training",
        ("trained", "length"),
        ("length",),
        "probes.summary",
        ("selectivity",),
        "Solid: by how much the summary reads better than its best rival, after the last block. Dotted: how well it "
        "reads. Dashed grey: how well it reads before training. " + _BAND,
    ),
    Panel(
        "erasure-length",
        "use",
        "length",
        "Accuracy without it",
        "erasure_over_length",
        ("trained", "step", "layer"),
        ("step", "head"),
        "probes.erasure",
        ("erased_accuracy",),
        "Accuracy when the summary, or the position, is erased from the stream after the chosen head's layer; dashed: "
        "when as many directions are erased at random. " + _BAND,
    ),
)

MORE = (
    Panel(
        "more-training",
        "more",
        "training",
        "Over training",
        "quantity_over_training",
        ("measurement", "quantity", "trained", "length", "layer", "head"),
        ("length", "head", "extras"),
        "",
        (),
        "Any quantity in the table. Lines are named by what tells them apart; of heads, the chosen one is in ink.",
    ),
    Panel(
        "more-length",
        "more",
        "length",
        "Over prefix length",
        "quantity_over_length",
        ("measurement", "quantity", "trained", "step", "layer", "head"),
        ("step", "head", "extras"),
        "",
        (),
        "Any quantity in the table. Lines are named by what tells them apart; of heads, the chosen one is in ink.",
    ),
)

BY_ID = {panel.id: panel for panel in (*PANELS, *DEEPER)}

ROWS: dict[str, tuple[str, str]] = {
    "behaviour": ("Behaviour", "Does it keep working?"),
    "representation": ("Representation", "What does it carry?"),
    "mechanism": ("Mechanism", "Is its attention hard or soft?"),
}
DEEPER_ROWS: dict[str, tuple[str, str]] = {
    "code": ("Code", "Is it the same code past training?"),
    "use": ("Use", "Does the output depend on it?"),
}
COLUMNS: dict[str, str] = {
    "training": "Over training",
    "length": "Over prefix length",
    "cursor": "At the cursor",
}
