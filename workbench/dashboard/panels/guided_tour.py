"""The guided tour: seven stops along one run that fails past its training length, each with numbers read from its rows.

The run is chosen by its rows: length-coupled, diagnosed, probed, its attention measured, with most checkpoints. A stop
claims that a value falls or stays only if the intervals of its rows show it. The browser shows the stops
(``assets/js/tour.js``), and the worker meanwhile searches the sequence that the run gets wrong.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from flask import Flask, Response, jsonify

from workbench import figures
from workbench.core.verdicts import LENGTH_COUPLED
from workbench.dashboard.panels.wrong_strings import search_arguments
from workbench.dashboard.server.context import Context
from workbench.dashboard.server.worker_addresses import FIND_WRONG_STRINGS
from workbench.dashboard.state.cursor import ALL_HEADS, default_step, link, query
from workbench.dashboard.state.run_description import headline_words
from workbench.dashboard.state.run_view import RunView
from workbench.dashboard.state.theory_match import PREDICTIONS
from workbench.figures.errors import NotMeasured
from workbench.figures.heads.hard_or_soft import shape_clause
from workbench.figures.heads.head_curves import MEASUREMENT as HARDMAX
from workbench.figures.heads.leading_head import Leading, leading_clause, leading_head
from workbench.figures.labels import estimate, multiple, whole
from workbench.figures.rows.diagnosis_rows import MEASUREMENT as DIAGNOSIS
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import rows_with_values
from workbench.figures.text.decodability_rows import readings
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence
from workbench.measure.edits.interventions.all_interventions import by_name
from workbench.measure.edits.reading import WrongStrings

NEEDED = frozenset({"behaviour", "probes.summary", "circuits.hardmax", DIAGNOSIS})
"""Measurements without which a run has no seven stops."""
LONGEST = 1500
NONE = "No such sequence was found; this is a sample."
"""Characters of a string that a link carries."""


@dataclass(frozen=True)
class Stop:
    """One stop.

    Attributes:
        title: what is to be seen.
        text: which numbers show it.
        href: the view.
        mark: CSS selector of what to look at there.
        string: whether the link contains a sequence that the model gets wrong.
        edited: whether it is shown with the edit, so that the text can state the edited answer.
    """

    title: str
    text: str
    href: str
    mark: str
    string: bool = False
    edited: bool = False


def tour_run(context: Context) -> RunView | None:
    """The run that the tour shows; None where no run has all its stops."""
    fit = [run for run in context.store.runs().values() if run.measurement_names >= NEEDED and _diagnosed_lengths(run)]
    return max(fit, key=lambda run: len(run.measured_steps), default=None)


def _diagnosed_lengths(run: RunView) -> list[int]:
    """The lengths at which its diagnosis names a cause, where it is length-coupled; ascending."""
    step = default_step(run)
    ask = search_arguments(run, step) if run.brief.verdicts.get(step) == LENGTH_COUPLED else None
    if ask is None or not ask["repair"] or ask["law"] != "matched":
        return []
    entries = run.frame.where(measurement=DIAGNOSIS, step=step, quantity="entry").rows()
    return sorted(int(row["length"]) for row in entries if row["label"])


def stops(run: RunView, expected: Mapping[str, Any] | None = None) -> list[Stop]:
    """The seven stops of a run that :func:`tour_run` gives; ``expected`` is the prediction of theory, if known."""
    step = default_step(run)
    far, near = _diagnosed_lengths(run)[-1], run.trained
    leading = leading_head(run.frame, step=step, length=far)
    layer, head = leading.place or (None, None)
    at = {"run": run.name, "step": str(step), "len": str(far)}
    at |= {"head": ALL_HEADS} if head is None else {"layer": str(layer), "head": str(head)}
    view = f"/run{query(at)}"
    ask: dict[str, Any] = search_arguments(run, step) or {}
    tried = {"run": run.name, "step": str(step), "len": str(ask["length"])}
    accuracy = figures.accuracy_over_length.data(run.frame, step=step).where(series="matched")
    probe = figures.decodability_over_length.data(run.frame, step=step).where(series="summary", mode="transfer")
    shorter, longer = f"{whole(near)}, the longest trained length N", f"{whole(far)}, {multiple(far / near)} × N"
    repair = by_name(ask["repair"]).words
    kind = PREDICTIONS.get((expected or {}).get("verdict", ""))
    says = "" if kind is None else kind.meaning
    theory = f"{says}. " if says else ""
    title, text = _attention(run.frame, step, near, far, leading)
    return [
        Stop(
            f"The verdict: {run.brief.verdicts[step]}",
            f"{_text(headline_words(run, step).verdict)} It depends only on behaviour; the rest "
            "of the page helps to explain it.",
            view,
            "#verdict-line",
        ),
        Stop(
            _title(accuracy, near, far, -1, "Accuracy falls past training", "No evidence that accuracy falls here"),
            f"The magenta line marks the longest length seen in training. The selected length is beyond it: "
            f"{_compared(accuracy, 'accuracy', near, far, shorter, longer)}",
            view,
            "#accuracy-length-panel",
        ),
        Stop(
            _title(probe, near, far, -1, "The probe falls", "The probe does not fall"),
            "The solid blue line is one probe of the task state, fitted at trained lengths and then frozen. "
            f"{_compared(probe, 'Its decodability is', near, far, shorter, longer)} "
            f"{_against_controls(run.frame, step, far)}",
            view,
            "#decodability-length-panel",
        ),
        Stop(title, text, view, "#heads-length-panel"),
        Stop(
            "A sequence that the model gets wrong",
            f"One sequence of {whole(ask['length'])} tokens, with the unchanged model.",
            f"/try{query(tried)}",
            "#try-clean-panel",
            string=True,
        ),
        Stop(
            f"The same sequence with one edit: {repair}",
            _text(diagnosis_sentence(run.frame, step=step, longest=near, length=ask["length"])),
            f"/try{query(tried | {'edits': ask['repair']})}",
            "#try-edited-panel",
            string=True,
            edited=True,
        ),
        Stop(
            "What theory expects",
            f"{theory}The prediction uses only the task and the position encoding, and names its source. Observed: "
            f"{_compared(accuracy, 'accuracy', near, far, shorter, longer)}",
            link(run.name, "/theory"),
            "h1",
        ),
    ]


def _against_controls(frame: Frame, step: int, length: int) -> str:
    """Whether the probe of the task state decodes more than its highest control at that length."""
    at = [one for one in readings(frame, "summary", step=step) if int(one.row["length"]) == length]
    if not at or at[0].control is None:
        return "No control is measured at this length."
    control = at[0].control
    more = "more than" if at[0].above else "no more than"
    return f"That is {more} its highest control, {estimate(control['value'], control['low'], control['high'])}."


def _attention(frame: Frame, step: int, near: int, far: int, leading: Leading) -> tuple[str, str]:
    """What the head that matters attends to, and whether that changes past N; or that no single head matters."""
    effect = _text(leading_clause(leading)) or "Whether a single head matters is not measured"
    if leading.place is None:
        title = "All heads" if leading.tested is None else "No single head is shown to matter"
        return title, f"{effect}. Each line is a head."
    layer, head = leading.place
    rows = frame.where(
        measurement=HARDMAX, quantity="hardmax_verdict", law="matched", control="", step=step, layer=layer, head=head
    )
    kinds = {int(row["length"]): str(row["label"]) for row in rows.rows()}
    labels = [kinds.get(near, ""), kinds.get(far, "")]
    sure = set(labels) <= {"hardmax", "soft"}
    title = f"No evidence that {leading.name} attends differently past training"
    if sure and labels[0] != labels[1]:
        title = f"What {leading.name} attends to changes past training"
    shape = _text(shape_clause(frame, step, near, layer, head))
    return title, f"{effect}. {shape}."


def _text(pieces: Any) -> str:
    return "".join(text for text, _ in pieces)


def _at(rows: Frame, length: int) -> dict[str, Any]:
    """The row of a length.

    Raises:
        NotMeasured: where it has none.
    """
    found = rows_with_values(rows.where(length=length)).rows()
    if not found:
        raise NotMeasured("", f"there is no row at length {whole(length)}")
    return dict(found[0])


def _compared(rows: Frame, what: str, near: int, far: int, shorter: str, longer: str) -> str:
    one, two = (estimate(row["value"], row["low"], row["high"]) for row in (_at(rows, near), _at(rows, far)))
    return f"{what} {one} at {shorter}, and {two} at {longer}."


def _title(rows: Frame, near: int, far: int, sign: int, yes: str, no: str) -> str:
    """The title ``yes`` if the interval at the far length lies entirely beyond that at N in the given direction, else
    ``no``."""
    one, two = _at(rows, near), _at(rows, far)
    return yes if (two["low"] > one["high"] if sign > 0 else two["high"] < one["low"]) else no


def wrong_string(context: Context, run: RunView) -> dict[str, Any]:
    """The state of the search for a sequence that the run gets wrong and its intervention corrects.

    ``state`` is the job's state. Once the job is done, ``seq`` is the sequence, ``said`` describes it, and ``edited``
    describes the answer with the edit. Without such a sequence all three are empty, and a sample is shown.
    """
    ask = search_arguments(run, default_step(run))
    if ask is None:
        return {"state": "done", "seq": "", "said": "", "edited": ""}
    job = context.worker.job(context.worker.submit(FIND_WRONG_STRINGS, ask))
    if job is not None and job.pending:
        return {"state": "pending", "seq": "", "said": "", "edited": ""}
    result = job.result if job is not None and job.state == "done" else None
    if not isinstance(result, WrongStrings) or result.problem:
        return {"state": "done", "seq": "", "said": NONE, "edited": NONE}
    short = [example for example in result.strings if len(example.text) <= LONGEST]
    example = next((example for example in short if example.repaired), next(iter(short), None))
    if example is None:
        return {"state": "done", "seq": "", "said": NONE, "edited": NONE}
    text = (
        f"{whole(result.wrong)} of {whole(result.asked)} sequences are answered wrong. For this sequence the correct "
        f"answer is {example.right}, and the model answers {example.answered}."
    )
    with_edit = {True: "gives the correct answer", False: "still gives a wrong answer", None: "was not tried on it"}
    edited = f"The correct answer is {example.right}. The model with the edit {with_edit[example.repaired]}."
    return {"state": "done", "seq": example.text, "said": text, "edited": edited}


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
            {"state": "done", "seq": "", "said": "", "edited": ""} if run is None else wrong_string(context, run)
        )
        return made
