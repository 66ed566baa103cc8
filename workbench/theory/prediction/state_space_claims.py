"""What state-space models with diagonal gates can express, by the sign of their gates.

Sarrof, Veitsman, Hahn (arXiv 2405.17394): with gates in [0, 1] and finite precision, such models recognise exactly the
star-free ones among the regular languages. Counters are expressible if states may grow. Grazzi et al. (arXiv
2411.12537): gates in [-1, 1] add parity, and no real gates count modulo an odd number. None of this is about learning:
both papers find counters that are expressible and not learnt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from workbench.tasks.automata.dfa import Automaton
from workbench.theory.prediction.known_maps import MapClaim
from workbench.theory.regular.monoid import Monoid, group_periods, syntactic_monoid

EXPRESSIVE = "Sarrof, Veitsman, Hahn, arXiv 2405.17394"
SIGNED = "Grazzi et al., arXiv 2411.12537"
FINITE = "at finite precision"
NOT_LEARNT = "it is about what can be expressed, not about what is learned"
_NONNEGATIVE, _SIGNED = "ssm-nonnegative", "ssm-signed"
"""The models that the papers are about. They state nothing about other gates."""
_COUNTERS = frozenset({"dyck_1", "anbn", "anbncn", "anbncndn", "a_n_b_n"})
_COUNTER_FAMILIES = ("shuffle_dyck_", "boolean_")
_BY_COUNTS = frozenset({"majority", "most_frequent"})


def state_space_claim(key: str, languages: Callable[[], Iterable[Automaton]] | None, gates: str) -> MapClaim:
    """Return the claim about a map.

    Args:
        key: the key of the map.
        languages: of each answer, if they are regular.
        gates: one of :data:`workbench.core.names.STATE_SPACE_MODELS`.
    """
    if gates not in (_NONNEGATIVE, _SIGNED):
        return MapClaim("open", "none", "nothing is stated about state-space models with these gates")
    if languages is not None:
        return _regular(languages(), gates)
    if key in _COUNTERS or key.startswith(_COUNTER_FAMILIES):
        return MapClaim("expressible", EXPRESSIVE, "counters are states with the gate 1", note=_UNBOUNDED)
    if key in _BY_COUNTS:
        reason = "the sign of a counter, which is a state with the gate 1"
        return MapClaim("expressible", EXPRESSIVE, reason, derived=True, note=_UNBOUNDED)
    return MapClaim("open", "none", "nothing is stated about this map and state-space models")


_UNBOUNDED = "counts must be stored exactly, so the precision must grow with the length"


def _regular(languages: Iterable[Automaton], gates: str) -> MapClaim:
    periods: set[int] = set()
    for language in languages:
        monoid: Monoid | None = syntactic_monoid(language)
        if monoid is None:
            return MapClaim("not decided", "none", "its syntactic monoid is larger than can be listed")
        periods |= group_periods(monoid)
    if periods <= {1}:
        reason = "star-free: a cascade of bits that are set and cleared"
        derived = gates == _SIGNED
        return MapClaim("expressible", EXPRESSIVE, reason, derived=derived, note=FINITE)
    orders = ", ".join(map(str, sorted(periods - {1})))
    if gates == _NONNEGATIVE:
        return MapClaim(
            "not expressible",
            EXPRESSIVE,
            f"not star-free: for some word, states repeat only after {orders} repetitions",
            note=FINITE,
        )
    odd = [period for period in periods if period & (period - 1)]
    if odd:
        reason = (
            f"for some word, states repeat only after {orders} repetitions, and real gates count only modulo "
            "powers of 2"
        )
        return MapClaim("not expressible", SIGNED, reason, note=FINITE)
    reason = (
        f"states repeat after at most {orders} repetitions of any word: a cascade of bits that are set, "
        "cleared and flipped"
    )
    return MapClaim("expressible", SIGNED, reason, derived=True, note=FINITE)
