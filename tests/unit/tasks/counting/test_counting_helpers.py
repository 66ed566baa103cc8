"""Helpers of counting tasks at both sides of their bounds: places of events, blocks, leads, stacks and their names."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch

from workbench.tasks import make_task
from workbench.tasks.counting import boolean, shuffles
from workbench.tasks.counting.counter_language import LESS, MORE, ORDER, WORD, clear_places, event_places
from workbench.tasks.counting.dyck import _closing, _mirrored
from workbench.tasks.counting.dyck_k import fold_walk
from workbench.tasks.random_generator import generator


@pytest.mark.parametrize(("positions", "length", "clear", "places"), [
    (range(6), 6, None, [0, 1, 2, 3, 4]), (range(6), 6, 0, [0, 1, 2, 3, 4]), (range(6), 6, 1, [1, 2, 3]),
    (range(6), 6, 2, [2]), (range(6), 6, 3, [0, 1, 2, 3, 4, 5]), ([1, 3], 6, 1, [1, 3]), ([1, 3], 6, 2, [1, 3]),
    ([1, 2], 6, 2, [2]), ([5], 6, None, [5]),
])  # fmt: skip
def test_places_where_an_event_of_two_tokens_stays_clear(positions, length: int, clear, places: list[int]) -> None:
    assert clear_places(positions, length, clear) == places
    drawn = event_places(positions, length, clear, 60, generator("places"))
    assert set(drawn.tolist()) == set(places)


@pytest.mark.parametrize(("letters", "length", "boundaries", "longest"), [
    (2, 2, [0], 1), (2, 4, [1], 1), (2, 6, [2], 2), (2, 10, [4], 4), (3, 3, [0, 1], 1), (3, 6, [1, 3], 1), (3, 9, [2, 5], 1),
    (3, 12, [3, 7], 1), (3, 15, [4, 9], 2), (4, 8, [1, 3, 5], 1),
])  # fmt: skip
def test_blocks_end_and_the_first_one_may_be_too_long(letters: int, length: int, boundaries, longest: int) -> None:
    task = make_task("a_n_b_n", letters=letters)
    assert list(task._boundaries(length)) == boundaries
    assert task._longest(length, None) == longest
    assert task._longest(length, 0) == task._longest(length, 2) == 1
    assert [task.admissible(n) for n in (0, letters - 1, letters, letters + 1, 2 * letters)] == [
        False,
        False,
        True,
        False,
        True,
    ]


@pytest.mark.parametrize(("symbols", "following"), [
    ("", None), ("a", {"a", "b"}), ("aa", {"a", "b"}), ("aab", {"b"}), ("aabb", {"c"}), ("ab", {"c"}), ("abc", {"<eos>"}),
    ("aabbc", {"c"}), ("aabbcc", {"<eos>"}), ("b", None), ("abb", None), ("aabc", None), ("aba", None), ("abcc", None),
    ("abca", None), ("aabbb", None), ("ac", None),
])  # fmt: skip
def test_what_may_follow_in_three_blocks(symbols: str, following: set[str] | None) -> None:
    if symbols:
        assert make_task("a_n_b_n", letters=3, ask="next").may_follow(list(symbols)) == following


@pytest.mark.parametrize(("name", "parameters", "length", "listed"), [
    ("a_n_b_n", {"ask": "next"}, 1024, 512), ("a_n_b_n", {"ask": "next"}, 1026, None),
    ("a_n_b_n", {}, 340, 511), ("a_n_b_n", {}, 342, None),
])  # fmt: skip
def test_512_strings_are_listed_and_no_more(name: str, parameters: dict[str, Any], length: int, listed) -> None:
    found = make_task(name, **parameters).support("matched", length)
    assert (None if found is None else len(found.batch)) == listed
    if found is not None:
        assert found.probabilities.sum().item() == pytest.approx(1)
        assert found.probabilities.max().item() == 0.5


@pytest.mark.parametrize(("string", "leader"), [
    ("a", "a"), ("ab", ""), ("aba", "a"), ("abab", ""), ("ababb", "b"), ("abc", ""), ("abcc", "c"), ("aabb", ""), ("aabbb", "b"),
    ("aabbcc", ""), ("aabbccc", "c"), ("abcabcb", "b"), ("cba", ""), ("bbac", "b"),
])  # fmt: skip
def test_which_letter_leads_alone(string: str, leader: str) -> None:
    task = make_task("letter_majority", letters=3)
    batch = task.label(torch.tensor([[1 + "abc".index(letter) for letter in string]]))
    assert batch.mask[0, -1].item() == bool(leader)
    if leader:
        assert task.output_names[int(batch.targets[0, -1])] == leader


@pytest.mark.parametrize(("lead", "strata"), [(0, []), (1, [0]), (2, [1]), (3, [1]), (5, [1]), (6, [])])
def test_near_ties_at_their_bounds(lead: int, strata: list[int]) -> None:
    """Of three letters the third is far behind."""
    task = make_task("letter_majority", letters=3)
    string = [1] * (3 + lead) + [2] * 3 + [3]
    found = task.strata(task.label(torch.tensor([string])))
    assert [task.strata_names.index(name) for name, rows in found.items() if bool(rows[0])] == strata


@pytest.mark.parametrize(("letters", "half", "start", "stop"), [
    (5, "both", 0, 5), (5, "first", 0, 2), (5, "second", 2, 5), (4, "first", 0, 2), (4, "second", 2, 4), (2, "both", 0, 2),
])  # fmt: skip
def test_letters_that_occur(letters: int, half: Any, start: int, stop: int) -> None:
    task = make_task("letter_majority", letters=letters, half=half)
    assert task._occurring == range(start, stop)
    assert task.chance("matched", 9) == 1 / (stop - start)
    lead_of_one = task.sample_stratum("lead 1", 2, 6, generator("even"), "matched")
    assert (lead_of_one is None) == (stop - start == 2), "two counts of an even sum differ by an even number"


@pytest.mark.parametrize(
    ("end", "place"), [(0, 0), (1, 1), (2, 2), (3, 3), (4, 2), (5, 1), (6, 0), (7, 1), (-1, 1), (-3, 3), (-4, 2)]
)
def test_a_walk_is_reflected_at_three(end: int, place: int) -> None:
    assert fold_walk(torch.tensor([end]), 3).tolist() == [place]


@pytest.mark.parametrize(("ask", "stack", "answer"), [
    ("close", None, -1), ("close", (), -1), ("close", (1,), 0), ("close", (1, 2), 1), ("close", (2, 1, 1), 0),
    ("next", None, -1), ("next", (), 4), ("next", (1,), 0), ("next", (1, 2), 1), ("next", (2, 1, 1), 2), ("next", (1, 1, 2), 3),
])  # fmt: skip
def test_what_a_stack_answers(ask: Any, stack: tuple[int, ...] | None, answer: int) -> None:
    assert make_task("dyck_k", k=2, depth=3, ask=ask)._stack_answer(stack) == answer


@pytest.mark.parametrize(("stack", "symbol", "after"), [
    (None, "(1", None), (None, ")1", None), ((), "(2", (2,)), ((), ")1", None), ((1,), ")1", ()), ((1,), ")2", None),
    ((1, 2), ")2", (1,)), ((1, 2), ")1", None), ((1, 2), "(1", (1, 2, 1)), ((1, 2, 1), "(1", None), ((1, 2, 1), ")1", (1, 2)),
])  # fmt: skip
def test_what_a_bracket_makes_of_a_stack(stack, symbol: str, after) -> None:
    task = make_task("dyck_k", k=2, depth=3)
    assert task._pushed(stack, symbol) == after
    as_text = None if stack is None else [str(kind) for kind in stack]
    assert task._after(as_text, symbol) == (None if after is None else [str(kind) for kind in after])


@pytest.mark.parametrize(("window", "answer"), [
    ("(1 (2", 1), ("(1 (2 )2", 0), ("(1 )1", None), (")2 )1", None), (")1 (2", 1), ("(2 (1 )1 (1 )1", 1), ("(2 )1 )1", None),
])  # fmt: skip
def test_the_bracket_that_a_window_leaves_open(window: str, answer: int | None) -> None:
    task = make_task("dyck_k", k=2, depth=3)
    tokens = torch.tensor([[task.tokens_names.index(symbol) for symbol in window.split()]])
    assert task.answer(tokens).tolist() == [
        [1.0, 1.0] if answer is None else [float(answer == kind) for kind in (0, 1)]
    ]


@pytest.mark.parametrize(("inputs", "drawable"), [(0, False), (2, False), (3, True), (4, False), (5, False), (6, True)])
def test_three_strings_of_one_length_are_interleaved(inputs: int, drawable: bool) -> None:
    assert make_task("interleaved_majority").drawable(inputs) == drawable


@pytest.mark.parametrize(("size", "ones"), [(1, {0, 1}), (2, {0, 2}), (3, {0, 1, 2, 3}), (4, {0, 1, 3, 4})])
def test_numbers_of_ones_without_a_tie(size: int, ones: set[int]) -> None:
    drawn = make_task("interleaved_majority")._ones(60, size, generator("ones", size))
    assert set(drawn.flatten().tolist()) == ones
    assert drawn.shape == (60, 3, 1)


@pytest.mark.parametrize(("name", "parameters", "window", "possible"), [
    ("dyck_1", {}, ") )", True), ("dyck_1", {}, "( )", True), ("dyck_1", {}, "( ) (", False), ("dyck_1", {}, ") (", False),
    ("shuffle_dyck", {}, ")1 )2", True), ("shuffle_dyck", {}, "(1 )2", False), ("shuffle_dyck", {}, "(1 (2 )1 )2", True),
    ("a_n_b_n", {"letters": 3}, "b c", True), ("a_n_b_n", {"letters": 3}, "b c c", True), ("a_n_b_n", {"letters": 3}, "c", True),
    ("a_n_b_n", {"letters": 3}, "b b c c", True), ("a_n_b_n", {"letters": 3}, "b b b c c", False),
    ("a_n_b_n", {"letters": 3}, "a b b c c", True), ("a_n_b_n", {"letters": 3}, "c b", False),
])  # fmt: skip
def test_which_windows_end_a_word(name: str, parameters: dict[str, Any], window: str, possible: bool) -> None:
    task = make_task(name, **parameters)
    tokens = torch.tensor([[task.tokens_names.index(symbol) for symbol in window.split()]])
    assert task._ends_a_word(tokens).tolist() == [possible]


@pytest.mark.parametrize(("symbols", "whole", "left"), [
    ("0", True, 0), ("1", True, 0), ("{2} 0", False, 0), ("{2} 0 1", True, 0), ("{1} 0", True, 0), ("{1}", False, 0),
    ("{3} 0 0", False, 0), ("{3} 0 0 1", True, 0), ("0 1", True, 1), ("{2} {1} 0 1 0", True, 1), ("{2} 0 {3} 1 1 1 0", True, 1),
])  # fmt: skip
def test_one_expression_is_taken_off_the_front(symbols: str, whole: bool, left: int) -> None:
    named = {str(place + 1): name for place, name in enumerate(boolean.OPERATORS)}
    rest = [named[part[1:-1]] if part[0] == "{" else part for part in symbols.split()]
    assert boolean._without_one_expression(rest) == whole
    assert len(rest) == left


@pytest.mark.parametrize(("kind", "closes"), [(WORD, [0, 1]), (ORDER, [1, 0]), (MORE, [0, 0]), (LESS, [1, 1])])
def test_which_brackets_of_the_deciding_pair_close(kind: int, closes: list[int]) -> None:
    assert _closing(torch.tensor([kind])).tolist() == [closes]


def test_backwards_openings_close() -> None:
    assert _mirrored(torch.tensor([[1, 1, 2, 3, 4, 4]])).tolist() == [[3, 3, 4, 1, 2, 2]]


@pytest.mark.parametrize(("types", "words"), [(1, [1, 1, 2, 5]), (2, [1, 2, 10, 70]), (3, [1, 3, 24, 285])])
@pytest.mark.parametrize("at_once", [1, 16, 1 << 20])
def test_words_of_several_types_are_counted_in_parts(types: int, words: list[int], at_once: int, monkeypatch) -> None:
    monkeypatch.setattr(shuffles, "NUMBERS_AT_ONCE", at_once)
    assert shuffles.log_words.__wrapped__(types, 3)[-1] == pytest.approx([math.log(number) for number in words])


@pytest.mark.parametrize("types", [1, 2, 3])
def test_pairs_of_all_types_are_as_many_as_are_wanted(types: int) -> None:
    pairs = torch.tensor([[0, 3], [1, 2], [3, 0]])
    found = shuffles.pairs_of_each_type(pairs, types, generator("pairs"))
    assert found.shape == (3, 2, types)
    assert found.sum(2).tolist() == pairs.tolist()
    assert found.min() >= 0
    words = shuffles.shuffled_words(pairs, types, generator("words"))
    assert words.shape == (3, 6)
    height = torch.where(words % 2 == 0, 1, -1).cumsum(1)
    assert (height[:, -1] == 0).all()
    assert height.min() >= 0
    assert height[1, 1] == 0, "the first of the two words has one pair"
