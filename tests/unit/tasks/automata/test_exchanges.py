"""Exchanges of two different symbols of a word: every one occurs, each as often as any other."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from workbench.tasks.automata import string_sampling
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.automata.string_sampling import Exchanges


def exchanged(word: list[int]) -> set[tuple[int, ...]]:
    """Every word that an exchange of two different symbols gives, one pair of places after another."""
    found = set()
    for i, j in combinations(range(len(word)), 2):
        if word[i] != word[j]:
            other = list(word)
            other[i], other[j] = word[j], word[i]
            found.add(tuple(other))
    return found


def drawn(exchanges: Exchanges, row: int, first: float, second: float) -> tuple[int, ...]:
    """One word after the exchange that these two numbers stand for; all other rows get numbers of their own."""
    given = iter((first, second))

    def uniforms(shape: tuple[int, ...]) -> np.ndarray:
        numbers = np.full(shape, 0.5)
        numbers[row] = next(given)
        return numbers

    return tuple(exchanges.draw(1, uniforms)[row, 0].tolist())


def test_every_pair_of_places_has_equally_many_numbers() -> None:
    """A grid of numbers as fine as there are ordered pairs meets each exchange twice, once from either place."""
    words = np.array([[0, 1, 1, 2], [2, 0, 2, 2], [1, 1, 0, 0]])
    exchanges = Exchanges.among(words)
    for row, word in enumerate(words.tolist()):
        others = [sum(symbol != other for other in word) for symbol in sorted(word)]
        total = sum(others)
        assert exchanges.total[row, -1] == total
        found = []
        for rank, number in enumerate(others):
            before = sum(others[:rank])
            for k in range(number):
                found.append(drawn(exchanges, row, (before + 0.5) / total, (k + 0.5) / number))
        assert {*found} == exchanged(word)
        assert {found.count(one) for one in found} == {2}


def test_some_of_the_words_keep_their_exchanges() -> None:
    words = np.array([[0, 1, 1, 2], [2, 0, 2, 2], [1, 1, 0, 0]])
    some = Exchanges.among(words).of(np.array([True, False, True]))
    for part, alone in zip(vars(some).values(), vars(Exchanges.among(words[[0, 2]])).values(), strict=True):
        assert np.array_equal(part, alone)


def law(expression: str = "(a|b)*bb(a|b)*") -> string_sampling.StringSampling:
    made = Automaton.from_regex(expression)
    return string_sampling.StringSampling(made, made.labels)


def test_sets_of_states_that_are_too_many_have_no_tails(monkeypatch: pytest.MonkeyPatch) -> None:
    tails = law().tails_after(1)
    assert tails is not None
    monkeypatch.setattr(string_sampling, "MOST_SUBSETS", len(tails.table))
    assert law().tails_after(1) is not None
    monkeypatch.setattr(string_sampling, "MOST_SUBSETS", len(tails.table) - 1)
    assert law().tails_after(1) is None
    assert law().margin(9, 2) == 2
    monkeypatch.setattr(string_sampling, "MOST_SUBSETS", 0)
    assert law().margin(9, 2) == 0
