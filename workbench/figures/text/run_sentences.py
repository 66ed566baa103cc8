"""Sentences about a run, made only from table rows.

A sentence is a list of pieces ``(text, role)``; joined, the texts read as prose. Roles: ``plain``, ``summary`` and
``position`` (words in the colour of their concept), ``muted`` (intervals). A piece that names a number is a
:class:`workbench.figures.rows.claims.Claim`, which has the row of the number.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

from workbench.core.names import CHALLENGE, MATCHED, NOT_EXPLAINED
from workbench.core.shortcut_names import BIGRAM, shortcut_name
from workbench.core.thresholds import UNTRAINED
from workbench.core.verdicts import (
    AT_THE_BAR,
    NO_THRESHOLD,
    NOT_FITTED,
    SCALE_ROBUST,
    TOO_FEW,
    UNDECIDED,
    UNSEEN_POSITION,
    WORDS,
    since,
    verdict_kind,
)
from workbench.figures.errors import NotMeasured
from workbench.figures.heads.hard_or_soft import shape_clause
from workbench.figures.heads.leading_head import Leading, leading_clause, leading_head
from workbench.figures.labels import Piece, proportion, whole
from workbench.figures.panels.accuracy import LAWS, MEASUREMENT
from workbench.figures.panels.decodability import CONCEPTS
from workbench.figures.rows.baselines import counts_for_verdict, first_judged, predictor_rows
from workbench.figures.rows.claims import (
    at_length,
    bar,
    capital,
    count,
    estimate,
    note,
    number,
    plain,
    selection_without_row,
    threshold,
)
from workbench.figures.rows.conversion import of_rows
from workbench.figures.rows.diagnosis_rows import named_entry
from workbench.figures.rows.frame import Frame, missing, present
from workbench.figures.rows.select_rows import nearest, rows_with_values, stack
from workbench.figures.text.decodability_clauses import carried_clause, rail_carried
from workbench.figures.text.diagnosis_sentence import diagnosis_sentence
from workbench.figures.text.ssm_sentences import scan_text, without_attention
from workbench.figures.text.strata_clauses import (
    component_shares_clause,
    components,
    follows,
    strata_clause,
    strata_followed,
)

__all__ = [
    "Piece",
    "rail_text",
    "verdict_sentence",
    "wants_strings",
    "why_sentence",
]

RailRow = Literal["behaviour", "representation", "mechanism"]
UNTESTED = "Whether a single head matters is not measured at step "
Row = Mapping[str, Any]
Pieces = list[Piece]


@of_rows
def verdict_sentence(frame: Frame, *, step: int, trained: float) -> Pieces:
    """Return verdict, step, accuracy and interval of one checkpoint as one sentence, with a remark on hard inputs.

    Of a mixture with a component that fails, the components come first.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N, the longest prefix length seen in training.

    Raises:
        NotMeasured: without a verdict at that step.
    """
    label, *sentences = verdict_sentences(frame, step, trained)
    return [*label, *(piece for sentence in sentences for piece in (plain(" "), *sentence))]


Course = Callable[[Frame, Row, float], Pieces]
"""What accuracy does from N on: a clause, from rows, the row of the verdict and N."""


def verdict_sentences(frame: Frame, step: int, trained: float, course: Course | None = None) -> list[Pieces]:
    """Return the sentences of a verdict: label and step; what holds or fails, at which length and on which test set;
    then what hard inputs and whole answers add.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N.
        course: the clause on accuracy, for a verdict about longer prefixes; None = from where to where it falls.

    Raises:
        NotMeasured: without a verdict at that step.
    """
    row = _verdict(frame, step)
    kind = verdict_kind(str(row["label"]))
    fit = None if row.get("reason") == NO_THRESHOLD else _fit(frame, row, trained)
    undecided = fit is not None and fit.open
    word = plain(WORDS[UNDECIDED]) if undecided else (kind.word, kind.role)
    label = [word, count(row, "step", " at step ", ".")]
    return [label, *_verdict_sentences(frame, row, fit, step, trained, course or _course)]


def _verdict_sentences(
    frame: Frame, row: Row, fit: _Fit | None, step: int, trained: float, course: Course
) -> list[Pieces]:
    if row.get("reason") == NO_THRESHOLD:
        return [[capital(note(row)), *predictor_clause(frame, step, trained), plain(".")]]
    answers = whole_answers_sentence(frame, step, trained)
    if fit is not None and fit.open:
        return [[*_capitals(fit.clause), *_decides(row, fit), plain(".")], *answers]
    if row["label"] == NOT_FITTED:
        return [[*_capitals(_unfitted(fit, row)), plain(".")], *answers]
    headline = components(frame, step)
    sentences: list[Pieces] = [[plain("Of the components, "), *headline, plain(".")]] if headline else []
    clause = course(frame, row, trained)
    begin = [plain("On all components together, "), *clause] if headline else _capitals(clause)
    sentences.append([*begin, *_more(row), plain(".")])
    if row["label"] == UNSEEN_POSITION:
        unseen = frame.where(measurement=MEASUREMENT, step=step, status="unseen_position")
        unseen = unseen.where(present(unseen["length"])).sort("length")
        where = count(unseen.row(0), "length", "From length ", " on, the") if len(unseen) else plain("The")
        sentences.append([where, plain(" model reads positions never seen in training.")])
    strata = [] if headline else strata_clause(frame, step)
    sentences += [[*_capitals(strata), plain(".")]] if strata else []
    return [*sentences, *answers]


def _capitals(pieces: Pieces) -> Pieces:
    """Pieces that begin a sentence."""
    return [capital(pieces[0]), *pieces[1:]] if pieces else []


def predictor_clause(frame: Frame, step: int, trained: float) -> Pieces:
    """Return the accuracy of the bigram table of the training text at N, for a language model; empty if it is
    unknown.
    """
    rows = predictor_rows(frame, "length", step=step, length=trained).rows()
    if not rows:
        return []
    pieces = [plain(f"; a table of the training text ({shortcut_name(BIGRAM)}) scores "), number(rows[0], decimals=3)]
    at = {"measurement": MEASUREMENT, "quantity": "accuracy", "mode": "teacher_forced", "law": MATCHED, "control": ""}
    accuracy = rows_with_values(frame.where(**at, step=step, length=trained)).rows()
    if not accuracy or missing(accuracy[0]["low"]):
        return pieces
    within = accuracy[0]["low"] <= rows[0]["value"] <= accuracy[0]["high"]
    shown = plain(f", {'inside' if within else 'outside'} the interval of the accuracy: ")
    n = [] if missing(accuracy[0]["n"]) else [count(accuracy[0], "n", " (n = ", ")")]
    return [*pieces, shown, *estimate(accuracy[0]), *n]


def whole_answers_sentence(frame: Frame, step: int, trained: float) -> list[Pieces]:
    """Return the share of correct answers and of correct tokens, for answers of several tokens; otherwise nothing.

    The length is the trained one: ``At length 11, 0.09 [0.07, 0.12] of whole answers and 0.76 of their tokens are
    correct.``

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N.
    """
    tokens = {int(row["length"]): row for row in _curve(frame, step, "token_accuracy", "matched").rows()}
    lengths = {int(row["length"]): row for row in _curve(frame, step, "accuracy", "matched").rows()}
    shared = sorted(tokens.keys() & lengths.keys())
    if not shared:
        return []
    at = nearest(shared, trained)
    accuracy = lengths[at]
    both: Pieces = [plain(" of whole answers and "), number(tokens[at]), plain(" of their tokens are correct.")]
    return [[count(accuracy, "length", "At length ", ", "), *estimate(accuracy), *both]]


@of_rows
def wants_strings(frame: Frame, step: int) -> bool:
    """Whether more sequences would decide the verdict of a step, estimated from the first ones."""
    rows = frame.where(measurement=MEASUREMENT, quantity="verdict", step=step).rows()
    return bool(rows) and rows[0].get("reason") == TOO_FEW and str(rows[0]["note"]).endswith("would decide")


@of_rows
def why_sentence(
    frame: Frame,
    *,
    step: int,
    trained: float,
    layer: int | None = None,
    head: int | None = None,
    length: int | None = None,
) -> Pieces:
    """Return since which step the verdict holds, and the cause if a diagnosis names one.

    Without a cause the sentence states what the residual stream carries and what the named head does. It leaves out
    what is not measured.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N.
        layer: layer of the head to speak of (None = all heads).
        head: the head to speak of.
        length: where the effect of a head was tested; None leaves it out.
    """
    parts: list[Pieces] = []
    held = since_sentence(frame, step)
    if held:
        parts.append(held)
    cause = _named_cause(frame, step, trained)
    if cause:
        parts.append(cause)
    carried = [] if cause else carried_clause(frame, step, trained)
    if carried:
        parts.append([*carried, plain(".")])
    leading = Leading(None) if cause or length is None else leading_head(frame, step=step, length=length)
    if leading.place is None or leading.place == (layer, head):
        effect = leading_clause(leading)
        parts += [[*effect, plain(".")]] if effect else []
    shape = [] if cause or layer is None or head is None else shape_clause(frame, step, trained, layer, head)
    if shape:
        parts.append([*shape, plain(".")])
    pieces: Pieces = []
    for i, part in enumerate(parts):
        pieces += [plain(" "), *part] if i else part
    return pieces


@of_rows
def rail_text(
    frame: Frame,
    row: RailRow,
    step: int,
    length: int,
    layer: int | None,
    head: int | None,
    *,
    trained: float | None = None,
) -> Pieces:
    """Return the short text next to one row of the Run page.

    Args:
        frame: rows of one run.
        row: behaviour, representation or mechanism.
        step: the selected training step.
        length: the selected prefix length.
        layer: the selected layer; None = all heads.
        head: the selected head.
        trained: N; without it the mechanism is described from the shortest measured length on.

    Returns:
        the pieces, or one sentence that the row is not measured here.
    """
    if row == "behaviour":
        return _rail_behaviour(frame, step, trained)
    if row == "representation":
        said = rail_carried(frame, step, length)
        return [*said, plain(".")] if said else _unread(frame, step, length)
    if row == "mechanism":
        if without_attention(frame):
            return scan_text(frame, step, trained)
        if layer is None or head is None:
            effect = leading_clause(leading_head(frame, step=step, length=length))
            return [*effect, plain(".")] if effect else [selection_without_row("step", step, UNTESTED, ".")]
        shape = shape_clause(frame, step, trained, layer, head)
        return (
            [*shape, plain(".")]
            if shape
            else [selection_without_row("step", step, "Attention is not measured at step ", ".")]
        )
    raise ValueError(f"unknown row {row!r}; the rows are behaviour, representation and mechanism")


def _unread(frame: Frame, step: int, length: int) -> Pieces:
    """Why no probe has a value somewhere: none read there, or what it read is undefined."""
    rows = frame.where(measurement=[name for name, *_ in CONCEPTS.values()], step=step, length=length, control="")
    held = [row for row in rows.rows() if row["note"]]
    if held:
        return [plain("What probes read there is undefined: "), note(held[0], after=".")]
    return [
        selection_without_row("step", step, "No probe read step "),
        selection_without_row("length", length, " at length ", "."),
    ]


def _named_cause(frame: Frame, step: int, trained: float) -> Pieces:
    """The diagnosis of a step where it names a cause; else nothing."""
    try:
        label = named_entry(frame, step=step)["label"]
    except NotMeasured:
        return []
    return [] if label in ("", NOT_EXPLAINED) else diagnosis_sentence(frame, step=step, longest=trained)


# ---- behaviour --------------------------------------------------------------------------------------
def since_sentence(frame: Frame, step: int) -> Pieces:
    """When the verdict of a step began; empty where that is not known, or where nothing began yet."""
    rows = frame.where(measurement=MEASUREMENT, quantity="verdict").rows()
    by_step = {int(row["step"]): row for row in rows if row["step"] <= step}
    began = since({at: str(row["label"]) for at, row in by_step.items()}) if step in by_step else None
    if began is None or by_step[step]["label"] == NOT_FITTED:
        return []
    if began.first:
        return [
            count(
                by_step[began.high], "step", "The model already had this verdict at step ", ", the first measured one."
            )
        ]
    made: Pieces = [count(by_step[began.high], "step", "The verdict has been the same since step ")]
    made += [] if began.low is None else [count(by_step[began.low], "step", " (last different verdict: step ", ")")]
    return [*made, plain(".")]


def _verdict(frame: Frame, step: int) -> Row:
    rows = frame.where(measurement=MEASUREMENT, quantity="verdict", step=step).rows()
    if not rows:
        raise NotMeasured(MEASUREMENT, f"No verdict at step {whole(step)}: behaviour is not measured there.")
    return dict(rows[0])


def _curve(frame: Frame, step: int, quantity: str, law: str) -> Frame:
    """Rows with a value over length, ascending."""
    rows = frame.where(measurement=MEASUREMENT, quantity=quantity, mode="teacher_forced", law=law, step=step)
    return rows_with_values(rows).sort("length")


def _failed(frame: Frame, step: int) -> Row | None:
    """The earliest observed failure length of either test set."""
    rows = rows_with_values(frame.where(measurement=MEASUREMENT, quantity="failure_length", step=step)).rows()
    return min(rows, key=lambda row: float(row["value"])) if rows else None


def _course(frame: Frame, verdict: Row, trained: float) -> Pieces:
    """Accuracy from the training length on: falls to where it fails, or stays up to the longest tested length."""
    step = int(verdict["step"])
    failed = _failed(frame, step)
    law = "matched" if failed is None else str(failed["law"])
    curve = _curve(frame, step, "accuracy", law).rows()
    if not curve:
        return [plain("its accuracies are not in the table")]
    first = nearest([int(row["length"]) for row in curve], trained)
    start = next(row for row in curve if row["length"] == first)
    end = next((row for row in curve if failed is not None and row["length"] == failed["value"]), None)
    if end is not None:
        falls: Pieces = [plain("accuracy falls from "), *estimate(start), at_length(start, trained), plain(" to ")]
        there = at_length(end, trained, law=True, number_of=True)
        return [*falls, *estimate(end), there, *component_shares_clause(frame, end, trained)]
    unseen = verdict["label"] == UNSEEN_POSITION
    both = stack([_curve(frame, step, "accuracy", one) for one in LAWS]).rows()
    top = float("inf") if missing(verdict["length"]) else float(verdict["length"])
    both = [row for row in both if first <= row["length"] <= top]
    # What is not judged says nothing: there the end of a sequence may give the answer away.
    # Where positions are unseen no length beyond training is judged: the sentence is about all measured ones.
    both = [
        row
        for row in both
        if unseen or row["length"] <= trained or counts_for_verdict(str(row["law"]), float(row["length"]), trained)
    ]
    lowest = min(both, key=lambda row: float(row["value"]))
    highest = max(float(row["value"]) for row in both)
    longest = max(both, key=lambda row: float(row["length"]))
    which = "measured" if unseen else "tested"
    lengths = [at_length(start, trained, f" at every {which} length from "), at_length(longest, trained, " to ")]
    # Of values that are written alike the widest interval is quoted; an exact value is of one length only.
    if proportion(float(lowest["value"])) == proportion(highest):
        drawn = [row for row in both if not missing(row["low"])]
        least = estimate(min(drawn, key=lambda row: float(row["low"]))) if drawn else [number(lowest)]
        return [plain("accuracy is "), *least, *lengths]
    there = at_length(lowest, trained, law=True, number_of=True)
    worst: Pieces = [*estimate(lowest), there, *component_shares_clause(frame, lowest, trained)]
    if verdict["label"] == SCALE_ROBUST:
        return [plain("accuracy is at least "), number(lowest), *lengths, plain(". It is lowest with "), *worst]
    between = [at_length(start, trained, f", of every {which} length from "), at_length(longest, trained, " to ")]
    return [plain("accuracy is lowest with "), *worst, *between]


def _inside(lengths: Sequence[int], trained: float) -> list[int]:
    """The grid lengths at or next above N/4, N/2 and N, none past N."""
    wanted = []
    for share in (4, 2, 1):
        above = [n for n in lengths if trained / share <= n <= trained]
        wanted.append(min(above) if above else nearest(list(lengths), trained))
    return sorted(set(wanted))


class _Fit:
    """The trained length whose skill has the lowest limit, and whether that length is solved, not solved, or
    undecided."""

    def __init__(self, row: Row, verdict: Row) -> None:
        self.row, self.verdict = row, verdict
        needed = bar(verdict, "fitted")
        low, high = (float(row["value"] if missing(row[end]) else row[end]) for end in ("low", "high"))
        self.below, self.open = high < needed, low < needed <= high

    @property
    def clause(self) -> Pieces:
        """``skill is 1.00 [0.79, 1.00] at length 32, and the threshold is 0.95``."""
        and_threshold = "; the threshold is " if self.open else ", below the threshold of "
        at = count(self.row, "length", " at length ", and_threshold)
        return [plain("skill is "), *estimate(self.row), at, threshold(self.verdict, "fitted")]


def _fit(frame: Frame, verdict: Row, trained: float) -> _Fit | None:
    """What is known of the fit where the verdict is about that; None where it is about longer prefixes."""
    if verdict["label"] not in (NOT_FITTED, UNDECIDED):
        return None
    rows = _curve(frame, int(verdict["step"]), "skill", "matched").rows()
    rows = [row for row in rows if not str(row["note"]).startswith(UNTRAINED)]
    inside = _inside([int(row["length"]) for row in rows], trained) if rows else []
    held = [row for row in rows if int(row["length"]) in inside]
    if not held:
        return None
    known = [fit for fit in (_Fit(row, verdict) for row in held) if fit.below]
    every = known or [_Fit(row, verdict) for row in held]
    return min(every, key=lambda fit: float(fit.row["value"] if missing(fit.row["low"]) else fit.row["low"]))


def _unfitted(fit: _Fit | None, verdict: Row) -> Pieces:
    if fit is None:
        return [plain("skill at trained lengths does not reach "), threshold(verdict, "fitted")]
    return fit.clause


def _more(verdict: Row) -> Pieces:
    """The reason that an undecided verdict gives beyond its label."""
    return [note(verdict, "; ")] if verdict["note"] and verdict["label"] == UNDECIDED else []


def _decides(verdict: Row, fit: _Fit) -> Pieces:
    """How many sequences would decide whether it solves the trained lengths; or that so many did not decide it."""
    if verdict.get("reason") == TOO_FEW:
        return [note(verdict, "; ", tail=True)]
    if verdict.get("reason") == AT_THE_BAR:
        return [count(fit.row, "n", "; still inconclusive after ", " sequences")]
    return []


def _rail_behaviour(frame: Frame, step: int, trained: float | None) -> Pieces:
    try:
        verdict = _verdict(frame, step)
    except NotMeasured:
        return [selection_without_row("step", step, "Behaviour is not measured at step ", ".")]
    fit = None if trained is None else _fit(frame, verdict, trained)
    if fit is not None and fit.open:
        return [plain(f"{WORDS[UNDECIDED]}. "), *_capitals(fit.clause), *_decides(verdict, fit), plain(".")]
    if verdict["label"] == NOT_FITTED:
        return [
            plain("No. It does not solve the trained lengths"),
            *([plain(": "), *fit.clause] if fit else []),
            plain("."),
        ]
    failed = _failed(frame, step)
    further = [plain("."), *_followed(frame, failed, trained), *strata_followed(frame, step, trained)]
    if failed is not None:
        kept: Pieces = (
            [] if missing(failed["low"]) else [count(failed, "low", ". Every tested length up to ", " passes")]
        )
        under = "" if failed["law"] == "matched" else f" on the {failed['law']} test set"
        if (
            failed["law"] == CHALLENGE
            and trained is not None
            and failed["value"] == first_judged(frame, CHALLENGE, trained, step)
        ):
            under += ", the first length at which it is tested"
        return [plain("No. "), count(failed, "value", "It fails at length ", under), *kept, *further]
    if verdict["label"] == SCALE_ROBUST:
        made: Pieces = [
            plain("Yes. The lower limit of skill (accuracy beyond guessing) is at least "),
            threshold(verdict, "robust"),
        ]
        made.append(plain(" at every tested length"))
        return (
            [*made, count(verdict, "length", " up to "), *further]
            if not missing(verdict["length"])
            else [*made, *further]
        )
    known = trained is not None and verdict.get("reason") == NO_THRESHOLD
    predicted = predictor_clause(frame, step, trained or 0) if known else []
    return [plain(WORDS[str(verdict["label"])]), *_reason(verdict), *_more(verdict), *predicted, *further]


def _followed(frame: Frame, failed: Row | None, trained: float | None) -> Pieces:
    """Which shortcut is followed where accuracy first fails, as a sentence; nothing where none is shown to be."""
    if failed is None or trained is None:
        return []
    where = {"step": failed["step"], "law": failed["law"], "length": failed["value"]}
    found = follows(frame, where, "teacher_forced", trained)
    return [count(failed, "value", " There, at length ", ", it is "), *found, plain(".")] if found else []


def _reason(verdict: Row) -> Pieces:
    """Why a verdict is undecided, of a closed list of reasons."""
    reason = verdict.get("reason") or ""
    return [plain(f" ({reason})")] if reason else []
