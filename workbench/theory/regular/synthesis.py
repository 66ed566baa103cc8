"""Writes a C-RASP program for a regular language from its proof of membership.

The deciders prove that counts distinguish the states of an automaton. This module writes those counts as a program. For
each component of the automaton the program determines where it was entered, and adds up the weights of the symbols read
inside. So it determines the state before every symbol, until the first symbol that leaves the component. To verify a
*yes*, run the program against the automaton.
"""

from __future__ import annotations

import operator
from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import reduce

from workbench.tasks.automata.dfa import Automaton
from workbench.theory.crasp.builder import MOD, TRUE, Predicate, Q, Term, all_of, any_of, count, program, where
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.syntax import subterms
from workbench.theory.errors import TheoryError
from workbench.theory.regular.automaton_queries import components, right_quotient
from workbench.theory.regular.deciders import (
    LARGEST_PRODUCT,
    Certificate,
    Product,
    Round,
    confused_states,
    product,
    rounds,
)


def synthesise(language: Automaton, certificate: Certificate) -> Program:
    """Return a program whose output ``accept`` is true at the last position of exactly the words of a language.

    Args:
        language: a regular language.
        certificate: what the program may read, from :func:`workbench.theory.regular.deciders.find_certificate`; period
            1 and locality 0 for a language in C-RASP[empty].

    Raises:
        TheoryError: if the certificate is not one for this language.
    """
    lines: dict[str, Predicate | Term] = {}
    accepting = []
    for name in language.alphabet:
        quotient = right_quotient(language, name)
        tracked = product(quotient, certificate.period, certificate.locality)
        if tracked is None:
            raise TheoryError(f"its automaton has more than {LARGEST_PRODUCT} states, with positions that it reads")
        if confused_states(tracked.table, tracked.labels) is not None:
            raise TheoryError(
                f"counts with period {certificate.period} and locality {certificate.locality} do not separate all "
                "states of this language"
            )
        before = _Tracker(tracked, language.alphabet, certificate, lines).nodes()
        final = [before[u] for u, state in enumerate(tracked.states) if state in quotient.accepting]
        accepting.append(_all([Q(name), _any(final)]))
    accept = _any(accepting)
    used = set(subterms([accept.node]))
    named = {name: line for name, line in lines.items() if line.node in used and line.node is not accept.node}
    return program(language.alphabet, named | {"accept": accept}, outputs=["accept"])


