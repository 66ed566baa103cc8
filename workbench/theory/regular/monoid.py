"""The syntactic monoid of a regular language and the algebraic properties that bracket C-RASP.

R-trivial implies C-RASP[empty] (neutral-symbol convention). That implies the identity (x y^w)^w x = (x y^w)^w, which
implies aperiodic, that is star-free (Schuetzenberger 1965; for C-RASP: arXiv 2608.13433). Here x^w is the idempotent
power of x. The monoid can be exponentially larger than the automaton. Beyond a stated number of elements nothing is
decided.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from workbench.tasks.automata.dfa import Automaton
from workbench.theory.regular.automaton_queries import components
from workbench.theory.regular.deciders import Decision, in_crasp

LARGEST_MONOID = 20_000
LARGEST_TABLE = 20_000_000
"""Largest number of states of all elements together for which a monoid is listed: 160 MB."""
LARGEST_IDENTITY = 2_000
"""Largest number of elements for which the R-omega identity, which is about all pairs, is checked."""

Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Monoid:
    """The transformations of an automaton's states by all words; for a minimal automaton, the syntactic monoid.

    Attributes:
        elements: ``[element, state]`` the state that each element maps each state to; element 0 is the identity.
        cayley: ``[element, symbol]`` the element followed by a symbol.
        words: a shortest word of each element, as symbol indices.
    """

    elements: Ints
    cayley: Ints
    words: tuple[tuple[int, ...], ...]
    _place: dict[bytes, int] = field(repr=False)

    def __len__(self) -> int:
        return len(self.elements)

    def times(self, left: Ints, right: int) -> Ints:
        """Return the products of several elements with one element, which is applied last."""
        for symbol in self.words[right]:
            left = self.cayley[left, symbol]
        return left

    def idempotent_powers(self) -> Ints:
        """``[element]`` the idempotent among the powers of each element."""
        idempotents = np.empty(len(self), dtype=np.int64)
        for x, start in enumerate(self.elements):
            power = start
            while not np.array_equal(power[power], power):
                power = start[power]
            idempotents[x] = self.find(power)
        return idempotents

    def find(self, transformation: Ints) -> int:
        """Return the element with this transformation.

        Raises:
            KeyError: if there is none.
        """
        return self._place[np.ascontiguousarray(transformation, dtype=np.int64).tobytes()]


def syntactic_monoid(language: Automaton, limit: int = LARGEST_MONOID) -> Monoid | None:
    """Return the syntactic monoid, or None beyond ``limit`` elements or :data:`LARGEST_TABLE` states."""
    table = language.minimal().table
    limit = min(limit, LARGEST_TABLE // len(table))
    generators = [np.ascontiguousarray(column) for column in table.T]
    elements = [np.arange(len(table), dtype=np.int64)]
    position = {elements[0].tobytes(): 0}
    words: list[tuple[int, ...]] = [()]
    cayley: list[list[int]] = []
    for x, element in enumerate(elements):
        row = []
        for symbol, generator in enumerate(generators):
            product = generator[element]
            key = product.tobytes()
            if key not in position:
                if len(elements) == limit:
                    return None
                position[key] = len(elements)
                elements.append(product)
                words.append((*words[x], symbol))
            row.append(position[key])
        cayley.append(row)
    return Monoid(np.array(elements), np.array(cayley, dtype=np.int64), tuple(words), position)


def is_aperiodic(monoid: Monoid) -> bool:
    """Whether no element has a power cycle longer than 1; the language is star-free exactly then."""
    return group_periods(monoid) == {1}


def group_periods(monoid: Monoid) -> set[int]:
    """Return the lengths of the cycles that powers of elements end in; {1} for a star-free language."""
    periods = set()
    for element in monoid.elements:
        power = element
        for _ in range(len(element).bit_length()):  # to a power beyond the number of states, which is on the cycle
            power = power[power]
        cycle, period = element[power], 1
        while not np.array_equal(cycle, power):
            cycle, period = element[cycle], period + 1
        periods.add(period)
    return periods


def is_r_trivial(monoid: Monoid) -> bool:
    """Whether no two elements reach each other by multiplying from the right."""
    return all(len(members) == 1 for members in components(monoid.cayley))


def satisfies_r_omega(monoid: Monoid) -> bool:
    """Whether (x y^w)^w x = (x y^w)^w for all x and y."""
    omega = monoid.idempotent_powers()
    every = np.arange(len(monoid))
    for idempotent in np.unique(omega):
        power = omega[monoid.times(every, int(idempotent))]
        followed = monoid.elements[every[:, None], monoid.elements[power]]
        if not np.array_equal(followed, monoid.elements[power]):
            return False
    return True


@dataclass(frozen=True)
class Profile:
    """The algebraic properties of a regular language, each ``yes``, ``no`` or ``not decided``.

    Attributes:
        states: the states of the minimal automaton.
        monoid: elements of the syntactic monoid, or None beyond the limit.
        star_free: the monoid is aperiodic.
        r_trivial: Green's relation R is equality.
        r_omega: the identity (x y^w)^w x = (x y^w)^w holds.
        crasp_neutral: in C-RASP[empty], last symbol not readable.
        crasp_last: in C-RASP[empty], last symbol readable.
    """

    states: int
    monoid: int | None
    star_free: Decision
    r_trivial: Decision
    r_omega: Decision
    crasp_neutral: Decision
    crasp_last: Decision


def profile(language: Automaton, limit: int = LARGEST_MONOID) -> Profile:
    """Return all properties of a language."""
    monoid = syntactic_monoid(language, limit)
    small = monoid is not None and len(monoid) <= LARGEST_IDENTITY
    return Profile(
        states=len(language.minimal()),
        monoid=None if monoid is None else len(monoid),
        star_free="not decided" if monoid is None else _decision(is_aperiodic(monoid)),
        r_trivial="not decided" if monoid is None else _decision(is_r_trivial(monoid)),
        r_omega=_decision(satisfies_r_omega(monoid)) if monoid is not None and small else "not decided",
        crasp_neutral=in_crasp(language, "neutral_symbol").decision,
        crasp_last=in_crasp(language, "last_position").decision,
    )


def _decision(holds: bool) -> Decision:
    return "yes" if holds else "no"
