"""Misses with right counts: what counting is worth where one symbol is replaced, and where two change places."""

from __future__ import annotations

from collections import Counter
from itertools import product

import numpy as np
import pytest
import torch

from tests.support.tasks.misses import COUNTABLE, ByHand, words_of
from workbench.tasks import make_task
from workbench.tasks.registry import task_of


@pytest.mark.parametrize(
    ("name", "q_below_two"), [("bounded_dyck", False), ("abab_star", True), ("tomita", True), ("blocks_abcde", False)]
)
def test_half_of_the_misses_are_exchanges(name, q_below_two, seeded):
    """Misses of D_n end open or enter the sink, then always by an exchange; those of (abab)* by one half of the time."""
    task = make_task(name, **({"n": 2} if name == "tomita" else {}))
    batch = task.sample(4_000, 40, seeded(3), "matched")
    misses = [
        word for word, answer in zip(words_of(task, batch), batch.targets[:, -1].tolist(), strict=True) if not answer
    ]
    dead = task.acceptor.names.index("dead")
    states = batch.update_summary[batch.targets[:, -1] == 0, -1]
    sunk = (states == dead).double().mean().item()
    assert sunk == pytest.approx(1.0 if q_below_two else 0.5, abs=0.04)
    if name != "blocks_abcde":
        even = np.mean([2 * word.count(task.tokens_names[1]) == 40 for word in misses])
        assert even == pytest.approx(0.5, abs=0.04)


def test_neighbours_of_a_repetition_change_places_anywhere(seeded, assert_law):
    """(abab)* at 60: 59 pairs of neighbours, each as likely; under challenge those within the middle alone."""
    task = make_task("abab_star")
    word = torch.tensor([1, 2] * 30)
    for law, first, pairs in (("matched", 0, 59), ("challenge", 20, 19)):
        wrong = task.sample(12_000, 60, seeded(4), law, window=20).tokens[:, 1:] != word
        places = wrong.nonzero()[:, 1][wrong.sum(1)[wrong.nonzero()[:, 0]] == 2].view(-1, 2)
        assert (places[:, 1] - places[:, 0] == 1).all()
        assert_law(places[:, 0] - first, [1 / pairs] * pairs)
        assert_law(wrong.sum(1), [1 / 2, 1 / 4, 1 / 4])


# Drawn before there was the choice.
BEFORE = [
    ("bounded_dyck", {"n": 2}, 12, "matched", ["aababbaabbab", "aabbabababaa", "abababaabbaa", "abaabbaababb"]),
    ("tomita", {"n": 4}, 12, "matched", ["101101111011", "110111010000", "110100010100", "001110011001"]),
    ("abab_star", {}, 16, "training", ["abababababababab", "ababaaababababab", "ababababbbababab", "abababababababab"]),
    ("tomita", {"n": 3, "ask": "state"}, 10, "matched", ["0011100111", "0001011101", "1100111001", "0000010110"]),
    ("abd_bc", {}, 24, "challenge",
     ["aabaaaadbbccbbbdbbcccccc", "adcbccbbcccbbcbbcbcbbcbc", "aabbabaaababaaabdccbadbb", "abbbababaabbbabaabbbbbdc"]),
]  # fmt: skip
NEXT = [
    ("bounded_dyck", {"n": 3, "ask": "next"}, 10, "matched", ["abaabbaaab", "aabababaab", "aabaabbaba", "ababaaabbb"]),
    ("regular", {"ask": "next"}, 10, "matched", ["aababbaaaa", "aaaaababab", "aaaabaaaab", "babaababbb"]),
]


@pytest.mark.parametrize(("name", "parameters", "length", "law", "strings"), BEFORE + NEXT)
def test_replaced_misses_are_drawn_as_they_always_were(name, parameters, length, law, strings, seeded):
    task = make_task(name, misses="replaced", **parameters)
    assert words_of(task, task.sample(4, length, seeded(11), law, 4)) == strings
    assert (
        words_of(task, task_of({"name": name, "parameters": parameters}).sample(4, length, seeded(11), law, 4))
        == strings
    )


@pytest.mark.parametrize(("name", "parameters", "length", "law", "strings"), NEXT)
def test_what_may_follow_is_asked_of_the_same_strings_either_way(name, parameters, length, law, strings, seeded):
    mixed = make_task(name, **parameters)
    assert mixed.misses == "mixed"
    assert words_of(mixed, mixed.sample(4, length, seeded(11), law, 4)) == strings
    assert "counts" not in mixed.shortcuts(mixed.sample(4, length, seeded(11), law, 4), 4)


def test_what_may_follow_in_d_n_is_a_function_of_counts(every_string):
    task = make_task("bounded_dyck", n=3, ask="next")
    told: dict[tuple[int, int], set[int]] = {}
    for string in every_string(2, 9).tolist():
        for end, answer in enumerate(task.reference(string), start=1):
            if answer is not None:
                told.setdefault((end, string[:end].count(1)), set()).add(answer)
    assert len(told) > 10
    assert all(len(answers) == 1 for answers in told.values())


# ---- the oracle ----------------------------------------------------------------------------------
@pytest.mark.parametrize(("name", "parameters"), [*COUNTABLE, ("tomita", {"n": 5}), ("tomita", {"n": 3})])
def test_the_oracle_of_two_letters_knows_which_counts_words_have(name, parameters, every_string):
    """Right exactly where "some word of this length has these counts" is the answer; words found by derivatives."""
    task = make_task(name, **parameters)
    hand = ByHand(task)
    for n in (4, 8):
        strings = every_string(2, n)
        words = words_of(task, task.label(strings))
        counts = {word.count(task.tokens_names[1]) for word in words if hand.accepts(hand.end(word))}
        right = [(w.count(task.tokens_names[1]) in counts) == hand.accepts(hand.end(w)) for w in words]
        assert task.shortcuts(task.label(strings), 32)["counts"].bool().tolist() == right


def test_the_oracle_of_more_letters_is_the_best_answer_to_each_set_of_counts():
    task = make_task("abd_bc")
    words = ["abdc", "badc", "dabc", "bbdc", "bdbc", "cbdb", "aaaa"]
    letters = task.tokens_names
    batch = task.label(torch.tensor([[letters.index(x) for x in w] for w in words]))
    best: dict[tuple[str, ...], Counter] = {}
    for word, answer in zip(words, batch.targets[:, -1].tolist(), strict=True):
        best.setdefault(tuple(sorted(word)), Counter())[answer] += 1
    found = task.shortcuts(batch, 32)["counts"]
    assert found.sum().item() == sum(max(tally.values()) for tally in best.values()) == 5
    assert task.outside_floor == {"counts"}
    assert make_task("parity").outside_floor == frozenset()


def test_counts_say_nothing_where_there_is_one_string_per_length(seeded):
    for name, ask in product(("aa_star", "aaaa_star"), ("member", "next", "state")):
        task = make_task(name, ask=ask)
        assert "counts" not in task.shortcuts(task.sample(4, 24, seeded(0)), 8)


# ---- stored and new ------------------------------------------------------------------------------
def test_new_tasks_are_mixed_and_stored_ones_what_they_say_or_were():
    assert make_task("bounded_dyck").parameters == {"ask": "member", "misses": "mixed", "n": 2}
    assert task_of({"name": "bounded_dyck", "parameters": {"n": 3}}).parameters == {
        "ask": "member",
        "misses": "replaced",
        "n": 3,
    }
    assert task_of({"name": "bounded_dyck", "parameters": {"n": 3, "misses": "mixed"}}).misses == "mixed"
    assert task_of({"name": "majority", "parameters": {}}) == make_task("majority")
