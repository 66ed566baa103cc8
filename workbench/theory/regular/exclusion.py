"""Proofs that a regular language is not in C-RASP[periodic, local], for any period and locality.

Let S be the stable semigroup of the language: the elements of its syntactic monoid that are words of length s, 2s, 3s,
..., for the s from which on these are the same elements. Take an idempotent e of S. Let every element of eSe be a
letter, written as a word for it followed by a long word for e. All these words have one length, a multiple of the
period.

At such words residues carry no information, and windows contain only the end of the word before, which is always the
same. So a program with any period and locality can do no more on them than one without. If it recognises the language,
then the automaton whose letters are eSe passes the exact test of C-RASP[empty] (neutral-symbol convention). If the
automaton fails that test for some e, the language is not in C-RASP[periodic, local].

The argument is derived here. For languages with a neutral letter it is that of Lemmas 35 and 36 of Huang et al. (arXiv
2410.02140) for (a|b|e)*ae*. The final test is that of arXiv 2608.13433.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.tasks.automata.dfa import Automaton
from workbench.theory.regular.automaton_queries import shortest_words
from workbench.theory.regular.deciders import MOST_STEPS, confused_states
from workbench.theory.regular.monoid import Ints, Monoid, syntactic_monoid
from workbench.theory.regular.rational_spans import Allowance, TooManyStepsError

EXCLUSION_SOURCE = (
    "padding to one residue and one window (after Lemmas 35, 36 of arXiv 2410.02140), then arXiv 2608.13433; derived"
)
LARGEST_EXCLUSION = 1_000
"""Largest syntactic monoid for which an exclusion is searched, in elements."""


@dataclass(frozen=True)
class Exclusion:
    """Proof that a language is not in C-RASP[periodic, local].

    Attributes:
        padding: a word that acts as the idempotent e. After it, residues and windows carry no information.
        confused: words that lead to two states which no count then separates.
        source: the source of the argument.
    """

    padding: str
    confused: tuple[str, str]
    source: str = EXCLUSION_SOURCE


def exclude(language: Automaton, limit: int = LARGEST_EXCLUSION) -> Exclusion | None:
    """Return a proof that the language is not in C-RASP[periodic, local], or None if the argument fails."""
    language = language.minimal()
    monoid = syntactic_monoid(language, limit)
    if monoid is None:
        return None
    stable = stable_semigroup(monoid)
    allowance = Allowance(MOST_STEPS)
    squares = np.array([monoid.times(np.array([x]), int(x))[0] for x in stable])
    for e in stable[squares == stable]:
        try:
            pair = _confused_behind(monoid, stable, int(e), allowance)
        except TooManyStepsError:
            return None
        if pair is not None:
            access = shortest_words(language)
            return Exclusion(_shortest_word(language, monoid, int(e)), (access[pair[0]], access[pair[1]]))
    return None


def stable_semigroup(monoid: Monoid) -> Ints:
    """Return the elements that are words of length s, 2s, 3s, ... for the least s at which these agree."""
    layers = [np.unique(monoid.cayley[0])]
    met = {layers[0].tobytes(): 0}
    while True:
        following = np.unique(monoid.cayley[layers[-1]])
        key = following.tobytes()
        if key in met:
            break
        met[key] = len(layers)
        layers.append(following)
    # layers[k] contains the words of length k + 1; from length first on they repeat with the period.
    first, period = met[key] + 1, len(layers) - met[key]
    length = period * -(-first // period)
    return layers[length - 1]


def _shortest_word(language: Automaton, monoid: Monoid, element: int) -> str:
    """Return a shortest word of an element, at least one symbol long."""
    ends = [(*monoid.words[x], symbol) for x, symbol in np.argwhere(monoid.cayley == element).tolist()]
    return "".join(language.alphabet[symbol] for symbol in min(ends, key=lambda word: (len(word), word)))


def _confused_behind(monoid: Monoid, stable: Ints, e: int, allowance: Allowance) -> tuple[int, int] | None:
    """Return two states in the image of e that the letters eSe leave in one class, or None."""
    left = monoid.elements[stable][:, monoid.elements[e]]  # e, then an element of S: [letter, state]
    acting = monoid.elements[e][left]
    states = np.unique(monoid.elements[e])
    letters = np.unique(acting[:, states], axis=0)
    pair = confused_states(np.searchsorted(states, letters).T, allowance=allowance)
    return None if pair is None else (int(states[pair[0]]), int(states[pair[1]]))
