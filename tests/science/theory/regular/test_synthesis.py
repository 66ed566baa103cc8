"""Programs written from potentials, run against the automaton on every word: the deciders' yes, checked."""

from __future__ import annotations

import pytest

from benchmarks.deciders import random_languages
from tests.support.theory.languages_by_hand import KNOWN
from tests.support.theory.synthesis import agrees
from workbench.theory.regular.deciders import Certificate, find_certificate, in_crasp


@pytest.mark.parametrize(
    "name", [n for n, k in KNOWN.items() if in_crasp(k.language, "last_position").decision == "yes"]
)
def test_every_yes_of_the_table_has_a_program(name: str) -> None:
    language = KNOWN[name].language
    assert agrees(language, Certificate(1, 0), {1: 40, 2: 11, 4: 6, 5: 5}.get(len(language.alphabet), 7))


def test_every_certificate_of_random_languages_has_a_program() -> None:
    found = 0
    for expression, language in random_languages(11, 60, most_states=10):
        certificate = find_certificate(language, localities=range(3))
        if certificate is not None:
            found += 1
            assert agrees(language, certificate, 9 if len(language.alphabet) == 2 else 6), expression
    assert found > 40
