"""Neighbours of a symbol, needles and chains of hops: every string, the laws, and the floors."""

from __future__ import annotations

from collections import Counter
from itertools import permutations, product

import pytest
import torch

from tests.support.tasks.retrieval import NEIGHBOURS, occurrences
from workbench.tasks import make_task


@pytest.mark.parametrize("name", ["ul", "ur"])
def test_the_only_occurrence_is_anywhere(name, seeded, assert_law):
    task = make_task(name, symbols=4)
    for law in ("training", "matched"):
        batch = task.sample(8_000, 9, seeded(1), law)  # a context of 7 tokens
        assert_law(batch.meta["key_position"] - (2 if name == "ul" else 1), [1 / 6] * 6)
        assert_law(batch.tokens[:, -1] - 1, [1 / 4] * 4)
        others = (batch.tokens[:, 1:-2] - batch.tokens[:, -1:]) % 4
        assert_law(others[others != 0] - 1, [1 / 3] * 3)


@pytest.mark.parametrize("name", NEIGHBOURS[2:])
def test_the_first_and_the_last_occurrence_are_those_of_independent_symbols(name, seeded, assert_law):
    """By enumeration of all contexts of 6 over 3 symbols in which neighbour and another occurrence fit."""
    places = Counter()
    for context in product("abc", repeat=6):
        text = "".join(context)
        if "a" in text:
            place = text.rindex("a") if name.endswith("last") else text.index("a")
            room = {"nl_first": range(1, 5), "nr_first": range(4), "nl_last": range(2, 6), "nr_last": range(1, 5)}[name]
            places[place] += place in room
    total = sum(places.values())
    for law in ("training", "matched"):
        batch = make_task(name, symbols=3).sample(8_000, 8, seeded(2), law)
        assert_law(batch.meta["key_position"] - 1, [places[p] / total for p in range(6)])


@pytest.mark.parametrize("name", NEIGHBOURS[2:])
def test_a_further_occurrence_is_uniform_and_the_rest_independent(name, seeded, assert_law):
    """Over many symbols two occurrences are rare beyond the planted ones, and the neighbour is uniform."""
    task = make_task(name, symbols=200)
    batch = task.sample(6_000, 12, seeded(3), "challenge", window=30)
    found = Counter()
    for row, places in enumerate(occurrences(batch)):
        if len(places) == 2 and batch.meta["key_position"][row] == 6:
            found[places[0] if name.endswith("last") else places[1]] += 1
    allowed = {"nl_first": range(7, 11), "nr_first": range(8, 11), "nl_last": range(1, 5), "nr_last": range(1, 6)}[name]
    counts = torch.tensor([found[p] for p in allowed])
    assert counts.sum() == sum(found.values())
    assert_law(torch.repeat_interleave(torch.arange(len(counts)), counts), [1 / len(counts)] * len(counts))
    few = make_task(name, symbols=3).sample(8_000, 12, seeded(4), "challenge", window=30)
    shift = (few.targets[:, -1] + 1 - few.tokens[:, -1]) % 3
    free = name in ("nr_first", "nl_last")  # the neighbour lies where the query may occur again
    assert_law(shift, [1 / 3] * 3 if free else [0, 1 / 2, 1 / 2])
    assert_law(few.targets[:, -1], [1 / 3] * 3)


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_challenge_hides_occurrence_and_answer_from_both_windows(name, seeded, assert_law):
    batch = make_task(name).sample(8_000, 100, seeded(5), "challenge", window=20)
    low = torch.minimum(batch.meta["key_position"], batch.meta["answer_position"])
    assert_law(low - 21, [1 / 59] * 59)  # 21 .. 79, the pair ending at 80


