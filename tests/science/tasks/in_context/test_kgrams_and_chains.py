"""In-context k-grams and Markov chains: labels by counting, laws by Polya's rule, Bayes baselines."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction
from itertools import product

import pytest
import torch

from workbench.tasks import make_task
from workbench.tasks.in_context.chains import draw_chain

MANY = 12_000


# ---- laws ----------------------------------------------------------------------------------------
def polya(string: tuple[int, ...], k: int, symbols: int, counts: Counter) -> Fraction:
    """Probability of the string after its first k symbols, when each context has its own flat prior."""
    share = Fraction(1)
    for t in range(k, len(string)):
        context = string[t - k : t]
        total = sum(counts[context, s] for s in range(symbols))
        share *= Fraction(1 + counts[context, string[t]], symbols + total)
        counts[context, string[t]] += 1
    return share


@pytest.mark.parametrize(("k", "symbols", "length"), [(1, 2, 6), (2, 2, 6), (1, 3, 4)])
def test_every_string_of_a_chain_has_its_probability(k, symbols, length, seeded, assert_law):
    strings = list(product(range(symbols), repeat=length))
    law = [polya(s, k, symbols, Counter()) / symbols**k for s in strings]
    assert sum(law) == 1
    tokens = make_task("in_context_kgram", k=k, symbols=symbols).sample(MANY, length, seeded(k), "matched").tokens
    place = {s: i for i, s in enumerate(strings)}
    assert_law(torch.tensor([place[tuple(row)] for row in (tokens[:, 1:] - 1).tolist()]), list(map(float, law)))


def test_a_prefix_of_a_chain_has_the_law_of_the_shorter_one(seeded, assert_law):
    task, strings = make_task("in_context_kgram", k=1, symbols=2), list(product(range(2), repeat=4))
    tokens = task.sample(MANY, 20, seeded(4), "matched").tokens[:, 1:5] - 1
    place = {s: i for i, s in enumerate(strings)}
    law = [float(polya(s, 1, 2, Counter()) / 2) for s in strings]
    assert_law(torch.tensor([place[tuple(row)] for row in tokens.tolist()]), law)


def test_chains_start_as_they_go_on(seeded):
    """The first two states agree as often as any two neighbours; from a uniform start they agree in 1/3."""
    tokens = make_task("markov_chain").sample(40_000, 12, seeded(5), "matched").tokens[:, 1:]
    same = (tokens[:, 1:] == tokens[:, :-1]).double().mean(0)
    assert same.max() - same.min() < 0.015
    assert same[0] > 1 / 3 + 0.02


@pytest.mark.parametrize(("name", "parameters"), [("in_context_kgram", {"k": 2, "symbols": 4}), ("markov_chain", {})])
def test_the_key_occurs_between_the_windows_only(name, parameters, seeded, assert_law):
    window, length = 15, 120
    task = make_task(name, **parameters)
    batch = task.sample(3_000, length, seeded(6), "challenge", window)
    tokens, last = batch.tokens[:, 1:], batch.tokens[:, -1:]
    ends = torch.cat([tokens[:, :window], tokens[:, -window:-1]], 1)
    assert not (ends == last).any()
    assert (tokens[:, window : length - window] == last).any(1).double().mean() > 0.9
    symbols = task.d_vocab - 1
    assert_law(last[:, 0] - 1, [1 / symbols] * symbols)
    found = task.shortcuts(batch, window)
    floor = found["position_only"].mean() + 0.04
    assert found["first_window"].mean() < floor
    assert found["last_window"].mean() < floor


def test_avoiding_a_symbol_leaves_the_other_odds_alone(seeded, assert_law):
    """Shares .5, .3, .2 of everything; without the first they are .6 and .4."""
    shares = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64).expand(MANY, 3, 3)
    start = torch.ones(MANY, 1, dtype=torch.long)
    strings = draw_chain(shares, start, 6, seeded(7), avoid=torch.zeros(MANY, dtype=torch.long), ends=2)
    assert_law(strings[:, 1], [0, 0.6, 0.4])
    assert_law(strings[:, 2], [0.5, 0.3, 0.2])
    assert_law(strings[:, 3], [0.5, 0.3, 0.2])
    assert_law(strings[:, 5], [0, 0.6, 0.4])


@pytest.mark.parametrize(("name", "length"), [("in_context_kgram", 3), ("in_context_kgram", 40), ("markov_chain", 20)])
def test_chance_is_what_a_constant_scores_on_other_samples(name, length, seeded):
    task = make_task(name)
    for law in ("matched", "challenge"):
        batch = task.sample(3_000, length, seeded(8), law)
        hits = task.shortcuts(batch, length)["position_only"]
        assert hits.mean() == pytest.approx(task.chance(law, length), abs=0.03)
    assert task.chance("matched", length) == make_task(name).chance("matched", length)


def test_bayes_is_ahead_of_the_unigram_and_that_of_the_uniform_guess(seeded):
    """Mean loss in nats over the last half of 100 tokens; the unigram knows the stationary distribution only."""
    task = make_task("markov_chain")
    batch = task.sample(1_500, 100, seeded(9), "matched")
    loss = {
        name: task.losses(shares.log(), batch)[:, 50:-1].mean().item() for name, shares in task.baselines(batch).items()
    }
    assert loss["uniform"] == pytest.approx(math.log(3))
    assert loss["bigram"] < loss["unigram"] - 0.1 < loss["uniform"] - 0.2
    assert task.correct(task.baselines(batch)["bigram"].log(), batch)[batch.mask].all()


def test_the_law_of_shares_is_matched_in_the_limit_only(seeded):
    """The largest share, counted by hand, at the lengths that the documentation states."""
    task = make_task("in_context_kgram")
    for length, stated in ((8, 0.71), (32, 0.60), (64, 0.56), (256, 0.53), (512, 0.53)):
        found = []
        for string in task.sample(2_500, length, seeded(length), "matched").tokens[:, 1:].tolist():
            followers = Counter(b for a, b in itertools.pairwise(string) if a == string[-1])
            found.append(max(followers.values()) / followers.total() if followers else 1 / 4)
        assert sum(found) / len(found) == pytest.approx(stated, abs=0.016)
        assert f"{stated:.2f}" in type(task).__doc__
