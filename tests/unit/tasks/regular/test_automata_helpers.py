"""Helpers of tasks over automata, by hand: which language is meant, names, permutations, and answers that are open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from workbench.tasks import TaskError, make_task
from workbench.tasks.automata.regular_oracles import ByDerivatives, ByTransitions
from workbench.tasks.automata.string_sampling import Exchanges, _occurring, _one_of
from workbench.tasks.automata.symbol_counts import counts_hits

MACHINE = {"start": "p", "accepting": ["q"], "transitions": {"p": {"x": "q"}, "q": {"x": "q", "y": "p"}}}
TWINS = {
    "start": "p",
    "accepting": ["q", "r"],
    "transitions": {"p": {"x": "q"}, "q": {"x": "r", "y": "p"}, "r": {"x": "q", "y": "p"}},
}
"""``q`` and ``r`` are one state of the minimal automaton."""


@pytest.mark.parametrize(("given", "regex"), [
    ({}, "(a|b)*bb(a|b)*"), ({"regex": None}, "(a|b)*bb(a|b)*"), ({"alphabet": "abc"}, "(a|b)*bb(a|b)*"),
    ({"regex": "a*b"}, "a*b"), ({"dfa": MACHINE}, None), ({"dfa": MACHINE, "regex": None, "alphabet": None}, None),
    ({"dfa": None, "regex": "a*b"}, "a*b"),
])  # fmt: skip
def test_which_language_is_meant(given: dict[str, Any], regex: str | None) -> None:
    task = make_task("regular", **given)
    assert task.regex == regex
    assert task.question == f"Is the string so far in {regex or 'the language of the given automaton'}?"


@pytest.mark.parametrize("more", [{"regex": "a*b"}, {"alphabet": "xy"}, {"regex": "a*b", "alphabet": "ab"}])
def test_an_automaton_goes_with_no_expression_and_no_alphabet(more: dict[str, str]) -> None:
    with pytest.raises(TaskError, match="regex"):
        make_task("regular", dfa=MACHINE, **more)


@pytest.mark.parametrize(("ask", "states", "names"), [
    ("state", 4, ("p", "q", "dead", "r")), ("member", 3, ("no", "yes")), ("next", 3, ("x", "x y <eos>")),
])  # fmt: skip
def test_states_of_a_given_automaton_are_its_own_where_they_are_asked_for(ask: Any, states: int, names) -> None:
    task = make_task("regular", dfa=TWINS, ask=ask)
    assert len(task.acceptor) == states
    assert task.output_names == names
    for string in ([1], [1, 1], [1, 1, 1], [1, 2, 1], [2], [1, 2, 2, 1]):
        batch = task.label(torch.tensor([string]))
        said = [
            int(answer) if asked else None
            for answer, asked in zip(batch.targets[0, 1:], batch.mask[0, 1:], strict=True)
        ]
        assert said == task.reference(string), string


@pytest.mark.parametrize(("regex", "names"), [
    ("(ab)*", ("a <eos>", "b")), ("(a|b)*b", ("a b", "a b <eos>")), ("b|(aa)*", ("a b <eos>", "a", "<eos>", "a <eos>")),
])  # fmt: skip
def test_what_continuations_are_called_and_that_a_dead_state_has_no_name(regex: str, names: tuple[str, ...]) -> None:
    assert make_task("regular", regex=regex, ask="next").output_names == names


@pytest.mark.parametrize(("k", "language"), [(1, "a+"), (6, "a+b+a+b+a+b+"), (7, "7 alternating blocks a+b+...")])
def test_what_blocks_are_called(k: int, language: str) -> None:
    assert make_task("alternating_blocks", k=k).language == language


@pytest.mark.parametrize(("known", "accepts", "viable", "name"), [
    ("p", False, True, "p"), ("q", True, True, "q"), (None, False, False, "dead"), ("lost", False, False, "lost"),
])  # fmt: skip
def test_what_an_automaton_says_as_it_was_written_down(known, accepts: bool, viable: bool, name: str) -> None:
    oracle = ByTransitions(
        {**MACHINE, "transitions": {**MACHINE["transitions"], "q": {"x": "q", "y": "p", "z": "lost"}}}
    )
    assert (oracle.accepts(known), oracle.viable(known)) == (accepts, viable)
    assert oracle.name(known, ("p", "q", "lost", "dead")) == name
    assert oracle.step(None, "x") is None
    assert (oracle.step("p", "x"), oracle.step("p", "y"), oracle.step("lost", "x")) == ("q", None, None)


def test_a_state_without_a_way_to_a_word_is_not_viable_and_one_some_steps_away_is() -> None:
    chain = {
        "start": "a",
        "accepting": ["d"],
        "transitions": {"a": {"x": "b", "y": "e"}, "b": {"x": "c"}, "c": {"x": "d"}, "e": {"x": "e"}},
    }
    oracle = ByTransitions(chain)
    assert [state for state in "abcde" if oracle.viable(state)] == list("abcd")


def test_derivatives_know_their_states_by_words_that_lead_there() -> None:
    oracle = ByDerivatives("(ab)*", "ab")
    names = ("start", "after a", "dead")
    for word, name in (
        ("", "start"),
        ("a", "after a"),
        ("ab", "start"),
        ("b", "dead"),
        ("aa", "dead"),
        ("aba", "after a"),
    ):
        known = oracle.start
        for symbol in word:
            known = oracle.step(known, symbol)
        assert oracle.name(known, names) == name
        assert (oracle.accepts(known), oracle.viable(known)) == (name == "start", name != "dead")


@pytest.mark.parametrize(("images", "even", "cycles"), [
    ((0, 1, 2), True, "e"), ((1, 0, 2), False, "(12)"), ((0, 2, 1), False, "(23)"), ((1, 2, 0), True, "(123)"),
    ((2, 0, 1), True, "(132)"), ((1, 0, 3, 2), True, "(12)(34)"), ((1, 0, 2, 4, 3), True, "(12)(45)"),
    ((1, 0, 3, 4, 2), False, "(12)(345)"), ((1, 2, 3, 4, 0), True, "(12345)"), ((1, 2, 3, 0), False, "(1234)"),
])  # fmt: skip
def test_permutations(images: tuple[int, ...], even: bool, cycles: str) -> None:
    group, even_ones = (make_task(f"{kind}_group", degree=len(images)) for kind in ("symmetric", "alternating"))
    assert group.output_names[group.elements.index(images)] == cycles
    assert (images in even_ones.elements, cycles in even_ones.output_names) == (even, even)


@pytest.mark.parametrize(("name", "degree", "cycles"), [
    ("symmetric_group", 3, [(1, 0, 2), (1, 2, 0)]), ("symmetric_group", 4, [(1, 0, 2, 3), (1, 2, 3, 0)]),
    ("alternating_group", 3, [(1, 2, 0)]), ("alternating_group", 4, [(1, 2, 0, 3), (0, 2, 3, 1)]),
])  # fmt: skip
def test_a_cycle_moves_each_place_to_the_next(name: str, degree: int, cycles: list[tuple[int, ...]]) -> None:
    assert make_task(name, degree=degree).generators == cycles


@pytest.mark.parametrize(("name", "degree", "tokens"), [
    ("symmetric_group", 3, ("e", "(12)", "(123)")), ("symmetric_group", 4, ("e", "(12)", "(1234)")),
    ("alternating_group", 3, ("e", "(123)")), ("alternating_group", 4, ("e", "(123)", "(234)")),
    ("alternating_group", 5, ("e", "(123)", "(12345)")),
])  # fmt: skip
def test_generators_of_groups(name: str, degree: int, tokens: tuple[str, ...]) -> None:
    task = make_task(name, degree=degree, tokens="generators")
    assert task.tokens_names[1:] == tokens
    assert task.neutral_tokens == (1,)


@pytest.mark.parametrize(
    ("length", "window", "fixed"), [(9, 2, 2), (9, 3, 3), (9, None, 1), (4, 2, 0), (5, 2, 1), (10, 4, 3)]
)
def test_both_ends_of_a_challenge_product_are_the_identity(length: int, window: int | None, fixed: int) -> None:
    strings, _ = make_task("symmetric_group").draw_strings(
        80, length, torch.Generator().manual_seed(0), "challenge", window
    )
    still = (strings == 1).all(0).tolist()
    assert still == [min(i, length - 1 - i) < fixed for i in range(length)]


@pytest.mark.parametrize(("steps", "neutral", "names"), [
    ((0, 1), (1,), ("0", "+1")), ((3, -1, 2), (1,), ("+3", "-1", "+2")), ((-3, 1, 6), (1, 3), ("-3", "+1", "+6")), ((1, 2), (), ("+1", "+2")),
])  # fmt: skip
def test_increments_that_change_nothing_modulo_three(steps: tuple[int, ...], neutral: tuple[int, ...], names) -> None:
    task = make_task("mod_count", m=3, increments=steps)
    assert (task.neutral_tokens, task.tokens_names[1:]) == (neutral, names)


# ---- strings -------------------------------------------------------------------------------------
def test_labels_that_occur_where_they_may_are_drawn_alike() -> None:
    labels, possible = (
        np.array([[0, 1, 2, 2], [1, 1, 0, 2]]),
        np.array([[True, False, True, True], [True, True, False, False]]),
    )
    assert _occurring(labels, possible, 4).tolist() == [[True, False, True, False], [False, True, False, False]]
    low, high = (
        _one_of(labels, possible, 3, lambda shape, at=at: np.tile(at, (2, 1)))
        for at in ([0.9, 0.5, 0.1], [0.1, 0.5, 0.0])
    )
    assert (low.tolist(), high.tolist()) == ([0, 1], [0, 1])
    assert _one_of(labels, possible, 3, lambda shape: np.tile([0.1, 0.9, 0.2], (2, 1))).tolist() == [2, 1]


def test_all_exchanges_of_two_different_symbols_are_drawn() -> None:
    word = np.array([[0, 1, 1, 0, 2]])
    numbers = np.random.default_rng(0)
    found = Exchanges.among(word).draw(400, numbers.random)[0]
    changed = {tuple(np.flatnonzero(row != word[0]).tolist()) for row in found}
    pairs = {(i, j) for i in range(5) for j in range(i + 1, 5) if word[0, i] != word[0, j]}
    assert changed == pairs
    assert (np.sort(found, axis=1) == np.sort(word, axis=1)).all()


@pytest.mark.parametrize(("words", "hits"), [
    (None, [1, 1, 0, 1, 1]), ([False, True, True], [0, 0, 1, 1, 1]), ([True, False, False], [1, 1, 0, 0, 0]),
])  # fmt: skip
def test_what_the_numbers_of_each_symbol_tell(words, hits: list[int]) -> None:
    """Two strings of one 2 are said to be in the language, and one is not."""
    batch = make_task("majority").label(torch.tensor([[1, 2], [2, 1], [2, 1], [2, 2], [1, 1]]))
    batch = replace(batch, targets=torch.tensor([[0, 0, 0], [0, 0, 0], [0, 0, 1], [0, 0, 1], [0, 0, 0]]))
    assert counts_hits(batch, None if words is None else torch.tensor(words)).tolist() == hits
