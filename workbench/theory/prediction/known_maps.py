"""Claims of theory about maps that are not regular languages, one entry each: without positions and with them.

*Without* is about C-RASP[empty] and positions ``none``. *With* is about C-RASP[periodic, local] and learned positions
trained at random offsets, limit and relative positions. Regular languages need no entry, because they are decided. If
an entry exists, it is used instead of a decision that is slow or ends without an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from workbench.theory.crasp.zoo import ZOO
from workbench.theory.limit_transformers.bounds import citation

Verdict = Literal["guaranteed", "expressible", "not expressible", "open", "not decided"]

GUARANTEE = "theorems 1, 7 and 9 of Huang et al., arXiv 2410.02140"
COMMUNICATION = "theorem 12 of Huang et al., arXiv 2410.02140"
LABEL = "expressivity label of Huang et al., arXiv 2410.02140"
LEMMAS = "lemmas 35 and 36 of Huang et al., as used by Jobanputra et al., arXiv 2505.21785"
DECIDED = "potentials of the minimal automaton, arXiv 2608.13433"
ONE_LAYER = citation("theorem 4.1")
TWO_LAYERS = citation("theorem 5.2")


@dataclass(frozen=True)
class MapClaim:
    """What theory states about one task and one class of models.

    Attributes:
        verdict: ``guaranteed``, ``not expressible`` or ``open``; ``expressible`` by a theorem that states nothing about
            other lengths.
        theorem: the theorem.
        reason: one sentence.
        program: name in the zoo, or the program in a line; "" if there is none.
        derived: whether the step from the theorem to this map was made here, not in the paper.
        note: a caveat, or "".
        period: the modulus of the residues that the program reads; 1 = none.
        locality: the largest offset that it reads.
    """

    verdict: Verdict
    theorem: str
    reason: str
    program: str = ""
    derived: bool = False
    note: str = ""
    period: int = 1
    locality: int = 0


@dataclass(frozen=True)
class KnownMap:
    """One task, with what theory states about it without and with positions."""

    without: MapClaim
    with_positions: MapClaim


def _guaranteed(program: str, reason: str, derived: bool = False) -> MapClaim:
    case = ZOO.get(program)
    reads = (case.program.modulus, case.program.locality or 0) if case else (1, 0)
    return MapClaim("guaranteed", GUARANTEE, reason, program, derived, "", *reads)


def _both(claim: MapClaim) -> KnownMap:
    return KnownMap(claim, claim)


def _counting(program: str) -> KnownMap:
    return _both(_guaranteed(program, "a program compares counts and reads no positions"))


def _told(what: str) -> KnownMap:
    reason = f"{what}, so the second half needs more than O(log N) bits about the first"
    return _both(MapClaim("not expressible", COMMUNICATION, reason))


_GROWING = (
    "the fixed alphabet bounds the length here, so a program without positions exists (its counts were checked on all "
    "strings over 4 letters); the published label is about growing alphabets"
)
_NEIGHBOUR = "the neighbour of a recognised position is read with the offset 1"
_AFTER = "NEXT_a: the query is s, and an a stands where count(count(Q(s)) >= 1) = 2"
_BEFORE = MapClaim(
    "not expressible",
    DECIDED,
    "with one fixed query, the task is the regular language (a|b)*as(a|b)*, which no count recognises",
    derived=True,
)
_LAST = MapClaim(
    "not expressible",
    LEMMAS,
    "finding the last occurrence recognises (a|b|e)*ae*, which is in no C-RASP[periodic, local]",
)


def _right(program: str) -> KnownMap:
    reason = "exactly at the position after the first occurrence, two positions have seen the query"
    return KnownMap(_guaranteed(_AFTER, reason, derived=True), _guaranteed(program, _NEIGHBOUR))


def average(period: int) -> KnownMap:
    """Return the claims about the share of a token among every ``period``-th one."""
    reason = f"one layer with period {period} attends uniformly to the class only"
    claim = MapClaim("guaranteed", ONE_LAYER, reason, period=period)
    if period == 1:
        return _both(claim)
    blind = "it would distinguish even from odd runs of 0 before (10)*, a regular language that no count recognises"
    return KnownMap(MapClaim("not expressible", DECIDED, blind, derived=True), claim)


def kgram(k: int) -> KnownMap:
    """Return the claims about the token that followed the only earlier occurrence of the last k tokens."""
    if k == 1:
        return _right("ur")
    reason = "the alphabet is finite, and a k-gram is read with the offsets 1..k"
    program = f"NEXT_a: exists j with Q_a(j) and the {k} tokens before j equal to the last {k}"
    blind = "already what follows the only 00 is a regular language that no count recognises"
    return KnownMap(
        MapClaim("not expressible", DECIDED, blind, derived=True),
        MapClaim("guaranteed", GUARANTEE, reason, program, True, locality=k),
    )


def kgram_average(k: int) -> KnownMap:
    """Return the claims about how often each token followed the last k."""
    reason = f"two layers: heads at lags to {k}, by local terms times log i, then attention to the keys that match"
    note = "up to an error, which rare keys make large; for two layers whose local terms are multiplied by log i"
    return KnownMap(
        MapClaim("open", "none", f"the known construction reads lags up to {k} by local terms"),
        MapClaim("guaranteed", TWO_LAYERS, reason, note=note, locality=k),
    )


ENTRIES: Mapping[str, KnownMap] = {
    # counting
    "majority": _counting("majority"),
    "most_frequent": _counting("most_frequent"),
    "dyck_1": _counting("dyck_1"),
    "shuffle_dyck_2": _counting("shuffle_dyck_2"),
    "boolean_3": _counting("boolean_3"),
    "boolean_5": _counting("boolean_5"),
    "anbn": _counting("anbn"),
    "anbncn": _counting("anbncn"),
    "anbncndn": _counting("anbncndn"),
    "sort": _both(_guaranteed("sort", "a program compares which letters have occurred")),
    "interleaved_majority": KnownMap(
        MapClaim("not expressible", LABEL, "without residues a program cannot know to which sequence a token belongs"),
        _guaranteed("interleaved_majority", "counts restricted to a residue of the position"),
    ),
    # retrieval
    "ur": _right("ur"),
    "nr_first": _right("nr_first"),
    "needle": KnownMap(
        _guaranteed(_AFTER, "the key occurs once before the query, and its value is the next token", derived=True),
        _guaranteed("ur", "as UR: the value stands right after the only occurrence of the key", derived=True),
    ),
    "trigger_output": kgram(1),
    "ul": KnownMap(_BEFORE, _guaranteed("ul", _NEIGHBOUR)),
    "nl_first": KnownMap(_BEFORE, _guaranteed("nl_first", _NEIGHBOUR)),
    "nl_last": _both(_LAST),
    "nr_last": _both(_LAST),
    "k_hop": _both(
        MapClaim(
            "not expressible",
            LEMMAS,
            "each hop goes to the last earlier occurrence, and one that does recognises (a|b|e)*ae*",
            derived=True,
        )
    ),
    # planted and free
    "sparse_parity": _both(
        MapClaim(
            "guaranteed",
            GUARANTEE,
            "at most k bits matter, so the number of ones among them is compared with the odd constants up to k",
            "count(bits 1 behind small numbers) = 1 or = 3 or ..",
            derived=True,
            note="the program grows with k; parity with unbounded k is not expressible",
        )
    ),
    "planted": _both(
        MapClaim(
            "guaranteed",
            GUARANTEE,
            "there are exactly k planted tokens, so each count is compared with the constants up to k",
            "a disjunction over how often each planted number occurs",
            derived=True,
            note="the program grows with k",
        )
    ),
    "modular_arithmetic": _both(
        MapClaim(
            "not expressible",
            DECIDED,
            "with + alone it counts modulo the modulus, which is excluded at every period and locality",
            derived=True,
        )
    ),
    "text": _both(
        MapClaim("open", "none", "text defines no fixed map from inputs to answers, so no theorem is about it")
    ),
    # writing an answer
    "uf": KnownMap(
        MapClaim("not expressible", LABEL, "the neighbour of a letter cannot be found without offsets", note=_GROWING),
        _guaranteed("uf", "each step is UR on the letter written last"),
    ),
    "ub": KnownMap(
        MapClaim("open", "none", "no theorem or label covers it without positions", note=_GROWING),
        _guaranteed("ub", "each step is UL on the letter written last"),
    ),
    "nf": _told("the answer is the first half"),
    "nb": _told("the answer is the first half, backwards"),
    "reverse": _told("the answer is the first half, backwards"),
    "duplicate_string": _told("the answer repeats the first half"),
    "odds_first": _told("the answer is the first half in another order"),
    "addition": _told("every first number gives other sums"),
    "parity_scratchpad": _told("the bits come back out of the differences of the answers"),
    "variable_assignment": _both(
        MapClaim(
            "open", "none", "variables are all different, so the alphabet grows with the length; no theorem covers it"
        )
    ),
}
"""Claims by key."""
