"""When in training an event began to hold for good: the last step without it and the first step with it.

An event lies between two measured steps. Steps at which it is undecided or not measured widen this bracket.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from workbench.core.names import BEHAVIOUR, MATCHED, NAMED
from workbench.core.verdicts import HARD_ATTENTION, NOT_FITTED, NOT_MEASURED, UNDECIDED
from workbench.figures.heads.leading_head import HEAD_EFFECT, NECESSARY, leading_head
from workbench.figures.panels.decodability import CONCEPTS
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import nearest
from workbench.figures.text.decodability_rows import readings
from workbench.models.base.graph import head_name

HARDMAX = "circuits.hardmax"
Row = Mapping[str, Any]
Course = Mapping[int, tuple[Row, bool | None]]
"""Step -> the row that decides there, and whether the event holds; None = undecided."""


@dataclass(frozen=True)
class TrainingEvent:
    """One event of a run, with the rows at both ends of its bracket.

    Attributes:
        key: which event it is, the same in every run.
        name: what holds, in a few words.
        without: the row at the last step at which it is shown not to hold; None if there is no such step.
        holds: the row at the first step from which it holds for good; None if it does not hold at the last step.
        measurement: the measurement whose rows decide it.
        reason: why it has no rows; "" if it has.
        undecided: whether the last steps are undecided, so that whether it holds is inconclusive.
    """

    key: str
    name: str
    without: Row | None
    holds: Row | None
    measurement: str
    reason: str = ""
    undecided: bool = False

    @property
    def order(self) -> tuple[float, float]:
        """The sort key of the event: the first step with it, then the last step without it."""
        late, early = float("inf"), -1.0
        return (
            late if self.holds is None else float(self.holds["step"]),
            early if self.without is None else float(self.without["step"]),
        )


def training_events(
    frame: Frame, *, trained: float, layer: int | None = None, head: int | None = None
) -> list[TrainingEvent]:
    """Return the events of one run, those that hold first before the others.

    Args:
        frame: rows of one run.
        trained: N, the longest trained length. What depends on a length is taken there.
        layer, head: the head whose attention is followed; None = the head that is shown to matter at the last step.
    """
    if layer is None or head is None:
        layer, head = _leading(frame, trained)
    last = _last_verdict(frame)
    courses: list[tuple[str, str, str, Course, str]] = [
        ("fitted", "solves trained lengths", BEHAVIOUR, _verdicts(frame, _solves), NOT_MEASURED),
        ("verdict", f"verdict: {last}", BEHAVIOUR, _verdicts(frame, _as(last)), NOT_MEASURED),
        *(_decoded(frame, concept, trained) for concept in CONCEPTS),
        ("necessary", "a single head matters", HEAD_EFFECT, _necessary(frame, trained), NOT_MEASURED),
    ]
    if layer is None or head is None:
        courses.append(("hard", "a head attends hard", HARDMAX, {}, "no single head is chosen"))
    else:
        courses.append(
            (
                "hard",
                f"{head_name(layer, head)} attends hard",
                HARDMAX,
                _hard(frame, trained, layer, head),
                NOT_MEASURED,
            )
        )
    events = [_event(*course) for course in courses]
    return sorted(events, key=lambda event: (bool(event.reason), *event.order))


def _event(key: str, name: str, measurement: str, course: Course, reason: str) -> TrainingEvent:
    if not course:
        return TrainingEvent(key, name, None, None, measurement, reason)
    known = {step: entry for step, entry in course.items() if entry[1] is not None}
    without = max((step for step, (_, holds) in known.items() if not holds), default=None)
    first = min(
        (step for step, (_, holds) in known.items() if holds and (without is None or step > without)), default=None
    )
    last = max(course)
    return TrainingEvent(
        key,
        name,
        None if without is None else course[without][0],
        None if first is None else course[first][0],
        measurement,
        undecided=first is None and course[last][1] is None,
    )


def _leading(frame: Frame, trained: float) -> tuple[int, int] | tuple[None, None]:
    steps = frame.where(measurement=HEAD_EFFECT, quantity=NECESSARY)["step"]
    place = leading_head(frame, step=int(max(steps)), length=int(trained)).place if len(steps) else None
    return (None, None) if place is None else place


def _verdicts(frame: Frame, holds: Callable[[str], bool | None]) -> Course:
    rows = frame.where(measurement=BEHAVIOUR, quantity="verdict").sort("step").rows()
    return {int(row["step"]): (row, holds(str(row["label"]))) for row in rows}


def _solves(label: str) -> bool | None:
    return None if label == UNDECIDED else label != NOT_FITTED


def _last_verdict(frame: Frame) -> str:
    """The verdict of the last checkpoint; "" without verdicts."""
    rows = frame.where(measurement=BEHAVIOUR, quantity="verdict").sort("step").rows()
    return str(rows[-1]["label"]) if rows else ""


def _as(last: str) -> Callable[[str], bool | None]:
    return lambda label: None if UNDECIDED in (label, last) else label == last


def _decoded(frame: Frame, concept: str, trained: float) -> tuple[str, str, str, Course, str]:
    """Whether a probe after the last block reads more than every control, at the longest trained length."""
    measurement, quantity, *_ = CONCEPTS[concept]
    name = "task state" if concept == "summary" else concept
    course: dict[int, tuple[Row, bool | None]] = {}
    for step in frame.where(measurement=measurement, quantity=quantity).distinct("step"):
        found = readings(frame, concept, step=int(step))
        if found:
            at = nearest([int(reading.row["length"]) for reading in found], trained)
            reading = next(one for one in found if int(one.row["length"]) == at)
            course[int(step)] = reading.row, None if reading.control is None else reading.above
    return concept, f"{name} above controls", measurement, course, NOT_MEASURED


def _necessary(frame: Frame, trained: float) -> Course:
    rows = frame.where(measurement=HEAD_EFFECT, quantity=NECESSARY, law=MATCHED).rows()
    rows = [row for row in rows if row["label"]]
    if not rows:
        return {}
    at = nearest(sorted({int(row["length"]) for row in rows}), trained)
    return {int(row["step"]): (row, row["label"] == NAMED) for row in rows if int(row["length"]) == at}


def _hard(frame: Frame, trained: float, layer: int, head: int) -> Course:
    rows = frame.where(measurement=HARDMAX, quantity="hardmax_verdict", law=MATCHED, layer=layer, head=head).rows()
    rows = [row for row in rows if row["label"] and not missing(row["length"])]
    if not rows:
        return {}
    at = nearest(sorted({int(row["length"]) for row in rows}), trained)
    here = (row for row in rows if int(row["length"]) == at)
    return {
        int(row["step"]): (row, None if row["label"] == UNDECIDED else row["label"] == HARD_ATTENTION) for row in here
    }
