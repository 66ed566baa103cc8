"""Sparse functional attention in exact fractions: proposition C.3, closed forms, the sampler, position coupling."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction as F

import numpy as np
import pytest

from workbench.theory.errors import TheoryError
from workbench.theory.sparse import functional_attention as sparse
from workbench.theory.sparse.functional_attention import (
    Counterexample,
    Planted,
    SparseAttention,
    counterexamples,
    pairs_at,
    uniform,
)
from workbench.theory.sparse.position_coupling import CoupledAttention, CoupledLaw, expand, is_local_coupling

CASES = {case.dropped: case for case in counterexamples(6)}
BEYOND = {
    ("locality", "g00"): (F(3, 7), F(227, 238), F(6802, 6993)),
    ("locality", "g01"): (F(0), F(0), F(0)),
    ("relative positions", "g00"): (F(0), F(0), F(0)),
    ("relative positions", "g01"): (F(1, 2), F(6, 7), F(8, 9)),
    ("realizability", "g00"): (F(6, 7), F(39, 44), F(81, 91)),
    ("realizability", "g01"): (F(2, 21), F(13, 132), F(9, 91)),
    ("coverage", "g00"): (F(20, 21), F(65, 66), F(90, 91)),
    ("coverage", "g01"): (F(0), F(0), F(0)),
}


@pytest.mark.parametrize(("dropped", "name"), BEYOND)
def test_proposition_c_3(dropped: str, name: str) -> None:
    case = CASES[dropped]
    losses = tuple(case.law.loss(case.hypotheses[name], n) for n in (7, 12, 14))
    assert losses == BEYOND[dropped, name]


@pytest.mark.parametrize("case", CASES.values(), ids=lambda case: case.dropped)
def test_what_fails_beyond_is_perfect_up_to_the_training_length(case: Counterexample) -> None:
    for length in range(2, 7):
        assert case.law.loss(case.hypotheses[case.fails], length) == 0
    assert case.law.loss(case.hypotheses[case.fails], 9) > F(1, 2)


def test_closed_forms() -> None:
    for n in (8, 11):
        m = F((n - 6) * (n - 5), 2)
        adjacent, apart = n - 1, n - 6
        locality = (adjacent * m / (m + 1) + apart * (1 - 1 / m)) / (adjacent + apart)
        assert CASES["locality"].law.loss(CASES["locality"].hypotheses["g00"], n) == locality
        assert CASES["relative positions"].law.loss(CASES["relative positions"].hypotheses["g01"], n) == F(n - 6, n - 5)
        missed = 1 - F(2, n * (n - 1))
        assert CASES["coverage"].law.loss(CASES["coverage"].hypotheses["g00"], n) == missed
        assert CASES["realizability"].law.loss(CASES["realizability"].hypotheses["g00"], n) == F(9, 10) * missed


def test_one_place_is_an_attention_head_with_scores_zero_and_minus_infinity() -> None:
    head = SparseAttention(1, lambda s, z: z == (3,) or s == (1,), lambda z: F(z[0]))
    x = (5, 2, 3, 3, 7)
    scores = np.array([0.0, -np.inf, 0.0, 0.0, -np.inf])
    weights = np.exp(scores) / np.exp(scores).sum()
    assert float(head(x)) == pytest.approx(weights @ np.array(x))
    nothing = SparseAttention(1, lambda s, z: False, lambda z: F(z[0]))
    assert nothing(x) == F(sum(x), 5)  # no score left: the plain mean


def test_too_short_a_string_is_refused() -> None:
    with pytest.raises(TheoryError, match="k = 3 tokens"):
        SparseAttention(3, lambda s, z: True, lambda z: F(1))((1, 2))


LAW = Planted(
    positions=lambda n: uniform(pairs_at(n, 1)),
    content={(2, 3): F(1, 4), (3, 2): F(3, 4)},
    background={(0,): F(1, 2), (1,): F(1, 2)},
    answer=lambda z: F(z[0] - 2),
)


def test_outcomes_are_a_law() -> None:
    outcomes = list(LAW.outcomes(4))
    assert sum(p for p, *_ in outcomes) == 1
    assert len(outcomes) == 3 * 2 * 4


def test_the_sampler_draws_that_law() -> None:
    rng = np.random.default_rng(0)
    seen = Counter(LAW.sample(3, rng) for _ in range(2_000))
    for chance, places, x, answer in LAW.outcomes(3):
        assert seen[places, x, answer] / 2_000 == pytest.approx(float(chance), abs=0.035)
    assert len(seen) == len(list(LAW.outcomes(3)))


def test_too_many_backgrounds_are_not_gone_through() -> None:
    with pytest.raises(TheoryError, match="sample"):
        next(LAW.outcomes(30))


# ---- position coupling ---------------------------------------------------------------------------
def far_apart(length: int) -> dict[tuple[int, ...], F]:
    """Pairs as far apart as half the string: not local at all."""
    half = length // 2
    return uniform((i, i + half) for i in range(1, length - half + 1))


FAR = Planted(far_apart, {(2, 2): F(1)}, {(1,): F(1)}, lambda z: F(1))
FOUND = SparseAttention(2, lambda s, z: z == (2, 2), lambda z: F(z == (2, 2)))


def test_expansion_sorts_by_rank_and_drops_duplicates() -> None:
    assert expand((((2, 7),), ((1, 5), (2, 7)))) == ((1, 5), (2, 7))


def test_coupling_makes_a_far_problem_local_at_every_length() -> None:
    """Both places share one image, every other place keeps its own: local with span 0."""

    def coupling(places: tuple[int, ...], length: int):  # type: ignore[no-untyped-def]
        return lambda j: places[0] if j in places else j

    coupled = CoupledLaw(FAR, 2, coupling)
    hypothesis = CoupledAttention(FOUND, size=1, local=0)
    for length in (4, 5, 7):
        assert coupled.loss(hypothesis, length) == 0
        for places in far_apart(length):
            assert is_local_coupling(coupling(places, length), places, length, 0)
    rng = np.random.default_rng(0)
    places, x, answer = coupled.sample(9, rng)
    assert x[places[0] - 1] == ((1, 2), (2, 2))
    assert len(x[places[1] - 1]) == 1  # nothing is mapped there: rank and token are drawn
    assert hypothesis(x) == answer == 1


def test_without_coupling_a_local_hypothesis_fails_on_it() -> None:
    identity = CoupledLaw(FAR, 2, lambda places, length: lambda j: j)
    local = CoupledAttention(FOUND, size=2, local=1)
    assert identity.loss(local, 4) > F(1, 2)
    wide = CoupledAttention(FOUND, size=2, local=3)
    assert identity.loss(wide, 4) == 0


def test_ranks_of_other_tokens_are_drawn_from_the_ranks_that_exist() -> None:
    identity = CoupledLaw(FAR, 2, lambda places, length: lambda j: j)
    rng = np.random.default_rng(1)
    ranks = Counter(pair[0] for _ in range(200) for symbol in identity.sample(6, rng)[1] for pair in symbol)
    assert set(ranks) == {1, 2}


def test_impossible_couplings_are_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(TheoryError, match="sequence"):
        CoupledLaw(FAR, 2, lambda places, length: lambda j: j + 1).sample(4, rng)
    with pytest.raises(TheoryError, match="the same id as another position"):
        CoupledLaw(FAR, 2, lambda places, length: lambda j: 1).sample(5, rng)


def test_sets_of_places_from_the_smallest_string_on(monkeypatch: pytest.MonkeyPatch) -> None:
    anywhere: sparse.SparseAttention[int] = sparse.SparseAttention(2, lambda s, z: z == (2, 2), lambda z: F(sum(z)))
    assert anywhere((2, 2)) == 4
    assert anywhere((1, 2)) == 3, "where none is admitted all are"
    assert anywhere((1, 2, 2)) == 4
    with pytest.raises(TheoryError, match="k = 2 tokens, not 1"):
        anywhere((2,))
    assert sparse.pairs_at(4, 2) == [(1, 3), (2, 4)]
    assert sparse.pairs_at(2, 2) == []
    assert sparse.span((2, 3, 7)) == 5
    assert sparse.uniform([(1,), (2,)]) == {(1,): F(1, 2), (2,): F(1, 2)}
    assert len(sparse.counterexamples(3)) == 4
    with pytest.raises(TheoryError, match="at least 3, not 2"):
        sparse.counterexamples(2)
    law = sparse.Planted(
        lambda n: sparse.uniform(sparse.pairs_at(n, 1)), {(2, 2): F(1)}, {(0,): F(1, 2), (1,): F(1, 2)}, lambda z: F(1)
    )
    monkeypatch.setattr(sparse, "LARGEST_BACKGROUND", 4)
    assert sum(chance for chance, *_ in law.outcomes(4)) == 1
    with pytest.raises(TheoryError, match="3 positions"):
        list(law.outcomes(5))


@pytest.mark.parametrize(("psi", "local", "holds"), [
    ({1: 1, 2: 2, 3: 3, 4: 4}, 3, True), ({1: 1, 2: 2, 3: 3, 4: 4}, 2, False), ({1: 1, 2: 2, 3: 3, 4: 1}, 0, True), ({1: 1, 2: 2, 3: 2, 4: 1}, 0, False),
    ({1: 1, 2: 1, 3: 3, 4: 4}, 3, False),
])  # fmt: skip
def test_local_couplings(psi: dict[int, int], local: int, holds: bool) -> None:
    """The answer depends on places 1 and 4 of 4."""
    assert is_local_coupling(psi.__getitem__, (1, 4), 4, local) == holds


def test_coupled_attention_admits_one_token_of_each_rank_within_its_span() -> None:
    inner: sparse.SparseAttention[int] = sparse.SparseAttention(2, lambda s, z: True, lambda z: F(10 * z[0] + z[1]))
    far = CoupledAttention(inner, 2, 1, F(-1))
    assert far((((1, 3),), ((2, 4),))) == 34
    assert far((((1, 3),), ((1, 9),), ((2, 4),))) == F(94)
    assert far((((1, 3),), ((1, 5),))) == -1
    assert CoupledAttention(inner, 1, 0)((((1, 3), (2, 4)), ((1, 7),))) == 34
