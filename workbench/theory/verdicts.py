"""Claims about a map for one position encoding: regular languages by deciding, programs by what they read."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from workbench.core.suggest import nearest
from workbench.tasks.dfa import Automaton
from workbench.theory.claims import DECIDED, GUARANTEE, Claim, Entry, Verdict
from workbench.theory.deciders import Certificate, Convention, find_certificate, in_crasp
from workbench.theory.errors import TheoryError
from workbench.theory.exclusion import exclude
from workbench.theory.subjects import Witness

EMPTY = "C-RASP[empty]"
POSITIONAL = "C-RASP[periodic, local]"
SILENT = ("rotary", "alibi", "sinusoidal")
"""Encodings that no theorem here is about."""
CERTIFIED = f"{GUARANTEE}, on a program that the potentials of arXiv 2608.13433 give"


@dataclass(frozen=True)
class Positions:
    """How the model in question reads positions.

    Attributes:
        name: an encoding of the house: none, learned, limit, rotary, alibi, sinusoidal.
        ids: the id law of training.
        period: Delta, for limit positions; None = any.
        locality: tau, for limit positions; None = any.
    """

    name: str = "none"
    ids: str = "arange"
    period: int | None = None
    locality: int | None = None

    def __post_init__(self) -> None:
        known = ("none", "learned", "limit", *SILENT)
        if self.name not in known:
            raise TheoryError(f"unknown positions {self.name!r}; {nearest(self.name, known)}")
        if self.name != "limit" and (self.period, self.locality) != (None, None):
            raise TheoryError(f"only limit positions have a period and a locality, not {self.name}")

    @classmethod
    def named(cls, name: str) -> Positions:
        """Positions by name; learned ones with random offsets, which is what the theorem is about."""
        return cls(name, "random_offset" if name == "learned" else "arange")

    def __str__(self) -> str:
        parts = [f"{n} {v}" for n, v in (("period", self.period), ("locality", self.locality)) if v is not None]
        shown = f"{self.name} ({', '.join(parts)})" if parts else self.name
        return f"{shown}, ids {self.ids}" if self.name == "learned" else shown

    def offers(self, period: int, locality: int) -> bool:
        """Whether a program that reads these can be run: unstated sizes are as large as needed."""
        enough = self.locality is None or locality <= self.locality
        return enough and (self.period is None or self.period % period == 0)


def stated(entry: Entry, at: Positions) -> Claim:
    """The claim for these positions; opened where no theorem is about them."""
    if at.name == "none":
        return entry.without
    claim = entry.with_positions
    if at.name in SILENT:
        reason = f"no theorem is about {at.name} positions; for absolute ones the verdict is: {claim.verdict}"
        return Claim("open", "none", reason, note=claim.reason)
    if claim.verdict != "guaranteed":
        return claim
    if at.name == "learned" and at.ids != "random_offset":
        reason = f"the theorem trains every id at every offset (ids random_offset), which ids {at.ids} do not"
        return Claim("open", "none", reason, note="with ids random_offset the verdict is: guaranteed")
    if not at.offers(claim.period, claim.locality):
        reason = f"the program known needs a period that {claim.period} divides and a locality of {claim.locality}"
        return Claim("not decided", "none", reason)
    return claim


def of_program(witness: Witness, without: Claim | None = None) -> Entry:
    """The entry of a map for which there is a program.

    Args:
        witness: the program.
        without: what is known without positions; needed where the program reads some.
    """
    reads = witness.program.modulus, witness.program.locality or 0
    found = Claim("guaranteed", GUARANTEE, f"a program of {witness.fragment}", witness.name, False, "", *reads)
    if witness.fragment == "C-RASP[]":
        return Entry(found, found)
    unknown = Claim(
        "not decided", "none", f"the program known is of {witness.fragment}; none without positions is known"
    )
    return Entry(without or unknown, found)


def of_languages(
    languages: Callable[[], Iterable[Automaton]], at: Positions, convention: Convention = "last_position"
) -> Entry:
    """The entry of a map all of whose answers are regular languages: each has to be in the class.

    Args:
        languages: gives them, and is asked for no more of them than settle the verdict.
        at: the positions; what is claimed with positions is for them.
        convention: how acceptance may read the last symbol.
    """
    without = _weakest(_without_positions(language, convention) for language in languages())
    if at.name == "none":
        return Entry(without, without)
    # A program that reads no positions remains one.
    if without.verdict == "guaranteed":
        return Entry(without, replace(without, reason=f"{without.reason}; no position is read"))
    return Entry(without, _weakest(_with_positions(language, at, convention) for language in languages()))


def _without_positions(language: Automaton, convention: Convention) -> Claim:
    membership = in_crasp(language, convention)
    if membership.decision == "yes":
        return Claim("guaranteed", f"{GUARANTEE}; {DECIDED}", membership.reason)
    if membership.decision == "not decided":
        return Claim("not decided", "none", membership.reason)
    return Claim("not expressible", DECIDED, membership.reason)


def _with_positions(language: Automaton, at: Positions, convention: Convention) -> Claim:
    if in_crasp(language, convention).decision == "yes":
        return Claim("guaranteed", f"{GUARANTEE}; {DECIDED}", "counts suffice, no position is read")
    excluded = exclude(language)
    if excluded is not None:
        first, second = (word or "(empty)" for word in excluded.confused)
        reason = f"behind many {excluded.padding} no program tells {first} from {second}, at any period and locality"
        return Claim("not expressible", excluded.source, reason, derived=True)
    found = find_certificate(language)
    if found is None:
        reason = f"no program was found and none is excluded; no exact decider for {POSITIONAL} is known"
        return Claim("not decided", "none", reason)
    if not at.offers(found.period, found.locality):
        # Another program may read what these positions do offer.
        periods = range(1, 7) if at.period is None else [p for p in range(1, at.period + 1) if at.period % p == 0]
        localities = range(6) if at.locality is None else range(at.locality + 1)
        found = find_certificate(language, periods, localities) or found
    return Claim("guaranteed", CERTIFIED, _reading(found), "", True, "", found.period, found.locality)


def _reading(found: Certificate) -> str:
    reads = [f"residues mod {found.period}"] if found.period > 1 else []
    reads += [f"the last {found.locality + 1} symbols"] if found.locality else []
    return f"counts that read {' and '.join(reads)} tell all states apart"


def _weakest(claims: Iterable[Claim]) -> Claim:
    """The worst of several claims; one that is not expressible settles it, and the rest is not looked at."""
    order: tuple[Verdict, ...] = ("not expressible", "open", "not decided", "guaranteed")
    worst: Claim | None = None
    for claim in claims:
        if worst is None or order.index(claim.verdict) < order.index(worst.verdict):
            worst = claim
        if worst.verdict == "not expressible":
            break
    assert worst is not None, "a map has at least one answer"
    return worst
