"""Communication rows and average sensitivity: published tables, closed forms, two algorithms against each other."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from tests.support.theory.languages_by_hand import KNOWN, PARITY, TOMITA
from workbench.tasks.automata.dfa import Automaton
from workbench.theory import average_sensitivity as sensitivity
from workbench.theory import communication
from workbench.theory.average_sensitivity import average_sensitivity, regular_sensitivity
from workbench.theory.communication import growth, regular_rows, rows
from workbench.theory.errors import TheoryError

Word = tuple[str, ...]


def balanced(x: Word, y: Word) -> bool:
    depth = 0
    for letter in x + y:
        depth += 1 if letter == "a" else -1
        if depth < 0:
            return False
    return depth == 0


def equal_blocks(x: Word, y: Word) -> bool:
    word = "".join(x + y)
    return word == "a" * (len(word) // 2) + "b" * (len(word) // 2)


CONTAINS_101 = Automaton.from_regex("(0|1)*101(0|1)*")
CONTAINS_11 = Automaton.from_regex("(0|1)*11(0|1)*")


@pytest.mark.parametrize(
    ("answer", "alphabet", "counts"),
    [
        (lambda x, y: (x + y).count("a") > (x + y).count("b"), "ab", [2, 3, 4, 5, 6, 7]),
        (balanced, "ab", [2, 3, 3, 4, 4, 5]),
        (equal_blocks, "ab", [2, 2, 2, 2, 2, 2]),
        (lambda x, y: (x + y).count("1") % 2, "01", [2, 2, 2, 2, 2, 2]),
        (lambda x, y: x == y, "ab", [2, 4, 8, 16, 32, 64]),
        (lambda x, y: x == y[::-1], "ab", [2, 4, 8, 16, 32, 64]),
        (lambda x, y: int("".join(x), 2) + int("".join(y), 2), "01", [2, 4, 8, 16, 32, 64]),
    ],
    ids=["majority", "dyck_1", "anbn", "parity", "ww", "palindrome", "addition"],
)
def test_rows_of_languages(answer: object, alphabet: str, counts: list[int]) -> None:
    assert [rows(answer, alphabet, n) for n in range(1, 7)] == counts  # type: ignore[arg-type]


def test_rows_of_regular_languages_at_any_length() -> None:
    assert [regular_rows(CONTAINS_101, n) for n in range(1, 8)] == [1, 3, 4, 4, 4, 4, 4]
    assert [regular_rows(PARITY, n) for n in (1, 7, 500)] == [2, 2, 2]
    for language in (CONTAINS_101, TOMITA[3], TOMITA[4], KNOWN["(abab)*"].language):
        letters = language.alphabet
        for n in range(1, 5):
            by_hand = rows(lambda x, y, own=language: own.accepts(x + y), letters, n)  # type: ignore[misc]
            assert regular_rows(language, n) == by_hand


def test_growth_tells_logarithmic_from_linear() -> None:
    majority = growth(lambda n: n + 1, [3, 31, 1023])
    assert majority.bits_per_log == pytest.approx((1.0, 1.0, 1.0))
    copying = growth(lambda n: 2**n, [3, 31, 1023])
    assert copying.bits == (3.0, 31.0, 1023.0)
    assert copying.bits_per_log[-1] > 100


def test_too_large_a_matrix_is_refused() -> None:
    with pytest.raises(TheoryError, match="smaller half"):
        rows(balanced, "ab", 20)


# ---- sensitivity ---------------------------------------------------------------------------------
LENGTHS = (3, 5, 7, 9, 11)


@pytest.mark.parametrize(
    ("function", "values"),
    [
        (lambda x: x.sum(1) % 2, (3, 5, 7, 9, 11)),
        (lambda x: 2 * x.sum(1) > x.shape[1], (1.5, 1.875, 2.1875, 2.4609375, 2.70703125)),
        (lambda x: x[:, 0], (1, 1, 1, 1, 1)),
        (lambda x: x.any(1), (0.75, 0.3125, 0.109375, 0.03515625, 0.0107421875)),
        (lambda x: (x[:, 1:] * x[:, :-1]).any(1), (1.25, 1.5625, 1.5, 1.29296875, 1.0498046875)),
    ],
    ids=["parity", "majority", "first bit", "or", "contains 11"],
)
def test_average_sensitivity_of_functions(function: object, values: tuple[float, ...]) -> None:
    assert [average_sensitivity(function, n) for n in LENGTHS] == [Fraction(v) for v in values]  # type: ignore[arg-type]


def test_sensitivity_of_majority_is_its_binomial_formula() -> None:
    for n in (5, 13):
        exact = Fraction(n * math.comb(n - 1, (n - 1) // 2), 2 ** (n - 1))
        assert average_sensitivity(lambda x: 2 * x.sum(1) > x.shape[1], n) == exact


@pytest.mark.parametrize("language", [PARITY, CONTAINS_11, TOMITA[3], TOMITA[5], KNOWN["(a+b)*b"].language])
def test_the_two_algorithms_agree(language: Automaton) -> None:
    def member(bits: np.ndarray) -> np.ndarray:
        state = np.full(len(bits), language.start)
        for i in range(bits.shape[1]):
            state = language.table[state, bits[:, i]]
        return np.isin(state, sorted(language.accepting))

    for n in (1, 2, 6, 9):
        assert regular_sensitivity(language, n) == average_sensitivity(member, n)


def test_regular_sensitivity_at_lengths_that_cannot_be_enumerated() -> None:
    assert regular_sensitivity(PARITY, 300) == 300
    assert regular_sensitivity(CONTAINS_11, 200) < Fraction(1, 10**9)


def test_what_has_no_sensitivity_is_refused() -> None:
    with pytest.raises(TheoryError, match="two symbols"):
        regular_sensitivity(KNOWN["S*be*"].language, 4)
    with pytest.raises(TheoryError, match="bits"):
        average_sensitivity(lambda x: x[:, 0], 21)


PARITY_MACHINE = Automaton.from_regex("(b*ab*a)*b*", "ab")


def test_what_is_gone_through_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    def both(x: tuple[str, ...], y: tuple[str, ...]) -> bool:
        return x == y

    monkeypatch.setattr(communication, "LARGEST_MATRIX", 16)
    assert communication.rows(both, "ab", 2) == 4
    monkeypatch.setattr(communication, "LARGEST_MATRIX", 15)
    with pytest.raises(TheoryError, match=r"2\^4 strings"):
        communication.rows(both, "ab", 2)
    monkeypatch.setattr(sensitivity, "LARGEST_CUBE", 3)
    assert sensitivity.average_sensitivity(lambda x: x.sum(1) % 2, 3) == 3
    assert sensitivity.average_sensitivity(lambda x: x[:, 0], 1) == 1
    for n in (0, 4):
        with pytest.raises(TheoryError, match="bits"):
            sensitivity.average_sensitivity(lambda x: x[:, 0], n)
    assert sensitivity.regular_sensitivity(PARITY_MACHINE, 1) == 1
    with pytest.raises(TheoryError, match="at least one bit"):
        sensitivity.regular_sensitivity(PARITY_MACHINE, 0)
