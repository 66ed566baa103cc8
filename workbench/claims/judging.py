"""The verdict on a claim from its reduced rows alone; the rules are the same for all claims, and fixed beforehand.

Exact claims: every row of a condition's quantity must be on the claim's side. Trained ones: per item the envelope of
the fitted runs, from the least lower to the greatest upper limit, must be.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.claims.claim import Claim, Condition, Row, Side

Label = Literal["holds", "does not hold at this scale", "undecided", "not run", "described"]
LABELS: tuple[Label, ...] = ("holds", "does not hold at this scale", "undecided", "not run", "described")
Cause = Literal["", "fit", "seeds", "threshold"]
CAUSES: tuple[Cause, ...] = ("fit", "seeds", "threshold")
WHY: dict[Cause, str] = {"seeds": "the seeds lie on both sides", "threshold": "the threshold lies within an interval"}
ENOUGH_SEEDS = 3
"""Fitted seeds that a verdict needs, unless fewer were planned."""
ONE_MAY_GO = 5
"""Fitted seeds from which one may be left out, and is named."""
ERROR = 0.05
"""Error of an interval at 95 %."""


@dataclass(frozen=True)
class Judgement:
    """What a claim's rows come to.

    Attributes:
        verdict: one of :data:`LABELS`; ``described`` for a claim that asks for nothing.
        why: what decided it, or what is missing: k of K fitted, a left-out seed, an item on the other side.
        observation: the decisive number in words.
        low: least lower limit of what decided; None without rows.
        high: greatest upper limit of it.
        seeds: runs that there are; with several numbers about several runs each, those of the number that decided, or
            else of the one that the fewest entered.
        fitted: fitted ones among them.
        by_interval: whether sampling could have decided it otherwise: some row has an interval.
        cause: why it is undecided: too few runs are *fitted*, the *seeds* come out on both sides, or what one of them
            shows lies at the *threshold*.
    """

    verdict: Label
    why: str = ""
    observation: str = ""
    low: float | None = None
    high: float | None = None
    seeds: int = 0
    fitted: int = 0
    by_interval: bool = False
    cause: Cause = ""


@dataclass(frozen=True)
class _Part:
    """One item under one condition."""

    side: Side
    condition: Condition
    item: str
    low: float
    high: float
    expected: float | None
    why: str = ""
    cause: Cause = ""


def judge(claim: Claim, rows: Sequence[Row], complete: bool = True) -> Judgement:
    """The verdict on a claim.

    Args:
        claim: what is claimed.
        rows: its reduced rows.
        complete: whether these are all that it asks for; a claim whose rows are incomplete is *not run*.
    """
    runs = {(row.run, row.seed): row.fitted for row in rows if row.run}
    seeds, fitted = len(runs), sum(bool(fit) for fit in runs.values())
    if not runs:
        seeds, fitted = _counted(rows)
    wanted = list(dict.fromkeys(condition.quantity for condition in claim.conditions))
    missing = [name for name in wanted if name not in {row.quantity for row in rows}]
    if not rows or not complete or missing:
        why = f"no rows of {', '.join(missing)}" if rows and missing else "runs are missing" if claim.cells else ""
        return Judgement("not run", why, seeds=seeds, fitted=fitted)
    by_interval = any(row.ends[0] != row.ends[1] for row in rows if row.quantity in wanted)
    if not claim.conditions:
        return Judgement("described", "", _told(rows[0].quantity, rows), None, None, seeds, fitted, by_interval)
    parts = [part for condition in claim.conditions for part in _parts(claim, condition, rows)]
    worst = next((p for side in ("fails", "open") for p in parts if p.side == side), None)
    verdict: Label = (
        "holds" if worst is None else "undecided" if worst.side == "open" else "does not hold at this scale"
    )
    shown = worst or parts[0]
    of_it = [row for row in rows if row.quantity == shown.condition.quantity]
    if worst is not None and not runs:
        seeds, fitted = _counted([row for row in of_it if row.item == worst.item])
    reasons = dict.fromkeys(part.why for part in ([worst] if worst else parts) if part.why)
    return Judgement(
        verdict,
        "; ".join(reasons),
        _observed(shown) if worst is not None else "; ".join(_told(name, rows) for name in wanted),
        min(row.ends[0] for row in of_it) if worst is None else shown.low,
        max(row.ends[1] for row in of_it) if worst is None else shown.high,
        seeds,
        fitted,
        by_interval,
        worst.cause if worst is not None and worst.side == "open" else "",
    )


def _counted(rows: Sequence[Row]) -> tuple[int, int]:
    """Of numbers about several runs each, how many runs were planned and entered where the fewest did."""
    counts = [(row.planned, row.entered or 0) for row in rows if row.planned]
    return min(counts, key=lambda count: (count[1] / count[0], -count[0]), default=(0, 0))


def _parts(claim: Claim, condition: Condition, rows: Sequence[Row]) -> Iterable[_Part]:
    own = [row for row in rows if row.quantity == condition.quantity]
    for item in dict.fromkeys(row.item for row in own):
        of_item = [row for row in own if row.item == item]
        if any(row.run for row in of_item):
            yield _over_runs(claim, condition, item, of_item)
        else:
            yield from (_about_several(claim, condition, row) for row in of_item)


def _about_several(claim: Claim, condition: Condition, row: Row) -> _Part:
    """One number, exact or about several runs."""
    if row.planned is not None and (row.entered or 0) < _needed(claim, row.planned):
        count = f"{row.entered} of {row.planned} fitted"
        return _Part("open", condition, row.item, *row.ends, row.expected, count, "fit")
    side = condition.side(*row.ends, row.expected)
    why: tuple[str, Cause] = (WHY["threshold"], "threshold") if side == "open" and row.planned is not None else ("", "")
    return _Part(side, condition, row.item, *row.ends, row.expected, *why)


def _needed(claim: Claim, planned: int) -> int:
    """Runs or pairs that one number about several must rest on."""
    return min(ENOUGH_SEEDS, planned, claim.seeds or ENOUGH_SEEDS)


def _over_runs(claim: Claim, condition: Condition, item: str, rows: Sequence[Row]) -> _Part:
    """The envelope over the runs that enter."""
    enter = [row for row in rows if row.fitted or claim.exempt]
    count = f"{len(enter)} of {len(rows)} fitted"
    needed = min(ENOUGH_SEEDS, claim.seeds or ENOUGH_SEEDS)
    if len(enter) < needed:
        low, high = _envelope(enter or rows)
        return _Part("open", condition, item, low, high, None, count, "fit")
    few = f"{len(enter)} seed{'s' * (len(enter) > 1)}" if len(enter) < ENOUGH_SEEDS else ""
    for without in [None, *(enter if len(enter) >= ONE_MAY_GO else [])]:
        kept = [row for row in enter if row is not without]
        side = condition.side(*_envelope(kept), kept[0].expected)
        if side != "open":
            left_out = f"seed {without.seed} left out" if without is not None else ""
            return _Part(side, condition, item, *_envelope(kept), kept[0].expected, left_out or few)
    sides = {condition.side(*row.ends, row.expected) for row in enter}
    cause: Cause = "seeds" if {"holds", "fails"} <= sides else "threshold"
    return _Part("open", condition, item, *_envelope(enter), enter[0].expected, f"{WHY[cause]}; {count}", cause)


def _envelope(rows: Sequence[Row]) -> tuple[float, float]:
    return min(row.ends[0] for row in rows), max(row.ends[1] for row in rows)


def verdict_text(claim: Claim, said: Judgement) -> str:
    """A verdict as tables show it: with its reason, and whether the claim was settled with its numbers known."""
    beside = [said.why, "settled with its numbers known" if claim.settled else ""]
    return said.verdict + (f" ({'; '.join(filter(None, beside))})" if any(beside) else "")


def number(value: float) -> str:
    """A number as tables show it."""
    return f"{value:.6g}"


def _interval(low: float, high: float) -> str:
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def _observed(part: _Part) -> str:
    where = f" at {part.item}" if part.item else ""
    wanted = f", expected {number(part.expected)}" if part.expected is not None else ""
    return f"{part.condition.quantity}{where}: {_interval(part.low, part.high)}{wanted}"


def _told(quantity: str, rows: Sequence[Row]) -> str:
    """All rows of a quantity in a phrase: how many items, and from where to where."""
    own = [row for row in rows if row.quantity == quantity]
    low, high = _envelope(own)
    where = f" in {len(own)} cases" if len(own) > 1 else ""
    return f"{quantity} {_interval(low, high)}{where}"


@dataclass(frozen=True)
class Chance:
    """How many decisions rest on intervals, and how many of them chance alone may turn.

    Attributes:
        decided: claims that hold or do not.
        by_interval: those of them that rest on intervals at 95 %; the others are exact.
    """

    decided: int
    by_interval: int

    @property
    def false_by_chance(self) -> float:
        """False decisions that chance alone gives, at most: an envelope over seeds errs less often."""
        return ERROR * self.by_interval


def chance(judgements: Iterable[Judgement]) -> Chance:
    """The count for a page."""
    decided = [j for j in judgements if j.verdict in ("holds", "does not hold at this scale")]
    return Chance(len(decided), sum(j.by_interval for j in decided))
