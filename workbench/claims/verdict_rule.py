"""The verdict on a claim from only its reduced rows; the rules are the same for all claims, and fixed beforehand.

Exact claims: every row of a condition's quantity must be on the claim's side. Trained claims are about the typical run,
the median over seeds that solve the trained lengths. They are decided by the interval of
:mod:`workbench.claims.typical_run`. A claim about several items or conditions holds if all of them do. It does not hold
if one of them is shown on the other side with the error divided by their number. Single seeds that are shown on both
sides make the verdict *depends on the seed*.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.claims.claim import Claim, Condition, Row, Side
from workbench.claims.labels import DECIDED, DEPENDS, FAILS, FAILS_EXACTLY, HOLDS, OUTSIDE, UNDECIDED, Label
from workbench.claims.typical_run import (
    BY_SIGNS,
    ERROR,
    FEWEST,
    SIGN_TEST,
    STUDENT,
    SeedShare,
    own_interval,
    seeds_needed,
    share_on_side,
    student_quantile,
    typical_run,
)

Cause = Literal["", "fit", "few", "threshold"]
CAUSES: dict[Cause, str] = {
    "fit": "too few fitted runs",
    "few": "fewer than three seeds trained",
    "threshold": "seeds too close to the threshold, or too few for it",
}
EXACT, SEVERAL = "exact", "several runs"
"""Kinds of evidence other than tests of the typical run: no seed at all, or one number about several runs."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on a claim, with the results of its seeds.

    Attributes:
        verdict: one of :data:`workbench.claims.labels.LABELS`; ``described`` for a claim without conditions.
        why: what decided it, or what is missing: the number of seeds, k of K fitted, an interval with the threshold.
        observation: the decisive number in words.
        low: lower limit of the decisive interval; None without rows, or where there is no interval.
        high: upper limit of it.
        seeds: runs that there are; with several numbers about several runs each, those of the number that decided, or
            else of the one that the fewest entered.
        fitted: fitted ones among them.
        tests: what the parts of the claim rest on: ``exact``, ``sign test``, ``t interval``, ``several runs``.
        share: how many seeds are on the claim's side, for the part with the smallest share; None without seeds.
        cause: why it is undecided: too few runs are *fitted*, *few* seeds were trained, or the *threshold* lies within
            the interval.
        needs: the least number of further seeds (that solve the trained lengths) until the claim can be decided; 0 if
            unknown.
        quantity: the quantity of the decisive number; "" without one.
        item: the item of the decisive number; "" where the claim has one item.
    """

    verdict: Label
    why: str = ""
    observation: str = ""
    low: float | None = None
    high: float | None = None
    seeds: int = 0
    fitted: int = 0
    tests: tuple[str, ...] = ()
    share: SeedShare | None = None
    cause: Cause = ""
    needs: int = 0
    quantity: str = ""
    item: str = ""

    @property
    def decided(self) -> bool:
        """Whether the verdict decides about the claim."""
        return self.verdict in DECIDED


@dataclass(frozen=True)
class _Part:
    """One item under one condition."""

    side: Side | Literal["depends"]
    condition: Condition
    item: str
    value: float
    low: float
    high: float
    expected: float | None
    test: str
    why: str = ""
    cause: Cause = ""
    share: SeedShare | None = None
    needs: int = 0


def judge(claim: Claim, rows: Sequence[Row], complete: bool = True) -> Judgement:
    """The verdict on a claim.

    Args:
        claim: what is claimed.
        rows: its reduced rows.
        complete: whether these are all that it needs; a claim whose rows are incomplete is *not run*.
    """
    runs = {(row.run, row.seed): row.fitted for row in rows if row.run}
    seeds, solved = len(runs), sum(bool(fit) for fit in runs.values())
    if not runs:
        seeds, solved = _counted(rows)
    quantities = list(dict.fromkeys(condition.quantity for condition in claim.conditions))
    missing = [name for name in quantities if name not in {row.quantity for row in rows}]
    if not rows or not complete or missing:
        why = f"no rows of {', '.join(missing)}" if rows and missing else "runs are missing" if claim.cells else ""
        return Judgement("not run", why, seeds=seeds, fitted=solved)
    if not claim.conditions:
        return Judgement("described", "", _values(rows[0].quantity, rows), seeds=seeds, fitted=solved)
    groups = [group for condition in claim.conditions for group in _groups(condition, rows)]
    parts = [_part(claim, condition, own, len(groups)) for condition, own in groups]
    worst = next((p for side in ("fails", "depends", "open") for p in parts if p.side == side), None)
    verdict = _label(claim, worst)
    decisive = worst or parts[0]
    if worst is not None and not runs:
        of_it = [row for row in rows if row.quantity == decisive.condition.quantity]
        seeds, solved = _counted([row for row in of_it if row.item == worst.item])
    reasons = dict.fromkeys(part.why for part in ([worst] if worst else parts) if part.why)
    shares = [part.share for part in parts if part.share is not None]
    return Judgement(
        verdict,
        "; ".join(reasons),
        _observed(decisive) if worst is not None else "; ".join(_summary(name, parts, rows) for name in quantities),
        decisive.low if math.isfinite(decisive.low) else None,
        decisive.high if math.isfinite(decisive.high) else None,
        seeds,
        solved,
        tuple(sorted({part.test for part in parts})),
        decisive.share or min(shares, key=lambda share: share.on_side / share.seeds, default=None),
        worst.cause if worst is not None and worst.side == "open" else "",
        max((part.needs for part in parts), default=0) if verdict == UNDECIDED else 0,
        decisive.condition.quantity,
        decisive.item,
    )


def _label(claim: Claim, worst: _Part | None) -> Label:
    """The verdict by the part that decides against the claim, if there is one."""
    if worst is None:
        return HOLDS
    if worst.side == "fails":
        return FAILS if claim.trained else OUTSIDE if claim.outside else FAILS_EXACTLY
    return DEPENDS if worst.side == "depends" else UNDECIDED


def _counted(rows: Sequence[Row]) -> tuple[int, int]:
    """Of numbers about several runs each, how many runs were planned and entered where the fewest did."""
    counts = [(row.planned, row.entered or 0) for row in rows if row.planned]
    return min(counts, key=lambda count: (count[1] / count[0], -count[0]), default=(0, 0))


def _groups(condition: Condition, rows: Sequence[Row]) -> Iterable[tuple[Condition, list[Row]]]:
    """The rows of each part: all runs of an item together, and every other number by itself."""
    own = [row for row in rows if row.quantity == condition.quantity]
    for item in dict.fromkeys(row.item for row in own):
        of_item = [row for row in own if row.item == item]
        if any(row.run for row in of_item):
            yield condition, of_item
        else:
            yield from ((condition, [row]) for row in of_item)


def _part(claim: Claim, condition: Condition, rows: Sequence[Row], parts: int) -> _Part:
    if rows[0].run:
        return _over_runs(claim, condition, rows, parts)
    return _about_several(condition, rows[0], parts)


# ---- one number ----------------------------------------------------------------------------------
def _about_several(condition: Condition, row: Row, parts: int) -> _Part:
    """One number, exact or about several runs."""
    fields = (condition, row.item, row.value if row.has_value else math.nan, *row.ends, row.expected)
    if row.planned is None:
        return _Part(condition.side(*row.ends, row.expected), *fields, EXACT)
    share = share_on_side(condition, row.each, row.expected) if row.each else None
    if not _enough(row):
        entered = row.entered or 0
        cause: Cause = "few" if entered >= row.planned else "fit"
        why = _fitted(entered, row.planned)
        if entered >= FEWEST:
            why = f"{row.fewest or 0} fitted seeds of some cells; {FEWEST} are needed"
        return _Part("open", *fields, SEVERAL, why, cause, share, _lacking(row))
    strict = _wider(row, strict_error(SEVERAL, parts))
    side = _both_errors(condition, row.ends, strict, row.expected)
    if side == "open":
        why = _why_open(SEVERAL, condition.side(*row.ends, row.expected), parts)
        return _Part("open", *fields, SEVERAL, why, "threshold", share)
    few = f"{row.fewest} seeds" if row.fewest and row.fewest < BY_SIGNS else ""
    return _Part(side, *fields, SEVERAL, few, "", share)


def _enough(row: Row) -> bool:
    """Whether its spread over seeds is as well known as that of three seeds of one cell."""
    if not row.entered:
        return False
    return (row.fewest or 0) >= FEWEST if row.freedom is None else row.freedom >= FEWEST - 1 - 1e-9


def _lacking(row: Row) -> int:
    return max(1, FEWEST - (row.fewest or 0))


def _wider(row: Row, error: float) -> tuple[float, float]:
    """The interval of a number about several runs with a smaller error."""
    if row.freedom is None or error == ERROR or not all(map(math.isfinite, row.ends)):
        return row.ends
    factor = student_quantile(row.freedom, error) / student_quantile(row.freedom, ERROR)
    return row.value - (row.value - row.ends[0]) * factor, row.value + (row.ends[1] - row.value) * factor


def strict_error(test: str, parts: int) -> float:
    """Return the error level at which one of several parts must be significantly false for the claim to fail.

    Half of that for Student's t: far out its error grows where few seeds are skewed. With ten items, exponential or
    log-normal seeds, it would be 0.09 in place of the 0.075 that is promised (simulated in ``test_seed_rule.py``).
    """
    return ERROR if parts == 1 else ERROR / (parts if test == SIGN_TEST else 2 * parts)


def _both_errors(
    condition: Condition, usual: tuple[float, float], wider: tuple[float, float], expected: float | None
) -> Side:
    """What holds is shown at the usual error; what fails at that of :func:`strict_error`."""
    if condition.side(*usual, expected) == "holds":
        return "holds"
    return "fails" if condition.side(*wider, expected) == "fails" else "open"


# ---- the runs of an item -------------------------------------------------------------------------
def _over_runs(claim: Claim, condition: Condition, rows: Sequence[Row], parts: int) -> _Part:
    """The typical run of an item's runs that solve the trained lengths, or of all its runs if the claim is exempt."""
    entering = [row for row in rows if row.fitted or claim.exempt]
    usual = typical_run(entering or rows)
    expected = rows[0].expected
    fields = (condition, rows[0].item, usual.value, usual.low, usual.high, expected, usual.test)
    share = share_on_side(condition, [row.value for row in entering], expected) if entering else None
    sides = [_shown(condition, row, ERROR / (len(entering) * parts)) for row in entering]
    if {"holds", "fails"} <= set(sides):
        counts = (
            f"{sides.count('holds')} of {len(entering)} seeds shown on its side, {sides.count('fails')} on the other"
        )
        return _Part("depends", *fields, counts, "", share)
    if len(entering) < FEWEST:
        cause: Cause = "fit" if len(rows) >= FEWEST else "few"
        return _Part("open", *fields, _fitted(len(entering), len(rows)), cause, share, FEWEST - len(entering))
    side = side_of_typical(condition, entering, parts)
    if side == "open":
        assert share is not None
        needs = _more_seeds([condition.side(row.value, row.value, expected) for row in entering], parts)
        why = _why_open(usual.test, condition.side(*usual.ends, expected), parts)
        if usual.test == STUDENT and not usual.bounded:
            why = "the seeds agree exactly, which gives no t interval"
        return _Part("open", *fields, f"{why}; {needs} more fitted seeds may decide", "threshold", share, needs)
    few = f"{len(entering)} seeds" if usual.test == STUDENT else ""
    return _Part(side, *fields, few, "", share)


