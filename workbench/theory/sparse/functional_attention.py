"""Sparse functional attention and the sparse planted correlations that it fits, in exact arithmetic.

"The Role of Sparsity for Length Generalization in Transformers" (Golowich et al., arXiv 2502.16792). A hypothesis of
the class attends to *sets* of k positions: h(x) = sum over S of softmax_S(g0(S, x_S)) g1(x_S) (definition 3.3). If all
values of g0 are 0 or -inf, h(x) is the plain mean of g1 over the admitted sets, or over all sets if none is admitted.
That is a rational number. Positions count from 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, product
from typing import Generic, TypeVar

import numpy as np

from workbench.theory.errors import TheoryError

T = TypeVar("T")
Places = tuple[int, ...]
"""k positions of a string, ascending."""
Content = tuple[int, ...]
"""The tokens at k positions, or a whole string."""
Chances = Mapping[Content, Fraction]
LARGEST_BACKGROUND = 100_000
"""Largest number of backgrounds that an exact expectation enumerates, for one set of positions and content."""


@dataclass(frozen=True)
class SparseAttention(Generic[T]):
    """h_{g0, g1} with scores 0 and -inf, on strings of any tokens.

    Attributes:
        k: size of the sets.
        admits: ``admits(positions, content)``: whether g0 is 0 there, not -inf.
        value: ``value(content)``: g1.
    """

    k: int
    admits: Callable[[Places, tuple[T, ...]], bool]
    value: Callable[[tuple[T, ...]], Fraction]

    def __call__(self, x: tuple[T, ...]) -> Fraction:
        """Return the exact value on a string.

        Raises:
            TheoryError: for a string of fewer than k tokens.
        """
        if len(x) < self.k:
            raise TheoryError(f"a sequence needs at least k = {self.k} tokens, not {len(x)}")
        # Many sets have the same content, and fractions are slow to make and to add.
        admitted, every = Counter[tuple[T, ...]](), Counter[tuple[T, ...]]()
        for positions in combinations(range(1, len(x) + 1), self.k):
            content = tuple(x[i - 1] for i in positions)
            every[content] += 1
            if self.admits(positions, content):
                admitted[content] += 1
        contents = admitted or every
        return sum((count * self.value(content) for content, count in contents.items()), Fraction(0)) / contents.total()


@dataclass(frozen=True)
class Planted:
    """A k-sparse planted correlation (definition 3.2): the answer depends on the tokens at hidden positions.

    Attributes:
        positions: ``positions(length)``: distribution of S*.
        content: distribution of the tokens Z at S*.
        background: distribution of every other token, independent; one-token contents.
        answer: Y = g*(Z).
    """

    positions: Callable[[int], Mapping[Places, Fraction]]
    content: Chances
    background: Chances
    answer: Callable[[Content], Fraction]

    def outcomes(self, length: int) -> Iterator[tuple[Fraction, Places, Content, Fraction]]:
        """Yield every (probability, S*, string, answer); the probabilities sum to 1.

        Raises:
            TheoryError: if there are too many backgrounds to enumerate.
        """
        for positions, chance in self.positions(length).items():
            free = [i for i in range(1, length + 1) if i not in positions]
            if len(self.background) ** len(free) > LARGEST_BACKGROUND:
                raise TheoryError(
                    f"{len(self.background)} background tokens at {len(free)} positions give too many sequences to "
                    "list; draw a sample instead"
                )
            for (z, of_content), backs in product(
                self.content.items(), product(self.background.items(), repeat=len(free))
            ):
                weight = chance * of_content
                string = dict(zip(positions, z, strict=True))
                for position, ((token,), of_token) in zip(free, backs, strict=True):
                    string[position] = token
                    weight *= of_token
                yield weight, positions, tuple(string[i] for i in range(1, length + 1)), self.answer(z)

    def loss(self, hypothesis: Callable[[Content], Fraction], length: int) -> Fraction:
        """Return the expected distance of a hypothesis from the answer at one length, exactly."""
        return sum((p * abs(hypothesis(x) - y) for p, _, x, y in self.outcomes(length)), Fraction(0))

    def sample(self, length: int, rng: np.random.Generator) -> tuple[Places, Content, Fraction]:
        """Draw one (S*, string, answer)."""
        positions, z = _draw(self.positions(length), rng), _draw(self.content, rng)
        planted = dict(zip(positions, z, strict=True))
        x = tuple(planted[i] if i in planted else _draw(self.background, rng)[0] for i in range(1, length + 1))
        return positions, x, self.answer(z)


def uniform(outcomes: Iterable[Content]) -> dict[Content, Fraction]:
    """Return the uniform distribution on some tuples."""
    listed = list(outcomes)
    return dict.fromkeys(listed, Fraction(1, len(listed)))


def span(positions: Places) -> int:
    """Return the distance between the first and the last of some positions."""
    return positions[-1] - positions[0]


def pairs_at(length: int, distance: int) -> list[Places]:
    """Return all pairs of positions at a distance."""
    return [(i, i + distance) for i in range(1, length - distance + 1)]


# ---- proposition C.3: every assumption of theorem 4.3 is needed -------------------------------------
@dataclass(frozen=True)
class Counterexample:
    """One case of proposition C.3: without one assumption, a hypothesis that is perfect up to L fails beyond.

    Attributes:
        dropped: the assumption that is violated.
        law: the planted correlation (k = 2, tokens 1 and 2, content (2, 2), background 1).
        hypotheses: two hypotheses of the class, by name.
        fails: the one that a learner may choose and that fails beyond L.
    """

    dropped: str
    law: Planted
    hypotheses: Mapping[str, SparseAttention[int]]
    fails: str


def counterexamples(longest: int) -> list[Counterexample]:
    """Return the rows of proposition C.3 with L = ``longest``.

    Two readings differ from the printed text, because the text contradicts itself. Without locality the distribution is
    realised by h_{g01}. Without realizability the hypotheses are h_{g00} and h_{g01} with g1.

    Raises:
        TheoryError: for L below 3.
    """
    if longest < 3:
        raise TheoryError(f"proposition C.3 needs a training length of at least 3, not {longest}")
    pair = (2, 2)

    def attention(admits: Callable[[Places, Content], bool]) -> SparseAttention[int]:
        return SparseAttention(2, admits, lambda content: Fraction(content == pair))

    def law(beyond: Callable[[int], Mapping[Places, Fraction]]) -> Planted:
        def positions(length: int) -> Mapping[Places, Fraction]:
            return uniform(pairs_at(length, 1)) if length <= longest else beyond(length)

        return Planted(positions, {pair: Fraction(1)}, {(1,): Fraction(1)}, lambda content: Fraction(1))

    def mostly_at_two(length: int) -> dict[Places, Fraction]:
        near = {s: p / 10 for s, p in uniform(pairs_at(length, 1)).items()}
        return near | {s: 9 * p / 10 for s, p in uniform(pairs_at(length, 2)).items()}

    adjacent = attention(lambda s, z: span(s) == 1 and z == pair)
    at_two = attention(lambda s, z: span(s) == 2 and z == pair)
    anywhere = attention(lambda s, z: z == pair)
    return [
        Counterexample(
            "locality",
            law(lambda n: uniform([*pairs_at(n, 1), *pairs_at(n, longest)])),
            {"g00": attention(lambda s, z: z == pair or span(s) >= longest), "g01": anywhere},
            "g00",
        ),
        Counterexample(
            "relative positions",
            law(lambda n: uniform(pairs_at(n, 1))),
            {
                "g00": adjacent,
                "g01": attention(lambda s, z: (span(s) == 1 and z == pair) or (span(s) == 2 and s[-1] > longest)),
            },
            "g01",
        ),
        Counterexample("realizability", law(mostly_at_two), {"g00": adjacent, "g01": at_two}, "g00"),
        Counterexample("coverage", law(lambda n: uniform(pairs_at(n, 2))), {"g00": adjacent, "g01": anywhere}, "g00"),
    ]


def _draw(law: Mapping[Content, Fraction], rng: np.random.Generator) -> Content:
    outcomes = list(law)
    return outcomes[int(rng.choice(len(outcomes), p=[float(law[o]) for o in outcomes]))]
