"""Why a run fails past its training length: the cause in words, and the shares of the accuracy drop that decide it.

The page of the run shows both at its top. The cause is that of
:func:`workbench.figures.rows.diagnosis_rows.named_entry`, and the words are those of
:func:`workbench.figures.text.diagnosis_sentence.diagnosis_sentence`.
"""

from __future__ import annotations

from typing import NamedTuple

from workbench.core.names import NOT_EXPLAINED, POSITION_OR_CONTENT
from workbench.figures.labels import Piece
from workbench.figures.panels.restored_shares import name_of
from workbench.figures.rows.claims import accuracy_after_intervention, at_length, count, estimate, plain
from workbench.figures.rows.diagnosis_rows import (
    MEASUREMENT,
    Row,
    deciding_entry,
    named_entry,
    recovered_by,
    share_of,
)
from workbench.figures.rows.frame import Frame
from workbench.figures.rows.select_rows import rows_with_values
from workbench.figures.text.diagnosis_sentence import best_tried, cause_sentence, chosen_position, diagnosis_sentence

RIGHT_KEY = "attention to only the right key"


class RecoveredShare(NamedTuple):
    """One intervention: the share of the accuracy drop that it recovers, and what its control recovers.

    Attributes:
        name: the intervention in a few words.
        why: why this one is shown, if it does not name the cause.
        share: its row.
        control: the row of the same kind of edit with a wrong constant; None without one.
    """

    name: str
    why: str
    share: Row
    control: Row | None


class Cause(NamedTuple):
    """Why a run fails, at one checkpoint.

    Attributes:
        named: the row of the diagnosis.
        sentence: cause and component, or that none is named, or that several are not distinguished.
        shares: what decides it; the intervention that names the cause comes first.
        accuracy: accuracy at N, at the diagnosed length, and there with the intervention; empty if it is not stated.
    """

    named: Row
    sentence: list[Piece]
    shares: tuple[RecoveredShare, ...]
    accuracy: list[Piece]


def cause(frame: Frame, *, step: int, longest: float) -> Cause:
    """Return the diagnosis of a checkpoint.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        longest: N, the longest trained length.

    Raises:
        NotMeasured: where the checkpoint has no diagnosis.
    """
    named = named_entry(frame, step=step)
    own = frame.where(measurement=MEASUREMENT, step=step, law=named["law"])
    shares = _shares(own, named) if named["label"] else []
    drawn = bool(named["target"]) and bool(shares)
    words = cause_sentence if drawn or not named["label"] else diagnosis_sentence
    sentence = words(frame, step=step, longest=longest)
    return Cause(named, sentence, tuple(shares), _accuracy(own, named, shares if drawn else [], longest))


def _shares(own: Frame, named: Row) -> list[RecoveredShare]:
    """The shares that the sentence of the diagnosis names."""
    here = own.where(length=named["length"])
    if named["label"] == NOT_EXPLAINED:
        tried = rows_with_values(here.where(quantity="restored_share", control="", mode="alone")).rows()
        if not tried:
            return []
        share = best_tried(tried)
        highest = share is max(tried, key=lambda row: float(row["value"]))
        why = f"best of {len(tried)} interventions" if highest else "best of those chosen on other sequences"
        return [_with_control(own, share, why)]
    if named["label"] == POSITION_OR_CONTENT:
        position = chosen_position(here)
        return [*_right_key(here), *([] if position is None else [_with_control(own, position)])]
    targets = [str(named["target"] or ""), *recovered_by(named).values()]
    deciding = deciding_entry(own, named)
    shares = []
    for entry in [named] if deciding is None else [named, deciding]:
        rows = [share_of(own, entry, target) for target in dict.fromkeys(targets) if target]
        shares += [_with_control(own, row) for row in rows if row is not None]
    return shares or _right_key(here)


def _with_control(own: Frame, share: Row, why: str = "") -> RecoveredShare:
    target = str(share["target"])
    return RecoveredShare(name_of(target), why, share, share_of(own, share, target, "wrong_constant"))


def _right_key(here: Frame) -> list[RecoveredShare]:
    """What the right key recovers at the best head. This edit uses the answer, so that it names no cause."""
    rows = rows_with_values(here.where(quantity="oracle_key_share", control="")).rows()
    best = max(rows, key=lambda row: float(row["value"]), default=None)
    why = "uses the answer" + (f"; best of {len(rows)} heads" if len(rows) > 1 else "")
    return [] if best is None else [RecoveredShare(RIGHT_KEY, why, best, None)]


def _accuracy(own: Frame, named: Row, shares: list[RecoveredShare], longest: float) -> list[Piece]:
    """Accuracy at N and at the diagnosed length, and what the share makes of it there."""
    rows = {row["length"]: row for row in rows_with_values(own.where(quantity="balanced_accuracy")).rows()}
    drops = rows_with_values(own.where(quantity="balanced_loss", length=named["length"], control="")).rows()
    trained, before = rows.get(longest), rows.get(named["length"])
    if not named["label"] or trained is None or before is None:
        return []
    pieces = [plain("Class-balanced accuracy: "), *estimate(trained), at_length(trained, longest, " at ")]
    there = at_length(before, longest, " at ", number_of=True)
    joint = plain(", ") if shares and drops else plain(" and ")
    pieces += [joint, *estimate(before), there]
    if shares and drops:
        first = shares[0]
        size = count(first.share, "n", " (computed from the share, n = ", ")")
        pieces += [plain(", and there about "), accuracy_after_intervention(before, drops[0], first.share)]
        pieces += [plain(f" with {first.name}"), size] if first.share["length"] == named["length"] else []
    return [*pieces, plain(".")]
