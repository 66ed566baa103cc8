"""Prose of the Run page: sentences of :mod:`workbench.figures.text.sentences` as components."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from dash import html

from workbench.core.repair_names import REPAIR_NAMES
from workbench.dashboard.components import measure_button
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.state.cursor import Cursor, query
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.run_words import described
from workbench.dashboard.state.theory_match import held
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import proportion, span_of_steps, whole
from workbench.figures.rows.diagnosis_rows import entries_over_training, named_entry
from workbench.figures.rows.frame import numbers
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence
from workbench.figures.text.in_context_sentence import in_context_rail, in_context_sentence
from workbench.figures.text.sentences import Piece, rail_text, verdict_sentence, wants_strings, why_sentence
from workbench.figures.text.sequence_sentences import CODE, STRONG
from workbench.models.interventions import REPAIRS
from workbench.tasks.source_code import trust_option

MADE = {
    "summary": partial(html.Span, className="summary"),
    "position": partial(html.Span, className="position"),
    "muted": partial(html.Span, className="soft num"),
    STRONG: partial(html.Strong, className="num"),
    CODE: html.Code,
}
"""Role of a piece -> what shows it."""


def pieces(parts: Sequence[Piece]) -> list[Any]:
    """Pieces as spans, names that are set off and tokens as what they are; plain ones stay text."""
    return [MADE[role](text) if role in MADE else text for text, role in parts]


def meta(run: RunView) -> list[Any]:
    """What the run is: id, task as a question, model, training lengths."""
    return [html.Span(run.name, className="mono"), *(f" \u00b7 {part}" for part in described(run))]


def verdict(run: RunView, cursor: Cursor) -> list[Any]:
    """The verdict sentence at the cursor's step, or what is missing for one; and the button that may decide it."""
    step = cursor.step
    with suppress(NotMeasured):
        return pieces(run.memo(("in context", step), lambda: in_context_sentence(run.frame, step=step)))
    try:
        said = run.memo(("verdict", step), lambda: verdict_sentence(run.frame, step=step, trained=run.trained))
        more = run.memo(("wants strings", step), lambda: wants_strings(run.frame, step))
        return [*pieces(said), *([" ", measure_button.button(run.name, "behaviour", deepen_at=step)] if more else [])]
    except NotMeasured:
        return [
            "Not measured",
            html.Span(f" at step {whole(cursor.step)}: no verdict yet.", className="soft"),
        ]


def why(run: RunView, cursor: Cursor) -> list[Any]:
    """One line: since when, what it carries, what the chosen head does; or the command to find out."""
    if run.in_context and run.brief.rows:
        return []  # the rows of its page say it
    at = {"step": cursor.step, "layer": cursor.layer, "head": cursor.head, "length": cursor.length}
    parts = run.memo(("why", *at.values()), lambda: why_sentence(run.frame, trained=run.trained, **at))
    if not parts and run.brief.rows:
        return [command(run.measuring())]
    return pieces(parts)


SAYS = {
    "guaranteed": "Theory guarantees that this task and these positions can generalise in length",
    "expressible": "Theory says that such models can express this task, and nothing of what they learn",
    "not expressible": "Theory says that no program of the matching class computes this task",
    "open": "Theory makes no claim about this task with these positions",
    "not decided": "Theory makes no claim: the decision procedure ended without an answer",
}
"""What a prediction means."""


def theory(run: RunView, step: int, said: Mapping[str, Any] | None) -> list[Any]:
    """What theory expects, and whether the verdict at a step is that; nothing where nothing is known."""
    if said is None:
        return [html.Span("Asking what theory expects \u2026", className="soft")]
    verdict = said["verdict"]
    if verdict not in SAYS:
        reason = said.get("reason", "")
        if reason and (option := trust_option(run.config["task"]).strip()):
            return [f"Theory was not asked ({reason}). To ask it, start lengthlens app with ", html.Code(option), "."]
        return [f"Theory was not asked ({reason})."] if reason else []
    beside = held(verdict, run.brief.verdicts.get(step, ""))
    said_beside = [", ", html.Strong(beside)] if beside.endswith("observed") else []
    link = html.A("why", href=f"/theory?run={run.name}", **{"data-nav": "1"})
    return [SAYS[verdict], *said_beside, " (", link, ")."]


def training(run: RunView) -> list[Any]:
    """How far training is and what its log says last."""
    log = run.log
    if not len(log):
        return ["Nothing is logged yet."]
    step = int(log["step"][-1])
    far = f"Step {whole(step)} of {whole(run.planned)}"
    said: list[Any] = [f"{far}, training now. " if run.live else f"{far}. "]
    for column, where in (("accuracy_in", "at trained lengths"), ("accuracy_out", "at twice that")):
        taken = numbers(log[column])
        if len(taken):
            said.append(f"{'Accuracy ' if len(said) == 1 else ', '}{proportion(float(taken[-1]))} {where}")
    return [*said, "." if len(said) > 1 else ""]


def diagnosis(run: RunView, step: int) -> tuple[list[Any], bool]:
    """Why it fails past N, since when, and whether there are repairs to draw; or how to have it asked."""
    try:
        said = run.memo(("diagnosis", step), lambda: diagnosis_sentence(run.frame, step=step, longest=run.trained))
    except NotMeasured:
        have = [whole(one) for one in sorted(run.frame.where(measurement="diagnosis").distinct("step").tolist())]
        where = f" at step {whole(step)}, only at {', '.join(have)}" if have else ""
        ask = f" --only diagnosis --steps {step}"  # a checkpoint takes a minute
        return [html.P(f"Not measured{where}."), *measure_button.ways(run, ask, "diagnosis", deepen_at=step)], False
    over = [html.P(entries_said(run), className="soft")] if entries_over_training(run.frame) else []
    named = named_entry(run.frame, step=step)
    return [html.P(pieces(said)), *over, *try_repair(run, step, named)], bool(named["label"])


def try_repair(run: RunView, step: int, named: Mapping[str, Any]) -> list[Any]:
    """A way to the repair that names the entry, on a string of the length at which it does; none where it has no place
    on one string."""
    repair = str(named["target"])
    if not named["label"] or repair not in REPAIRS:
        return []
    parts = {"run": run.name, "step": str(step), "len": str(int(named["length"])), "edits": repair}
    if named["law"] != "matched":
        parts["law"] = str(named["law"])
    link = html.A(f"Try one string with {REPAIR_NAMES[repair]}", href=f"/try{query(parts)}", **{"data-nav": "1"})
    return [html.P(link)]


def entries_said(run: RunView) -> str:
    """Entry and site at each diagnosed checkpoint."""
    stretches = entries_over_training(run.frame)
    told = [f"{span_of_steps(first['step'], last['step'])}: {text}" for first, last, text in stretches]
    return f"Over training: {'; '.join(told)}."


def rail(run: RunView, row: Any, cursor: Cursor) -> list[Any]:
    """The answer in the rail of one row, yes or no first."""
    at = (cursor.step, cursor.length, cursor.layer, cursor.head)
    if run.in_context:
        return pieces(run.memo(("in context rail", row, *at), lambda: in_context_rail(run.frame, row, *at)))
    return pieces(run.memo(("rail", row, *at), lambda: rail_text(run.frame, row, *at, trained=run.trained)))
