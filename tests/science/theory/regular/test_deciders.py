"""Membership in C-RASP: published vectors, both conventions, certificates, and what they must never certify."""

from __future__ import annotations

import numpy as np

from benchmarks.deciders import random_languages
from tests.support.theory.deciders import decided
from workbench.theory.regular.automaton_queries import (
    automaton,
)
from workbench.theory.regular.deciders import Certificate, certify, find_certificate
from workbench.theory.regular.exclusion import exclude


def test_more_to_read_never_takes_a_certificate_away() -> None:
    for _, language in random_languages(4, 15, most_states=8):
        if certify(language, 1, 1):
            assert certify(language, 1, 2)
            assert certify(language, 2, 1)


def test_neutral_letters_make_positions_useless() -> None:
    """Shuffled with a letter that does nothing, a language is certified or excluded as without positions."""
    for _, language in random_languages(5, 40, most_states=7):
        states = np.arange(len(language))[:, None]
        padded = automaton(np.hstack([language.table, states]), language.start, sorted(language.accepting))
        inside = decided(language) == "yes"
        assert (certify(padded, 2, 1) is not None) == inside
        assert (exclude(padded) is None) == inside


def test_certificates_and_exclusions_never_meet_and_conventions_are_nested() -> None:
    left_open = 0
    for expression, language in random_languages(6, 50):
        certificate, exclusion = find_certificate(language, localities=range(4)), exclude(language)
        assert certificate is None or exclusion is None, expression
        left_open += certificate is None and exclusion is None
        if decided(language) == "yes":
            assert decided(language, "last_position") == "yes", expression
        if decided(language, "last_position") == "yes":
            assert certificate == Certificate(1, 0), expression
    assert left_open <= 5
