"""The headline of a run: accuracy at the longest trained, the first failing and the longest tested length, for both
test sets.

All numbers are those of rows, and all decisions (which length fails, what was tested) are those of the stored verdict.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, NamedTuple

from workbench.core.names import CHALLENGE, MATCHED
from workbench.core.verdicts import NO_THRESHOLD, NOT_FITTED, UNSEEN_POSITION
from workbench.figures.labels import Piece, proportion
from workbench.figures.panels.accuracy import LAWS, MEASUREMENT
from workbench.figures.rows.baselines import baseline_rows, counts_for_verdict
from workbench.figures.rows.claims import at_length, count, estimate, number, plain
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import nearest, rows_with_values
from workbench.figures.text.run_sentences import since_sentence, verdict_sentences

Row = Mapping[str, Any]
Pieces = list[Piece]
BASELINES = {MATCHED: "chance", CHALLENGE: "the best guess or shortcut"}
"""What the baseline of a test set is, in words."""


UNTESTED = "There is no verdict on longer lengths, because the model does not solve the trained ones."


class Headline(NamedTuple):
    """The words at the top of a run's page.

    Attributes:
        verdict: the verdict, and accuracy at three lengths; of a mixture, each component.
        further: the other test set, and what else is known of the behaviour.
        since: since which step the verdict holds; empty where nothing began.
    """

    verdict: Pieces
    further: Pieces
    since: Pieces


class Lengths(NamedTuple):
    """The accuracies of one test set that the headline names.

    Attributes:
        law: the test set.
        trained: the row at the longest trained length.
        fails: the row at the first length that fails; None where none is shown to fail.
        longest: the row at the longest tested length; None if no longer length was tested.
        first: the row at the first tested length beyond N; None likewise.
        lowest: the lowest row from N on.
    """

    law: str
    trained: Row
    fails: Row | None
    longest: Row | None
    first: Row | None
    lowest: Row


def headline(frame: Frame, *, step: int, trained: float) -> Headline:
    """Return the words at the top of a run's page at a step.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N, the longest trained length.

    Raises:
        NotMeasured: without a verdict at that step.
    """
    stated: list[str] = []

    def course(frame: Frame, verdict: Row, trained: float) -> Pieces:
        stated.append(_main_law(frame, verdict))
        return _three_lengths(frame, verdict, stated[-1], trained)

    sentences = verdict_sentences(frame, step, trained, course)
    verdict = frame.where(measurement=MEASUREMENT, quantity="verdict", step=step).row(0)
    further = [*sentences[2:], *_further(frame, verdict, stated, trained)]
    return Headline(_joined(sentences[:2]), _joined(further), since_sentence(frame, step))


def named_lengths(frame: Frame, verdict: Row, law: str, trained: float) -> Lengths | None:
    """Return the accuracies of a test set that the headline names; None without an accuracy at N.

    If the verdict is not about longer prefixes, all measured lengths count as tested.
    """
    step = int(verdict["step"])
    rows = frame.where(measurement=MEASUREMENT, quantity="accuracy", mode="teacher_forced", law=law, step=step)
    curve = rows_with_values(rows).sort("length").rows()
    if not curve:
        return None
    first = nearest([int(row["length"]) for row in curve], trained)
    curve = [row for row in curve if row["length"] >= first]
    if _about_lengths(verdict):
        top = float("inf") if missing(verdict["length"]) else float(verdict["length"])
        curve = [row for row in curve if row["length"] == first or _tested(law, float(row["length"]), trained, top)]
    ends = frame.where(measurement=MEASUREMENT, quantity="failure_length", law=law, step=step, status="ok").rows()
    fails = ends[0]["value"] if ends and _about_lengths(verdict) else None
    return Lengths(
        law,
        curve[0],
        next((row for row in curve if row["length"] == fails), None),
        curve[-1] if len(curve) > 1 else None,
        curve[1] if len(curve) > 1 else None,
        min(curve, key=lambda row: float(row["value"])),
    )


def _tested(law: str, length: float, trained: float, top: float) -> bool:
    return length <= top and counts_for_verdict(law, length, trained)


def _about_lengths(verdict: Row) -> bool:
    """Whether lengths beyond training were tested for this verdict."""
    return verdict.get("reason") != NO_THRESHOLD and verdict["label"] not in (NOT_FITTED, UNSEEN_POSITION)


def _main_law(frame: Frame, verdict: Row) -> str:
    """The test set of the earliest failure; the matched one where nothing fails."""
    rows = frame.where(measurement=MEASUREMENT, quantity="failure_length", step=int(verdict["step"]), status="ok")
    failed = [row for row in rows.rows() if not missing(row["value"])]
    return str(min(failed, key=lambda row: float(row["value"]))["law"]) if failed else MATCHED


# ---- clauses --------------------------------------------------------------------------------------------
def _three_lengths(frame: Frame, verdict: Row, law: str, trained: float) -> Pieces:
    """The clause of the headline: accuracy of the test set that decides, at up to three lengths."""
    lengths = named_lengths(frame, verdict, law, trained)
    if lengths is None:
        return [plain("its accuracies are not in the table")]
    course = _course(lengths, verdict, trained)
    return [plain(f"accuracy on the {law} test set is "), *course, *_at_baseline(frame, verdict, lengths, trained)]


def _course(lengths: Lengths, verdict: Row, trained: float) -> Pieces:
    """Accuracy at N, at the first failing length or the lowest one, and at the longest tested one."""
    start = [*estimate(lengths.trained), at_length(lengths.trained, trained)]
    if lengths.longest is None:
        return start
    done = "tested" if _about_lengths(verdict) else "measured"
    end = at_length(lengths.longest, trained, " at ", number_of=True)
    last = [*estimate(lengths.longest), end, plain(f", the longest {done} length")]
    if lengths.fails is not None:
        if lengths.fails is lengths.longest:
            return [*start, plain(" and "), *last, plain(" and the first that fails")]
        only = ", the first length tested there" if lengths.law == CHALLENGE and lengths.fails is lengths.first else ""
        fails = [*estimate(lengths.fails), at_length(lengths.fails, trained, " at ")]
        return [*start, plain(", "), *fails, plain(f", where it first fails{only}, and "), *last]
    ends = {proportion(float(row["value"])) for row in (lengths.trained, lengths.longest)}
    if done == "tested" and proportion(float(lengths.lowest["value"])) not in ends:
        low = [*estimate(lengths.lowest), at_length(lengths.lowest, trained, " at ")]
        return [*start, plain(", "), *low, plain(", the lowest of all tested lengths, and "), *last]
    return [*start, plain(" and "), *last]


def _at_baseline(frame: Frame, verdict: Row, lengths: Lengths, trained: float) -> Pieces:
    """From which length on accuracy is not shown to be above the baseline of the test set, if it fails at all."""
    if lengths.fails is None or lengths.longest is None:
        return []
    step, law = int(verdict["step"]), lengths.law
    first, last = float(lengths.fails["length"]), float(lengths.longest["length"])
    rows = frame.where(measurement=MEASUREMENT, quantity="skill", mode="teacher_forced", law=law, step=step)
    skill = [row for row in rows_with_values(rows).sort("length").rows() if first <= row["length"] <= last]
    level = list(takewhile(lambda row: not missing(row["low"]) and row["low"] <= 0, reversed(skill)))
    base = [row for row in baseline_rows(frame, law, "length", step=step).rows() if row["length"] == last]
    if not level or not base or level[0]["length"] != last:
        return []
    above = f"it is not shown to be above {BASELINES[law]} ("
    if len(level) == 1:
        return [plain(f"; there {above}"), number(base[0]), plain(")")]
    begin = at_length(level[-1], trained, "; from length ")
    return [begin, plain(f" on, {above}"), number(base[0]), count(base[0], "length", " at ", ")")]


# ---- further sentences ----------------------------------------------------------------------------------
def _further(frame: Frame, verdict: Row, stated: Sequence[str], trained: float) -> list[Pieces]:
    """Sentences on each test set that is not stated yet, or on longer lengths of a verdict that is not about them."""
    if not _about_lengths(verdict):
        return [] if stated else _beyond(frame, verdict, trained)
    sentences = []
    for law in LAWS:
        lengths = None if law in stated else named_lengths(frame, verdict, law, trained)
        if lengths is None or lengths.longest is None:
            continue
        clause = [*_course(lengths, verdict, trained), *_at_baseline(frame, verdict, lengths, trained)]
        passes = "" if lengths.fails is not None else " no tested length is shown to fail:"
        sentences.append([plain(f"On the {law} test set,{passes} accuracy is "), *clause, plain(".")])
    return sentences


def _beyond(frame: Frame, verdict: Row, trained: float) -> list[Pieces]:
    """Accuracy at N and at the longest measured length, for a model whose longer lengths are not tested."""
    lengths = named_lengths(frame, verdict, MATCHED, trained)
    if lengths is None or lengths.longest is None:
        return []
    sentence = [plain(f"Accuracy on the {MATCHED} test set is "), *_course(lengths, verdict, trained)]
    base = baseline_rows(frame, MATCHED, "length", step=int(verdict["step"])).rows()
    chance = [row for row in base if row["length"] == lengths.longest["length"]]
    if chance and verdict.get("reason") != NO_THRESHOLD:
        sentence += [plain("; chance is "), number(chance[0]), plain(" there")]
    sentences = [[*sentence, plain(".")]]
    if verdict["label"] == NOT_FITTED:
        sentences.append([plain(UNTESTED)])
    return sentences


def _joined(sentences: Sequence[Pieces]) -> Pieces:
    pieces: Pieces = []
    for i, sentence in enumerate(sentences):
        pieces += [plain(" "), *sentence] if i else sentence
    return pieces
