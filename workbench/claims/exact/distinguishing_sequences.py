"""All small automata over two letters, and the shortest sequences that distinguish their languages.

An automaton is listed once: minimal, with its states numbered in the order in which a breadth-first search finds them.
Two different automata of the list thus have different languages, without any bound on the sequences that are tried.
"""

from __future__ import annotations

from functools import cache
from itertools import product

import numpy as np

from workbench.claims.claim import Row

STATES = (1, 2, 3, 4)
LETTERS = 2
LONGEST = 6
"""Length of the longest sequences that are tried."""
LANGUAGES = {1: 2, 2: 26, 3: 1054, 4: 57_068}
"""Languages over two letters whose minimal automata have at most n states (sums of the sequence OEIS A059412)."""
Array = np.ndarray


def canonical_transitions(states: int) -> Array:
    """Return the transitions ``[automaton, state, letter]`` of all automata in canonical numbering, all states
    reachable.
    """
    tables = np.array(list(product(range(states), repeat=states * LETTERS)), dtype=np.int8)
    highest = np.zeros(len(tables), dtype=np.int8)  # the largest state that the search has found so far
    in_order = np.ones(len(tables), dtype=bool)
    for place in range(states * LETTERS):
        in_order &= highest >= place // LETTERS  # the state whose transitions are read has been found
        in_order &= tables[:, place] <= highest + 1
        highest = np.maximum(highest, tables[:, place])
    in_order &= highest == states - 1
    return tables[in_order].reshape(-1, states, LETTERS)


@cache
def minimal_automata(states: int) -> tuple[Array, Array]:
    """Return the transitions ``[automaton, state, letter]`` and accepting states ``[automaton, state]`` of all minimal
    automata with exactly so many states.
    """
    shapes = canonical_transitions(states)
    masks = np.array(list(product([False, True], repeat=states)))
    transitions = np.repeat(shapes, len(masks), axis=0)
    accepting = np.tile(masks, (len(shapes), 1))
    apart = accepting[:, :, None] != accepting[:, None, :]
    rows = np.arange(len(transitions))[:, None, None]
    for _ in range(states):
        for letter in range(LETTERS):
            following = transitions[:, :, letter]
            apart = apart | apart[rows, following[:, :, None], following[:, None, :]]
    minimal = (apart | np.eye(states, dtype=bool)).all((1, 2))
    return transitions[minimal], accepting[minimal]


def acceptance_tables(transitions: Array, accepting: Array, longest: int = LONGEST) -> list[Array]:
    """Return, for each length to the longest, which sequences each automaton accepts, as bits ``[automaton, byte]``."""
    rows = np.arange(len(transitions))[:, None]
    reached = np.zeros((len(transitions), 1), dtype=np.int8)
    tables = []
    for _ in range(longest + 1):
        tables.append(np.packbits(accepting[rows, reached], axis=1))
        reached = transitions[rows, reached].reshape(len(transitions), -1)
    return tables


def longest_shortest_distinguisher(states: int, longest: int = LONGEST) -> tuple[int, int]:
    """Return the length of the longest of the shortest sequences that distinguish two languages, and how many languages
    there are.

    Args:
        states: of the minimal automata of the languages, at most.
        longest: of the sequences that are tried.
    """
    tables = [acceptance_tables(*minimal_automata(count), longest) for count in range(1, states + 1)]
    languages = sum(len(table[0]) for table in tables)
    for length in range(longest + 1):
        bits = np.concatenate([np.concatenate(table[: length + 1], axis=1) for table in tables])
        if len(np.unique(bits, axis=0)) == languages:
            return length, languages
    return longest + 1, languages


def complexity_rows(longest: int = LONGEST) -> list[Row]:
    """Return the length complexity of automata with at most n states, against 2n - 2, and the number of languages."""
    rows = []
    for states in STATES:
        length, languages = longest_shortest_distinguisher(states, longest)
        item = f"n {states}"
        expected = 2.0 * states - 2
        rows.append(Row("longest shortest distinguishing sequence", item, float(length), expected=expected))
        rows.append(Row("languages", item, float(languages), expected=float(LANGUAGES[states])))
    return rows
