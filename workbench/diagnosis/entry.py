"""How the length gets in: the rule that turns what blind repairs restore into a name and a grade."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.diagnosis.trials import PASSES, Findings, Tried

ENTRIES = {"P": "position", "D": "keys", "K": "keys", "T": "steps", "C": "keys or content"}
"""The entry that each family names."""
OF_RECURRENT = {**ENTRIES, "C": "steps or content"}
"""The same for models that carry a state from step to step instead of reading keys."""
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
        label: ``position``, ``keys``, ``steps``, ``keys or content``, ``steps or content``, ``joint`` or ``not
            explained``.
        grade: ``strong``, ``partly`` or ``none``.
        by: the repair that names it, or the pair; None where nothing is explained.
        also: the repairs of other families that pass too.
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
        found: what blind repairs show.
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
        names = OF_RECURRENT if recurrent else ENTRIES
        return Entry(names[by.repairs[0].family], grade(by), by, also)
    return _joint(found)


def _joint(found: Findings) -> Entry:
    weak = {family: _value(one) < PASSES for family, one in found.families.items()}
    pairs = [
        pair for pair in found.pairs if _value(pair) >= JOINT and all(weak[repair.family] for repair in pair.repairs)
    ]
    if not pairs:
        return Entry("not explained", "none", None)
    best = max(pairs, key=lambda pair: pair.chosen_by)
    return Entry("joint", grade(best), best)


def grade(one: Tried) -> str:
    """How much of the loss the repair accounts for."""
    if one.share is None or one.share.value < PASSES:
        return "none"
    return "strong" if one.share.value >= STRONG and one.share.low >= STRONG_LOW else "partly"


def _value(one: Tried) -> float:
    return -1.0 if one.share is None else one.share.value
