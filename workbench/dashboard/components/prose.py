"""The sentences of :mod:`workbench.figures.text.run_sentences` as components of the Run page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from dash import html

from workbench.dashboard.components import measure_button
from workbench.dashboard.components.page_frame import command
from workbench.dashboard.state.cursor import Cursor, query
from workbench.dashboard.state.run_description import (
    describe_run,
    headline_words,
    rail_words,
    verdict_words,
    without_log,
)
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.theory_match import PREDICTIONS, compare_with_observed, is_trained
from workbench.figures.errors import NotMeasured
from workbench.figures.heads.hard_or_soft import EVEN, HARDMAX_SAID
from workbench.figures.labels import proportion, span_of_steps, whole
from workbench.figures.rows.diagnosis_rows import entries_over_training, named_entry
from workbench.figures.rows.frame import numbers
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence
from workbench.figures.text.run_sentences import Piece, wants_strings
from workbench.figures.text.sequence_sentences import CODE, STRONG
from workbench.figures.text.strata_clauses import REPEATED, REPEATED_SAID
from workbench.measure.edits.edit import SINGLE_PASS
from workbench.measure.edits.interventions.all_interventions import by_name
from workbench.tasks.source_code import trust_option

MADE = {
    "summary": partial(html.Span, className="summary"),
    "position": partial(html.Span, className="position"),
    "muted": partial(html.Span, className="soft num"),
    STRONG: partial(html.Strong, className="num"),
    CODE: html.Code,
    EVEN: partial(html.Span, className="term", title=HARDMAX_SAID),
    REPEATED: partial(html.Span, className="term", title=REPEATED_SAID),
}
"""Role of a piece -> what shows it."""


def pieces(parts: Sequence[Piece]) -> list[Any]:
    """Return the parts of a sentence as HTML, with names and tokens set off from plain text."""
    return [MADE[role](text) if role in MADE else text for text, role in parts]


def meta(run: RunView) -> list[Any]:
    """Return the id, task, model and training lengths of a run."""
    return [html.Span(run.name, className="mono"), *(f" \u00b7 {part}" for part in describe_run(run))]


def verdict(run: RunView, cursor: Cursor) -> list[Any]:
    """Return the verdict sentence at the selected step, or what is missing for a verdict, with a button to measure
    more.
    """
    try:
        return _with_offer(run, cursor.step, verdict_words(run, cursor.step))
    except NotMeasured:
        return _no_verdict(cursor.step)


def headline(run: RunView, cursor: Cursor) -> tuple[list[Any], list[Any]]:
    """Return the headline of the Run page and the sentences below it, or what is missing for a verdict. It has a button
    or a command to measure more.
    """
    try:
        words = headline_words(run, cursor.step)
    except NotMeasured:
        asked = run.brief.rows and run.kind.why is not None
        return _no_verdict(cursor.step), [command(run.measuring())] if asked else []
    return _with_offer(run, cursor.step, words.verdict), pieces(words.further)


def _with_offer(run: RunView, step: int, said: Sequence[Piece]) -> list[Any]:
    """A sentence, with a button to measure more where that may decide the verdict."""
    more = run.memo(("may be decided by more sequences", step), lambda: wants_strings(run.frame, step))
    return [*pieces(said), *([" ", measure_button.button(run.name, "behaviour", deepen_at=step)] if more else [])]


def _no_verdict(step: int) -> list[Any]:
    return ["Not measured", html.Span(f" at step {whole(step)}: no verdict yet.", className="soft")]


def theory(run: RunView, step: int, said: Mapping[str, Any] | None) -> list[Any]:
    """Return what theory predicts, and whether the verdict at a step agrees; nothing if there is no prediction."""
    if said is None:
        return [html.Span("Computing what theory predicts \u2026", className="soft")]
    verdict = said["verdict"]
    if verdict not in PREDICTIONS:
        reason = said.get("reason", "")
        if reason and (option := trust_option(run.config["task"]).strip()):
            return [
                f"There is no theory prediction ({reason}). To compute it, start lengthlens app with ",
                html.Code(option),
                ".",
            ]
        return [f"There is no theory prediction ({reason})."] if reason else []
    beside = compare_with_observed(verdict, run.brief.verdicts.get(step, ""), is_trained(run))
    said_beside = [", ", html.Strong(beside)] if beside.endswith("observed") else []
    link = html.A("why", href=f"/theory?run={run.name}", **{"data-nav": "1"})
    return [PREDICTIONS[verdict].meaning, *said_beside, " (", link, ")."]


def training(run: RunView) -> list[Any]:
    """Return how far training is, and the last logged accuracies until the run is measured."""
    log = run.log
    if not len(log):
        return [without_log(run)]
    step = int(log["step"][-1])
    far = f"Step {whole(step)} of {whole(run.planned_steps)}"
    text: list[Any] = [f"{far}, training now. " if run.live else f"{far}. "]
    logged = () if run.brief.accuracy else (("accuracy_in", "at trained lengths"), ("accuracy_out", "at twice that"))
    for column, where in logged:
        taken = numbers(log[column])
        if len(taken):
            text.append(f"{'Accuracy ' if len(text) == 1 else ', '}{proportion(float(taken[-1]))} {where}")
    return [*text, "." if len(text) > 1 else ""]


def diagnosis(run: RunView, step: int) -> tuple[list[Any], bool]:
    """Return the diagnosis sentence, and whether there are interventions to draw; without a diagnosis, how to compute
    one.
    """
    try:
        sentence = run.memo(("diagnosis", step), lambda: diagnosis_sentence(run.frame, step=step, longest=run.trained))
    except NotMeasured:
        have = [whole(one) for one in sorted(run.frame.where(measurement="diagnosis").distinct("step").tolist())]
        where = f" at step {whole(step)}, only at {', '.join(have)}" if have else ""
        ask = f" --only diagnosis --steps {step}"  # a checkpoint takes a minute
        return [html.P(f"Not measured{where}."), *measure_button.ways(run, ask, "diagnosis", deepen_at=step)], False
    over = [html.P(entries_said(run), className="soft")] if entries_over_training(run.frame) else []
    named = named_entry(run.frame, step=step)
    return [html.P(pieces(sentence)), *over, *try_repair(run, step, named)], bool(named["label"])


def try_repair(run: RunView, step: int, named: Mapping[str, Any]) -> list[Any]:
    """Return a link to the intervention that named the cause, on a sequence of the diagnosed length.

    Empty if the intervention has no equivalent on a single sequence.
    """
    repair = str(named["target"])
    if not named["label"] or repair not in SINGLE_PASS:
        return []
    parts = {"run": run.name, "step": str(step), "len": str(int(named["length"])), "edits": repair}
    if named["law"] != "matched":
        parts["law"] = str(named["law"])
    link = html.A(f"Try one sequence with {by_name(repair).words}", href=f"/try{query(parts)}", **{"data-nav": "1"})
    return [html.P(link)]


def entries_said(run: RunView) -> str:
    """Return the diagnosed cause and location at each checkpoint, as text."""
    stretches = entries_over_training(run.frame)
    told = [f"{span_of_steps(first['step'], last['step'])}: {text}" for first, last, text in stretches]
    return f"Over training: {'; '.join(told)}."


def rail(run: RunView, row: str, cursor: Cursor) -> list[Any]:
    """Return the short answer next to one row of panels, with yes or no first."""
    return pieces(rail_words(run, row, cursor))
