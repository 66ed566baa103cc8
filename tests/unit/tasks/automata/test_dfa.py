"""Automata against Python's matcher, automata-lib, brute force and the figures of the literature."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest
import torch
from automata.fa.dfa import DFA
from automata.fa.nfa import NFA

from workbench.tasks import TaskError, make_task
from workbench.tasks.automata import answer_rhythm, dfa
from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.automata.regex import derivatives, parse
from workbench.tasks.counting import dyck_k, equal_blocks
from workbench.tasks.in_context import chains, kgram_continuations
from workbench.tasks.regular import regular_task
from workbench.tasks.sequences import planted

# language, expression, alphabet, states of the minimal automaton, words of length 1 to `longest`
LANGUAGES = [
    *(
        (f"tomita {n}", make_task("tomita", n=n, ask="state").expression, "01", states, 12, words)
        for n, states, words in (
            (1, 2, 12),
            (2, 3, 6),
            (3, 5, 2243),
            (4, 4, 3734),
            (5, 4, 2730),
            (6, 3, 2730),
            (7, 5, 1091),
        )
    ),
    *(
        (f"D_{n}", make_task("bounded_dyck", n=n).expression, "ab", states, 12, words)
        for n, states, words in ((1, 3, 6), (2, 4, 63), (3, 5, 144), (4, 6, 185), (12, 14, 196))
    ),
    ("abd_bc", "(a|b)*d(b|c)*", "abcd", 3, 7, 769),
    ("blocks_abcde", "aa*bb*cc*dd*ee*", "abcde", 7, 6, 6),
    ("aa_star", "(aa)*", "a", 2, 12, 6),
    ("aaaa_star", "(aaaa)*", "a", 4, 12, 3),
    ("abab_star", "(abab)*", "ab", 5, 12, 3),
    ("zero_two", "(0|1|2)*02*", "012", 2, 8, sum((3**n - 1) // 2 for n in range(1, 9))),
    ("last_nonneutral_a", "(a|b|e)*ae*", "abe", 2, 8, sum((3**n - 1) // 2 for n in range(1, 9))),
    ("contains ab", "(a|b)*ab(a|b)*", "ab", 3, 12, 8100),
    ("contains bb", "(a|b)*bb(a|b)*", "ab", 3, 12, 8190 - 984),
    ("ends in b", "(a|b)*b", "ab", 2, 12, 4095),
    ("an a before a b", "(a|b|c)*a(a|b|c)*b(a|b|c)*", "abc", 3, 8, 7537),
]


@pytest.mark.parametrize(
    ("expression", "alphabet", "states", "longest", "words"), [c[1:] for c in LANGUAGES], ids=[c[0] for c in LANGUAGES]
)
def test_states_and_words_of_known_languages(expression, alphabet, states, longest, words):
    automaton = Automaton.from_regex(expression, alphabet)
    assert len(automaton) == states
    assert sum(automaton.number_of_words(n) for n in range(1, longest + 1)) == words


@pytest.mark.parametrize(("expression", "alphabet"), [c[1:3] for c in LANGUAGES], ids=[c[0] for c in LANGUAGES])
def test_runs_agree_with_python_and_automata_lib_on_every_string(expression, alphabet):
    """All strings of one length, at every prefix: between 1 and 512 strings of up to 10 symbols."""
    length = {1: 10, 2: 9, 3: 5, 4: 4, 5: 3}[len(alphabet)]
    automaton, pattern = Automaton.from_regex(expression, alphabet), re.compile(expression)
    other = DFA.from_nfa(NFA.from_regex(expression, input_symbols=set(alphabet)), minify=False)
    words = list(product(range(len(alphabet)), repeat=length))
    accepted = automaton.accepting_mask[automaton.run(np.array(words))]
    for word, found in zip(words, accepted, strict=True):
        text = "".join(alphabet[i] for i in word)
        for end in range(1, length + 1):
            assert found[end - 1] == bool(pattern.fullmatch(text[:end]))
            assert found[end - 1] == other.accepts_input(text[:end]) == automaton.accepts(text[:end])


def test_equal_languages_have_equal_tables():
    one, other = Automaton.from_regex("(ab)*a"), Automaton.from_regex("a(ba)*|ab(ab)*a")
    assert one.table.tolist() == other.table.tolist()
    assert (one.start, one.accepting, one.names) == (other.start, other.accepting, other.names)


def test_symbols_are_numbered_in_the_order_of_the_alphabet():
    assert Automaton.from_regex("b*a").alphabet == ("a", "b")
    turned = Automaton.from_regex("b*a", "cba")
    assert turned.alphabet == ("c", "b", "a")
    assert turned.accepts("bba")
    assert not turned.accepts("bca")
    assert turned.names == ("start", "dead", "after a")


def test_minimal_merges_what_no_word_tells_apart():
    twice = {"p": {"a": "q"}, "q": {"a": "r"}, "r": {"a": "s"}, "s": {"a": "p"}}
    wide = Automaton.from_dict({"start": "p", "accepting": ["q", "s"], "transitions": twice})
    small = wide.minimal()
    assert (len(wide), len(small)) == (4, 2)
    assert small.table.tolist() == Automaton.from_regex("a(aa)*").table.tolist()
    assert small.names == ("start", "after a")
    for word in ("", "a", "aa", "aaa"):
        assert wide.accepts(word) == small.accepts(word)


def test_missing_transitions_lead_to_a_dead_state():
    data = {"start": "p", "accepting": ["p"], "transitions": {"p": {"a": "q", "b": "q"}, "q": {"b": "p"}}}
    automaton = Automaton.from_dict(data)
    assert automaton.names == ("p", "q", "dead")
    assert automaton.live.tolist() == [True, True, False]
    assert automaton.sinks.tolist() == [False, False, True]
    assert [automaton.accepts(w) for w in ("", "ab", "aba", "aa", "aab")] == [True, True, False, False, False]
    named = {"start": "dead", "accepting": ["dead"], "transitions": {"dead": {"a": "dead", "b": "p"}, "p": {}}}
    accepting = Automaton.from_dict(named)
    assert accepting.accepts("aa")
    assert not accepting.accepts("aba")
    assert accepting.names == ("dead", "p", "dead (no transition)")


def test_symbols_of_automata_may_be_words():
    transitions = {"off": {"press": "on", "wait": "off"}, "on": {"press": "off", "wait": "on"}}
    data = {"start": "off", "accepting": ["on"], "transitions": transitions, "alphabet": ["wait", "press"]}
    automaton = Automaton.from_dict(data)
    assert automaton.alphabet == ("wait", "press")
    assert automaton.accepts(["press", "wait"])
    assert not automaton.accepts(["press", "press"])


def test_a_table_cannot_be_changed():
    automaton = Automaton.from_regex("ab")
    with pytest.raises(ValueError, match="read-only"):
        automaton.table[0, 0] = 1


def test_runs_may_start_anywhere():
    automaton = Automaton.from_regex("(abab)*")
    symbols = np.array([[0, 1, 0], [1, 0, 1]])
    starts = np.array([automaton.start, automaton.run(np.array([[0]]))[0, 0]])
    found = automaton.run(symbols, starts)
    assert [automaton.names[s] for s in found[:, -1]] == ["after aba", "start"]
    assert automaton.run(symbols[:, :0]).shape == (2, 0)
    assert [automaton.names[s] for s in automaton.after(symbols, starts)] == ["after aba", "start"]
    assert automaton.after(symbols[:, :0], starts).tolist() == starts.tolist()
    assert automaton.after(symbols).tolist() == automaton.run(symbols)[:, -1].tolist()


def test_words_are_counted_exactly_at_any_length():
    """C_n words of depth at most 12 are Catalan numbers up to length 24; (a|b)* has 2^n words."""
    deep = Automaton.from_regex(make_task("bounded_dyck", n=12).expression)
    assert [deep.number_of_words(2 * n) for n in range(6)] == [1, 1, 2, 5, 14, 42]
    assert deep.number_of_words(24) == 208012
    assert deep.number_of_words(26) == 742900 - 1  # one word of length 26 is 13 deep
    assert Automaton.from_regex("(a|b)*").number_of_words(2000) == 2**2000


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        ({"start": "p"}, "needs start, accepting and transitions, and may have alphabet"),
        ({"start": "p", "accepting": [], "transitions": [1]}, "given as {state: {symbol: following state}}"),
        ({"start": "p", "accepting": [], "transitions": {"p": "q"}}, "given as {state: {symbol: following state}}"),
        ({"start": "p", "accepting": [], "transitions": {"p": {"a": 1}}}, "states are strings"),
        ({"start": "p", "accepting": [], "transitions": {"p": {}}}, "alphabet must name at least one symbol"),
        ({"start": {}, "accepting": [], "transitions": {}}, "states are strings, not {}"),
        ({"start": "p", "accepting": [["p"]], "transitions": {"p": {"a": "p"}}}, "strings, not ['p']"),
        ({"start": "p", "accepting": [], "transitions": {"p": {"a": ["p"]}}}, "strings, not ['p']"),
        ({"start": "p", "accepting": 3, "transitions": {"p": {"a": "p"}}}, "accepting states are given as a list"),
        ({"start": "p", "accepting": [], "transitions": {"p": {"a": "p"}}, "alphabet": 3}, "list of strings, not as 3"),
        ({"start": "p", "accepting": [], "transitions": {"p": {}}, "alphabet": [[]]}, "list of strings, not as [[]]"),
        ({"start": "r", "accepting": [], "transitions": {"p": {"a": "q"}}}, "do not mention its state 'r'"),
        ({"start": "p", "accepting": ["r"], "transitions": {"p": {"a": "q"}}}, "do not mention its state 'r'"),
        (
            {"start": "p", "accepting": [], "transitions": {"p": {"a": "q"}}, "alphabet": ["b"]},
            "mention the symbol 'a', which is not in its alphabet",
        ),
    ],
)
def test_what_is_no_automaton_is_refused_in_one_sentence(data, sentence):
    with pytest.raises(TaskError, match=re.escape(sentence)):
        Automaton.from_dict(data)


@pytest.mark.parametrize(
    ("expression", "alphabet", "sentence"),
    [
        ("a(", None, "a>>(<<: character 2, '(', is never closed"),
        ("ab", "a", "mentions 'b', which is not in its alphabet"),
        ("a", "aa", "takes different letters or digits, not 'aa'"),
        ("a", "a-", "takes different letters or digits, not 'a-'"),
        ("()", None, "mentions no symbol, so it needs an alphabet"),
    ],
)
def test_expressions_and_alphabets_that_do_not_fit_are_refused(expression, alphabet, sentence):
    with pytest.raises(TaskError, match=re.escape(sentence)):
        Automaton.from_regex(expression, alphabet)


def test_an_expression_with_too_many_subsets_is_refused_before_they_are_made(monkeypatch):
    monkeypatch.setattr(dfa, "MOST_DERIVATIVES", 64)
    assert len(Automaton.from_regex("(a|b)*a" + "(a|b)" * 5)) == 64
    with pytest.raises(TaskError, match=r"\b64\b"):
        Automaton.from_regex("(a|b)*a" + "(a|b)" * 25)


def test_unknown_symbols_are_refused():
    with pytest.raises(TaskError, match="alphabet"):
        Automaton.from_regex("ab").accepts("abc")


EXPRESSION = "(a|b)*a(a|b)"


def strings_of(name: str, length: int, **parameters: Any) -> int:
    """How many strings the matched law has, where they are listed; 0 where they are not."""
    found = make_task(name, **parameters).support("matched", length)
    return 0 if found is None else len(found.batch)


def refused(act: Callable[[], object]) -> bool:
    try:
        act()
    except TaskError:
        return True
    return False


BOUNDS: dict[str, tuple[Any, str, int, Callable[[], bool]]] = {
    "derivatives of an expression": (
        dfa, "MOST_DERIVATIVES", derivatives(parse(EXPRESSION), "ab", 99),
        lambda: refused(lambda: Automaton.from_regex(EXPRESSION)),
    ),
    "lengths until states come around": (
        answer_rhythm, "LONGEST_RHYTHM", 6,
        lambda: refused(lambda: answer_rhythm.rhythm_of(Automaton.from_regex("(aaaaaa)*"), np.arange(6), "it")),
    ),
    "states of a language": (
        regular_task, "MOST_STATES", 4, lambda: refused(lambda: make_task("regular", regex="(a|b)*bbb(a|b)*")),
    ),
    "states of a stack": (
        dyck_k, "LARGEST_AUTOMATON", 8, lambda: make_task("dyck_k", k=2, depth=2).automaton() is None,
    ),
    "states of a sum": (
        planted, "LARGEST_AUTOMATON", 13, lambda: make_task("planted", k=3, modulus=3).automaton() is None,
    ),
    "longer first blocks": (
        equal_blocks, "MOST_LISTED", 5, lambda: not strings_of("a_n_b_n", 10, ask="next"),
    ),
    "events in blocks": (
        equal_blocks, "MOST_LISTED", 16, lambda: not strings_of("a_n_b_n", 10),
    ),
    "transitions of contexts": (
        kgram_continuations, "MOST_TRANSITIONS", 27, lambda: refused(lambda: make_task("in_context_kgram", k=2, symbols=3)),
    ),
    "counts of transitions": (
        chains, "MOST_COUNTS", 9, lambda: chains.transition_counts(torch.tensor([[0, 1, 2, 0]]), 1, 3) is None,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDS)
def test_what_is_as_large_as_a_bound_is_taken(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module, constant, size, stops = BOUNDS[name]
    for bound, stopped in ((size, False), (size - 1, True)):
        monkeypatch.setattr(module, constant, bound)
        assert stops() == stopped, bound
