"""The rule that turns what interventions recover into a cause and a grade."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from workbench.core.names import NOT_EXPLAINED, POSITION_OR_CONTENT, POSITION_OR_KEYS
from workbench.core.thresholds import NAMING_SHARE
from workbench.diagnosis.tried_interventions import Findings, Tried
from workbench.measure.edits.interventions.intervention import FAMILIES

KEYS = FAMILIES["K"].label
CLEARLY = 0.15
"""D must recover this much more than P, with an interval above 0, to be preferred where both pass."""
JOINT = 0.8
"""Minimum share that a pair must recover if each member recovers less than half."""
STRONG, STRONG_LOW = 0.8, 0.65
"""Share, and lower end of its interval, from which on a name is a strong one."""


@dataclass(frozen=True)
class Entry:
    """The cause that was named.

    Attributes:
        label: ``position``, ``keys``, ``steps``, ``keys or content``, ``steps or content``, ``joint``, ``content``,
            ``position or content``, ``position or keys`` or ``not explained``.
        grade: ``strong``, ``partly`` or ``none``.
        by: the intervention, or pair of interventions, that names the cause; None if none does.
        also: the interventions of other families that pass too.
    """

    label: str
    grade: str
    by: Tried | None
    also: tuple[Tried, ...] = ()


def name_entry(findings: Findings, recurrent: bool = False) -> Entry:
    """Return the cause: the first family whose best member recovers enough; else a pair; else not explained.

    The order is P, D or K, T, C. It starts with edits that use the least information: P changes only position ids.
    Where P and the better of D and K both pass, P is named unless the other recovers clearly more.

    Args:
        findings: the results of the interventions.
        recurrent: whether the model has steps in place of keys.
    """
    able = {family: trial for family, trial in findings.families.items() if family in findings.recovering_families}
    scores = [able[family] for family in ("D", "K") if family in able]
    ranked = sorted(scores, key=lambda trial: -_value(trial))
    by = able.get("P")
    if by is None:
        by = ranked[0] if ranked else able.get("T", able.get("C"))
    elif ranked:
        more = findings.bootstrap.share_difference(ranked[0].right, by.right)
        if more.value > CLEARLY and more.low > 0:
            by = ranked[0]
    if by is not None:
        also = tuple(trial for trial in able.values() if trial is not by)
        return Entry(FAMILIES[by.interventions[0].family].of(recurrent), grade(by), by, also)
    return _joint(findings)


def _joint(findings: Findings) -> Entry:
    weak = {family: _value(trial) < NAMING_SHARE for family, trial in findings.families.items()}
    pairs = [
        pair
        for pair in findings.pairs
        if _value(pair) >= JOINT and all(weak[intervention.family] for intervention in pair.interventions)
    ]
    if not pairs:
        return Entry(NOT_EXPLAINED, "none", None)
    best = max(pairs, key=lambda pair: pair.chosen_by)
    return Entry("joint", grade(best), best)


def content(entry: Entry, restored: float | None, ruled_out: bool) -> Entry:
    """Return the cause where wrong keys are attended to and no label-free intervention recovers enough.

    Then only the sequence remains as a cause, such as a stronger decoy among more keys, provided that positions are
    ruled out.

    Args:
        entry: the cause that label-free interventions name.
        restored: share of the accuracy drop that the answer's key recovers at the head of the location; None where the
            location is not the selection of a key.
        ruled_out: whether positions are ruled out; see :func:`position_ruled_out`.
    """
    if entry.label != NOT_EXPLAINED or restored is None or restored < NAMING_SHARE:
        return entry
    if not ruled_out:
        return Entry(POSITION_OR_CONTENT, "none", None)
    return Entry("content", "strong" if restored >= STRONG else "partly", None)


def keys(entry: Entry, untested: bool) -> Entry:
    """Return the cause where interventions on scores name keys: ``position or keys`` if positions could not be tested.

    Sharper attention also recovers an answer whose token lost score because of its position.

    Args:
        entry: the cause that label-free interventions name.
        untested: whether positions could not be tested; see :func:`position_untested`.
    """
    if entry.label != KEYS or not untested:
        return entry
    return replace(entry, label=POSITION_OR_KEYS, grade="none")


def position_untested(shares: Iterable[float], reads_ids: bool) -> bool:
    """Return whether positions could not be tested: the model reads ids, but no position intervention is applicable.

    >>> position_untested([], reads_ids=True), position_untested([0.1], reads_ids=True), position_untested([], False)
    (True, False, False)

    Args:
        shares: share of the accuracy drop that each applicable position intervention recovers.
        reads_ids: whether the model reads position ids.
    """
    return reads_ids and not list(shares)


def position_ruled_out(shares: Iterable[float], reads_ids: bool) -> bool:
    """Return whether positions are ruled out as the reason why wrong keys are attended to.

    They are ruled out in a model that reads no position ids. Any other model needs at least one applicable position
    intervention, and all applicable ones must fail. Where one recovers half, positions are not ruled out, even if its
    control recovers as much.

    >>> position_ruled_out([], reads_ids=True), position_ruled_out([0.1, 0.4], reads_ids=True)
    (False, True)

    Args:
        shares: share of the accuracy drop that each applicable position intervention recovers.
        reads_ids: whether the model reads position ids.
    """
    tested = list(shares)
    return not reads_ids or (bool(tested) and max(tested) < NAMING_SHARE)


def grade(trial: Tried) -> str:
    """Return how much of the accuracy drop an intervention recovers: ``strong``, ``partly`` or ``none``."""
    if trial.share is None or trial.share.value < NAMING_SHARE:
        return "none"
    return "strong" if trial.share.value >= STRONG and trial.share.low >= STRONG_LOW else "partly"


def _value(trial: Tried) -> float:
    return -1.0 if trial.share is None else trial.share.value