@pytest.mark.parametrize("name", NEIGHBOURS)
def test_neighbour_shortcuts(name, seeded):
    task = make_task(name)
    challenge = task.shortcuts(task.sample(4_000, 400, seeded(6), "challenge", 50), 50)
    assert set(challenge) == {"position_only", "last_token", "last_window", "first_window"}
    for oracle, hits in challenge.items():  # the query is not its own neighbour: 1 / 4, else 1 / 5
        assert hits.mean().item() == pytest.approx(0.25 if oracle == "last_token" else 0.2, abs=0.05), oracle
    matched = task.shortcuts(task.sample(4_000, 400, seeded(7), "matched"), 50)
    if name.endswith("first"):
        assert matched["first_window"].mean() > 0.999
    elif name.endswith("last"):
        assert matched["last_window"].mean() > 0.999
    else:
        for oracle, seen in (("first_window", 49 / 397), ("last_window", 47 / 397)):
            assert matched[oracle].mean().item() == pytest.approx(seen + (1 - seen) / 5, abs=0.02)


def arrangements(context, pairs):
    """Places of the keys, the one asked about first, of all arrangements."""
    for places in permutations(range(context - 1), pairs):
        taken = [q for p in places for q in (p, p + 1)]
        if len(set(taken)) == len(taken):
            yield places[0], tuple(sorted(places[1:]))


@pytest.mark.parametrize(("context", "pairs"), [(4, 2), (5, 1), (7, 2), (8, 3)])
def test_arrangements_of_needles_are_equally_likely(context, pairs, seeded, assert_law):
    task = make_task("needle", distractors=pairs - 1, keys=pairs, values=2, fillers=1)
    every = {a: i for i, a in enumerate(dict.fromkeys(arrangements(context, pairs)))}
    batch = task.sample(12_000, context + 2, seeded(8), "matched")
    keys = [(row.nonzero()[:, 0]).tolist() for row in batch.tokens[:, 1:-2] <= pairs]
    asked = (batch.meta["key_position"] - 1).tolist()
    found = [every[a, tuple(p for p in places if p != a)] for a, places in zip(asked, keys, strict=True)]
    assert_law(torch.tensor(found), [1 / len(every)] * len(every))
    assert_law(batch.targets[:, -1], [1 / 2] * 2)


def test_challenge_needles_lie_outside_both_windows(seeded, assert_law):
    single = make_task("needle", distractors=0).sample(8_000, 100, seeded(9), "challenge", window=20)
    assert_law(single.meta["key_position"] - 21, [1 / 59] * 59)
    task = make_task("needle", distractors=4)
    batch = task.sample(4_000, 100, seeded(10), "challenge", window=20)
    assert batch.meta["key_position"].min() == 21
    assert batch.meta["answer_position"].max() == 80
    for oracle, hits in task.shortcuts(batch, 20).items():
        bound = 0.06 if oracle == "last_token" else 0.02  # the best of 16 values in 250 draws is a little above
        assert hits.mean().item() == pytest.approx(1 / 16, abs=bound), oracle


def test_challenge_hops_are_spread_uniformly(seeded, assert_law):
    task = make_task("k_hop", k=3, symbols=4)
    batch = task.sample(12_000, 60, seeded(12), "challenge", window=15)
    last = batch.meta["hop_positions"][:, 2]
    assert_law(last - 17, [1 / 29] * 29)  # the pair lies at 16, 17 at the earliest and at 44, 45 at the latest
    rows = batch.meta["hop_positions"][last == 45]
    pairs = [(a, b) for b in range(47, 60) for a in range(b + 2, 60)]  # no overlap; 60 is the query
    found = Counter(map(tuple, rows[:, :2].tolist()))
    assert set(found) <= set(pairs)
    counts = torch.tensor([found[p] for p in pairs])
    assert_law(torch.repeat_interleave(torch.arange(len(pairs)), counts), [1 / len(pairs)] * len(pairs))
    assert_law(batch.targets[:, -1], [1 / 4] * 4 + [0])


def test_hop_shortcuts(seeded):
    """The window knows nothing of the last hop; the last token is t_0, which t_2 is with probability 1/7, t_3 with 6/49."""
    for k, best in ((1, 1 / 7), (2, 1 / 7), (3, 43 / 343)):
        task = make_task("k_hop", k=k)
        found = task.shortcuts(task.sample(4_000, 400, seeded(13), "challenge", 50), 50)
        assert found["last_token"].mean().item() == pytest.approx(best, abs=0.035)
        for oracle in ("position_only", "last_window", "first_window"):
            assert found[oracle].mean().item() == pytest.approx(1 / 8, abs=0.02), (k, oracle)
