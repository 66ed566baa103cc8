"""The law of strings over an automaton, against an enumeration that knows nothing of transition tables."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
import torch
from scipy.stats import chi2_contingency

from workbench.tasks import make_task
from workbench.tasks.automata import string_sampling
from workbench.tasks.automata.regex import Expression, derivative, equivalent, nullable, parse
from workbench.tasks.regular.regular_task import RegularTask

MANY = 12_000
RARER = Fraction(1, 10**15)
"""What is left where 64 tries all find nothing."""
NAMED = [
    ("tomita", {"n": 1}),
    ("tomita", {"n": 2}),
    ("tomita", {"n": 3}),
    ("tomita", {"n": 4}),
    ("tomita", {"n": 5}),
    ("tomita", {"n": 6}),
    ("tomita", {"n": 7}),
    ("bounded_dyck", {"n": 2}),
    ("bounded_dyck", {"n": 3}),
    ("abab_star", {}),
    ("blocks_abcde", {}),
    ("abd_bc", {}),
    ("zero_two", {}),
    ("last_nonneutral_a", {}),
    ("alternating_blocks", {"k": 3}),
    ("regular", {"regex": "(a|b)*bb(a|b)*"}),
    ("regular", {"regex": "a(a|b)*|b*"}),
]


class Brute:
    """A language by derivatives of its expression, states being terms that mean the same."""

    def __init__(self, task: RegularTask) -> None:
        self.alphabet = task.tokens_names[1:]
        self.terms: list[Expression] = []
        self.start = self.state(parse(task.expression))

    def state(self, term: Expression) -> int:
        for i, known in enumerate(self.terms):
            if equivalent(term, known, self.alphabet):
                return i
        self.terms.append(term)
        return len(self.terms) - 1

    def step(self, state: int, symbol: str) -> int:
        return self.state(derivative(self.terms[state], symbol))

    def path(self, word: tuple[str, ...], start: int | None = None) -> list[int]:
        states = [self.start if start is None else start]
        for symbol in word:
            states.append(self.step(states[-1], symbol))
        return states

    def accepts(self, state: int) -> bool:
        return nullable(self.terms[state])

    def sink(self, state: int) -> bool:
        return all(self.step(state, symbol) == state for symbol in self.alphabet)

    def words(self, length: int) -> list[tuple[str, ...]]:
        return list(product(self.alphabet, repeat=length))


def matched_law(brute: Brute, length: int, misses: str) -> dict[tuple[str, ...], Fraction]:
    """Exact probability of every string, for membership: rules 2 to 4 of the law, by enumeration."""
    kinds: dict[bool, dict[int | None, list[tuple[str, ...]]]] = {True: defaultdict(list), False: defaultdict(list)}
    for word in brute.words(length):
        end = brute.path(word)[-1]
        kinds[brute.accepts(end)][end if brute.sink(end) else None].append(word)
    answers = [answer for answer in (True, False) if kinds[answer]]
    law: dict[tuple[str, ...], Fraction] = defaultdict(Fraction)
    for answer in answers:
        for sink, words in kinds[answer].items():
            share = Fraction(1, len(answers) * len(kinds[answer]))
            around = kinds[not answer].get(None) or kinds[answer].get(None)
            if sink is None or not around:
                for word in words:
                    law[word] += share / len(words)
                continue
            odds = min(Fraction(1), Fraction(len(kinds[answer]), 2)) if misses == "mixed" else Fraction(0)
            for word in around:
                left = exchange(brute, law, word, sink, odds * share / len(around))
                miss(brute, law, word, sink, words, (1 - odds) * share / len(around) + left)
    return law


def exchange(brute, law, word, sink, share) -> Fraction:
    """Spread a share over the strings that ``word`` becomes when two symbols are exchanged; what is left of it."""
    pairs = [pair for pair in combinations(range(len(word)), 2) if word[pair[0]] != word[pair[1]]]
    swapped = {}
    for i, j in pairs:
        other = list(word)
        other[i], other[j] = word[j], word[i]
        if brute.path(tuple(other))[-1] == sink:
            swapped[i, j] = tuple(other)
    near = {pair: other for pair, other in swapped.items() if pair[1] == pair[0] + 1}
    # Neighbours whose exchange ends in the sink, but only later, are no neighbours of the rule.
    near = {(i, j): other for (i, j), other in near.items() if brute.path(other)[j + 1] == sink}
    found = 1 if near else 1 - (1 - Fraction(len(swapped), max(1, len(pairs)))) ** 64
    for other in (near or swapped).values():
        law[other] += share * found / len(near or swapped)
    return share * (1 - found)


def miss(brute, law, word, sink, words, share) -> None:
    """Spread a share over the strings that ``word`` becomes when one symbol of it leads into the sink."""
    before = brute.path(word)
    leading = [[s for s in brute.alphabet if brute.step(state, s) == sink] for state in before[:-1]]
    places = [place for place, symbols in enumerate(leading) if symbols]
    for place in places:
        for symbol in leading[place]:
            changed = (*word[:place], symbol, *word[place + 1 :])
            law[changed] += share / len(places) / len(leading[place])
    if not places:
        for other in words:
            law[other] += share / len(words)


def named(task: RegularTask, batch) -> list[tuple[str, ...]]:
    names = task.tokens_names
    return [tuple(names[i] for i in row) for row in batch.tokens[:, 1:].tolist()]


def drawn(task: RegularTask, length: int, law: str, seeded, window: int | None = None) -> list[tuple[str, ...]]:
    return named(task, task.sample(MANY, length, seeded(length), law, window))


@pytest.mark.parametrize(
    ("name", "parameters", "length"),
    [
        ("tomita", {"n": 1}, 5),
        ("tomita", {"n": 2}, 6),
        ("tomita", {"n": 3}, 6),
        ("tomita", {"n": 4}, 6),
        ("tomita", {"n": 4}, 3),
        ("tomita", {"n": 5}, 6),
        ("tomita", {"n": 6}, 6),
        ("tomita", {"n": 7}, 6),
        ("bounded_dyck", {"n": 2}, 6),
        ("bounded_dyck", {"n": 3}, 6),
        ("abab_star", {}, 4),
        ("abd_bc", {}, 3),
        ("zero_two", {}, 4),
        ("alternating_blocks", {"k": 3}, 6),
        ("regular", {"regex": "(a|b)*bb(a|b)*"}, 6),
        ("regular", {"regex": "a(a|b)*|b*"}, 4),
    ],
)
@pytest.mark.parametrize("misses", ["replaced", "mixed"])
def test_matched_strings_have_the_stated_law(name, parameters, length, misses, seeded, assert_law):
    """Exact probabilities of all 16 to 81 strings, in fractions; and the same ones where they are listed."""
    task = make_task(name, misses=misses, **parameters)
    brute = Brute(task)
    words = brute.words(length)
    law = matched_law(brute, length, misses)
    assert sum(law.values()) == 1
    support = task.support("matched", length)
    assert support is not None
    listed = dict(zip(named(task, support.batch), support.probabilities.tolist(), strict=True))
    law = {word: share for word, share in law.items() if share > RARER}
    assert listed == {word: pytest.approx(float(share), abs=1e-12) for word, share in law.items()}
    index = {word: i for i, word in enumerate(words)}
    codes = torch.tensor([index[word] for word in drawn(task, length, "matched", seeded)])
    assert_law(codes, [float(law.get(word, 0)) for word in words])


def open_windows(brute: Brute, length: int, margin: int) -> dict[tuple[tuple[str, ...], tuple[str, ...]], Fraction]:
    """Exact probability of every pair of a head and a tail: rule 1 of the law, by enumeration."""
    heads: dict[int, list[tuple[str, ...]]] = defaultdict(list)
    for head in brute.words(margin):
        heads[brute.path(head)[-1]].append(head)
    tails: dict[int, list[tuple[str, ...]]] = {}
    for entry in heads:
        reached = {brute.path(middle, entry)[-1] for middle in brute.words(length - 2 * margin)}
        open_ones = []
        for tail in brute.words(margin):
            answers = {brute.accepts(brute.path(tail, state)[-1]) for state in reached}
            if len(answers) == 2:
                open_ones.append(tail)
        if open_ones:
            tails[entry] = open_ones
    law = {}
    for entry, some in tails.items():
        share = Fraction(1, len(tails) * len(heads[entry]) * len(some))
        law.update({(head, tail): share for head in heads[entry] for tail in some})
    return law


@pytest.mark.parametrize(("name", "parameters"), NAMED)
def test_challenge_windows_have_the_stated_law_and_betray_nothing(name, parameters, seeded, assert_law):
    """Both windows of 2 symbols around a middle of 4: their joint law is exact, and the answer a coin given them."""
    task = make_task(name, **parameters)
    brute, length, margin = Brute(task), 8, 2
    law = open_windows(brute, length, margin)
    assert law
    assert sum(law.values()) == 1
    batch = task.sample(MANY, length, seeded(1), "challenge", window=margin)
    names = task.tokens_names
    strings = [tuple(names[i] for i in row) for row in batch.tokens[:, 1:].tolist()]
    pairs = list(law)
    index = {pair: i for i, pair in enumerate(pairs)}
    seen = torch.tensor([index[word[:margin], word[-margin:]] for word in strings])
    assert_law(seen, [float(law[pair]) for pair in pairs])

    answer = batch.targets[:, -1]
    assert_law(answer, [0.5, 0.5])
    if len(pairs) > 1:
        table = np.zeros((len(pairs), 2))
        np.add.at(table, (seen.numpy(), answer.numpy()), 1)
        assert chi2_contingency(table).pvalue > 1e-3


@pytest.mark.parametrize("ask", ["member", "next", "state"])
@pytest.mark.parametrize(("name", "parameters"), NAMED)
def test_shares_are_those_of_samples_and_answers_are_spread_evenly(name, parameters, ask, seeded):
    try:
        task = make_task(name, **parameters, ask=ask)
    except ValueError:
        assert (name, parameters, ask) == ("tomita", {"n": 1}, "next")
        return
    length = task.next_length(30)
    for law, margin in (("matched", 0), ("challenge", task.string_law.margin(length, 6))):
        shares = task.string_law.shares(length, margin)
        batch = task.sample(8_000, length, seeded(3), law, window=6)
        assert batch.mask[:, -1].all()
        seen = torch.bincount(batch.targets[:, -1], minlength=len(shares)) / len(batch)
        assert seen.numpy() == pytest.approx(shares, abs=0.025)
        if not margin:
            assert len(set(shares[shares > 0].round(9))) == 1
            assert set(np.flatnonzero(shares).tolist()) == set(task.rhythm.at(length))


def test_near_misses_are_one_symbol_away_from_the_language_and_lie_anywhere(seeded, assert_law):
    """At length 60, blocks with a wrong symbol: each tenth of the string has it about as often."""
    task = make_task("abab_star", misses="replaced")
    batch = task.sample(MANY, 60, seeded(4), "matched")
    wrong = batch.tokens[:, 1:] != torch.tensor([1, 2] * 30)
    assert torch.equal(wrong.sum(1) == 0, batch.targets[:, -1] == 1)
    assert wrong.sum(1).max() == 1
    assert_law(wrong.nonzero()[:, 1], [1 / 60] * 60)
    challenge = task.sample(MANY, 60, seeded(5), "challenge", window=20)
    wrong = challenge.tokens[:, 1:] != torch.tensor([1, 2] * 30)
    assert_law(wrong.nonzero()[:, 1] - 20, [1 / 20] * 20)


def test_where_the_last_tokens_always_decide_challenge_is_the_matched_law(seeded):
    task = make_task("tomita", n=4, ask="next")
    assert task.string_law.margin(100, 10) == 0
    once, again = (task.sample(50, 100, seeded(6), law, window=10).tokens for law in ("matched", "challenge"))
    assert torch.equal(once, again)


def test_too_many_sets_of_states_are_not_followed(seeded, monkeypatch):
    monkeypatch.setattr(string_sampling, "MOST_SUBSETS", 2)
    task = make_task("bounded_dyck", n=3)
    assert task.string_law.margin(60, 10) == 0
    task.sample(4, 60, seeded(7), "challenge", window=10)


def test_long_strings_are_drawn_exactly(seeded):
    """At length 1000, where there are more words than a double can count."""
    task = make_task("bounded_dyck", n=4)
    for law in ("matched", "challenge"):
        batch = task.sample(6, 1000, seeded(8), law, window=50)
        assert 0 < batch.targets[:, -1].sum() < 6
        for row in range(6):
            assert task.reference(batch.tokens[row, 1:].tolist())[-1] == batch.targets[row, -1]
