"""Counts of words between states, and draws that are uniform over them, against enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
import torch

from tests.support.tasks.word_counts import EXPRESSIONS, MANY, uniforms
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.automata.word_counts import Words


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


def test_the_first_symbol_of_long_members_is_as_likely_as_counts_say(assert_law):
    """Tomita 4 at length 120: the shares of words that start with 0, against exact integers."""
    automaton = Automaton.from_regex(EXPRESSIONS[0])
    after_zero = Automaton.from_regex("0?(10?0?)*")  # what completes a member that starts with 0
    share = after_zero.number_of_words(119) / automaton.number_of_words(120)
    goal = automaton.accepting_mask[:, None]
    zero = np.zeros(MANY, dtype=np.int64)
    found, _ = Words(automaton.table, goal).draw(zero, zero, uniforms(120, MANY))
    assert_law(torch.from_numpy(found[:, 0].copy()), [share, 1 - share])
