"""Neighbours of a symbol, needles and chains of hops: every string, the laws, and the floors."""

from __future__ import annotations

from itertools import pairwise

import pytest
import torch

from tests.support.tasks.retrieval import NEIGHBOURS, occurrences
from workbench.tasks import TaskError, make_task

SIDE = {name: -1 if "l" in name.split("_")[0] else 1 for name in NEIGHBOURS}


def neighbour(name, context, query):
    """Found with str.index and str.rindex, or None."""
    text = "".join(context)
    if query not in text or (len(name) == 2 and text.count(query) > 1):
        return None
    place = (text.rindex(query) if name.endswith("last") else text.index(query)) + SIDE[name]
    return text[place : place + 1] or None if place >= 0 else None


def agree(task, strings, expected):
    """Labels, oracle and a third way agree on what is asked at the end, and nothing is asked before."""
    batch = task.label(strings)
    assert not batch.mask[:, :-1].any()
    names = task.tokens_names
    for tokens, asked, target in zip(
        strings.tolist(), batch.mask[:, -1].tolist(), batch.targets[:, -1].tolist(), strict=True
    ):
        found = task.output_names[target] if asked else None
        assert found == expected([names[t] for t in tokens]), tokens
        assert task.reference(tokens) == [None] * (len(tokens) - 1) + [target if asked else None]


@pytest.mark.parametrize(("letters", "longest"), [(2, 6), (3, 5)], ids=["1092-strings", "1364-strings"])
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbours_of_every_string_of_every_length(name, letters, longest, every_string):
    """The separator may stand anywhere: only a context, one separator and a symbol make a question."""
    task = make_task(name, symbols=letters)

    def expected(names):
        if names.count("<sep>") != 1 or len(names) < 3 or names[-2] != "<sep>":
            return None
        return neighbour(name, names[:-2], names[-1])

    for n in range(1, longest + 1):
        agree(task, every_string(letters + 1, n), expected)


@pytest.mark.parametrize("length", [6], ids=["46656-strings"])
def test_needles_of_every_string(length, every_string):
    task = make_task("needle", distractors=1, keys=2, values=2, fillers=1)

    def expected(names):
        context, query = names[:-2], names[-1]
        pairs = [b for a, b in pairwise(context) if a == query]
        if names[-2] != "<sep>" or names.count("<sep>") > 1 or query[0] != "k" or context.count(query) != 1:
            return None
        return pairs[0] if pairs and pairs[0][0] == "v" else None

    strings = every_string(6, length)
    agree(task, strings[strings[:, -2] == 6], expected)
    assert not task.label(strings[strings[:, -2] != 6]).mask.any()


def hop(tokens, k):
    """Definition by recursion: find^1(i) = max of 0 and all j <= i with x_(j-1) = x_i; find^k = find^1 of find^(k-1)."""
    find = {0: 0}
    for i in range(1, len(tokens) + 1):
        find[i] = max([0] + [j for j in range(2, i + 1) if tokens[j - 2] == tokens[i - 1]])

    def end(i):
        for _ in range(k):
            i = find[i]
        return i

    return [tokens[end(i) - 1] - 1 if end(i) else None for i in range(1, len(tokens) + 1)]


@pytest.mark.parametrize("k", [1, 2, 3])
@pytest.mark.parametrize("length", [6], ids=["729-strings"])
def test_hops_of_every_string(k, length, every_string):
    task = make_task("k_hop", k=k, symbols=3)
    strings = every_string(3, length)
    batch = task.label(strings)
    assert batch.mask[:, 1:].all()
    for tokens, row in zip(strings.tolist(), batch.targets[:, 1:].tolist(), strict=True):
        expected = [3 if answer is None else answer for answer in hop(tokens, k)]
        assert row == expected == task.reference(tokens)
    assert torch.equal(batch.output_summary[:, 1:], batch.targets[:, 1:])


@pytest.mark.parametrize("length", [5, 6, 8], ids=["243-strings", "729-strings", "6561-strings"])
@pytest.mark.parametrize("k", [1, 2])
def test_chance_of_hops_is_that_of_the_best_constant(k, length, every_string):
    task = make_task("k_hop", k=k, symbols=3)
    answers = task.label(every_string(3, length)).targets[:, -1]
    assert task.chance("matched", length) == pytest.approx(answers.bincount().max().item() / len(answers))


@pytest.mark.parametrize("law", ["training", "matched", "challenge"])
@pytest.mark.parametrize("name", NEIGHBOURS)
def test_drawn_questions_have_answers_where_meta_says(name, law, seeded):
    task = make_task(name)
    shortest = task.next_length(1)
    assert shortest == (4 if len(name) == 2 else 5)
    for length in (shortest, shortest + 1, shortest + 2, 30, 120):
        batch = task.sample(25, length, seeded(length), law, window=10)
        assert batch.mask[:, -1].all()
        assert (batch.tokens[:, -2] == task.d_vocab - 1).all()
        key, answer = batch.meta["key_position"], batch.meta["answer_position"]
        assert torch.equal(answer, key + SIDE[name])
        for row, places in enumerate(occurrences(batch)):
            assert len(places) == 1 if len(name) == 2 else len(places) >= 2
            assert key[row] == (places[-1] if name.endswith("last") else places[0])
            assert batch.tokens[row, answer[row]] - 1 == batch.targets[row, -1]
        assert [task.reference(t)[-1] for t in batch.tokens[:, 1:].tolist()] == batch.targets[:, -1].tolist()


