"""Claims about a map for one position encoding: decided for regular languages, else from what a program reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import lcm

from workbench.models.errors import PositionError
from workbench.models.positions.encoding import Reach
from workbench.models.positions.registry import ENCODINGS, make_encoding
from workbench.tasks.automata.dfa import Automaton
from workbench.theory.errors import TheoryError
from workbench.theory.prediction.known_maps import DECIDED, GUARANTEE, KnownMap, MapClaim, Verdict
from workbench.theory.prediction.task_names import Witness
from workbench.theory.regular.deciders import Certificate, Convention, find_certificate, in_crasp
from workbench.theory.regular.exclusion import exclude

EMPTY = "C-RASP[empty]"
POSITIONAL = "C-RASP[periodic, local]"
CERTIFIED = f"{GUARANTEE}, on a program that the potentials of arXiv 2608.13433 give"


@dataclass(frozen=True)
class Positions:
    """How a model reads positions.

    Attributes:
        name: an encoding.
        ids: the id sampler of training.
        settings: stated settings of the encoding; for others the best value is assumed.

    Raises:
        TheoryError: for an encoding, or a setting of it, that does not exist or fit.
    """

    name: str = "none"
    ids: str = "arange"
    settings: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        try:
            make_encoding({"name": self.name, **self.settings})
        except PositionError as error:
            raise TheoryError(str(error)) from None

    @classmethod
    def from_name(cls, name: str) -> Positions:
        """Return positions by name, with the id sampler that the theorem about them assumes, if it assumes one."""
        positions = cls(name)
        reach = positions.reach
        return positions if reach is None or not reach.ids else replace(positions, ids=reach.ids[0])

    @cached_property
    def reach(self) -> Reach | None:
        """Return what programs may read so that a theorem covers the model; None if no theorem covers such
        positions.
        """
        return ENCODINGS[self.name].reach(self.settings)

    @property
    def blind(self) -> bool:
        """Whether the model reads no positions at all."""
        return not ENCODINGS[self.name].reads_ids

    def __str__(self) -> str:
        if self.reach is None:
            return self.name
        parts = ", ".join(f"{name} {value}" for name, value in self.settings.items())
        name = f"{self.name} ({parts})" if parts else self.name
        usual = not self.reach.ids or self.ids == "arange" == self.reach.ids[0]
        return name if usual else f"{name}, ids {self.ids}"

    def offers(self, period: int, locality: int) -> bool:
        """Whether a program with this period and locality can be run: unstated sizes are as large as needed."""
        if self.reach is None:
            return False
        enough = self.reach.locality is None or locality <= self.reach.locality
        return enough and (self.reach.period is None or self.reach.period % period == 0)


def claim_at(entry: KnownMap, at: Positions) -> MapClaim:
    """Return the claim for these positions; ``open`` if no theorem is about them."""
    if at.blind:
        return entry.without
    claim = entry.with_positions
    if at.reach is None:
        reason = f"no theorem is about {at.name} positions; for absolute ones the verdict is: {claim.verdict}"
        return MapClaim("open", "none", reason, note=claim.reason)
    if claim.verdict != "guaranteed":
        return claim
    if at.reach.ids and at.ids not in at.reach.ids:
        ids = at.reach.ids[0]
        reason = f"the theorem's training has ids {' or '.join(at.reach.ids)}, this one {at.ids}"
        return MapClaim("open", "none", reason, note=f"with ids {ids} the verdict is: guaranteed")
    if not at.offers(claim.period, claim.locality):
        reason = f"the known program needs a period that {claim.period} divides and a locality of {claim.locality}"
        return MapClaim("not decided", "none", reason)
    if at.reach.step:
        return replace(claim, derived=True, note="; ".join(text for text in (claim.note, at.reach.step) if text))
    return claim


def of_program(witness: Witness, without: MapClaim | None = None) -> KnownMap:
    """Return the entry of a map for which there is a program.

    Args:
        witness: the program.
        without: the claim without positions; needed if the program reads some.
    """
    reads = witness.program.modulus, witness.program.locality or 0
    claim = MapClaim("guaranteed", GUARANTEE, f"a program of {witness.fragment}", witness.name, False, "", *reads)
    if witness.fragment == "C-RASP[]":
        return KnownMap(claim, claim)
    unknown = MapClaim(
        "not decided", "none", f"the known program is of {witness.fragment}; none without positions is known"
    )
    return KnownMap(without or unknown, claim)


def of_languages(
    languages: Callable[[], Iterable[Automaton]], at: Positions, convention: Convention = "last_position"
) -> KnownMap:
    """Return the entry of a map all of whose answers are regular languages: each has to be in the class.

    Args:
        languages: returns an iterator, which is read only until the verdict is decided.
        at: the positions that the claim with positions is about.
        convention: how acceptance may read the last symbol.
    """
    without = _weakest(_without_positions(language, convention) for language in languages())
    if at.blind:
        return KnownMap(without, without)
    # A program that reads no positions is also a program with positions.
    if without.verdict == "guaranteed":
        return KnownMap(without, replace(without, reason=f"{without.reason}; no position is read"))
    return KnownMap(without, _weakest(_with_positions(language, at, convention) for language in languages()))


def _without_positions(language: Automaton, convention: Convention) -> MapClaim:
    membership = in_crasp(language, convention)
    if membership.decision == "yes":
        return MapClaim("guaranteed", f"{GUARANTEE}; {DECIDED}", membership.reason)
    if membership.decision == "not decided":
        return MapClaim("not decided", "none", membership.reason)
    return MapClaim("not expressible", DECIDED, membership.reason)


def _with_positions(language: Automaton, at: Positions, convention: Convention) -> MapClaim:
    if in_crasp(language, convention).decision == "yes":
        return MapClaim("guaranteed", f"{GUARANTEE}; {DECIDED}", "counts suffice, and no position is read")
    excluded = exclude(language)
    if excluded is not None:
        first, second = (word or "(empty)" for word in excluded.confused)
        reason = (
            f"after many repetitions of {excluded.padding}, no program distinguishes {first} from {second}, "
            "at any period and locality"
        )
        return MapClaim("not expressible", excluded.source, reason, derived=True)
    certificate = find_certificate(language)
    if certificate is None:
        reason = f"no program was found and none is excluded; no exact decider for {POSITIONAL} is known"
        return MapClaim("not decided", "none", reason)
    if not at.offers(certificate.period, certificate.locality):
        certificate = _certificate_within(language, at.reach) or certificate
    period, locality = certificate.period, certificate.locality
    return MapClaim("guaranteed", CERTIFIED, _reading(certificate), "", True, "", period, locality)


def _certificate_within(language: Automaton, reach: Reach | None) -> Certificate | None:
    """Return a program that reads only what these positions offer; None if there is none, or no theorem about them."""
    if reach is None:
        return None
    periods = range(1, 7) if reach.period is None else [p for p in range(1, reach.period + 1) if reach.period % p == 0]
    localities = range(6) if reach.locality is None else range(reach.locality + 1)
    return find_certificate(language, periods, localities)


def _reading(certificate: Certificate) -> str:
    reads = [f"residues mod {certificate.period}"] if certificate.period > 1 else []
    reads += [f"the last {certificate.locality + 1} symbols"] if certificate.locality else []
    return f"counts that read {' and '.join(reads)} distinguish all states"


def _weakest(claims: Iterable[MapClaim]) -> MapClaim:
    """Return the worst of several claims; after one that is not expressible, the others are not computed.

    If all are guaranteed, period and locality are those that suffice for all programs together.
    """
    order: tuple[Verdict, ...] = ("not expressible", "open", "not decided", "guaranteed")
    worst: MapClaim | None = None
    for claim in claims:
        if worst is None or order.index(claim.verdict) < order.index(worst.verdict):
            worst = claim
        elif claim.verdict == "guaranteed":
            worst = _together(worst, claim) if worst.verdict == "guaranteed" else worst
        if worst.verdict == "not expressible":
            break
    assert worst is not None, "a map has at least one answer"
    return worst


def _together(first: MapClaim, other: MapClaim) -> MapClaim:
    """Merge two guaranteed claims: a program may read a multiple of its period, and larger offsets."""
    period, locality = lcm(first.period, other.period), max(first.locality, other.locality)
    if (period, locality) == (first.period, first.locality):
        return first
    return replace(other, reason=_reading(Certificate(period, locality)), period=period, locality=locality)
