"""From a proof of membership to the program: C-RASP for a regular language, written from its potentials.

The deciders say that counts tell the states of an automaton apart; this writes those counts down. For each
component of the automaton the program knows where it was entered, adds up the weights of what was read
inside, and so knows the state before every symbol, until the first symbol that leads out. Whoever doubts a
*yes* can run the program against the automaton.
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
    """A program whose output ``accept`` is true at the last position of exactly the words of a language.

    Args:
        language: a regular language.
        certificate: what the program may read, from :func:`workbench.theory.regular.deciders.find_certificate`;
            period 1 and locality 0 for a language in C-RASP[empty].

    Raises:
        TheoryError: if the certificate is none for this language.
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
    """Writes, line by line, which node of a product one is at before each symbol."""

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
        """``{node: it is the node before the symbol at this position is read}``."""
        found: dict[int, Predicate] = {}
        for members in _in_order(self.tracked):
            ways = {v: self.entered(v, members, found) for v in members}
            entered = {v: at for v, at in ways.items() if at is not None}
            here = self.line("here", _any(entered.values()))
            node = self.told_apart(members, entered, here)
            leaving = [
                _all([node[u], _any(Q(self.alphabet[a]) for a, v in enumerate(self.rows[u]) if v not in members)])
                for u in members
                if not set(self.rows[u]) <= set(members)
            ]
            # Behind the first way out the counts mean nothing, so the first one is what matters.
            first = _earlier(self.line("leave", _all([here, _any(leaving)]))) == 0 if leaving else TRUE
            found |= {u: self.line("node", _all([here, first, node[u]])) for u in members}
        return found

    def line(self, name: str, predicate: Predicate) -> Predicate:
        """Give a predicate a line of its own, under a name made unique by a number, unless it has one."""
        if predicate.node.children and predicate.node not in {line.node for line in self.lines.values()}:
            self.lines[f"{name}_{len(self.lines) + 1}"] = predicate
        return predicate

    def entered(self, v: int, members: Sequence[int], before: Mapping[int, Predicate]) -> Predicate | None:
        """The component was entered at this node, before this position; None where it never is."""
        if v == 0:
            return TRUE
        ways = [
            _all([before[u], _any(Q(self.alphabet[a]) for a, following in enumerate(row) if following == v)])
            for u, row in enumerate(self.rows)
            if v in row and u not in members
        ]
        return _earlier(self.line("enter", _any(ways))) >= 1 if ways else None

    def told_apart(
        self, members: Sequence[int], entered: Mapping[int, Predicate], here: Predicate
    ) -> dict[int, Predicate]:
        """``{node: it is the node before this symbol}``, provided that the component has not been left."""
        if len(members) == 1:
            return {members[0]: TRUE}
        labels = {u: self.tracked.labels[u] for u in members}
        named: dict[Hashable, Predicate] = {c: self.label(*c) for c in labels.values()}
        if len(named) == 1:
            named = dict.fromkeys(named, TRUE)
        for step in rounds(self.tracked.table, members, labels):
            named = self.finer(step, named, entered, here)
        return {u: named[c] for u, c in step.told_apart.items()}

    def label(self, window: tuple[int, ...], residue: int) -> Predicate:
        """These were the last symbols before this position, and this the residue of the number of all before it."""
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
        self, step: Round, named: Mapping[Hashable, Predicate], entered: Mapping[int, Predicate], here: Predicate
    ) -> dict[Hashable, Predicate]:
        """Predicates of the classes that a round tells apart, from those of the classes its weights depend on."""
        basis = step.demands.annihilators({w for path in step.paths.values() for w in path})
        heights = {
            u: tuple(int(sum(v.get(w, 0) * n for w, n in path.items())) for v in basis)
            for u, path in step.paths.items()
        }
        together = [(u, v) for u in heights for v in heights if step.classes[u] == step.classes[v]]
        needed = [b for b in range(len(basis)) if any(heights[u][b] != heights[v][b] for u, v in together)]
        terms = {}
        for b in needed:
            read = {w: self.line("read", _all([here, Q(self.alphabet[w[0]]), named[w[1]]])) for w in basis[b]}
            parts = [_times(weight, _earlier(read[w])) for w, weight in basis[b].items()]
            parts += [where(at, heights[v][b], 0) for v, at in entered.items() if heights[v][b]]
            terms[b] = reduce(operator.add, parts)
        found: dict[Hashable, Predicate] = {}
        for u, finer in step.told_apart.items():
            level: list[Predicate] = [terms[b] == heights[u][b] for b in needed]
            found[finer] = self.line("class", _all([named[step.classes[u]], *level]))
        return found


def _times(weight: int, term: Term) -> Term:
    return term if weight == 1 else weight * term


def _in_order(tracked: Product) -> list[list[int]]:
    """The components, each after those that lead to it."""
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
    """At how many positions before this one it held."""
    return count(operand) - where(operand, 1, 0)


def _all(operands: Iterable[Predicate]) -> Predicate:
    listed = [o for o in operands if o is not TRUE]
    return all_of(listed) if listed else TRUE


def _any(operands: Iterable[Predicate]) -> Predicate:
    listed = list(operands)
    if any(o is TRUE for o in listed):
        return TRUE
    return any_of(listed) if listed else ~TRUE