def side_of_typical(condition: Condition, rows: Sequence[Row], parts: int = 1) -> Side:
    """Return on which side of its thresholds the typical run significantly is.

    Args:
        condition: the condition of the claim.
        rows: one for each run that enters; at least one.
        parts: items and conditions of the claim; see :func:`strict_error`.
    """
    usual = typical_run(rows)
    strict = typical_run(rows, strict_error(usual.test, parts))
    return _both_errors(condition, usual.ends, strict.ends, rows[0].expected)


def _shown(condition: Condition, row: Row, error: float) -> Side:
    """On which side one run is shown to be by its own interval."""
    return condition.side(*own_interval(row, error), row.expected)


def _why_open(test: str, usual: Side, parts: int) -> str:
    """Why a test leaves a part open."""
    if usual == "fails":
        strict = strict_error(test, parts)
        return f"on the other side at error {ERROR:g}, but not at {strict:.2g}, as one of {parts} parts must be"
    if test == SIGN_TEST:
        return "the seeds do not agree enough for the sign test"
    return "the threshold lies within the interval"


def _more_seeds(sides: Sequence[Side], parts: int) -> int:
    """The least number of further seeds, all on the side of most, with which the sign test decides."""
    to_hold = seeds_needed(len(sides) - sides.count("holds"))
    to_fail = seeds_needed(len(sides) - sides.count("fails"), ERROR / parts)
    return max(1, min(to_hold, to_fail) - len(sides))


