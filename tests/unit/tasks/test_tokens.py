"""Typed sequences: with and without separators, and back again for every task."""

from __future__ import annotations

import pytest

from workbench.tasks import TaskError, make_task, task_names
from workbench.tasks.random_generator import generator
from workbench.tasks.tokens import parse_tokens, write_tokens


@pytest.mark.parametrize("text", ["0110", "0 1 1 0", " 0,1, 1\n0 "])
def test_separators_are_optional_where_names_are_clear(text: str) -> None:
    assert parse_tokens(text, ("<bos>", "0", "1"), True) == [1, 2, 2, 1]


def test_the_longest_name_that_fits_is_taken() -> None:
    names = ("<bos>", "a", "ab", "<sep>")
    assert parse_tokens("aab<sep>a", names, True) == [1, 2, 3, 1]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("012", "character"),
        ("0 1 two", "token"),
        ("<bos>", "token"),
        ("", "type"),
    ],
)
def test_unknown_tokens_are_named_with_their_place(text: str, said: str) -> None:
    with pytest.raises(TaskError, match=said):
        parse_tokens(text, ("<bos>", "0", "1"), True)


def test_a_comma_parts_tokens_but_where_it_is_one_or_part_of_one() -> None:
    names = ["a", "b", ",", "b,"]
    assert parse_tokens("a , b,", names, False) == [0, 2, 3]
    assert parse_tokens("a,b", ["a", "b"], False) == [0, 1]
    assert parse_tokens("a, b", ["a", "b"], False) == [0, 1]


def test_a_long_vocabulary_is_not_listed_whole() -> None:
    names = [f"t{i}" for i in range(300)]
    with pytest.raises(TaskError, match=r"\b276\b"):
        parse_tokens("no such token", names, False)


@pytest.mark.parametrize("name", task_names())
def test_what_is_written_is_read_back(name: str) -> None:
    task = make_task(name)
    batch = task.sample(1, task.next_length(12), generator("typed", name), "matched", window=4)
    ids = batch.tokens[0, int(task.bos) :].tolist()
    assert parse_tokens(write_tokens(ids, task.tokens_names), task.tokens_names, task.bos) == ids
