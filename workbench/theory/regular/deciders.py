"""Deciders, in exact arithmetic, of whether a regular language is in C-RASP.

*Exact, without positions.* Theory compares transformers without positions with C-RASP[empty]. Inside a strongly
connected component of the minimal automaton, give every state u a potential pi(u). Give every pair of a symbol a and a
class c of states a weight lambda(a, c). Along every edge u -a-> v, pi(v) - pi(u) must equal lambda(a, class(u)). The
potential of a reached state is then a weighted count of the symbols read. States that some potential distinguishes go
into different classes, and more classes allow more potentials. The language is in C-RASP[empty] exactly if in the end
every state has a class of its own, in every component. The characterisation is that of "state tracking in C-RASP"
(arXiv 2608.13433); the procedure was written from it.

*Sufficient, with positions.* Let every weight depend also on the residue of the position mod Delta, and on the tau
symbols before the one that is read. Suppose that the same loop distinguishes all states with equal residue and window,
for each right quotient. Then a program of C-RASP[periodic, local] recognises the language. It compares the counts of
the potentials, each restricted to a residue and a window. If the loop fails, nothing follows: no decider for that class
is known.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

import numpy as np

from workbench.tasks.automata.dfa import LARGEST_AUTOMATON, Automaton
from workbench.theory.errors import TheoryError
from workbench.theory.regular.automaton_queries import Table, components, right_quotient, shortest_words
from workbench.theory.regular.rational_spans import Allowance, Span, TooManyStepsError, Vector

Decision = Literal["yes", "no", "not decided"]
Convention = Literal["last_position", "neutral_symbol"]
CONVENTIONS: tuple[Convention, ...] = ("last_position", "neutral_symbol")

DECIDER_SOURCE = "arXiv 2608.13433 (potentials of the minimal automaton)"
CERTIFICATE_SOURCE = (
    "the potentials of arXiv 2608.13433 with residues and last symbols readable; derived, sufficient only"
)
LARGEST_PRODUCT = 400
"""Largest number of automaton states times windows times residues for which a certificate is searched."""
MOST_STEPS = 4_000_000
"""Largest number of steps of exact arithmetic for one decision. No task needs more than 60,000."""


@dataclass(frozen=True)
class Membership:
    """Whether a regular language is in C-RASP[empty].

    Attributes:
        decision: yes or no, because the criterion is exact. ``not decided`` beyond
            :data:`workbench.tasks.automata.dfa.LARGEST_AUTOMATON` states, or :data:`MOST_STEPS` steps.
        convention: ``last_position`` (acceptance may use the symbol at the position at which it is read) or
            ``neutral_symbol`` (it may not: appending a neutral symbol must not change it).
        states: number of states of the minimal automaton.
        confused: unless the decision is *yes*, two shortest words whose states no potential distinguishes.
        after: the last symbol for which they are confused; "" under ``neutral_symbol``.
        reason: one sentence.
        source: the source of the criterion.
    """

    decision: Decision
    convention: Convention
    states: int
    confused: tuple[str, str] | None
    after: str
    reason: str
    source: str = DECIDER_SOURCE


@dataclass(frozen=True)
class Certificate:
    """The proof that a language is in C-RASP[periodic, local], with the period and the distance that a program needs to
    read.

    Attributes:
        period: Delta, the modulus of the residues it reads; 1 = none.
        locality: tau: its counts read the symbols at offsets 0..tau; 0 = the symbol at the position itself.
        source: the source of the criterion.
    """

    period: int
    locality: int
    source: str = CERTIFICATE_SOURCE


def in_crasp(language: Automaton, convention: Convention) -> Membership:
    """Decide membership in C-RASP[empty].

    Under ``last_position`` the language is a member exactly if each of its right quotients by a symbol is a member
    under ``neutral_symbol``. For a fixed last symbol, a program reads only counts over the word before it.

    Raises:
        TheoryError: for an unknown convention.
    """
    if convention not in CONVENTIONS:
        raise TheoryError(f"unknown convention {convention!r}; there are {' and '.join(CONVENTIONS)}")
    language = language.minimal()
    if len(language) > LARGEST_AUTOMATON:
        reason = f"its minimal automaton has {len(language):,} states; up to {LARGEST_AUTOMATON:,} are decided"
        return Membership("not decided", convention, len(language), None, "", reason)
    allowance = Allowance(MOST_STEPS)
    for after, quotient in [("", language)] if convention == "neutral_symbol" else _quotients(language):
        try:
            pair = confused_states(quotient.table, allowance=allowance)
        except TooManyStepsError as error:
            reason = f"its minimal automaton has {len(language):,} states, and {error}"
            return Membership("not decided", convention, len(language), None, "", reason)
        if pair is not None:
            words = shortest_words(quotient)
            first, second = words[pair[0]] or "(empty)", words[pair[1]] or "(empty)"
            reading = f"before a final {after}, " if after else ""
            reason = f"{reading}no count distinguishes the states after {first} and after {second}"
            return Membership("no", convention, len(language), (words[pair[0]], words[pair[1]]), after, reason)
    reason = "in every strongly connected component, counts distinguish all states"
    return Membership("yes", convention, len(language), None, "", reason)


def certify(language: Automaton, period: int, locality: int, allowance: Allowance | None = None) -> Certificate | None:
    """Return a proof that the language is in C-RASP[periodic, local] with this period and locality, or None.

    None states nothing about the language. The condition is only sufficient, and automata whose product with windows
    and residues exceeds :data:`LARGEST_PRODUCT` states are not tried. With period 1 and locality 0 it is the exact
    criterion of :func:`in_crasp` under ``last_position``.

    Raises:
        TooManyStepsError: if it takes more steps than ``allowance`` has left.
    """
    for _, quotient in _quotients(language):
        tracked = product(quotient, period, locality)
        if tracked is None or confused_states(tracked.table, tracked.labels, allowance) is not None:
            return None
    return Certificate(period, locality)


def find_certificate(
    language: Automaton, periods: Sequence[int] = (1, 2, 3, 4, 6), localities: Sequence[int] = range(6)
) -> Certificate | None:
    """Return the certificate with the fewest residues times windows, or None if :data:`MOST_STEPS` steps find none."""
    allowance = Allowance(MOST_STEPS)
    letters = len(language.alphabet)
    tried = sorted(((p, t) for p in periods for t in localities), key=lambda pair: (pair[0] * letters ** pair[1], pair))
    with suppress(TooManyStepsError):
        return next(filter(None, (certify(language, *pair, allowance) for pair in tried)), None)
    return None


def _quotients(language: Automaton) -> Iterator[tuple[str, Automaton]]:
    """Yield the right quotients one by one; the first one often decides."""
    return ((name, right_quotient(language, name)) for name in language.alphabet)


def confused_states(
    table: Table, labels: Sequence[Hashable] | None = None, allowance: Allowance | None = None
) -> tuple[int, int] | None:
    """Return two states of one component that no potential and no label distinguishes; None if there are none.

    Args:
        table: ``[state, symbol]``.
        labels: the known property of each state without counting; None = no property.
        allowance: the steps that this may take; None = any number.

    Raises:
        TooManyStepsError: if it takes more.
    """
    initial = labels if labels is not None else [0] * len(table)
    for members in components(table):
        if len(members) == 1:
            continue
        met: dict[Hashable, int] = {}
        for state, c in rounds(table, members, {u: initial[u] for u in members}, allowance)[-1].refined_classes.items():
            if c in met:
                return met[c], state
            met[c] = state
    return None


Classes = Mapping[int, Hashable]
Weight = tuple[int, Hashable]
"""The index of a weight: a symbol, and the class of the state in which it is read."""


@dataclass(frozen=True, eq=False)
class Round:
    """One iteration of the decision procedure on one component.

    Attributes:
        classes: the classes that the weights of this round may depend on.
        paths: ``{state: {weight: how often}}`` along a tree of edges from one state; the potential of a state is the
            sum of the weights on its path.
        demands: for every edge off the tree, the combination of weights that must vanish.
    """

    classes: Classes
    paths: dict[int, Vector[Weight]]
    demands: Span[Weight]

    @property
    def refined_classes(self) -> dict[int, int]:
        """The classes after this round: its own classes, split by its potentials.

        All potentials agree on two states exactly if the difference of their paths is in the span of the demands.
        """
        signatures = {u: (c, frozenset(self.demands.residue(self.paths[u]).items())) for u, c in self.classes.items()}
        number = {c: i for i, c in enumerate(dict.fromkeys(signatures.values()))}
        return {u: number[c] for u, c in signatures.items()}


def rounds(table: Table, members: Sequence[int], classes: Classes, allowance: Allowance | None = None) -> list[Round]:
    """Return the rounds of the loop on one component, until a round distinguishes no further state."""
    done = [_round(table, members, classes, allowance)]
    while True:
        finer = done[-1].refined_classes
        # Potentials grow with the classes, so finer classes never lose a distinction.
        if len(set(finer.values())) == len(set(done[-1].classes.values())):
            return done
        done.append(_round(table, members, finer, allowance))


def _round(table: Table, members: Sequence[int], classes: Classes, allowance: Allowance | None) -> Round:
    inside = set(members)
    paths: dict[int, Vector[Weight]] = {members[0]: {}}
    demands: Span[Weight] = Span(allowance)
    for u in _walk(table, members[0], inside):
        for symbol, v in enumerate(table[u].tolist()):
            if v not in inside:
                continue
            weight = (symbol, classes[u])
            if allowance is not None:
                allowance.spend(1 + len(paths[u]))
            path = dict(paths[u])
            path[weight] = path.get(weight, 0) + 1
            if v not in paths:
                paths[v] = path
            else:
                demands.add({name: path.get(name, 0) - paths[v].get(name, 0) for name in path.keys() | paths[v].keys()})
    return Round(classes, paths, demands)


def _walk(table: Table, start: int, inside: set[int]) -> list[int]:
    order, met = [start], {start}
    for u in order:
        for v in table[u].tolist():
            if v in inside and v not in met:
                met.add(v)
                order.append(v)
    return order


@dataclass(frozen=True, eq=False)
class Product:
    """An automaton run together with what is readable around the position.

    Attributes:
        table: ``[node, symbol]``; node 0 is the start.
        states: ``[node]`` state of the automaton.
        labels: ``[node]`` the last symbols, oldest first (fewer at the start of a word), and the residue of the number
            of symbols read.
    """

    table: Table
    states: tuple[int, ...]
    labels: tuple[tuple[tuple[int, ...], int], ...]


def product(language: Automaton, period: int, locality: int) -> Product | None:
    """Return the product with residues mod ``period`` and the last ``locality`` symbols; None if it is too large."""
    if period < 1 or locality < 0:
        raise TheoryError(f"a period is at least 1 and a locality at least 0, not {period} and {locality}")
    order: list[tuple[int, tuple[int, ...], int]] = [(language.start, (), 0)]
    position = {order[0]: 0}
    rows = []
    for state, window, residue in order:
        row = []
        for symbol, following in enumerate(language.table[state].tolist()):
            recent = (*window, symbol)[-locality:] if locality else ()
            node = (following, recent, (residue + 1) % period)
            if node not in position:
                position[node] = len(order)
                order.append(node)
            row.append(position[node])
        rows.append(row)
        if len(order) > LARGEST_PRODUCT:
            return None
    states = tuple(state for state, _, _ in order)
    return Product(np.array(rows, dtype=np.int64), states, tuple((window, residue) for _, window, residue in order))
