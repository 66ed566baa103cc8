"""Syntactic monoids: the published table, brute force over words, and the chain of classes."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.support.theory.languages_by_hand import KNOWN, PARITY, TOMITA
from tests.support.theory.monoid import yes
from workbench.tasks.automata.dfa import Automaton
from workbench.theory.errors import TheoryError
from workbench.theory.regular import deciders, exclusion, monoid
from workbench.theory.regular.exclusion import exclude, stable_semigroup
from workbench.theory.regular.monoid import group_periods, profile, syntactic_monoid


@pytest.mark.parametrize("name", KNOWN)
def test_the_table_of_profiles(name: str) -> None:
    known, found = KNOWN[name], profile(KNOWN[name].language)
    assert (found.states, found.monoid) == (known.states, known.monoid)
    assert found.star_free == yes(known.star_free)
    assert found.r_trivial == yes(known.r_trivial)
    assert found.r_omega == yes(known.r_omega)
    assert found.crasp_neutral == yes(known.crasp)


def test_elements_are_the_actions_of_all_words() -> None:
    language = KNOWN["(abab)*"].language
    monoid = syntactic_monoid(language)
    assert monoid is not None
    actions = set()
    for n in range(9):
        for word in itertools.product(range(2), repeat=n):
            states = np.arange(len(language))
            for symbol in word:
                states = language.table[states, symbol]
            actions.add(tuple(states.tolist()))
    assert actions == {tuple(e) for e in monoid.elements.tolist()}


def test_products_and_idempotent_powers_by_hand() -> None:
    monoid = syntactic_monoid(TOMITA[6])  # the cyclic group of three
    assert monoid is not None
    for x, y in itertools.product(range(3), repeat=2):
        composed = monoid.elements[y][monoid.elements[x]]
        assert monoid.times(np.array([x]), y)[0] == monoid.find(composed)
    assert monoid.idempotent_powers().tolist() == [0, 0, 0]


def test_a_monoid_beyond_the_limit_is_not_decided() -> None:
    found = profile(KNOWN["D_12"].language, limit=100)
    assert found.monoid is None
    assert found.star_free == found.r_trivial == found.r_omega == "not decided"
    assert found.crasp_neutral == "yes"


def test_a_language_that_obeys_the_identity_and_is_not_in() -> None:
    found = profile(Automaton.from_regex("(ab|bba)*"))
    assert (found.r_omega, found.crasp_neutral, found.crasp_last) == ("yes", "no", "no")


def test_the_stable_semigroup_is_closed_and_reached_at_all_multiples() -> None:
    for language in (TOMITA[3], TOMITA[5], KNOWN["(abab)*"].language, KNOWN["S*bbS*"].language):
        monoid = syntactic_monoid(language)
        assert monoid is not None
        stable = set(stable_semigroup(monoid).tolist())
        for x, y in itertools.product(sorted(stable), repeat=2):
            assert int(monoid.times(np.array([x]), y)[0]) in stable
    parity_of_length = syntactic_monoid(KNOWN["(aa)*"].language)
    assert parity_of_length is not None
    assert stable_semigroup(parity_of_length).tolist() == [0]  # residues tell the rest


@pytest.mark.parametrize(
    "language", [PARITY, TOMITA[3], TOMITA[5], TOMITA[6], KNOWN["{0,1,2}*02*"].language, KNOWN["S*be*"].language]
)
def test_languages_known_to_be_out_are_excluded(language: Automaton) -> None:
    found = exclude(language)
    assert found is not None
    # the padding is a loop that returns where it started, twice is the same as once
    states = np.arange(len(language))
    for letter in found.padding:
        states = language.table[states, language.alphabet.index(letter)]
    assert (states[states] == states).all()


@pytest.mark.parametrize("name", [name for name, known in KNOWN.items() if known.crasp and name != "D_12"])
def test_what_is_in_is_not_excluded(name: str) -> None:
    assert exclude(KNOWN[name].language) is None


def test_a_monoid_whose_table_would_be_too_large_is_not_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    language = Automaton.from_regex("(a|b)*a(a|b)")  # 4 states, 7 elements
    assert len(syntactic_monoid(language) or ()) == 7
    monkeypatch.setattr("workbench.theory.regular.monoid.LARGEST_TABLE", 28)
    assert syntactic_monoid(language) is not None
    monkeypatch.setattr("workbench.theory.regular.monoid.LARGEST_TABLE", 27)
    assert syntactic_monoid(language) is None


def test_periods_of_a_cycle_longer_than_its_tail() -> None:
    monoid = syntactic_monoid(Automaton.from_regex("aaaa(aaaaaa)*"))
    assert monoid is not None
    assert group_periods(monoid) == {1, 2, 3, 6}


PARITY_MACHINE = Automaton.from_regex("(b*ab*a)*b*", "ab")


def test_products_and_monoids_of_exactly_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(deciders.product(PARITY_MACHINE, 3, 0).states) == 6  # type: ignore[union-attr]
    monkeypatch.setattr(deciders, "LARGEST_PRODUCT", 6)
    assert deciders.product(PARITY_MACHINE, 3, 0) is not None
    monkeypatch.setattr(deciders, "LARGEST_PRODUCT", 5)
    assert deciders.product(PARITY_MACHINE, 3, 0) is None
    for period, locality in ((0, 0), (1, -1)):
        with pytest.raises(TheoryError, match="locality"):
            deciders.product(PARITY_MACHINE, period, locality)
    assert len(monoid.syntactic_monoid(PARITY_MACHINE, 2)) == 2  # type: ignore[arg-type]
    assert monoid.syntactic_monoid(PARITY_MACHINE, 1) is None
    assert exclusion.exclude(PARITY_MACHINE, 2) is not None
    assert exclusion.exclude(PARITY_MACHINE, 1) is None
    monkeypatch.setattr(monoid, "LARGEST_IDENTITY", 2)
    assert monoid.profile(PARITY_MACHINE).r_omega == "no"
    monkeypatch.setattr(monoid, "LARGEST_IDENTITY", 1)
    assert monoid.profile(PARITY_MACHINE).r_omega == "not decided"
    monkeypatch.setattr(deciders, "LARGEST_AUTOMATON", 2)
    assert deciders.in_crasp(PARITY_MACHINE, "last_position").decision == "no"
    monkeypatch.setattr(deciders, "LARGEST_AUTOMATON", 1)
    assert deciders.in_crasp(PARITY_MACHINE, "last_position").decision == "not decided"
