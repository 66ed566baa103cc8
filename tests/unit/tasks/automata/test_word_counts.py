"""Counts of words between states, and draws that are uniform over them, against enumeration."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch

from tests.support.tasks.word_counts import EXPRESSIONS, MANY, uniforms
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.automata.word_counts import Words, pick, state_shares


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_counts_are_those_of_enumeration(expression):
    """All words of up to 4 symbols, between any two states."""
    automaton = Automaton.from_regex(expression)
    found = Words(automaton.table)
    for length in range(5):
        counts = np.zeros((len(automaton), len(automaton)))
        for word in product(range(len(automaton.alphabet)), repeat=length):
            for state in range(len(automaton)):
                reached = int(automaton.run(np.array([word], dtype=np.int64), state)[0, -1]) if word else state
                counts[state, reached] += 1
        assert np.exp(found.log_counts(length)) == pytest.approx(counts)


def test_long_words_overflow_nothing():
    """At length 1500 there are about 5^1500 and 2^1500 words; a block language has as many as C(1499, 4)."""
    blocks = Automaton.from_regex("aa*bb*cc*dd*ee*")
    counted = Words(blocks.table).log_counts(1500)
    accepting = next(iter(blocks.accepting))
    assert counted[0, accepting] == pytest.approx(math.log(math.comb(1499, 4)), rel=1e-12)
    dead = int(np.flatnonzero(~blocks.live)[0])
    assert counted[dead, dead] == pytest.approx(1500 * math.log(5), rel=1e-12)
    zero = np.zeros(8, dtype=np.int64)
    found, _ = Words(blocks.table).draw(zero, zero + accepting, uniforms(1500, 8))
    assert (np.diff(found) >= 0).all()
    assert (found[:, -1] == 4).all()


def test_picks_follow_the_weights(assert_law):
    weights = np.array([[0.0, math.log(2), -np.inf, math.log(5)]])
    found = pick(np.repeat(weights, MANY, 0), uniforms(MANY, 4))
    assert_law(torch.from_numpy(found), [1 / 8, 2 / 8, 0, 5 / 8])


def test_state_shares_are_those_of_enumeration():
    automaton = Automaton.from_regex("(a|b)*bb(a|b)*")
    turns = np.array([[0.5, 0.5], [0.25, 0.75], [0.9, 0.1], [0.2, 0.8]])
    exact = np.zeros(3)
    for word in product(range(2), repeat=4):
        state = int(automaton.run(np.array([word]))[0, -1])
        exact[state] += math.prod(turns[place, symbol] for place, symbol in enumerate(word))
    assert state_shares(automaton.table, 0, turns) == pytest.approx(exact)
    assert state_shares(automaton.table, 1, turns[:0]).tolist() == [0, 1, 0]