def _fitted(entered: int, planned: int) -> str:
    return f"{entered} of {planned} fitted; {FEWEST} are needed"


# ---- in words ------------------------------------------------------------------------------------
MOST_WHOLE = 2.0**53
"""Below it, every whole number is a float and is written in full."""


def number(value: float) -> str:
    """Return a number as tables show it: whole numbers in full, others with six digits.

    Example:

        >>> number(4096.0), number(2.0**24), number(1 / 3), number(1e300)
        ('4,096', '16,777,216', '0.333333', '1e+300')
    """
    return f"{value:,.0f}" if abs(value) < MOST_WHOLE and value == round(value) else f"{value:.6g}"


def _interval(low: float, high: float) -> str:
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def _limits(part: _Part) -> str:
    """The value of a part with its interval."""
    if part.test == EXACT:
        return _interval(part.low, part.high)
    if math.isnan(part.value):
        return "no value"
    limits = f" [{part.low:.3g}, {part.high:.3g}]" if part.low < part.high < part.low + math.inf else ""
    typical = "" if part.test == SEVERAL else "typical run "
    return f"{typical}{part.value:.3g}{limits}"


def _observed(part: _Part) -> str:
    where = f" at {part.item}" if part.item else ""
    wanted = f", expected {number(part.expected)}" if part.expected is not None else ""
    return f"{part.condition.quantity}{where}: {_limits(part)}{wanted}"


