"""How often a diagnosis is right on models with a known cause, by group, kind and role."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.names import NOT_EXPLAINED, OPEN_CAUSES
from workbench.diagnosis.bench.plants import BY_NAME, Kind, Role
from workbench.measure.intervals import clopper_pearson

BenchRow = Mapping[str, Any]


@dataclass(frozen=True)
class Target:
    """A target of the bench.

    Attributes:
        name: name of the target.
        bound: the share that must be reached, or not exceeded.
        below: whether it must not be exceeded.
        role: role of the members that count.
        right: whether a member counts as a hit; None = it does not count.
    """

    name: str
    bound: float
    role: Role
    right: Callable[[BenchRow], bool | None]
    below: bool = False


@dataclass(frozen=True)
class Share:
    """The number of correct diagnoses among some models of the bench.

    Attributes:
        hits, of: number of hits and number of members.
    """

    hits: int
    of: int

    @property
    def value(self) -> float | None:
        """The share; None without members."""
        return self.hits / self.of if self.of else None

    @property
    def ends(self) -> tuple[float, float]:
        """The 95 % Clopper-Pearson interval of the share."""
        return clopper_pearson(self.hits, self.of)


def kind_of(row: BenchRow) -> Kind:
    """Return the kind of a member."""
    return BY_NAME[row["kind"]]


def true(row: BenchRow) -> bool:
    """Return whether a member passed the check of its planted cause."""
    return not row["thrown_out"]


def drop_too_small(row: BenchRow) -> bool:
    """Return whether the diagnosis names no cause because the accuracy drop is too small, below 0.2."""
    return not row["entry"] and kind_of(row).role != "healthy"


def entry_right(row: BenchRow) -> bool | None:
    """Return whether the named cause is right; None if the accuracy drop is too small.

    Where the kind requires it, the diagnosis must also name a second family that recovers accuracy.
    """
    if drop_too_small(row):
        return None
    kind = kind_of(row)
    return row["entry"] in kind.entries and (not kind.also or row["note"].startswith("also restored by"))


def site_right(row: BenchRow) -> bool | None:
    """Return whether the location is right; None if the kind has no right location or the drop is too small."""
    kind = kind_of(row)
    return None if drop_too_small(row) or not kind.sites else row["site"] in kind.sites


def cause_named(row: BenchRow) -> bool:
    """Return whether any cause is named."""
    return row["entry"] not in ("", NOT_EXPLAINED, *OPEN_CAUSES)


OUTCOMES = ("right cause", "cause undecided", NOT_EXPLAINED, "wrong cause")
"""Outcomes of a diagnosis of one flaw. Undecided: a label of :data:`OPEN_CAUSES` that is not the planted cause."""


def outcome(row: BenchRow) -> str | None:
    """Return which of :data:`OUTCOMES` a member is; None if the accuracy drop is too small to name a cause."""
    if drop_too_small(row):
        return None
    if entry_right(row):
        return "right cause"
    if row["entry"] in OPEN_CAUSES:
        return "cause undecided"
    return NOT_EXPLAINED if row["entry"] == NOT_EXPLAINED else "wrong cause"


TARGETS = (
    Target("right cause, one flaw", 0.95, "single", entry_right),
    Target("right location, one flaw", 0.85, "single", site_right),
    Target("two flaws diagnosed as `joint`", 0.8, "joint", entry_right),
    Target("healthy models with a cause named", 0.02, "healthy", cause_named, below=True),
)
FEWEST: Mapping[Role, int] = {"single": 60, "healthy": 25, "joint": 6}
"""Minimum members of the group ``afterwards`` for a target to be tested."""


def share(rows: Iterable[BenchRow], target: Target) -> Share:
    """Return the hits among the members that passed their check and count for the target."""
    said = [target.right(row) for row in rows if true(row) and kind_of(row).role == target.role]
    counted = [one for one in said if one is not None]
    return Share(sum(counted), len(counted))


def reaches_target(target: Target, found: Share) -> bool | None:
    """Return whether the measured share reaches the target; None with too few members."""
    value = found.value
    if value is None or found.of < FEWEST[target.role]:
        return None
    return value <= target.bound if target.below else value >= target.bound


def of_group(rows: Sequence[BenchRow], group: str) -> list[BenchRow]:
    """Return the members of one group."""
    return [row for row in rows if row["group"] == group]


def confusion(rows: Iterable[BenchRow], column: str) -> dict[str, Counter[str]]:
    """Return, by kind, how often each label was named in one column, for members that passed their check.

    Members with too small an accuracy drop count as ``(no cause named)``.
    """
    counts: dict[str, Counter[str]] = {}
    for row in rows:
        if true(row):
            label = "(no cause named)" if drop_too_small(row) else row[column] or "(nothing to explain)"
            counts.setdefault(row["kind"], Counter())[label] += 1
    return counts
