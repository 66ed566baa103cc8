"""Counts of words between states, and draws that are uniform over them, against enumeration."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
import torch

from workbench.tasks import make_task
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.automata.word_counts import Words, pick, state_shares

MANY = 20_000
EXPRESSIONS = [
    "0?0?(10?0?)*",
    "(0|1|2)*02*",
    make_task("bounded_dyck", n=3).expression,
    "aa*bb*cc*dd*ee*",
    "(abab)*",
    "(a|b)*bb(a|b)*",
]


def uniforms(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).random(shape)


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


@pytest.mark.science
@pytest.mark.parametrize("ends", ["accepting", "live", "all"])
@pytest.mark.parametrize(
    ("expression", "length"), [(EXPRESSIONS[0], 6), (EXPRESSIONS[2], 8), (EXPRESSIONS[1], 5), ("ab*|ba*c", 4)]
)
def test_draws_are_uniform_over_the_words_that_reach_the_goal(expression, length, ends, assert_law):
    """Members, prefixes of members and all strings, of up to 256 strings each."""
    automaton = Automaton.from_regex(expression)
    width, states = len(automaton.alphabet), len(automaton)
    goal = {"accepting": automaton.accepting_mask, "live": automaton.live, "all": np.ones(states, dtype=bool)}[ends]
    every = np.array(list(product(range(width), repeat=length)))
    wanted = goal[automaton.run(every)[:, -1]]
    zero = np.zeros(MANY, dtype=np.int64)
    found, before = Words(automaton.table, goal[:, None]).draw(zero, zero, uniforms(length, MANY))
    codes = found @ width ** np.arange(length)[::-1]
    assert_law(torch.from_numpy(codes), (wanted / wanted.sum()).tolist())
    assert (before[:, 1:] == automaton.run(found)[:, :-1]).all()
    assert (before[:, 0] == 0).all()


@pytest.mark.science
def test_each_draw_has_its_own_start_and_goal(assert_law):
    automaton = Automaton.from_regex("(a|b)*bb(a|b)*")
    starts, goals = np.array([0, 1, 2, 0, 1]), np.array([0, 0, 2, 2, 1])
    start, goal = np.repeat(starts, MANY), np.repeat(goals, MANY)
    found, _ = Words(automaton.table).draw(start, goal, uniforms(4, len(start)))
    assert (automaton.run(found, start)[:, -1] == goal).all()
    every = np.array(list(product(range(2), repeat=4)))
    for i, (one, other) in enumerate(zip(starts, goals, strict=True)):
        wanted = automaton.run(every, np.full(16, one))[:, -1] == other
        codes = found[i * MANY : (i + 1) * MANY] @ np.array([8, 4, 2, 1])
        assert_law(torch.from_numpy(codes), (wanted / wanted.sum()).tolist())


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


@pytest.mark.science
def test_the_first_symbol_of_long_members_is_as_likely_as_counts_say(assert_law):
    """Tomita 4 at length 120: the shares of words that start with 0, against exact integers."""
    automaton = Automaton.from_regex(EXPRESSIONS[0])
    after_zero = Automaton.from_regex("0?(10?0?)*")  # what completes a member that starts with 0
    share = after_zero.number_of_words(119) / automaton.number_of_words(120)
    goal = automaton.accepting_mask[:, None]
    zero = np.zeros(MANY, dtype=np.int64)
    found, _ = Words(automaton.table, goal).draw(zero, zero, uniforms(120, MANY))
    assert_law(torch.from_numpy(found[:, 0].copy()), [share, 1 - share])


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