def _summary(quantity: str, parts: Sequence[_Part], rows: Sequence[Row]) -> str:
    """What all parts of a quantity came to."""
    matches = [part for part in parts if part.condition.quantity == quantity]
    if all(part.test == EXACT for part in matches):
        return _values(quantity, rows)
    if len(matches) == 1:
        return f"{quantity}: {_limits(matches[0])}"
    values = sorted(part.value for part in matches if not math.isnan(part.value)) or [math.nan]
    typical = "" if matches[0].test == SEVERAL else "typical runs "
    least, greatest = f"{values[0]:.3g}", f"{values[-1]:.3g}"
    return f"{quantity}: {typical}{least if least == greatest else f'{least} to {greatest}'} in {len(matches)} cases"


def _values(quantity: str, rows: Sequence[Row]) -> str:
    """All rows of a quantity in a phrase: how many items, and from where to where."""
    own = [row for row in rows if row.quantity == quantity]
    where = f" in {len(own)} cases" if len(own) > 1 else ""
    return f"{quantity} {_interval(min(row.ends[0] for row in own), max(row.ends[1] for row in own))}{where}"


# ---- counts for a page ---------------------------------------------------------------------------
def decided_by(judgements: Iterable[Judgement]) -> Counter[str]:
    """Return how many decided claims each test decided. A claim with several tests counts for the one with the largest
    error.
    """
    order = (STUDENT, SEVERAL, SIGN_TEST, EXACT)
    return Counter(
        DEPENDS if j.verdict == DEPENDS else next(test for test in order if test in j.tests)
        for j in judgements
        if j.decided
    )
