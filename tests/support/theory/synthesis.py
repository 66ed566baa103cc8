"""What tests of several tiers share. Programs written from potentials, run against the automaton on every word: the deciders' yes, checked."""

from __future__ import annotations

import numpy as np

from workbench.tasks.automata.dfa import Automaton
from workbench.theory.crasp.evaluator import accepts, every_string
from workbench.theory.regular.deciders import Certificate
from workbench.theory.regular.synthesis import synthesise


def agrees(language: Automaton, certificate: Certificate, longest: int) -> bool:
    program = synthesise(language, certificate)
    assert program.modulus <= certificate.period
    assert (program.locality or 0) <= certificate.locality
    for length in range(1, longest + 1):
        strings = every_string(len(language.alphabet), length)
        state = np.full(len(strings), language.start)
        for i in range(length):
            state = language.table[state, strings[:, i] - 1]
        said = np.asarray(accepts(program, strings))
        if not np.array_equal(said, np.isin(state, sorted(language.accepting))):
            return False
    return True
