"""What the claims on sparse attention compute, against strings gone through one by one."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from workbench.claims.exact.overlapping_windows import ROUNDING, SHORT, Chain
from workbench.claims.exact.sparse_classes import LocalClass, RandomClass
from workbench.claims.suites.golowich_exact import distances_of_windows, printed_and_coupled_ids
from workbench.theory.sparse.functional_attention import SparseAttention


def drawn(seed: int, noise: Fraction = Fraction(0)) -> RandomClass:
    return RandomClass.draw(np.random.default_rng(seed), vocabulary=2, local=3, noise=noise)


def by_string(hypothesis: LocalClass, gap: int, content: tuple[int, ...], length: int, place: int) -> Fraction:
    """The same value by going through all pairs of places."""
    planted = {place: content[0], place + gap: content[1]}
    every = SparseAttention[int](
        2, lambda s, z: (s[1] - s[0], z) in hypothesis.admitted, lambda z: hypothesis.values[z]
    )
    return every(tuple(planted.get(i, 0) for i in range(1, length + 1)))


@pytest.mark.parametrize("seed", range(4))
def test_a_local_hypothesis_is_sparse_attention_on_the_string(seed: int) -> None:
    for hypothesis in drawn(seed).hypotheses[:7]:
        for gap, content in product((1, 2, 3), [(1, 1), (1, 2), (2, 2)]):
            for place in (1, 3, 8 - gap):
                assert hypothesis(gap, content, 8, place) == by_string(hypothesis, gap, content, 8, place)


def test_noise_is_a_share_of_strings_with_another_pair() -> None:
    noisy = drawn(3, Fraction(1, 5))
    assert noisy.noisy
    assert not set(noisy.noisy) & noisy.planted

    def mean(law: dict[tuple[int, tuple[int, ...]], Fraction], hypothesis: LocalClass) -> Fraction:
        distances = [
            abs(by_string(hypothesis, gap, content, 7, place) - answer)
            for (gap, content), answer in law.items()
            for place in range(1, 8 - gap)
        ]
        return sum(distances, Fraction(0)) / len(distances)

    for hypothesis in noisy.hypotheses:
        clean = mean({pair: noisy.values[pair[1]] for pair in noisy.planted}, hypothesis)
        assert noisy.loss(hypothesis, 7) == Fraction(4, 5) * clean + Fraction(1, 5) * mean(
            dict(noisy.noisy), hypothesis
        )
    # The true hypothesis errs on the share at most, and no minimiser beats its loss on trained lengths from above.
    assert noisy.loss(noisy.hypotheses[0], 7) <= Fraction(1, 5)
    assert drawn(3).loss(drawn(3).hypotheses[0], 7) == 0


def test_coverage_is_the_ratio_of_places() -> None:
    values = {(1, 1): Fraction(1), (0, 0): Fraction(0), (0, 1): Fraction(0), (1, 0): Fraction(0)}
    one = frozenset({(2, (1, 1))})
    law = RandomClass(3, one, values, (LocalClass(one, values),), Fraction(0), {})
    assert law.coverage(12) == 10  # 10 places at length 12 and a single one at 3
    assert law.coverage(3) == 1


# ---- chains of blocks ----------------------------------------------------------------------------
def brute(chain: Chain, further: int) -> float:
    total = 0.0
    for answer, (n, d) in enumerate(chain.first.tolist()):
        for blocks in product(range(len(chain.blocks)), repeat=further):
            chance, sums, last = 0.5, [n, d], answer
            for block in blocks:
                chance *= chain.blocks[block]
                sums = [have + more for have, more in zip(sums, chain.step[last, block].tolist(), strict=True)]
                last = 2 + block
            total += chance * abs(Fraction(*sums) - answer)
    return total


def a_chain() -> Chain:
    step = np.zeros((5, 3, 2), dtype=np.int64)
    step[3, 2] = (5, 5)  # the rare pair says 1
    step[2, 1] = (0, 1)
    step[1, 1] = (3, 3)  # behind the second first block something protects
    return Chain(np.array([[0, 2], [3, 3]]), np.array([0.8, 0.15, 0.05]), step)


@pytest.mark.parametrize("further", range(5))
def test_errors_of_a_chain_are_those_of_all_strings(further: int) -> None:
    assert a_chain().errors(further)[further] == pytest.approx(brute(a_chain(), further), abs=1e-12)


def test_a_rare_wrong_block_costs_its_chance_per_block() -> None:
    """With a block that outweighs all else, the error is half the chance that it has come."""
    step = np.zeros((3, 1, 2), dtype=np.int64)
    everywhere = Chain(np.array([[0, 1], [1, 1]]), np.array([1.0]), step)
    assert everywhere.errors(6).tolist() == [0.0] * 7
    assert everywhere.ratios().tolist() == [0.0] * 21
    step = np.zeros((4, 2, 2), dtype=np.int64)
    step[:, 1] = (9, 9)
    rare = Chain(np.array([[0, 1], [1, 1]]), np.array([0.99, 0.01]), step)
    once = 0.5 * 0.01 * 9 / 10
    assert rare.errors(1) == pytest.approx([0.0, once], abs=1e-15)
    assert rare.ratios()[SHORT + 1 :].max() < 1


def test_epsilon_is_of_short_strings_alone() -> None:
    errors = a_chain().errors(20)
    epsilon = errors[: SHORT + 1].max()
    assert ROUNDING < epsilon < errors.max()
    assert a_chain().ratios()[1:] == pytest.approx(errors[1:] / (3 * np.arange(1, 21) * epsilon))


def test_windows_meet_their_bound_and_never_exceed_it() -> None:
    assert all(0.8 < row.value <= 1 for row in distances_of_windows())


def test_worked_ids_are_counted_token_by_token() -> None:
    found = {row.item: row for row in printed_and_coupled_ids()}
    assert found["reversal, L 4"].n == 9
    assert found["jump 3"].n == 18
    assert found["variable assignment, d 2, w 2"].n == 22
    assert {row.value for row in found.values()} == {0.0}
