"""Programs written from potentials, run against the automaton on every word: the deciders' yes, checked."""

from __future__ import annotations

import pytest

from tests.support.theory.languages_by_hand import IN, PARITY
from tests.support.theory.synthesis import agrees
from workbench.tasks.automata.dfa import Automaton
from workbench.theory.errors import TheoryError
from workbench.theory.regular.deciders import Certificate, find_certificate
from workbench.theory.regular.synthesis import synthesise


@pytest.mark.parametrize("expression", [*IN[:3], "(ab|bba)*", "(aaaa)*", "(abab)*", "(a|b)*bb(a|b)*", "(a|b)*b"])
def test_programs_accept_exactly_the_language(expression: str) -> None:
    language = Automaton.from_regex(expression)
    certificate = find_certificate(language)
    assert certificate is not None
    assert agrees(language, certificate, 10)


def test_a_certificate_that_is_none_is_refused() -> None:
    with pytest.raises(TheoryError, match="do not separate all"):
        synthesise(PARITY, Certificate(2, 1))