def test_both_windows_know_the_query():
    """The query a stands at 1, at 4 and at 3 of five tokens; its right neighbour behind it."""
    task = make_task("ur", symbols=3)
    batch = task.label(torch.tensor([[1, 2, 3, 3, 3, 4, 1], [3, 3, 2, 1, 2, 4, 1], [2, 3, 1, 3, 2, 4, 1]]))
    known = {w: {k: (v == 1.0).tolist() for k, v in task.shortcuts(batch, w).items()} for w in (1, 2, 3, 4, 5)}
    assert [known[w]["first_window"] for w in (1, 2, 3, 4, 5)] == [
        [False, False, False],
        [True, False, False],
        [True, False, False],
        [True, False, True],
        [True, True, True],
    ]
    assert [known[w]["last_window"] for w in (1, 2, 3, 4, 5)] == [
        [False, False, False],  # not even the separator
        [False, False, False],
        [False, False, False],
        [False, True, False],
        [False, True, True],
    ]
    assert task.shortcuts(batch, 3)["last_window"].tolist() == [pytest.approx(1 / 3)] * 3


# ---- needles ---------------------------------------------------------------------------------------
@pytest.mark.parametrize("law", ["training", "matched", "challenge"])
@pytest.mark.parametrize("distractors", [0, 1, 5])
def test_haystacks_hold_each_key_once(distractors, law, seeded):
    task = make_task("needle", distractors=distractors, keys=8, values=4, fillers=2)
    for length in (2 * distractors + 4, 2 * distractors + 5, 60):
        batch = task.sample(25, length, seeded(length), law, window=9)
        context = batch.tokens[:, 1:-2]
        keys = context <= 8
        assert (keys.sum(1) == distractors + 1).all()
        assert ((context > 8) & (context <= 12)).sum(1).eq(distractors + 1).all()
        assert batch.mask[:, -1].all()
        for row in range(25):
            names = [task.tokens_names[t] for t in context[row]]
            assert len({n for n in names if n[0] == "k"}) == distractors + 1
            assert all(b[0] == "v" for a, b in pairwise(names) if a[0] == "k")
            assert batch.tokens[row, batch.meta["key_position"][row]] == batch.tokens[row, -1]
            answer = batch.tokens[row, batch.meta["answer_position"][row]]
            assert task.tokens_names[answer] == task.output_names[batch.targets[row, -1]]
    assert not task.admissible(2 * distractors + 3)


# ---- hops ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("k", [1, 2, 3, 6])
def test_challenge_chains_reach_their_end(k, seeded):
    task = make_task("k_hop", k=k, symbols=3)
    for length in (2 * k + 1, 2 * k + 2, 40, 200):
        batch = task.sample(60, length, seeded(length), "challenge", window=18)
        assert batch.mask.sum(1).eq(1).all()
        assert batch.mask[:, -1].all()
        assert (batch.targets[:, -1] < 3).all()
        hops = batch.meta["hop_positions"]
        assert hops.shape == (60, k)
        assert (hops[:, 1:] <= hops[:, :-1] - 2).all()
        for row, tokens in enumerate(batch.tokens.tolist()):
            assert tokens[hops[row, -1]] - 1 == batch.targets[row, -1]
            start = length
            for landed in hops[row].tolist():
                assert tokens[landed - 1] == tokens[start]
                assert tokens[start] not in tokens[landed:start]
                start = landed
        if length == 200:
            assert hops[:, -1].min() > 19
            assert hops[:, -1].max() <= 182


def test_hop_positions_of_the_training_law(seeded):
    batch = make_task("k_hop", k=2, symbols=3).sample(300, 6, seeded(11))
    for tokens, landed, target in zip(
        batch.tokens.tolist(), batch.meta["hop_positions"].tolist(), batch.targets[:, -1].tolist(), strict=True
    ):
        assert [tokens[p] - 1 for p in landed if p] == [
            a for a in (hop(tokens[1:], j)[-1] for j in (1, 2)) if a is not None
        ]
        assert target == (tokens[landed[1]] - 1 if landed[1] else 3)


def test_hops_are_prefix_closed_but_for_the_challenge():
    task = make_task("k_hop")
    assert [task.prefix_closed(law) for law in ("training", "matched", "challenge")] == [True, True, False]
    assert not make_task("ul").prefix_closed("matched")


@pytest.mark.parametrize(
    ("name", "parameters", "sentence"),
    [
        ("k_hop", {"symbols": 2}, "k_hop: symbols must be an integer at least 3 and at most 128, not 2"),
        ("k_hop", {"k": 0}, "k_hop: k must be an integer at least 1 and at most 16, not 0"),
        (
            "needle",
            {"distractors": 4, "keys": 4},
            "needle: distractors must be at most keys - 1 = 3, because all keys differ, not 4",
        ),
        ("ur", {"symbols": 1}, "ur: symbols must be an integer at least 2 and at most 256, not 1"),
    ],
)
def test_impossible_retrieval_is_refused(name, parameters, sentence):
    with pytest.raises(TaskError) as caught:
        make_task(name, **parameters)
    assert str(caught.value) == sentence
