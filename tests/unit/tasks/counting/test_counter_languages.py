"""Counter languages: labels against grammars on every string, and what the summaries promise."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from tests.support.tasks.language_words import (
    END,
    blocks,
    dyck,
    every_string,
    expressions,
    prefixes_and_what_follows,
    shuffle_dyck,
)
from workbench.tasks import Task, TaskError, make_task
from workbench.tasks.counting.shuffles import log_words

# (task, parameters, every string up to this length, the words up to a length that decides what may follow)
BY_GRAMMAR = [
    ("dyck_1", {}, 8, {w for r in range(10) for w in dyck(r)}),
    ("shuffle_dyck", {"k": 2}, 3, {w for r in range(5) for w in shuffle_dyck(2, r)}),
    ("shuffle_dyck", {"k": 3}, 2, {w for r in range(4) for w in shuffle_dyck(3, r)}),
    ("a_n_b_n", {"letters": 2}, 10, {blocks(2, n) for n in range(1, 12)}),
    ("a_n_b_n", {"letters": 3}, 8, {blocks(3, n) for n in range(1, 10)}),
    ("a_n_b_n", {"letters": 4}, 6, {blocks(4, n) for n in range(1, 8)}),
]
BY_REFERENCE = [
    ("dyck_1", {}, 9),
    ("shuffle_dyck", {"k": 2}, 5),
    ("shuffle_dyck", {"k": 4}, 3),
    ("a_n_b_n", {"letters": 3}, 6),
    ("boolean", {"n": 3}, 4),
    ("boolean", {"n": 5}, 3),
]


def answers(task: Task, strings: list[tuple[str, ...]]) -> list[list[str | None]]:
    """Names of the answers after every symbol, None where nothing is asked."""
    ids = {name: i for i, name in enumerate(task.tokens_names)}
    batch = task.label(torch.tensor([[ids[s] for s in string] for string in strings]))
    rows = zip(batch.targets[:, 1:].tolist(), batch.mask[:, 1:].tolist(), strict=True)
    names = task.output_names
    return [[names[t] if asked else None for t, asked in zip(*row, strict=True)] for row in rows]


@pytest.mark.parametrize(("name", "parameters", "length", "words"), BY_GRAMMAR)
def test_what_may_follow_every_string_is_what_follows_in_words(name, parameters, length, words):
    task = make_task(name, ask="next", **parameters)
    follows = prefixes_and_what_follows(words)
    strings = every_string(task.tokens_names[1:], length)
    for string, found in zip(strings, answers(task, strings), strict=True):
        for n, may_follow in enumerate(found, start=1):
            expected = follows.get(string[:n])
            assert (None if may_follow is None else set(may_follow.split())) == expected, string[:n]


@pytest.mark.parametrize(("name", "parameters", "length", "words"), BY_GRAMMAR)
def test_members_among_all_strings_are_the_words(name, parameters, length, words):
    task = make_task(name, **parameters)
    strings = every_string(task.tokens_names[1:], length)
    for string, found in zip(strings, answers(task, strings), strict=True):
        assert found == ["yes" if string[:n] in words else "no" for n in range(1, length + 1)]


@pytest.mark.parametrize(("n", "length"), [(2, 5), (3, 5), (5, 4)])
def test_complete_boolean_expressions_are_those_of_the_grammar(n, length):
    """All 4^5, 5^5 and 7^4 strings; a string is broken where it goes on after an expression."""
    task, following = make_task("boolean", n=n), make_task("boolean", n=n, ask="next")
    words = {w for size in range(1, length + 1) for w in expressions(n, size)}
    strings = every_string(task.tokens_names[1:], length)
    rows = zip(strings, answers(task, strings), answers(following, strings), strict=True)
    for string, members, sets in rows:
        for size in range(1, length + 1):
            assert (members[size - 1] == "yes") == (string[:size] in words)
            broken = any(string[:shorter] in words for shorter in range(1, size))
            assert (sets[size - 1] is None) == broken
            if not broken:
                assert (sets[size - 1] == END) == (string[:size] in words)


@pytest.mark.parametrize("ask", ["member", "next"])
@pytest.mark.parametrize(("name", "parameters", "length"), BY_REFERENCE)
def test_labels_agree_with_the_oracle_on_every_string(name, parameters, length, ask, every_string):
    task = make_task(name, ask=ask, **parameters)
    strings = every_string(task.d_vocab - 1, length)
    batch = task.label(strings)
    assert not batch.mask[:, 0].any()
    rows = zip(strings.tolist(), batch.targets[:, 1:].tolist(), batch.mask[:, 1:].tolist(), strict=True)
    for string, target, mask in rows:
        assert [t if m else None for t, m in zip(target, mask, strict=True)] == task.reference(string)


@pytest.mark.parametrize("law", ["training", "matched", "challenge"])
@pytest.mark.parametrize("ask", ["member", "next"])
@pytest.mark.parametrize("name", ["dyck_1", "shuffle_dyck", "a_n_b_n", "boolean"])
def test_long_samples_agree_with_the_oracle(name, ask, law, seeded):
    task = make_task(name, ask=ask)
    for length in (3, 30, 90):
        length = task.next_length(length)
        batch = task.sample(4, length, seeded(length), law, window=20)
        assert batch.mask[:, -1].all(), "the last query of an admissible length is always asked"
        rows = zip(batch.tokens[:, 1:].tolist(), batch.targets[:, 1:].tolist(), batch.mask[:, 1:].tolist(), strict=True)
        for string, target, mask in rows:
            assert [t if m else None for t, m in zip(target, mask, strict=True)] == task.reference(string)


@pytest.mark.parametrize("ask", ["member", "next"])
@pytest.mark.parametrize(("name", "parameters", "length"), BY_REFERENCE)
def test_update_summary_can_be_carried_on_and_determines_the_answer(name, parameters, length, ask, every_string):
    task = make_task(name, ask=ask, **parameters)
    batch = task.label(every_string(task.d_vocab - 1, min(length, 6)))
    state, tokens = batch.update_summary[:, 1:], batch.tokens[:, 1:]

    def kinds(*columns: torch.Tensor) -> int:
        return len(torch.cat([c.reshape(-1, c.shape[-1]) for c in columns], 1).unique(dim=0))

    before, symbol = state[:, :-1], tokens[:, 1:, None]
    assert kinds(before, symbol) == kinds(before, symbol, state[:, 1:])
    asked = torch.stack([batch.targets[:, 1:], batch.mask[:, 1:].long(), batch.output_summary[:, 1:]], -1)
    assert kinds(state) == kinds(state, asked)


def test_known_numbers_of_words():
    """Counted over all strings up to a length, and the closed form for two shuffled types."""
    catalan = [1, 1, 2, 5, 14, 42, 132, 429]
    assert np.exp(log_words(1, 7)[0]).round().tolist() == catalan
    assert np.exp(log_words(2, 6)[1]).round().tolist() == [catalan[r] * catalan[r + 1] for r in range(7)]
    for types, pairs in ((3, 3), (4, 2)):
        assert round(np.exp(log_words(types, pairs)[-1][pairs])) == len(shuffle_dyck(types, pairs))


def test_summaries_of_one_string_by_hand():
    dyck_1 = make_task("dyck_1").label(torch.tensor([[1, 1, 2, 2, 2, 1]]))
    assert dyck_1.update_summary[0, 1:].tolist() == [[1, 0], [2, 0], [1, 0], [0, 0], [-1, 1], [0, 1]]
    assert dyck_1.output_summary[0, 1:].tolist() == [0, 0, 0, 1, 0, 0]
    following = make_task("dyck_1", ask="next").label(torch.tensor([[1, 1, 2, 2, 2, 1]]))
    assert following.output_summary[0, 1:].tolist() == [1, 1, 1, 0, 2, 2]
    assert following.mask[0].tolist() == [False, True, True, True, True, False, False]
    boolean = make_task("boolean").label(torch.tensor([[4, 1, 3, 2, 5]]))
    assert boolean.update_summary[0, 1:].tolist() == [[2, 0], [1, 0], [1, 0], [0, 0], [2, 1]]
    abc = make_task("a_n_b_n", letters=3).label(torch.tensor([[1, 2, 3, 3]]))
    assert abc.update_summary[0, 1:].tolist() == [[1, 0, 0, 0], [1, 1, 0, 0], [1, 1, 1, 0], [1, 1, 2, 1]]


def test_admissible_lengths():
    assert make_task("dyck_1").lengths(1, 7) == [2, 4, 6]
    assert make_task("a_n_b_n", letters=3).lengths(1, 10) == [3, 6, 9]
    assert make_task("boolean").lengths(1, 5) == [3, 4, 5]


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("shuffle_dyck", {"k": 1}, "shuffle_dyck: k must be an integer at least 2 and at most 8, not 1"),
        ("a_n_b_n", {"letters": 9}, "a_n_b_n: letters must be an integer at least 2 and at most 8, not 9"),
        ("boolean", {"n": 6}, "boolean: n must be an integer at least 2 and at most 5, not 6"),
        ("boolean", {"operators": 1}, "boolean: operators must be a number above 0 and below 1, not 1"),
    ],
)
def test_impossible_parameters_are_refused_in_one_sentence(name, parameters, sentence):
    with pytest.raises(TaskError) as caught:
        make_task(name, **parameters)
    assert str(caught.value) == sentence


def test_a_window_is_answered_by_its_own_last_prefix():
    """Windows of other lengths than there are windows: each by itself, a plain guess where nothing is asked."""
    task = make_task("dyck_1", ask="next")
    windows = torch.tensor([[1, 2, 2, 1], [1, 1, 1, 2], [1, 2, 1, 2], [1, 2, 1, 1], [2, 1, 2, 1], [1, 1, 2, 2]])
    answers = [task.reference(window.tolist())[-1] for window in windows]
    assert answers == [None, 1, 0, 1, None, 0]  # after a word only an opening may follow; nothing follows a violation
    wanted = [[1.0, 1.0] if answer is None else [float(answer == 0), float(answer == 1)] for answer in answers]
    assert task.answer(windows).tolist() == wanted
