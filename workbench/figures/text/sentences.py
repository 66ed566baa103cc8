"""Sentences about a run, made from table rows alone.

A sentence is a list of pieces ``(text, role)``; joined, the texts read as prose. Roles: ``plain``,
``summary`` and ``position`` (words in the colour of their concept), ``muted`` (intervals). A piece that names a
number is a :class:`workbench.figures.rows.claims.Claim` and says which row it read that from.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from workbench.figures.errors import NotMeasured
from workbench.figures.heads.hard_or_soft import shape_clause
from workbench.figures.heads.leading_head import leading_clause, leading_head
from workbench.figures.labels import Piece, proportion, whole
from workbench.figures.panels.accuracy import LAWS, MEASUREMENT
from workbench.figures.panels.decodability import CONCEPTS
from workbench.figures.rows.claims import asked, bar, capital, count, estimate, note, plain, threshold
from workbench.figures.rows.door import of_rows
from workbench.figures.rows.frame import Frame, missing, present
from workbench.figures.rows.picking import nearest, stack, valued
from workbench.figures.style.verdict_styles import since, verdict_style
from workbench.figures.text.carried_clauses import carried_clause, rail_carried
from workbench.figures.text.ssm_sentences import scan_text, without_attention

__all__ = [
    "Piece",
    "rail_text",
    "verdict_sentence",
    "wants_strings",
    "why_sentence",
]

RailRow = Literal["behaviour", "representation", "mechanism"]
TOO_FEW = "too few strings"
"""Reason of an undecided verdict that further strings may decide."""
Row = Mapping[str, Any]
Pieces = list[Piece]


@of_rows
def verdict_sentence(frame: Frame, *, step: int, trained: float) -> Pieces:
    """Verdict, step, behaviour and interval of one checkpoint, as one sentence, and what near ties add to it.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N, the longest prefix length seen in training.

    Raises:
        NotMeasured: without a verdict at that step.
    """
    row = _verdict(frame, step)
    style = verdict_style(str(row["label"]))
    fit = _fit(frame, row, trained)
    if fit is not None and fit.open:
        return [
            plain("Not known yet"),
            count(row, "step", " at step ", ": "),
            *fit.clause,
            *_decides(row, fit),
            plain("."),
        ]
    pieces: Pieces = [(style.word, style.role), count(row, "step", " at step ", ": ")]
    if row["label"] == "not fitted":
        return [*pieces, *_unfitted(fit, row), plain(".")]
    pieces += _course(frame, row, trained)
    pieces += _more(row)
    if row["label"] == "unseen position":
        unseen = frame.where(measurement=MEASUREMENT, step=step, status="unseen_position")
        unseen = unseen.where(present(unseen["length"])).sort("length")
        pieces.append(plain(", reading positions never seen in training"))
        pieces += [count(unseen.row(0), "length", " from length ", " on")] if len(unseen) else []
    return [*pieces, *near_ties_clause(frame, step), plain(".")]


@of_rows
def wants_strings(frame: Frame, step: int) -> bool:
    """Whether further strings would decide the verdict of a step, as far as its first ones tell."""
    rows = frame.where(measurement=MEASUREMENT, quantity="verdict", step=step).rows()
    return bool(rows) and rows[0].get("reason") == TOO_FEW and str(rows[0]["note"]).endswith("would decide")


def near_ties_clause(frame: Frame, step: int) -> Pieces:
    """What near ties add to the verdict of a step: ``; near ties fail, lead 1: 0.50 at 249``; empty without rows.

    A blurred threshold errs on them alone, so a verdict that does not name them says less than was measured.
    """
    rows = frame.where(measurement=MEASUREMENT, quantity="near_ties", step=step).rows()
    if not rows or rows[0]["status"] in ("not_applicable", "undefined"):
        return []
    words = {"fail": "; near ties fail", "hold": "; near ties hold", "open": "; near ties are open"}
    said: Pieces = [plain(words.get(str(rows[0]["label"]), "; near ties: not known"))]
    return [*said, note(rows[0], ", ")] if rows[0]["note"] else said


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
    """Since when, what the residual stream carries, and what the named head does; the unmeasured is left out.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N.
        layer: layer of the head to speak of (None = no head).
        head: the head to speak of.
        length: where the head with the largest effect was chosen; None = that is not said.
    """
    parts: list[Pieces] = []
    held = _since(frame, step)
    if held:
        parts.append(held)
    carried = carried_clause(frame, step, trained)
    if carried:
        parts.append([*carried, plain(".")])
    shape = [] if layer is None or head is None else shape_clause(frame, step, trained, layer, head)
    if shape:
        leading = None if length is None else leading_head(frame, step=step, length=length)
        chosen = leading is not None and (leading.layer, leading.head) == (layer, head)
        lead = leading_clause(leading) if chosen and leading is not None else [plain("Head ")]
        parts.append([capital(lead[0]), *lead[1:], *shape, plain(".")])
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
    layer: int,
    head: int,
    *,
    trained: float | None = None,
) -> Pieces:
    """The answer in the rail of one row of the Run page.

    Args:
        frame: rows of one run.
        row: behaviour, representation or mechanism.
        step: the cursor's training step.
        length: the cursor's prefix length.
        layer: the cursor's layer.
        head: the cursor's head.
        trained: N; without it the mechanism is told from the shortest measured length on.

    Returns:
        the pieces, or one sentence saying that the row is not measured here.
    """
    if row == "behaviour":
        return _rail_behaviour(frame, step, trained)
    if row == "representation":
        said = rail_carried(frame, step, length)
        return [*said, plain(".")] if said else _unread(frame, step, length)
    if row == "mechanism":
        if without_attention(frame):
            return scan_text(frame, step, trained)
        shape = shape_clause(frame, step, trained, layer, head)
        return [*shape, plain(".")] if shape else [asked("step", step, "Attention is not measured at step ", ".")]
    raise ValueError(f"unknown row {row!r}; the rows are behaviour, representation and mechanism")


def _unread(frame: Frame, step: int, length: int) -> Pieces:
    """Why no probe has a value somewhere: none read there, or what it read is undefined."""
    rows = frame.where(measurement=[name for name, *_ in CONCEPTS.values()], step=step, length=length, control="")
    held = [row for row in rows.rows() if row["note"]]
    if held:
        return [plain("What probes read there is undefined: "), note(held[0], after=".")]
    return [asked("step", step, "No probe read step "), asked("length", length, " at length ", ".")]


# ---- behaviour --------------------------------------------------------------------------------------
def _since(frame: Frame, step: int) -> Pieces:
    """When the verdict of a step began; empty where that is not known, or where nothing began yet."""
    rows = frame.where(measurement=MEASUREMENT, quantity="verdict").rows()
    by_step = {int(row["step"]): row for row in rows if row["step"] <= step}
    began = since({at: str(row["label"]) for at, row in by_step.items()}) if step in by_step else None
    if began is None or by_step[step]["label"] == "not fitted":
        return []
    made: Pieces = [count(by_step[began.high], "step", "Since step ")]
    made += [] if began.low is None else [count(by_step[began.low], "step", " (last different: ", ")")]
    return [*made, plain(".")]


def _verdict(frame: Frame, step: int) -> Row:
    rows = frame.where(measurement=MEASUREMENT, quantity="verdict", step=step).rows()
    if not rows:
        raise NotMeasured(MEASUREMENT, f"No verdict at step {whole(step)}: behaviour is not measured there.")
    return dict(rows[0])


def _curve(frame: Frame, step: int, quantity: str, law: str) -> Frame:
    """Rows with a value over length, ascending."""
    rows = frame.where(measurement=MEASUREMENT, quantity=quantity, mode="teacher_forced", law=law, step=step)
    return valued(rows).sort("length")


def _failed(frame: Frame, step: int) -> Row | None:
    """The earliest observed failure length of either law."""
    rows = valued(frame.where(measurement=MEASUREMENT, quantity="failure_length", step=step)).rows()
    return min(rows, key=lambda row: float(row["value"])) if rows else None


def _course(frame: Frame, verdict: Row, trained: float) -> Pieces:
    """Accuracy from the training length on: falls to where it fails, or stays up to the horizon."""
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
        under = "" if law == "matched" else f" under the {law} law"
        made: Pieces = [plain("accuracy falls from "), *estimate(start), count(start, "length", " at length ", " to ")]
        return [*made, *estimate(end), count(end, "length", " at length ", under)]
    both = stack([_curve(frame, step, "accuracy", one) for one in LAWS]).rows()
    top = float("inf") if missing(verdict["length"]) else float(verdict["length"])
    both = [row for row in both if first <= row["length"] <= top]
    lowest = min(both, key=lambda row: float(row["value"]))
    highest = max(float(row["value"]) for row in both)
    longest = max(both, key=lambda row: float(row["length"]))
    or_above = "" if proportion(float(lowest["value"])) == proportion(highest) else " or above"
    if verdict["label"] != "scale-robust":
        under = "" if lowest["law"] == "matched" else f" under the {lowest['law']} law"
        least: Pieces = [
            plain("accuracy is lowest with "),
            *estimate(lowest),
            count(lowest, "length", " at length ", under),
        ]
        every = count(start, "length", ", of every measured length from ")
        return [*least, every, count(longest, "length", " to ")]
    return [
        plain("accuracy stays at "),
        *estimate(lowest),
        count(start, "length", f"{or_above} at every measured length from "),
        count(longest, "length", " to "),
    ]


def _inside(lengths: Sequence[int], trained: float) -> list[int]:
    """The grid lengths at or next above N/4, N/2 and N, none past N."""
    wanted = []
    for share in (4, 2, 1):
        above = [n for n in lengths if trained / share <= n <= trained]
        wanted.append(min(above) if above else nearest(list(lengths), trained))
    return sorted(set(wanted))


class _Fit:
    """The trained length of which least is shown: its skill, and whether it is known to be fitted, or not to be."""

    def __init__(self, row: Row, verdict: Row) -> None:
        self.row, self.verdict = row, verdict
        needed = bar(verdict, "fitted")
        low, high = (float(row["value"] if missing(row[end]) else row[end]) for end in ("low", "high"))
        self.below, self.open = high < needed, low < needed <= high

    @property
    def clause(self) -> Pieces:
        """``skill 1.00 [0.79, 1.00] at length 32, against a bar of 0.95``."""
        at = count(self.row, "length", " at length ", ", against a bar of ")
        return [plain("skill "), *estimate(self.row), at, threshold(self.verdict, "fitted")]


def _fit(frame: Frame, verdict: Row, trained: float) -> _Fit | None:
    """What is known of the fit where the verdict is about that; None where it is about longer prefixes."""
    if verdict["label"] not in ("not fitted", "undecided"):
        return None
    rows = _curve(frame, int(verdict["step"]), "skill", "matched").rows()
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
    return [*fit.clause, plain(" at every trained length")]


def _more(verdict: Row) -> Pieces:
    """What an undecided verdict says of itself beyond its label."""
    return [note(verdict, "; ")] if verdict["note"] and verdict["label"] == "undecided" else []


def _decides(verdict: Row, fit: _Fit) -> Pieces:
    """What would decide whether it is fitted: so many strings; or that so many did not."""
    if verdict.get("reason") == TOO_FEW:
        return [note(verdict, "; ", tail=True)]
    if verdict.get("reason") == "at the bar":
        return [count(fit.row, "n", "; still open after ", " strings")]
    return []


def _rail_behaviour(frame: Frame, step: int, trained: float | None) -> Pieces:
    try:
        verdict = _verdict(frame, step)
    except NotMeasured:
        return [asked("step", step, "Behaviour is not measured at step ", ".")]
    fit = None if trained is None else _fit(frame, verdict, trained)
    if fit is not None and fit.open:
        return [plain("Not known yet: "), *fit.clause, *_decides(verdict, fit), plain(".")]
    if verdict["label"] == "not fitted":
        return [
            plain("No. It does not do the task at trained lengths"),
            *([plain(": "), *fit.clause] if fit else []),
            plain("."),
        ]
    ties = [*near_ties_clause(frame, step), plain(".")]
    failed = _failed(frame, step)
    if failed is not None:
        kept: Pieces = (
            [] if missing(failed["low"]) else [count(failed, "low", "; up to ", " every judged length passes")]
        )
        under = "" if failed["law"] == "matched" else f" under the {failed['law']} law"
        return [plain("No. "), count(failed, "value", "Failure length ", under), *kept, *ties]
    if verdict["label"] == "scale-robust":
        made: Pieces = [plain("Yes. Skill is shown to be at least "), threshold(verdict, "robust")]
        made.append(plain(" at every judged length"))
        return [*made, count(verdict, "length", " up to "), *ties] if not missing(verdict["length"]) else [*made, *ties]
    return [plain(verdict_style(str(verdict["label"])).word), *_reason(verdict), *_more(verdict), *ties]


def _reason(verdict: Row) -> Pieces:
    """Why a verdict is undecided, of a closed list of reasons."""
    reason = verdict.get("reason") or ""
    return [plain(f" ({reason})")] if reason else []
