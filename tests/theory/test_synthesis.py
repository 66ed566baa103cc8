"""Programs written from potentials, run against the automaton on every word: the deciders' yes, checked."""

from __future__ import annotations

import numpy as np
import pytest
from theory.languages_by_hand import IN, KNOWN, PARITY

from benchmarks.deciders import random_languages
from workbench.tasks.automata.dfa import Automaton
from workbench.theory.crasp.evaluator import accepts, every_string
from workbench.theory.errors import TheoryError
from workbench.theory.regular.deciders import Certificate, find_certificate, in_crasp
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


@pytest.mark.parametrize("expression", [*IN[:3], "(ab|bba)*", "(aaaa)*", "(abab)*", "(a|b)*bb(a|b)*", "(a|b)*b"])
def test_programs_accept_exactly_the_language(expression: str) -> None:
    language = Automaton.from_regex(expression)
    certificate = find_certificate(language)
    assert certificate is not None
    assert agrees(language, certificate, 10)


@pytest.mark.science
@pytest.mark.parametrize(
    "name", [n for n, k in KNOWN.items() if in_crasp(k.language, "last_position").decision == "yes"]
)
def test_every_yes_of_the_table_has_a_program(name: str) -> None:
    language = KNOWN[name].language
    assert agrees(language, Certificate(1, 0), {1: 40, 2: 11, 4: 6, 5: 5}.get(len(language.alphabet), 7))


@pytest.mark.science
def test_every_certificate_of_random_languages_has_a_program() -> None:
    found = 0
    for expression, language in random_languages(11, 60, most_states=10):
        certificate = find_certificate(language, localities=range(3))
        if certificate is not None:
            found += 1
            assert agrees(language, certificate, 9 if len(language.alphabet) == 2 else 6), expression
    assert found > 40


def test_a_certificate_that_is_none_is_refused() -> None:
    with pytest.raises(TheoryError, match="do not tell all states"):
        synthesise(PARITY, Certificate(2, 1))
