"""How the length gets in: the rule that turns what interventions restore into a name and a grade."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from workbench.core.names import NOT_EXPLAINED, POSITION_OR_CONTENT, POSITION_OR_KEYS
from workbench.core.thresholds import NAMING_SHARE
from workbench.diagnosis.tried_interventions import Findings, Tried
from workbench.measure.edits.interventions.intervention import FAMILIES

KEYS = FAMILIES["K"].label
CLEARLY = 0.15
"""By how much D must restore more than P, with its interval clear of 0, to be preferred where both pass."""
JOINT = 0.8
"""Share that a pair must restore whose members restore less than half each."""
STRONG, STRONG_LOW = 0.8, 0.65
"""Share, and lower end of its interval, from which on a name is a strong one."""


@dataclass(frozen=True)
class Entry:
    """What was named.

    Attributes:
        label: ``position``, ``keys``, ``steps``, ``keys or content``, ``steps or content``, ``joint``, ``content``,
            ``position or content``, ``position or keys`` or ``not explained``.
        grade: ``strong``, ``partly`` or ``none``.
        by: the intervention that names it, or the pair; None where none does.
        also: the interventions of other families that pass too.
    """

    label: str
    grade: str
    by: Tried | None
    also: tuple[Tried, ...] = ()


def name_entry(found: Findings, recurrent: bool = False) -> Entry:
    """The first family whose best member restores enough, in the order P, D or K, T, C; else a pair; else nothing.

    The order is how much an edit must know: ids touch nothing else. Where P and the better of D and K both pass, P is
    named unless the other restores clearly more.

    Args:
        found: what interventions show.
        recurrent: whether the model has steps in place of keys.
    """
    able = {family: one for family, one in found.families.items() if family in found.passed}
    scores = [able[family] for family in ("D", "K") if family in able]
    ranked = sorted(scores, key=lambda one: -_value(one))
    by = able.get("P")
    if by is None:
        by = ranked[0] if ranked else able.get("T", able.get("C"))
    elif ranked:
        more = found.bootstrap.share_difference(ranked[0].right, by.right)
        if more.value > CLEARLY and more.low > 0:
            by = ranked[0]
    if by is not None:
        also = tuple(one for one in able.values() if one is not by)
        return Entry(FAMILIES[by.interventions[0].family].of(recurrent), grade(by), by, also)
    return _joint(found)


def _joint(found: Findings) -> Entry:
    weak = {family: _value(one) < NAMING_SHARE for family, one in found.families.items()}
    pairs = [
        pair
        for pair in found.pairs
        if _value(pair) >= JOINT and all(weak[intervention.family] for intervention in pair.interventions)
    ]
    if not pairs:
        return Entry(NOT_EXPLAINED, "none", None)
    best = max(pairs, key=lambda pair: pair.chosen_by)
    return Entry("joint", grade(best), best)


def content(entry: Entry, restored: float | None, ruled_out: bool) -> Entry:
    """The entry where wrong keys are attended to and no label-free intervention explains anything.

    Only the sequence is left then, such as a stronger decoy among more keys, provided that positions are ruled out.

    Args:
        entry: what label-free interventions name.
        restored: share of the accuracy drop that the answer's key recovers at the head of the site; None where the
            site is not the selection of a key.
        ruled_out: whether positions are ruled out; see :func:`position_ruled_out`.
    """
    if entry.label != NOT_EXPLAINED or restored is None or restored < NAMING_SHARE:
        return entry
    if not ruled_out:
        return Entry(POSITION_OR_CONTENT, "none", None)
    return Entry("content", "strong" if restored >= STRONG else "partly", None)


def keys(entry: Entry, untested: bool) -> Entry:
    """The entry where interventions on scores name keys: ``position or keys`` where positions could not be tested.

    Sharper attention also recovers an answer whose token lost score because of its position.

    Args:
        entry: what label-free interventions name.
        untested: whether positions could not be tested; see :func:`position_untested`.
    """
    if entry.label != KEYS or not untested:
        return entry
    return replace(entry, label=POSITION_OR_KEYS, grade="none")


def position_untested(shares: Iterable[float], reads_ids: bool) -> bool:
    """Whether positions could not be tested: the model reads position ids, and no position intervention is applicable.

    >>> position_untested([], reads_ids=True), position_untested([0.1], reads_ids=True), position_untested([], False)
    (True, False, False)

    Args:
        shares: share of the accuracy drop that each applicable position intervention recovers.
        reads_ids: whether the model reads position ids.
    """
    return reads_ids and not list(shares)


def position_ruled_out(shares: Iterable[float], reads_ids: bool) -> bool:
    """Whether positions are ruled out as the reason why wrong keys are attended to.

    A model that reads no position ids has none to fail on. Any other needs at least one position intervention that is
    applicable, and all applicable ones must fail: where one recovers half, positions are not ruled out, though its
    control may recover as much.

    >>> position_ruled_out([], reads_ids=True), position_ruled_out([0.1, 0.4], reads_ids=True)
    (False, True)

    Args:
        shares: share of the accuracy drop that each applicable position intervention recovers.
        reads_ids: whether the model reads position ids.
    """
    tested = list(shares)
    return not reads_ids or (bool(tested) and max(tested) < NAMING_SHARE)


def grade(one: Tried) -> str:
    """How much of the loss the intervention accounts for."""
    if one.share is None or one.share.value < NAMING_SHARE:
        return "none"
    return "strong" if one.share.value >= STRONG and one.share.low >= STRONG_LOW else "partly"


def _value(one: Tried) -> float:
    return -1.0 if one.share is None else one.share.value
