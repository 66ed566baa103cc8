"""Functions of automata for the deciders: components, shortest words, quotients."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import coo_matrix
from scipy.sparse.csgraph import connected_components

from workbench.tasks.automata.dfa import Automaton
from workbench.theory.errors import TheoryError

Table = NDArray[np.int64]
LARGEST_RENAMING = 6
"""Largest alphabet for which every renaming is tried, in letters."""


def automaton(table: ArrayLike, start: int, accepting: ArrayLike, alphabet: Sequence[str] | None = None) -> Automaton:
    """Return the minimal automaton of a table ``[state, symbol]``; symbols are a, b, c, ... unless named.

    Raises:
        TheoryError: if the table is not a complete automaton.
    """
    rows, accepted = np.asarray(table, dtype=np.int64), [int(s) for s in np.asarray(accepting, dtype=np.int64).ravel()]
    if rows.ndim != 2 or 0 in rows.shape:
        raise TheoryError(
            "an automaton needs a table [state, symbol] with at least one state and one symbol, not one of shape "
            f"{rows.shape}"
        )
    names = tuple(alphabet) if alphabet is not None else tuple(chr(ord("a") + i) for i in range(rows.shape[1]))
    if len(set(names)) != rows.shape[1]:
        raise TheoryError(f"the table has {rows.shape[1]} symbols, but {len(set(names))} are named")
    for what, states in (("table", rows.ravel().tolist()), ("start", [start]), ("accepting states", accepted)):
        wrong = sorted(set(states) - set(range(len(rows))))
        if wrong:
            raise TheoryError(f"the automaton's {what} name state {wrong[0]}, but its states are 0..{len(rows) - 1}")
    numbers = tuple(map(str, range(len(rows))))
    return Automaton(rows.copy(), start, frozenset(accepted), names, numbers).minimal()


def right_quotient(language: Automaton, symbol: str) -> Automaton:
    """Return the automaton of all words w such that w followed by ``symbol`` is in the given language."""
    column = language.table[:, language.alphabet.index(symbol)]
    accepting = np.flatnonzero(np.isin(column, list(language.accepting)))
    return automaton(language.table, language.start, accepting, language.alphabet)


def shortest_words(language: Automaton) -> list[str]:
    """Return for every state a shortest word that leads there, the first in the order of the alphabet.

    The states must be numbered breadth first, as those of a minimal automaton are.
    """
    words = {language.start: ""}
    for state in range(len(language)):
        for name, following in zip(language.alphabet, language.table[state].tolist(), strict=True):
            words.setdefault(following, words[state] + name)
    return [words[state] for state in range(len(language))]


def same_up_to_renaming(first: Automaton, second: Automaton) -> bool:
    """Whether two minimal automata accept the same language after renaming the letters of one of them."""
    letters = len(first.alphabet)
    if first.table.shape != second.table.shape or letters > LARGEST_RENAMING:
        return False
    identity = _identity(first)
    return any(_identity(_reordered(second, order)) == identity for order in permutations(range(letters)))


def components(table: Table) -> list[list[int]]:
    """Return the strongly connected components of a table's graph, each sorted, in the order of their least states."""
    states, symbols = table.shape
    source = np.repeat(np.arange(states), symbols)
    graph = coo_matrix((np.ones(source.size), (source, table.ravel())), shape=(states, states))
    count, label = connected_components(graph, directed=True, connection="strong")
    members: list[list[int]] = [[] for _ in range(count)]
    for state, component in enumerate(label.tolist()):
        members[component].append(state)
    return sorted(members)


def _identity(language: Automaton) -> tuple[bytes, tuple[int, ...]]:
    return language.table.tobytes(), tuple(sorted(language.accepting))


def _reordered(language: Automaton, order: tuple[int, ...]) -> Automaton:
    """Return the same language with its letters in another order; the states are numbered breadth first again."""
    names = [language.alphabet[i] for i in order]
    step = {name: language.table[:, i].tolist() for name, i in zip(names, order, strict=True)}
    return Automaton.explore(names, language.start, lambda q, name: step[name][q], language.accepting.__contains__)
