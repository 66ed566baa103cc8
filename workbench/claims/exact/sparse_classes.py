"""Sparse functional attention in exact fractions: counterexamples, and random finite classes with their losses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from workbench.claims.claim import Row
from workbench.theory.sparse.functional_attention import (
    Content,
    SparseAttention,
    counterexamples,
)

TRAINED = 6
"""L of proposition C.3."""
LONGEST = 40
BACKGROUND = 0
"""The token that stands wherever nothing is planted."""

Gap = tuple[int, Content]
"""A distance of two positions and the tokens at them."""


def counterexample(dropped: str):  # type: ignore[no-untyped-def]
    """Return the counterexample of proposition C.3 that drops one assumption."""
    return next(case for case in counterexamples(TRAINED) if case.dropped == dropped)


def counterexample_rows(dropped: str, closed: Callable[[int], Fraction]) -> list[Row]:
    """Return the exact losses of the bad minimizer, by length; ``closed`` is their closed form beyond L."""
    case = counterexample(dropped)
    bad = case.hypotheses[case.fails]
    rows = [Row("loss inside", f"l {n}", float(case.law.loss(bad, n))) for n in range(2, TRAINED + 1)]
    for n in range(TRAINED + 1, LONGEST + 1):
        loss = float(case.law.loss(bad, n))
        rows.append(Row("loss beyond", f"l {n}", loss, expected=float(closed(n))))
        rows += [Row("loss from 2L on", f"l {n}", loss)] if n >= 2 * TRAINED else []
    return rows


def token_head(rng: np.random.Generator) -> SparseAttention[int]:
    """Return a random 1-sparse function over the tokens 1, 2 and 3."""
    admitted = {token for token in (1, 2, 3) if rng.random() < 0.5}
    values = {token: Fraction(int(rng.integers(0, 3)), 2) for token in (1, 2, 3)}
    return SparseAttention(1, lambda s, z: z[0] in admitted, lambda z: values[z[0]])


@dataclass(frozen=True)
class LocalClass:
    """A local and relative hypothesis with a realizable distribution, on strings of one background token."""

    admitted: frozenset[Gap]
    values: Mapping[Content, Fraction]

    def __call__(self, gap: int, content: Content, length: int, place: int) -> Fraction:
        """The exact value on the string with ``content`` at ``place`` and ``place + gap`` and background elsewhere.

        Admitted contents have no background token, so that only the planted pair can be admitted; else all pairs are
        averaged.
        """
        if (gap, content) in self.admitted:
            return self.values[content]
        before, between, behind = place - 1, gap - 1, length - place - gap
        first, second = content
        background = length - 2
        counts = (
            (content, 1),
            ((BACKGROUND, first), before),
            ((first, BACKGROUND), between + behind),
            ((BACKGROUND, second), before + between),
            ((second, BACKGROUND), behind),
            ((BACKGROUND, BACKGROUND), background * (background - 1) // 2),
        )
        return sum((count * self.values[pair] for pair, count in counts), Fraction(0)) / (length * (length - 1) // 2)


@dataclass(frozen=True)
class RandomClass:
    """A random finite class of local and relative hypotheses, and a distribution that the first of them realizes.

    The true hypothesis admits some (distance, content) pairs, and the distribution plants those. The others admit
    random pairs; some admit all pairs of the true one and may tie with it. With noise, a share of the strings has
    another pair with its own answer.

    Attributes:
        local: the largest distance.
        planted: the true pairs.
        values: g1 of the true hypothesis, the answers.
        hypotheses: all of the class, the true one first.
        noise: the share of other pairs.
        noisy: these pairs and their answers.
    """

    local: int
    planted: frozenset[Gap]
    values: Mapping[Content, Fraction]
    hypotheses: tuple[LocalClass, ...]
    noise: Fraction
    noisy: Mapping[Gap, Fraction]

    @staticmethod
    def draw(rng: np.random.Generator, vocabulary: int, local: int, noise: Fraction = Fraction(0)) -> RandomClass:
        """Return a class over ``vocabulary`` tokens in addition to the background."""
        contents = [pair for pair in product(range(vocabulary + 1), repeat=2) if BACKGROUND not in pair]
        pairs = [(gap, content) for gap in range(1, local + 1) for content in contents]
        true = frozenset(pairs[i] for i in rng.choice(len(pairs), int(rng.integers(1, 4)), replace=False))
        every = list(product(range(vocabulary + 1), repeat=2))
        values = {content: Fraction(int(rng.integers(0, 2))) for content in every}
        hypotheses = [LocalClass(true, values)]
        for _ in range(6):
            more = frozenset(pairs[i] for i in rng.choice(len(pairs), int(rng.integers(1, 4)), replace=False))
            other = {content: Fraction(int(rng.integers(0, 2))) for content in every}
            hypotheses += [LocalClass(true | more, values), LocalClass(more, other), LocalClass(true | more, other)]
        noisy: dict[Gap, Fraction] = {}
        if noise:
            others = [pair for pair in pairs if pair not in true]
            chosen = rng.choice(len(others), int(rng.integers(1, 4)), replace=False)
            noisy = {others[i]: Fraction(int(rng.integers(0, 2))) for i in chosen}
            # These fit the other rule and forget the true one, or one pair of it, which may pay at short lengths.
            fitting = values | {content: answer for (_, content), answer in noisy.items()}
            forgetful = [true - {pair} for pair in sorted(true)]
            hypotheses += [
                LocalClass(kept | frozenset(noisy), fitting) for kept in (true, frozenset[Gap](), *forgetful)
            ]
        return RandomClass(local, true, values, tuple(hypotheses), noise, noisy)

    def loss(self, hypothesis: LocalClass, length: int) -> Fraction:
        """Return the expected distance of a hypothesis from the answer at one length, as an exact fraction."""
        clean = _mean_distance(hypothesis, {pair: self.values[pair[1]] for pair in self.planted}, length)
        if not self.noise:
            return clean
        return (1 - self.noise) * clean + self.noise * _mean_distance(hypothesis, self.noisy, length)

    def minimisers(self, trained: int) -> list[LocalClass]:
        """Return all hypotheses with the smallest loss on lengths L/2 to L."""
        lengths = range(max(trained // 2, 2), trained + 1)
        risks = [sum((self.loss(h, n) for n in lengths), Fraction(0)) for h in self.hypotheses]
        return [h for h, risk in zip(self.hypotheses, risks, strict=True) if risk == min(risks)]

    def coverage(self, length: int) -> Fraction:
        """Return eta_l: the largest ratio between the number of positions for a pair at ``length`` and at a shorter
        length, from L_local on.
        """

        def places(law: Iterable[Gap], n: int) -> int:
            return sum(max(n - gap, 0) for gap, _ in law)

        laws = [law for law in (self.planted, frozenset(self.noisy)) if law]
        shorter = range(self.local, length + 1)
        return max(Fraction(places(law, length), few) for law in laws for n in shorter if (few := places(law, n)))


def _mean_distance(hypothesis: LocalClass, answers: Mapping[Gap, Fraction], length: int) -> Fraction:
    """Mean distance from the answers over all pairs and the positions at which they fit; 0 if none fits."""
    total, planted = Fraction(0), 0
    for (gap, content), answer in sorted(answers.items()):
        for place in range(1, length - gap + 1):
            total += abs(hypothesis(gap, content, length, place) - answer)
            planted += 1
    return total / planted if planted else Fraction(0)


def losses_of_minimisers(
    rng: np.random.Generator, vocabulary: int, local: int, trained: int, tested: tuple[int, ...]
) -> list[Fraction]:
    """Return the largest loss at the tested lengths of every minimizer of a random class on lengths L/2 to L."""
    drawn = RandomClass.draw(rng, vocabulary, local)
    return [max(drawn.loss(h, n) for n in tested) for h in drawn.minimisers(trained)]
