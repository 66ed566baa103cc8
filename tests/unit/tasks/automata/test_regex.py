"""Regular expressions: where they are wrong, and their derivatives against Python's own matcher."""

from __future__ import annotations

import re
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workbench.tasks import TaskError
from workbench.tasks.automata import regex
from workbench.tasks.automata.regex import (
    EMPTY,
    NOTHING,
    derivative,
    derivatives,
    equivalent,
    nullable,
    parse,
    symbols_of,
)

WORDS = ["".join(word) for length in range(7) for word in product("ab", repeat=length)]  # 127 words


def random_expression(depth: int) -> st.SearchStrategy[str]:
    if depth == 0:
        return st.sampled_from(["a", "b", "()"])
    smaller = random_expression(depth - 1)
    return st.one_of(
        smaller,
        st.tuples(smaller, smaller).map("".join),
        st.tuples(smaller, smaller).map("({0[0]}|{0[1]})".format),
        st.tuples(smaller, st.sampled_from("*+?")).map("({0[0]}){0[1]}".format),
    )


def matches(term: regex.Expression, word: str) -> bool:
    for symbol in word:
        term = derivative(term, symbol)
    return nullable(term)


@settings(max_examples=60)
@given(random_expression(3))
def test_derivatives_accept_what_python_matches(text):
    """All 127 words over two letters up to length 6."""
    term, pattern = parse(text), re.compile(text)
    assert [matches(term, w) for w in WORDS] == [bool(pattern.fullmatch(w)) for w in WORDS]


@settings(max_examples=40)
@given(random_expression(2), random_expression(2))
def test_expressions_are_equivalent_when_no_short_word_tells_them_apart(one, other):
    """Two automata of m and n states differ, if at all, on a word shorter than m + n; here that is at most 6."""
    a, b = parse(one), parse(other)
    if derivatives(a, "ab", 3) + derivatives(b, "ab", 3) <= 6:
        assert equivalent(a, b, ("a", "b")) == all(matches(a, w) == matches(b, w) for w in WORDS)


def test_nothing_is_what_no_word_completes():
    term = parse("ab*")
    assert derivative(term, "b") == NOTHING
    assert derivative(derivative(term, "a"), "a") == NOTHING
    assert derivative(parse("a"), "a") == EMPTY


def test_terms_are_equal_up_to_the_order_of_unions():
    assert parse("(a|b)c") == parse("(b|a|b)c")
    assert parse("(a*)*") == parse("a*")
    assert parse("a(bc)") == parse("(ab)c")
    assert not equivalent(parse("ab"), parse("ba"), ("a", "b"))
    assert equivalent(parse("(ab)*a"), parse("a(ba)*"), ("a", "b"))


def test_the_number_of_derivatives_is_bounded():
    assert derivatives(parse("(a|b)*ab"), "ab", 10) == 3
    assert derivatives(parse("(a|b)*a" + "(a|b)" * 20), "ab", 100) == 101


def test_symbols_are_letters_and_digits():
    assert symbols_of("(b|a1)*") == ("1", "a", "b")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("a(b|*)", "a(b|>>*<<): character 5, '*', has nothing to repeat"),
        ("*a", ">>*<<a: character 1, '*', has nothing to repeat"),
        ("a**", "a*>>*<<: character 3, '*', repeats a repetition; put that in parentheses first"),
        ("a+?b", "a+>>?<<b: character 3, '?', repeats a repetition; put that in parentheses first"),
        ("a(b", "a>>(<<b: character 2, '(', is never closed"),
        ("((a)", ">>(<<(a): character 1, '(', is never closed"),
        ("ab)", "ab>>)<<: character 3, ')', closes no parenthesis"),
        (")", ">>)<<: character 1, ')', closes no parenthesis"),
        ("a|", "a|>><<: its end leaves a side empty; the empty word is written ()"),
        ("(|a)", "(>>|<<a): character 2, '|', leaves a side empty; the empty word is written ()"),
        ("", ">><<: its end leaves a side empty; the empty word is written ()"),
        ("a b", "a>> <<b: character 2, ' ', is neither a letter or digit nor one of | * + ? ( )"),
        ("[ab]", ">>[<<ab]: character 1, '[', is neither a letter or digit nor one of | * + ? ( )"),
        ("a{2}", "a>>{<<2}: character 2, '{', is neither a letter or digit nor one of | * + ? ( )"),
        ("aß", "a>>ß<<: character 2, 'ß', is neither a letter or digit nor one of | * + ? ( )"),
    ],
)
def test_an_invalid_expression_shows_where(text, sentence):
    with pytest.raises(TaskError) as caught:
        parse(text)
    assert str(caught.value) == f"regular expression {sentence}"


def test_long_expressions_are_refused_and_the_longest_can_be_asked():
    with pytest.raises(TaskError, match="150 characters"):
        parse("a" * 151)
    for text in ("a" * 150, "(" * 49 + "ab" + ")*" * 49, "(a?" * 37 + "b" + ")" * 37):
        assert matches(parse(text), re.sub(r"[()*?]", "", text))


def test_equal_terms_are_one_object_and_deep_ones_have_few_derivatives() -> None:
    assert parse("(ab|c)*") is parse("(c|ab)*")
    nested = "a"
    for symbol in "bcdefghij" * 2 + "bc":
        nested = f"({nested}*{symbol})"
    assert derivatives(parse(nested + "*"), "abcdefghij", 4096) == 1163
