"""Evidence for and against a verdict: each clause of the headline with its numbers, compared with controls.

The verdict depends only on behaviour. What a probe decodes and what a head does may agree with it or not. A number that
is not above its control is neutral.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from workbench.core.names import CHALLENGE
from workbench.core.thresholds import UNTRAINED
from workbench.core.verdicts import (
    HARD_ATTENTION,
    LENGTH_COUPLED,
    NO_THRESHOLD,
    NOT_FITTED,
    SCALE_ROBUST,
    SOFT_ATTENTION,
    STRATA,
)
from workbench.figures.errors import NotMeasured
from workbench.figures.heads.hard_or_soft import shape_clause
from workbench.figures.heads.head_curves import MEASUREMENT as HARDMAX
from workbench.figures.heads.leading_head import leading_clause, leading_head
from workbench.figures.labels import MISSING, Piece, estimate, interval, layer_said, proportion, whole
from workbench.figures.panels.accuracy import LAWS, MEASUREMENT
from workbench.figures.rows.baselines import baseline_rows, counts_for_verdict
from workbench.figures.rows.claims import bar, count, note, plain, threshold, trained_length_clause
from workbench.figures.rows.claims import head as named_head
from workbench.figures.rows.conversion import of_rows
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.select_rows import nearest, rows_with_values
from workbench.figures.text.decodability_clauses import LITTLE, MOVED
from workbench.figures.text.decodability_rows import CarriedReading, above, readings
from workbench.figures.text.strata_clauses import (
    COMPONENTS,
    each_stratum,
    joint_row,
    kind_of,
    name_of,
    repeats,
    verb,
    worst_of,
)
from workbench.models.base.graph import head_name

Standing = Literal["supports", "contradicts", "neutral"]
Topic = Literal["fit", "past training", "small margins", "summary", "position", "head"]
Pieces = list[Piece]
Row = Mapping[str, Any]

#: What a clause speaks for -> the verdicts that it supports, and those that it contradicts.
SPEAKS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "fitted": (frozenset({SCALE_ROBUST, LENGTH_COUPLED}), frozenset({NOT_FITTED})),
    NOT_FITTED: (frozenset({NOT_FITTED}), frozenset({SCALE_ROBUST, LENGTH_COUPLED})),
    SCALE_ROBUST: (frozenset({SCALE_ROBUST}), frozenset({LENGTH_COUPLED})),
    LENGTH_COUPLED: (frozenset({LENGTH_COUPLED}), frozenset({SCALE_ROBUST})),
}


@dataclass(frozen=True)
class Evidence:
    """One finding in words, and whether it supports the verdict.

    Attributes:
        topic: what it is about.
        short: in a few words.
        clause: in words.
        row: the row its value, interval and n are of; None where it has no single number.
        control: the row that the value is compared with; None if no control was measured.
        standing: whether it supports the verdict, contradicts it, or is neutral.
        where: the location in the model, in words; "" for behaviour.
    """

    topic: Topic
    short: Pieces
    clause: Pieces
    row: Row | None
    control: Row | None
    standing: Standing
    where: str = ""

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """Return value, interval, n, control with its interval, and location, as a table shows them."""
        row, control = self.row, self.control
        held = MISSING if control is None else _estimate(control)
        if row is None:
            return MISSING, "", MISSING, held, self.where
        counted = MISSING if missing(row["n"]) else whole(float(row["n"]))
        return proportion(float(row["value"])), interval(row["low"], row["high"]), counted, held, self.where


@of_rows
def evidence(
    frame: Frame, *, step: int, trained: float, length: int, layer: int | None = None, head: int | None = None
) -> list[Evidence]:
    """Everything that speaks for or against the verdict of a checkpoint, behaviour first.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        trained: N, the longest prefix length seen in training.
        length: where the effect of a head was tested: at the longest measured length up to this one.
        layer: the layer of the head to speak of (None = all heads).
        head: the head to speak of.

    Raises:
        NotMeasured: without a verdict at that step.
    """
    verdicts = frame.where(measurement=MEASUREMENT, quantity="verdict", step=step).rows()
    if not verdicts:
        raise NotMeasured(MEASUREMENT, f"No verdict at step {whole(step)}: behaviour is not measured there.")
    verdict = verdicts[0]
    fit, fitted = _fit(frame, verdict, trained)
    found = [*fit, *_past_training(frame, verdict, trained, fitted), *_near_ties(frame, verdict)]
    found += [*_summary(frame, verdict, trained), *_position(frame, verdict, trained)]
    found += _head(frame, verdict, trained, length, layer, head)
    return found


def tally(found: Sequence[Evidence]) -> dict[Standing, int]:
    """Count how many findings support the verdict, contradict it, or are neutral."""
    return {
        standing: sum(one.standing == standing for one in found) for standing in ("supports", "contradicts", "neutral")
    }


def standing_of(verdict: Row, speaks: str) -> Standing:
    """Whether evidence for ``speaks`` supports a verdict, contradicts it, or is neutral; "" is neutral."""
    supports, contradicts = SPEAKS.get(speaks, (frozenset[str](), frozenset[str]()))
    label = str(verdict["label"])
    return "supports" if label in supports else "contradicts" if label in contradicts else "neutral"


def _estimate(row: Row) -> str:
    """The value of a row with its interval, where it has one."""
    low, high = row.get("low"), row.get("high")
    return estimate(float(row["value"]), *((None, None) if missing(low) or missing(high) else (low, high)))


# ---- behaviour --------------------------------------------------------------------------------------------
def _curve(frame: Frame, step: int, quantity: str, law: str) -> list[dict[str, Any]]:
    rows = frame.where(measurement=MEASUREMENT, quantity=quantity, mode="teacher_forced", law=law, step=step)
    return rows_with_values(rows).sort("length").rows()


def _fit(frame: Frame, verdict: Row, longest_trained: float) -> tuple[list[Evidence], bool]:
    """Skill at the trained length with the lowest limit, and whether the model solves the trained lengths."""
    rows = [row for row in _curve(frame, int(verdict["step"]), "skill", "matched") if row["length"] <= longest_trained]
    rows = [row for row in rows if not str(row["note"]).startswith(UNTRAINED)]
    rows = [] if verdict.get("reason") == NO_THRESHOLD else rows
    rows = [row for row in rows if row["length"] >= longest_trained / 4] or rows[-1:]
    if not rows:
        return [], False
    row = min(rows, key=lambda one: float(one["value"] if missing(one["low"]) else one["low"]))
    low, high = (float(row["value"] if missing(row[end]) else row[end]) for end in ("low", "high"))
    needed = bar(verdict, "fitted")
    speaks = "fitted" if low >= needed else NOT_FITTED if high < needed else ""
    said = {"fitted": "reaches ", NOT_FITTED: "is below ", "": "is not known to reach "}[speaks]
    clause: Pieces = [
        plain("Skill at trained lengths "),
        plain(said),
        threshold(verdict, "fitted"),
        count(row, "length", ", least at length "),
    ]
    short = {"fitted": "solves trained lengths", NOT_FITTED: "does not solve trained lengths", "": "trained lengths"}
    standing = standing_of(verdict, speaks)
    return [Evidence("fit", [plain(short[speaks])], clause, row, None, standing)], speaks == "fitted"


def _past_training(frame: Frame, verdict: Row, longest_trained: float, fitted: bool) -> list[Evidence]:
    """Of each test set, where accuracy falls past N, or that it stays, next to the baseline of the test set there;
    nothing of what was never fitted."""
    step = int(verdict["step"])
    found: list[Evidence] = []
    if not fitted:
        return found
    for law in LAWS:
        ends = frame.where(measurement=MEASUREMENT, quantity="failure_length", law=law, step=step).rows()
        curve = {int(row["length"]): row for row in _curve(frame, step, "accuracy", law)}
        if not ends or not curve:
            continue
        if law == CHALLENGE:  # N itself is not judged there, and is what accuracy falls from
            unjudged = [n for n in curve if n > longest_trained and not counts_for_verdict(law, n, longest_trained)]
            curve = {n: row for n, row in curve.items() if n not in unjudged}
        baseline = {int(row["length"]): row for row in baseline_rows(frame, law, "length", step=step).rows()}
        made = _fails(ends[0], curve, longest_trained) or _stays(ends[0], curve, longest_trained)
        if made is None:
            continue
        clause, row, start, short = made
        control = baseline.get(int(row["length"]))
        speaks = SCALE_ROBUST * above(row, control) if start is row else LENGTH_COUPLED * above(start, row)
        under = plain(f" on the {law} test set")
        few = [*short, plain(f" ({law})")]
        found.append(Evidence("past training", few, [*clause, under], row, control, standing_of(verdict, speaks)))
    return found


def _fails(end: Row, curve: Mapping[int, Row], longest_trained: float) -> tuple[Pieces, Row, Row, Pieces] | None:
    """That accuracy falls: the clause, the row where it first fails and that at N, and the clause in a few words; None
    where no failure is seen."""
    if end["status"] != "ok" or missing(end["value"]) or int(end["value"]) not in curve:
        return None
    start = curve[nearest(list(curve), longest_trained)]
    clause: Pieces = [
        plain("Accuracy falls past "),
        trained_length_clause(longest_trained),
        count(end, "value", ": it fails at "),
    ]
    return clause, curve[int(end["value"])], start, [count(end, "value", "fails at ")]


def _stays(end: Row, curve: Mapping[int, Row], longest_trained: float) -> tuple[Pieces, Row, Row, Pieces] | None:
    """That accuracy stays: the clause, twice the lowest row from N on, and the clause in a few words; None if nothing
    past N was tested."""
    top = end["low"]
    if end["status"] != "censored" or missing(top) or top <= longest_trained:
        return None
    past = [row for n, row in curve.items() if longest_trained <= n <= top]
    if not past:
        return None
    lowest = min(past, key=lambda row: float(row["value"]))
    clause: Pieces = [
        plain("Accuracy stays past "),
        trained_length_clause(longest_trained),
        count(end, "low", ", up to "),
    ]
    return [*clause, count(lowest, "length", "; lowest at ")], lowest, lowest, [count(end, "low", "no failure to ")]


def _near_ties(frame: Frame, verdict: Row) -> list[Evidence]:
    """Whether hard strata hold past N; of a mixture a line for each component, else one for all together."""
    step = int(verdict["step"])
    row = joint_row(frame, step)
    if row is None:
        return []
    kind, strata = kind_of(row), each_stratum(frame, step)
    worst = worst_of(row, strata)
    shown = strata if kind == COMPONENTS else [worst] if worst is not None else []
    if not shown:
        clause: Pieces = [plain(f"{kind.capitalize()} {verb(row, many=True)} past training")]
        clause += [note(row, ": ")] if row["note"] else []
        return [Evidence("small margins", _few(kind, row), clause, None, None, standing_of(verdict, _speaks(row)))]
    found = []
    for one in shown:
        first = f"{kind.capitalize()}: " if kind == COMPONENTS else f"{kind.capitalize()} {verb(one, many=True)}: "
        own: Pieces = [plain(first), name_of(one), plain(f" {verb(one)}" if kind == COMPONENTS else "")]
        own += [count(one, "length", " at length ")]
        own += [plain("" if one["law"] == "matched" else f" on the {one['law']} test set")]
        own += [*repeats(one, ", "), note(one, "; ")]
        short: Pieces = [name_of(one), plain(f" {verb(one)}")] if kind == COMPONENTS else _few(kind, one)
        found.append(Evidence("small margins", short, own, one, None, standing_of(verdict, _speaks(one))))
    return found


def _few(kind: str, row: Row) -> Pieces:
    return [plain(f"{kind} {verb(row, many=True)}")]


def _speaks(row: Row) -> str:
    """What a row on hard strata speaks for: those that are inconclusive speak for nothing."""
    kind = STRATA.get(str(row["label"]))
    return "" if kind is None else kind.supports


# ---- what is carried --------------------------------------------------------------------------------------
def _past(frame: Frame, concept: str, step: int, longest_trained: float) -> CarriedReading | None:
    """What is read of a concept after the last block, at the longest measured length past N."""
    found = [one for one in readings(frame, concept, step=step) if one.row["length"] > longest_trained]
    return found[-1] if found else None


def _summary(frame: Frame, verdict: Row, longest_trained: float) -> list[Evidence]:
    """The task state in the code of trained lengths is evidence for robustness; in a code that moves, against it."""
    one = _past(frame, "summary", int(verdict["step"]), longest_trained)
    if one is None:
        return []
    gain = 0.0 if one.refit is None else float(one.refit["value"]) - float(one.row["value"])
    name: Piece = ("task state", "summary")
    row, speaks, few = one.row, "", " carried"
    if one.refit is not None and one.refit_above and gain >= MOVED:
        row, speaks, said = one.refit, LENGTH_COUPLED, " is carried in a code that moves past training"
        few = " in a moving code"
    elif one.above:
        speaks, said = SCALE_ROBUST, " is carried in the code of trained lengths"
    else:
        said = " is not above its controls" if one.control is not None else " is read, without a control"
        few = " not above controls" if one.control is not None else " without control"
    clause: Pieces = [plain("The "), name, plain(said), count(row, "length", " at length ")]
    standing = standing_of(verdict, speaks)
    where = layer_said(float(row["layer"]))
    return [Evidence("summary", [name, plain(few)], clause, row, one.control, standing, where)]


def _position(frame: Frame, verdict: Row, longest_trained: float) -> list[Evidence]:
    """A decodable position is evidence for a code of positions; a position that cannot be decoded is neutral."""
    one = _past(frame, "position", int(verdict["step"]), longest_trained)
    if one is None:
        return []
    speaks = ""
    if one.control is None:
        said, few = " is read, without a control", " without control"
    elif not one.above:
        said, few = " is not above its controls", " not above controls"
    elif float(one.row["value"]) < LITTLE:
        said, few = " is above its controls, and little", " hardly readable"
    else:
        speaks, said, few = LENGTH_COUPLED, " can be read, above its controls", " readable"
    clause: Pieces = [("Position", "position"), plain(said), count(one.row, "length", " at length ")]
    standing, where = standing_of(verdict, speaks), layer_said(float(one.row["layer"]))
    short: Pieces = [("position", "position"), plain(few)]
    return [Evidence("position", short, clause, one.row, one.control, standing, where)]


# ---- heads ------------------------------------------------------------------------------------------------
def _head(
    frame: Frame, verdict: Row, longest_trained: float, length: int, layer: int | None, which: int | None
) -> list[Evidence]:
    """A head that is shown to matter, and whether its attention is as even past N as at N."""
    step = int(verdict["step"])
    leading = leading_head(frame, step=step, length=length)
    if layer is None or which is None:
        effect = leading_clause(leading)
        few: Pieces = [plain("no single head shown to matter")]
        if leading.place is not None and leading.tested is not None:
            few = [named_head(leading.tested), plain(" matters")]
        return [Evidence("head", few, effect, None, None, "neutral")] if effect else []
    shape = shape_clause(frame, step, longest_trained, layer, which)
    if not shape:
        return []
    where = head_name(layer, which)
    if leading.place != (layer, which) or leading.tested is None:
        known = leading.tested is not None
        why = ", but it is not shown to matter" if known else "; whether it matters is not measured"
        at = [count(leading.tested, "length", " at length ")] if leading.tested is not None else []
        few = [shape[0], plain(" not shown to matter" if known else " not ablated")]
        return [Evidence("head", few, [*shape, plain(why), *at], None, None, "neutral", where)]
    at_head = {"measurement": HARDMAX, "law": "matched", "control": "", "step": step, "layer": layer, "head": which}
    kinds = _kinds(frame.where(quantity="hardmax_verdict", **at_head), longest_trained)
    speaks = ""
    if len(kinds) > 1 and set(kinds) == {HARD_ATTENTION}:
        speaks = SCALE_ROBUST
    elif len(kinds) > 1 and kinds[0] == HARD_ATTENTION and kinds[-1] == SOFT_ATTENTION:
        speaks = LENGTH_COUPLED
    cost: Pieces = [
        plain("; without it, "), *leading.cost, count(leading.tested, "length", " at length ")
    ]  # fmt: skip
    row = leading.smallest_drop
    control = None if row is None else (leading.controls or {}).get(str(row["mode"]))
    even = {SCALE_ROBUST: ", attention stays even", LENGTH_COUPLED: ", attention gets uneven"}
    few = [shape[0], plain(f" matters{even.get(speaks, '; hard or soft is not shown')}")]
    return [Evidence("head", few, [*shape, *cost], row, control, standing_of(verdict, speaks), where)]


def _kinds(rows: Frame, longest_trained: float) -> list[str]:
    """The labels of a head's attention over length, from N on."""
    listed = rows.sort("length").rows()
    if not listed:
        return []
    first = nearest([int(row["length"]) for row in listed], longest_trained)
    return [str(row["label"]) for row in listed if row["length"] >= first]
