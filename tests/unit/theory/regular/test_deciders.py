"""Membership in C-RASP: published vectors, both conventions, certificates, and what they must never certify."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from benchmarks.deciders import random_languages
from tests.support.theory.deciders import decided
from tests.support.theory.languages_by_hand import IN, KNOWN, OUT, PARITY, TOMITA
from workbench.tasks.automata.dfa import Automaton
from workbench.theory.errors import TheoryError
from workbench.theory.prediction.predict import predict_regex
from workbench.theory.regular.automaton_queries import (
    automaton,
    components,
    right_quotient,
    same_up_to_renaming,
    shortest_words,
)
from workbench.theory.regular.deciders import certify, find_certificate, in_crasp


@pytest.mark.parametrize("expression", IN)
def test_published_members_are_in(expression: str) -> None:
    assert decided(Automaton.from_regex(expression)) == "yes"


@pytest.mark.parametrize("expression", OUT)
def test_published_non_members_are_out(expression: str) -> None:
    assert decided(Automaton.from_regex(expression)) == "no"


@pytest.mark.parametrize("name", KNOWN)
def test_the_table_of_languages(name: str) -> None:
    assert decided(KNOWN[name].language) == ("yes" if KNOWN[name].crasp else "no")


def test_the_two_conventions_differ_on_the_table_only_where_the_last_symbol_decides() -> None:
    differ = [name for name, k in KNOWN.items() if decided(k.language) != decided(k.language, "last_position")]
    assert differ == ["(a+b)*b"]


def test_a_pattern_of_two_letters_is_a_matter_of_the_alphabet() -> None:
    # over two letters ab occurs exactly if an a comes before a b; over three it does not follow
    assert decided(Automaton.from_regex("(a|b)*ab(a|b)*"), "last_position") == "yes"
    assert decided(Automaton.from_regex("(a|b|c)*ab(a|b|c)*"), "last_position") == "no"


def test_a_no_names_two_words_that_lead_to_different_states() -> None:
    said = in_crasp(KNOWN["{0,1,2}*02*"].language, "last_position")
    language = KNOWN["{0,1,2}*02*"].language
    assert said.confused is not None
    first, second = said.confused
    assert language.accepts(first + said.after) != language.accepts(second + said.after)


@pytest.mark.parametrize(
    ("language", "period", "locality"),
    [
        (TOMITA[1], 1, 0),
        (TOMITA[4], 1, 2),
        (KNOWN["(aa)*"].language, 2, 0),
        (KNOWN["(aaaa)*"].language, 4, 0),
        (KNOWN["(abab)*"].language, 4, 0),
        (KNOWN["S*bbS*"].language, 1, 1),
        (Automaton.from_regex("(a|b|c)*ab(a|b|c)*"), 1, 1),
        (Automaton.from_regex("(ab|bba)*"), 1, 2),
    ],
)
def test_certificates_read_no_more_than_needed(language: Automaton, period: int, locality: int) -> None:
    found = find_certificate(language)
    assert (found.period, found.locality) == (period, locality) if found else False


@pytest.mark.parametrize(
    "language", [PARITY, TOMITA[3], TOMITA[5], TOMITA[6], KNOWN["{0,1,2}*02*"].language, KNOWN["S*be*"].language]
)
def test_nothing_certifies_what_is_known_to_be_out(language: Automaton) -> None:
    for period, locality in itertools.product((1, 2, 3, 6), (0, 1, 2)):
        assert certify(language, period, locality) is None


def test_without_positions_the_certificate_is_the_decider() -> None:
    for _, language in random_languages(3, 25):
        assert (certify(language, 1, 0) is not None) == (decided(language, "last_position") == "yes")


def test_membership_does_not_depend_on_how_the_language_is_given() -> None:
    table = [[1, 0], [3, 2], [1, 2], [3, 0], [4, 4]]  # states 0 and 2, 1 and 3 are the same; 4 is never reached
    twice = automaton(table, 0, [1, 3])
    assert len(twice) == 2
    assert decided(Automaton(np.array(table), 0, frozenset({1, 3}), ("a", "b"), tuple("01234"))) == decided(twice)


def test_right_quotients_by_brute_force() -> None:
    language = Automaton.from_regex("(a|b)*ab(a|b)")
    for symbol in "ab":
        quotient = right_quotient(language, symbol)
        for word in map("".join, itertools.chain.from_iterable(itertools.product("ab", repeat=n) for n in range(6))):
            assert quotient.accepts(word) == language.accepts(word + symbol)


def test_shortest_words_lead_where_they_say() -> None:
    language = Automaton.from_regex("(ab|bbaa)*")
    words = shortest_words(language)
    for state, word in enumerate(words):
        at = language.start
        for letter in word:
            at = int(language.table[at, language.alphabet.index(letter)])
        assert at == state
    assert [len(w) for w in words] == sorted(len(w) for w in words)


def test_components_are_mutually_reachable_states() -> None:
    language = Automaton.from_regex("(ab)*c(ba)*")
    reach = np.eye(len(language), dtype=bool)
    for _ in range(len(language)):
        for u, row in enumerate(language.table):
            reach[u] |= reach[row].any(0)
    for members in components(language.table):
        assert all(reach[u, v] and reach[v, u] for u in members for v in members)
    assert sorted(state for members in components(language.table) for state in members) == list(range(len(language)))


def test_renaming_letters_is_seen_through() -> None:
    assert same_up_to_renaming(Automaton.from_regex("(ab)*"), Automaton.from_regex("(ba)*"))
    assert same_up_to_renaming(Automaton.from_regex("(10)*"), Automaton.from_regex("(ab)*"))
    assert not same_up_to_renaming(Automaton.from_regex("(ab)*a?"), Automaton.from_regex("(ba)*"))


@pytest.mark.parametrize(
    ("table", "start", "accepting", "says"),
    [
        ([[0, 2]], 0, [0], "state"),
        ([[0]], 1, [0], "state"),
        ([[0]], 0, [3], "accepting"),
        ([0, 1], 0, [0], "at least one state and one symbol"),
    ],
)
def test_what_is_no_automaton_is_refused(table: list[object], start: int, accepting: list[int], says: str) -> None:
    with pytest.raises(TheoryError, match=says):
        automaton(table, start, accepting)


def test_automata_beyond_the_limit_are_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("workbench.theory.regular.deciders.LARGEST_AUTOMATON", 3)
    said = in_crasp(TOMITA[4], "last_position")
    assert (said.decision, said.confused) == ("not decided", None)
    assert "4 states" in said.reason
    assert decided(TOMITA[6]) == "no"
    assert predict_regex("(1|01|001)*(0|00)?", "none").verdict == "not decided"


def test_what_takes_more_steps_than_allowed_is_not_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    # 20 states over 19 letters: before steps were counted, no certificate was found or given up within a minute
    costly = "((((((((Rt((((NM)*t(c|e))+)?)*)+)+)+)?)*|eP)4(jz)*|((b|((m|oXk))*))+))+Rs(n|N)yOum"
    assert find_certificate(Automaton.from_regex(costly)) is None
    monkeypatch.setattr("workbench.theory.regular.deciders.MOST_STEPS", 5)
    said = in_crasp(TOMITA[4], "last_position")
    assert (said.decision, said.confused) == ("not decided", None)
    assert "more than 5 steps of exact arithmetic" in said.reason
    assert predict_regex("(1|01|001)*(0|00)?", "learned").verdict == "not decided"


def test_an_unknown_convention_is_refused() -> None:
    with pytest.raises(TheoryError, match="neutral_symbol"):
        in_crasp(PARITY, "last")  # type: ignore[arg-type]
