"""What is computed of automata is held: tables, numbers of words, rhythms, shares, strings drawn and strings listed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.support.held import Held, digest
from tests.support.tasks.task_facts import code
from workbench.tasks import TaskError, make_task
from workbench.tasks.automata.answer_rhythm import Rhythm, rhythm_of
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.automata.regex import LONGEST, derivative, derivatives, equivalent, nullable, parse
from workbench.tasks.automata.string_sampling import StringSampling, exchange_odds
from workbench.tasks.automata.string_support import Listing
from workbench.tasks.automata.symbol_counts import counts_of_words
from workbench.tasks.automata.word_counts import Words, pick, state_shares
from workbench.tasks.random_generator import generator

EXPRESSIONS = ["(a|b)*bb(a|b)*", "(abab)*", "a*b*", "(a|bc)*c?", "(aa)+b", "(0|1(01*0)*1)*"]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_automaton(expression: str, held: Held) -> None:
    """With its answers in three ways: whether a word is accepted, which state, and nothing asked where it is dead."""
    made = Automaton.from_regex(expression)
    term = parse(expression)
    answers = np.where(made.live, np.arange(len(made)) % 3, -1)
    found: list[Any] = [made.table.tolist(), made.names, sorted(made.accepting), made.alphabet, made.neutral]
    found += [made.live.tolist(), made.sinks.tolist(), [made.number_of_words(n) for n in range(9)], len(made)]
    found += [nullable(term), derivatives(term, made.alphabet, 50), derivatives(term, made.alphabet, 2)]
    for asked in (made.labels, answers):
        rhythm = rhythm_of(made, asked, "it")
        found.append([[sorted(rhythm.at(n)) for n in range(12)], rhythm.repeats, rhythm.period])
    if len(made.alphabet) == 2:
        found.append([counts_of_words(made, n).tolist() for n in (0, 1, 4, 7)])
    words = sum(
        (
            [
                "".join(made.alphabet[i] for i in np.unravel_index(k, (len(made.alphabet),) * n))
                for k in range(len(made.alphabet) ** n)
            ]
            for n in range(1, 5)
        ),
        [""],
    )
    found.append(code([made.accepts(word) for word in words]))
    symbols = torch.randint(len(made.alphabet), (4, 7), generator=generator("run")).numpy()
    found.append(
        [
            made.run(symbols).tolist(),
            made.after(symbols, 0).tolist(),
            made.run(symbols, np.array([0, 1, 0, 1])).tolist(),
        ]
    )
    held(found)


def test_languages_of_answers(held: Held) -> None:
    """One where there are two answers, else one for each; minimal and numbered from the start."""
    found = []
    for task in (
        make_task("parity"),
        make_task("mod_count"),
        make_task("bounded_dyck", ask="next"),
        make_task("flip_flop"),
    ):
        machine = task.automaton()
        assert machine is not None
        found.append([[one.table.tolist(), sorted(one.accepting), one.names] for one in machine.languages()])
    held(found)


@pytest.mark.parametrize("misses", [False, True], ids=["replaced", "mixed"])
@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_strings_of_an_automaton(expression: str, misses: bool, held: Held) -> None:
    """The share of each answer, where heads may end, strings drawn, and all of them with their probabilities."""
    made = Automaton.from_regex(expression)
    found: list[Any] = []
    for answers in (made.labels, np.where(made.live, np.arange(len(made)), -1)):
        law = StringSampling(made, answers, exchanging=misses)
        for length, wanted in ((1, 0), (3, 1), (4, 1), (5, 2), (6, 2), (7, 3), (11, 3)):
            margin = law.margin(length, wanted)
            if not np.isfinite(law.words.log_counts(length)[made.start])[answers >= 0].any():
                continue
            drawn = law.draw(12, length, margin, generator("drawn", length))
            found.append(
                [
                    margin,
                    law.shares(length, margin).tolist(),
                    law.entries(length, margin).tolist(),
                    code(torch.tensor(drawn)),
                ]
            )
        for most in (3, 40):
            listed = Listing(law, most).strings(5, law.margin(5, 1))
            found.append(
                None if listed is None else [code(sorted(listed)), digest([listed[key] for key in sorted(listed)])]
            )
    held(found)


def test_words_of_exact_length(held: Held) -> None:
    """Their numbers, draws of them over one, two and three symbols, shares of states, and picks by weight."""
    found: list[Any] = []
    for table in ([[0]], [[0, 1], [1, 0]], [[1, 2, 0], [1, 1, 2], [2, 0, 1]]):
        rows = np.array(table)
        words = Words(rows)
        found.append([np.exp(words.log_counts(n)).tolist() for n in (0, 1, 4)])
        uniforms = torch.rand((5, 6), generator=generator("words"), dtype=torch.float64).numpy()
        start = np.zeros(6, dtype=np.int64)
        goal = np.array([0, len(rows) - 1] * 3)
        symbols, states = words.draw(start, goal, uniforms)
        found += [symbols.tolist(), states.tolist()]
        share = np.tile(np.arange(1, rows.shape[1] + 1) / np.arange(1, rows.shape[1] + 1).sum(), (3, 1))
        found.append(state_shares(rows, 0, share).tolist())
    uniforms = torch.rand((6, 3), generator=generator("pick"), dtype=torch.float64).numpy()
    found.append(pick(np.log(np.array([[1.0, 2.0, 4.0]] * 6)), uniforms).tolist())
    found.append(pick(np.array([[-np.inf, 0.0, -np.inf]] * 6), uniforms).tolist())
    found.append(exchange_odds(np.array([0, 1, 2, 3])).tolist())
    held(found)


def test_a_rhythm_comes_around() -> None:
    rhythm = Rhythm((frozenset({0}), frozenset({1}), frozenset({2}), frozenset({3})), 2, 2)
    assert [min(rhythm.at(n)) for n in range(8)] == [0, 1, 2, 3, 2, 3, 2, 3]


@pytest.mark.parametrize(("one", "other", "same"), [
    ("a*", "(a|())*", True), ("(ab)*a", "a(ba)*", True), ("a+", "a*", False), ("a?", "a", False), ("(a|b)*", "(a*b*)*", True),
])  # fmt: skip
def test_expressions_that_mean_the_same(one: str, other: str, same: bool) -> None:
    assert equivalent(parse(one), parse(other), ("a", "b")) == same


def test_derivatives_are_counted_up_to_a_bound() -> None:
    term = parse("(a|b)*a(a|b)(a|b)")
    number = derivatives(term, "ab", 10**6)
    assert derivatives(term, "ab", number) == number
    assert derivatives(term, "ab", number - 1) == number
    assert derivatives(term, "ab", 2) == 3


@pytest.mark.parametrize("text", [
    "a|", "|a", "(a", "a)", "a**", "*", "a-b", "(|a)", "()", "(())", "a?b+", "((a)(b))*", "é", "a" * LONGEST,
    "a" * (LONGEST + 1), "a()b", "(a|b", ")", "a+?",
])  # fmt: skip
def test_expressions_that_are_read_and_refused(text: str, held: Held) -> None:
    try:
        term = parse(text)
    except TaskError as error:
        held(str(error))
    else:
        held([nullable(term), derivatives(term, "ab", 20), nullable(derivative(term, "a"))])