class _Tracker:
    """Writes, line by line, predicates for the node of a product before each symbol."""

    def __init__(
        self,
        tracked: Product,
        alphabet: Sequence[str],
        certificate: Certificate,
        lines: dict[str, Predicate | Term],
    ) -> None:
        self.tracked, self.alphabet, self.certificate, self.lines = tracked, alphabet, certificate, lines
        self.rows: list[list[int]] = tracked.table.tolist()

    def nodes(self) -> dict[int, Predicate]:
        """Return ``{node: predicate that it is the node before the symbol at this position}``."""
        predicates: dict[int, Predicate] = {}
        for members in _in_order(self.tracked):
            ways = {v: self.entry_condition(v, members, predicates) for v in members}
            entered = {v: at for v, at in ways.items() if at is not None}
            inside = self.line("here", _any(entered.values()))
            node = self.within(members, entered, inside)
            leaving = [
                _all([node[u], _any(Q(self.alphabet[a]) for a, v in enumerate(self.rows[u]) if v not in members)])
                for u in members
                if not set(self.rows[u]) <= set(members)
            ]
            # After the first exit the counts are meaningless, so only the first exit counts.
            first = _earlier(self.line("leave", _all([inside, _any(leaving)]))) == 0 if leaving else TRUE
            predicates |= {u: self.line("node", _all([inside, first, node[u]])) for u in members}
        return predicates

    def line(self, name: str, predicate: Predicate) -> Predicate:
        """Give a predicate a line of its own, unless it has one; a number makes the name unique."""
        if predicate.node.children and predicate.node not in {line.node for line in self.lines.values()}:
            self.lines[f"{name}_{len(self.lines) + 1}"] = predicate
        return predicate

    def entry_condition(self, v: int, members: Sequence[int], before: Mapping[int, Predicate]) -> Predicate | None:
        """Return whether the component was entered at this node, before this position; None if it never is."""
        if v == 0:
            return TRUE
        ways = [
            _all([before[u], _any(Q(self.alphabet[a]) for a, following in enumerate(row) if following == v)])
            for u, row in enumerate(self.rows)
            if v in row and u not in members
        ]
        return _earlier(self.line("enter", _any(ways))) >= 1 if ways else None

    def within(
        self, members: Sequence[int], entered: Mapping[int, Predicate], inside: Predicate
    ) -> dict[int, Predicate]:
        """Return ``{node: it is the node before this symbol}``, provided that the component has not been left."""
        if len(members) == 1:
            return {members[0]: TRUE}
        labels = {u: self.tracked.labels[u] for u in members}
        named: dict[Hashable, Predicate] = {c: self.label(*c) for c in labels.values()}
        if len(named) == 1:
            named = dict.fromkeys(named, TRUE)
        for step in rounds(self.tracked.table, members, labels):
            named = self.finer(step, named, entered, inside)
        return {u: named[c] for u, c in step.refined_classes.items()}

    def label(self, window: tuple[int, ...], residue: int) -> Predicate:
        """Return whether these were the last symbols before this position, and this the residue of their number."""
        period, locality = self.certificate.period, self.certificate.locality
        read: list[Predicate] = [
            count(Q(self.alphabet[a]), offsets={t}) == 1 for t, a in enumerate(reversed(window), start=1)
        ]
        if len(window) < locality:
            read.append(count(TRUE, offsets={len(window) + 1}) == 0)
        if period > 1:
            read.append(MOD((residue + 1) % period, period))
        return _all(read)

    def finer(
        self, step: Round, named: Mapping[Hashable, Predicate], entered: Mapping[int, Predicate], inside: Predicate
    ) -> dict[Hashable, Predicate]:
        """Return predicates of the classes after a round, from those of the classes that its weights depend on."""
        basis = step.demands.annihilators({w for path in step.paths.values() for w in path})
        heights = {
            u: tuple(int(sum(v.get(w, 0) * n for w, n in path.items())) for v in basis)
            for u, path in step.paths.items()
        }
        together = [(u, v) for u in heights for v in heights if step.classes[u] == step.classes[v]]
        needed = [b for b in range(len(basis)) if any(heights[u][b] != heights[v][b] for u, v in together)]
        terms = {}
        for b in needed:
            read = {w: self.line("read", _all([inside, Q(self.alphabet[w[0]]), named[w[1]]])) for w in basis[b]}
            parts = [_times(weight, _earlier(read[w])) for w, weight in basis[b].items()]
            parts += [where(at, heights[v][b], 0) for v, at in entered.items() if heights[v][b]]
            terms[b] = reduce(operator.add, parts)
        predicates: dict[Hashable, Predicate] = {}
        for u, finer in step.refined_classes.items():
            level: list[Predicate] = [terms[b] == heights[u][b] for b in needed]
            predicates[finer] = self.line("class", _all([named[step.classes[u]], *level]))
        return predicates


def _times(weight: int, term: Term) -> Term:
    return term if weight == 1 else weight * term


def _in_order(tracked: Product) -> list[list[int]]:
    """Return the components, each after those that lead to it."""
    waiting, done, order = components(tracked.table), set[int](), []
    before: dict[int, set[int]] = {u: set() for u in range(len(tracked.states))}
    for u, row in enumerate(tracked.table.tolist()):
        for v in row:
            before[v].add(u)
    while waiting:
        ready = next(c for c in waiting if all(before[v] <= done | set(c) for v in c))
        waiting.remove(ready)
        done |= set(ready)
        order.append(ready)
    return order


def _earlier(operand: Predicate) -> Term:
    """Return the number of earlier positions at which a predicate was true."""
    return count(operand) - where(operand, 1, 0)


def _all(operands: Iterable[Predicate]) -> Predicate:
    listed = [o for o in operands if o is not TRUE]
    return all_of(listed) if listed else TRUE


def _any(operands: Iterable[Predicate]) -> Predicate:
    listed = list(operands)
    if any(o is TRUE for o in listed):
        return TRUE
    return any_of(listed) if listed else ~TRUE
