"""The verdict on a checkpoint, from behaviour only: five labels, and the reason where it is undecided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from workbench.core.html_card import card
from workbench.core.thresholds import HORIZON
from workbench.core.verdicts import (
    AT_THE_BAR,
    BETWEEN_THE_BARS,
    LENGTH_COUPLED,
    NO_THRESHOLD,
    NOT_FITTED,
    SCALE_ROBUST,
    TOO_FEW,
    TOO_SHORT,
    UNDECIDED,
    UNDEFINED,
    UNSEEN_POSITION,
)
from workbench.measure.behaviour.accuracy_cells import Cell, Key
from workbench.measure.behaviour.interim_tests import LookBoard, Looks, looks_left, would_decide

NO_THRESHOLD_NOTE = "the best possible accuracy is not known, so there is no threshold; {}"
"""The note of a verdict on a task such as text, where the prefix does not determine the answers."""


@dataclass(frozen=True)
class FailureLength:
    """The length at which skill drops below the threshold on one test set.

    Attributes:
        length: the first tested length that is shown to fail, confirmed by the next one or by a second batch; None = no
            failure.
        low: the largest tested length below it (or of all) up to which every tested cell passes; N if there is none.
        tested: the largest tested length, or None where none was tested.
        note: a remark for readers.
    """

    length: int | None
    low: int
    tested: int | None
    note: str = ""


@dataclass(frozen=True)
class Verdict:
    """A verdict with the longest tested length, failure length per test set, explanation, and reason if undecided."""

    label: str
    horizon: int
    failures: Mapping[str, FailureLength]
    note: str
    reason: str = ""

    def _repr_html_(self) -> str:
        """Return a card for notebooks."""
        ends = [
            (f"fails on {law}", f"at {end.length}, not yet at {end.low}")
            for law, end in self.failures.items()
            if end.length is not None
        ]
        facts = [("horizon", self.horizon), *ends, ("why", self.note), ("reason", self.reason)]
        return card(f"Verdict: {self.label}", facts)


def failure_length(board: LookBoard, law: str) -> FailureLength:
    """Return the length at which skill drops on a test set, interval-censored.

    A length fails where skill is shown to be below 0.9 times the mean trained skill of the same test set. The failure
    counts if the next tested length fails too. At the last length, a second batch of sequences must fail.
    """
    cells = board.tested_cells(law)
    tested = cells[-1].length if cells else None
    failed = board.failing_cell(law)
    before = [cell for cell in cells if failed is None or cell.length < failed.length]
    low = board.grid.trained
    for cell in before:
        if board.state(cell) != "pass":
            break
        low = cell.length
    if failed is not None:
        note = "confirmed by a second batch" if failed is not board.pair(law) else ""
        return FailureLength(failed.length, low, tested, note)
    if tested is None:
        return FailureLength(None, low, None, "no length beyond training is judged")
    alone = [str(cell.length) for cell in isolated_failures(board, law)]
    notes = [f"one batch of two fails at {tested}"] if law in board.second else []
    notes += [f"fails at {', '.join(alone)} alone"] if alone else []
    return FailureLength(None, low, tested, "; ".join(notes))


def isolated_failures(board: LookBoard, law: str) -> list[Cell]:
    """Return tested cells that fail while the next one does not; the last one if no second batch was drawn."""
    failing = board.having("fail", board.tested_cells(law))
    return [cell for cell in failing if board.failing_cell(law) is None and cell is not _doubted(board, law)]


def _doubted(board: LookBoard, law: str) -> Cell | None:
    """Return the last cell of a test set if one batch failed and a second one did not."""
    return board.lonely_end(law) if law in board.second else None


def decide(board: LookBoard, looks: Looks, made: Mapping[Key, int]) -> Verdict:
    """Return the verdict: not fitted, length-coupled, unseen position, scale-robust to H, or undecided.

    Args:
        board: the cells with their states.
        looks: the planned and the allowed interim tests.
        made: number of interim tests made, for each cell with more than one.
    """
    horizon = max(board.grid.lengths)
    failures = {law: failure_length(board, law) for law in board.laws}

    def verdict(label: str, note: str, reason: str = "") -> Verdict:
        return Verdict(label, horizon, failures, note, reason)

    remaining_cells = looks_left(board, looks, made)
    if board.fit == "fail":
        return verdict(NOT_FITTED, _not_fitted(board))
    if board.fit == "open":
        return verdict(UNDECIDED, *_fit_open(board, remaining_cells))
    failed = {law: f for law, f in failures.items() if f.length is not None}
    if failed:
        return verdict(LENGTH_COUPLED, _coupled(board, failed))
    if board.unseen:
        return verdict(UNSEEN_POSITION, f"positions from length {min(board.unseen)} on were never seen in training")
    if board.could_be_robust and len(board.having("pass", board.outer)) == len(board.outer):
        return verdict(SCALE_ROBUST, _robust(board, horizon))
    return verdict(UNDECIDED, *_undecided(board, remaining_cells, horizon))


def interval_text(cell: Cell, level: float) -> str:
    """Return ``skill 0.951 [0.944, 0.957]``. The limits are those of the skill row; complete counts have none."""
    if cell.counted:
        of = cell.note if cell.first is None and cell.note else f"{cell.right:g} of {cell.n} counted"
        return f"skill {cell.skill:.3f} ({of})"
    return f"skill {cell.skill:.3f} [{cell.lower(level):.3f}, {cell.upper(level):.3f}]"


def longest_trained(trained: Sequence[Cell]) -> str:
    """Return a clause with the accuracy at the longest trained length and that of the best constant answer."""
    last = trained[-1]
    constant = f"the best constant answer scores {last.floor:.3f}"
    return f"accuracy is {last.accuracy:.3f} at trained {last.lengths}, where {constant}"


def fit_note(board: LookBoard) -> str:
    """Return a clause: why the training lengths count as not fitted, or what is still unknown about them."""
    return _not_fitted(board) if board.fit == "fail" else _fit_open(board, board.having("open", board.trained_cells))[0]


def _not_fitted(board: LookBoard) -> str:
    failing = board.having("fail", board.trained_cells)
    worst = min(failing, key=lambda cell: cell.skill)
    said = interval_text(worst, board.rules.level)
    return f"{said} at trained {worst.lengths}; fitted needs {board.rules.fitted * worst.best_skill:g}"


def _fit_open(board: LookBoard, left: Sequence[Cell]) -> tuple[str, str]:
    """Return note and reason where it is undecided whether the model solves the training lengths."""
    if board.no_threshold:
        return NO_THRESHOLD_NOTE.format(longest_trained(board.trained_cells)), NO_THRESHOLD
    undefined = [cell for cell in board.trained_cells if not cell.defined]
    if undefined:
        return f"skill is undefined at trained {undefined[0].lengths}: a guess answers nearly always", UNDEFINED
    rules, trained = board.rules, len(board.trained_cells)
    open_ones = board.having("open", board.trained_cells)
    worst = min(open_ones, key=lambda cell: cell.lower(rules.level))
    needed = rules.fitted * worst.best_skill
    said = f"{interval_text(worst, rules.level)} at trained {worst.lengths}, the bar is {needed:g}"
    failing = board.having("fail", board.outer)
    beyond = f"; skill fails at {failing[0].length} under the {failing[0].law} law" if failing else ""
    if left:
        bars = [rules.fitted * cell.best_skill for cell in open_ones]
        enough = [would_decide(cell, bar, rules, trained, bar) for cell, bar in zip(open_ones, bars, strict=True)]
        return f"it is not known yet whether it fits: {said}{beyond}; {_enough(enough, rules.looks)}", TOO_FEW
    return f"whether it fits stays open after {worst.n:,} strings: {said}{beyond}", AT_THE_BAR


def _enough(needed: Sequence[int | None], looks: Sequence[int]) -> str:
    """Return a clause on how many sequences would decide several open cells."""
    known = [n for n in needed if n is not None]
    if len(known) < len(needed):
        return f"at this share {looks[-1]:,} strings would not decide"
    return f"{max(known):,} strings would decide"


def _coupled(board: LookBoard, failed: Mapping[str, FailureLength]) -> str:
    law, first = min(failed.items(), key=lambda item: item[1].length or 0)
    lengths = board.cells[law, first.length].lengths if first.length is not None else ""
    note = f"skill falls below {board.rules.robust:g} of its trained value at {lengths} under the {law} law"
    return f"{note}, {first.note}" if first.note else note


def _robust(board: LookBoard, horizon: int) -> str:
    lowest = min(cell.lower(board.rules.level) for cell in board.outer)
    laws = "both laws" if len(board.laws) > 1 else f"the {board.laws[0]} law"
    return f"skill is at least {lowest:.2f} at every judged length on {laws} up to length {horizon}"


def _undecided(board: LookBoard, left: Sequence[Cell], horizon: int) -> tuple[str, str]:
    """Return note and reason where the model solves the training lengths and nothing beyond them decides."""
    rules, needed = board.rules, HORIZON * board.grid.trained
    if not board.grid.outside:
        return f"no length beyond the {board.grid.trained} trained ones was measured", TOO_SHORT
    if horizon < needed:
        return f"measured to length {horizon} only; scale-robust needs {needed}", TOO_SHORT
    if board.undefined_cells:
        cell = board.undefined_cells[0]
        return f"skill is undefined at {cell.lengths} under the {cell.law} law", UNDEFINED
    if left:
        cell = min(left, key=lambda one: one.lower(rules.level))
        bars = [rules.robust * one.best_skill for one in left]
        enough = [
            would_decide(one, bar, rules, len(board.outer), board.bar(one.law))
            for one, bar in zip(left, bars, strict=True)
        ]
        return (
            f"{_at(cell, board)}, the bar is {rules.robust * cell.best_skill:g}; {_enough(enough, rules.looks)}",
            TOO_FEW,
        )
    notes = [f"{note} under the {law} law" for law in board.laws if (note := failure_length(board, law).note)]
    for cell in board.having("between", board.outer):
        bar = board.bar(cell.law)
        below = "" if bar is None else f"{bar:.3f} and "
        notes.append(f"{_at(cell, board)} lies between the bars {below}{rules.robust * cell.best_skill:g}")
    if notes:
        return "; ".join(notes), BETWEEN_THE_BARS
    cell = min(board.having("open", board.outer), key=lambda one: one.lower(rules.level))
    return f"{_at(cell, board)}, the bar is {rules.robust * cell.best_skill:g}", AT_THE_BAR


def _at(cell: Cell, board: LookBoard) -> str:
    return f"{interval_text(cell, board.rules.level)} at {cell.lengths} under the {cell.law} law"
