"""The guided tour: seven stops along one run that fails past its training length, each with numbers read from its rows.

The run is chosen by its rows: length-coupled, diagnosed, probed, its attention measured, with most checkpoints. What a
stop says falls, stays or leaves is what the intervals of its rows show; nothing is written here beforehand. The browser
shows the stops (``assets/js/tour.js``); the string that Try it breaks on is asked of the worker meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from flask import Flask, Response, jsonify

from workbench import figures
from workbench.core.repair_names import REPAIR_NAMES
from workbench.dashboard.components.prose import SAYS
from workbench.dashboard.panels.wrong_strings import asked
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker_addresses import FIND_WRONG_STRINGS
from workbench.dashboard.state.cursor import default_step, link, query
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured
from workbench.figures.heads.leading_head import cost_clause, leading_head
from workbench.figures.labels import estimate, multiple, whole
from workbench.figures.rows.diagnosis_rows import MEASUREMENT as DIAGNOSIS
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.picking import valued
from workbench.figures.sequence.wrong_string import WrongStrings
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence
from workbench.figures.text.sentences import verdict_sentence

NEEDED = frozenset({"behaviour", "probes.summary", "circuits.hardmax", DIAGNOSIS})
"""Measurements without which a run has no seven stops."""
LONGEST = 1500
"""Characters of a string that a link carries."""


@dataclass(frozen=True)
class Stop:
    """One stop.

    Attributes:
        title: what is to be seen.
        text: which numbers show it.
        href: the view.
        mark: CSS selector of what to look at there.
        string: whether a string that the model gets wrong is put into the link.
    """

    title: str
    text: str
    href: str
    mark: str
    string: bool = False


def tour_run(context: Context) -> RunView | None:
    """The run that the tour shows; None where no run has all its stops."""
    fit = [run for run in context.store.runs().values() if run.measured >= NEEDED and _named(run)]
    return max(fit, key=lambda run: len(run.measured_steps), default=None)


def _named(run: RunView) -> list[int]:
    """The lengths at which its diagnosis names a cause, where it is length-coupled; ascending."""
    step = default_step(run)
    ask = asked(run, step) if run.brief.verdicts.get(step) == "length-coupled" else None
    if ask is None or not ask["repair"] or ask["law"] != "matched":
        return []
    entries = run.frame.where(measurement=DIAGNOSIS, step=step, quantity="entry").rows()
    return sorted(int(row["length"]) for row in entries if row["label"])


def stops(run: RunView, expected: Mapping[str, Any] | None = None) -> list[Stop]:
    """The seven stops of a run that :func:`tour_run` gives; ``expected`` is what theory says, where that is known."""
    step = default_step(run)
    far, near = _named(run)[-1], run.trained
    head = leading_head(run.frame, step=step, length=far)
    at = {"run": run.name, "step": str(step), "len": str(far), "layer": str(head.layer), "head": str(head.head)}
    view = f"/run{query(at)}"
    ask: dict[str, Any] = asked(run, step) or {}
    tried = {"run": run.name, "step": str(step), "len": str(ask["length"])}
    accuracy = figures.accuracy_over_length_data(run.frame, step=step).where(series="matched")
    probe = figures.decodability_over_length_data(run.frame, step=step).where(series="summary", mode="transfer")
    shape = figures.head_over_length_data(run.frame, step=step, layer=head.layer, head=head.head)
    shape = shape.where(layer=head.layer, head=head.head)
    effect = "" if head.row is None else f" Without it, {_text(cost_clause(head.row, shown=True))}."
    shorter, longer = f"{whole(near)}, the longest trained length N", f"{whole(far)}, {multiple(far / near)} × N"
    repair = REPAIR_NAMES[ask["repair"]]
    says = SAYS.get((expected or {}).get("verdict", ""), "")
    theory = f"{says}. " if says else ""
    return [
        Stop(
            "The verdict",
            f"{_text(verdict_sentence(run.frame, step=step, trained=near))} It comes from behaviour alone; all "
            "else on the page explains it.",
            view,
            "#verdict-line",
        ),
        Stop(
            "The cursor, past the magenta line",
            f"Magenta marks the longest length seen in training. The cursor stands past it: "
            f"{_compared(accuracy, 'accuracy', near, far, shorter, longer)}",
            view,
            "#accuracy-length-panel",
        ),
        Stop(
            _title(probe, near, far, -1, "The probe falls", "The probe does not fall"),
            "Solid blue: one probe of the summary, fitted at trained lengths and then frozen. "
            f"{_compared(probe, 'It reads', near, far, shorter, longer)} Whether it stands above the dashed "
            "controls says whether it reads more than a shortcut would.",
            view,
            "#decodability-length-panel",
        ),
        Stop(
            _title(shape, near, far, 1, "The head leaves hardmax", "The head does not leave hardmax"),
            f"{head.name} is the head whose ablation costs most there.{effect} "
            f"{_compared(shape, 'Its distance from hardmax is', near, far, shorter, longer)}",
            view,
            "#heads-length-panel",
        ),
        Stop(
            "Try it breaks it",
            f"One string of {whole(ask['length'])} tokens that the model gets wrong, as it is.",
            f"/try{query(tried)}",
            "#try-clean-panel",
            string=True,
        ),
        Stop(
            "The repair mends it",
            f"The same string with one edit, {repair}. "
            f"{_text(diagnosis_sentence(run.frame, step=step, longest=near, length=ask['length']))}",
            f"/try{query(tried | {'edits': ask['repair']})}",
            "#try-edited-panel",
            string=True,
        ),
        Stop(
            "What theory expects",
            f"{theory}What stands here comes from the task and the positions alone, with its source. Observed: "
            f"{_compared(accuracy, 'accuracy', near, far, shorter, longer)}",
            link(run.name, "/theory"),
            "h1",
        ),
    ]


def _text(pieces: Any) -> str:
    return "".join(text for text, _ in pieces)


def _at(rows: Frame, length: int) -> dict[str, Any]:
    """The row of a length.

    Raises:
        NotMeasured: where it has none.
    """
    found = valued(rows.where(length=length)).rows()
    if not found:
        raise NotMeasured("", f"there is no row at length {whole(length)}")
    return dict(found[0])


def _compared(rows: Frame, what: str, near: int, far: int, shorter: str, longer: str) -> str:
    one, two = (estimate(row["value"], row["low"], row["high"]) for row in (_at(rows, near), _at(rows, far)))
    return f"{what} {one} at {shorter}, and {two} at {longer}."


def _title(rows: Frame, near: int, far: int, sign: int, yes: str, no: str) -> str:
    """Whether the interval far out lies wholly beyond that of N, in the direction that is asked for."""
    one, two = _at(rows, near), _at(rows, far)
    return yes if (two["low"] > one["high"] if sign > 0 else two["high"] < one["low"]) else no


def wrong_string(context: Context, run: RunView) -> dict[str, Any]:
    """How the search stands for a string that the run gets wrong and its repair mends: ``state``, and once it is done
    ``seq`` and what is ``said`` of it; without such a string both are empty, and a sample is shown."""
    ask = asked(run, default_step(run))
    if ask is None:
        return {"state": "done", "seq": "", "said": ""}
    job = context.worker.job(context.worker.submit(FIND_WRONG_STRINGS, ask))
    if job is not None and job.pending:
        return {"state": "pending", "seq": "", "said": ""}
    found = job.result if job is not None and job.state == "done" else None
    if not isinstance(found, WrongStrings) or found.problem:
        return {"state": "done", "seq": "", "said": "No such string was found; this is a sample."}
    short = [one for one in found.strings if len(one.text) <= LONGEST]
    one = next((one for one in short if one.repaired), next(iter(short), None))
    if one is None:
        return {"state": "done", "seq": "", "said": "No such string was found; this is a sample."}
    said = (
        f"{whole(found.wrong)} of {whole(found.asked)} strings are answered wrong. Of this one the right answer is "
        f"{one.right}, and the model says {one.answered}."
    )
    return {"state": "done", "seq": one.text, "said": said}


def connect(server: Flask, context: Context) -> None:
    """Add the tour's two addresses to the app's server."""

    def expected(run: RunView) -> Mapping[str, Any] | None:
        return context.expectations.of([run])[run.name]

    @server.get("/tour.json")
    def tour() -> Response:
        run = tour_run(context)
        made: Response = jsonify({"stops": [] if run is None else [asdict(stop) for stop in stops(run, expected(run))]})
        return made

    @server.get("/tour/string.json")
    def string() -> Response:
        run = tour_run(context)
        made: Response = jsonify(
            {"state": "done", "seq": "", "said": ""} if run is None else wrong_string(context, run)
        )
        return made
