"""Loss and share of it: values by hand, half-widths by simulation, and every refusal."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.diagnosis.shares import Bootstrap, Judged, balanced_accuracy, balanced_weights, halves, refusal


def judged(right: list[tuple[int, int]]) -> Judged:
    """From (right, of) for each class."""
    flags = np.concatenate([np.arange(of) < k for k, of in right]).astype(float)
    return Judged(flags, np.concatenate([np.full(of, c) for c, (_, of) in enumerate(right)]))


def test_a_model_that_gives_one_answer_is_at_chance_however_frequent_that_answer_is() -> None:
    one_answer = judged([(90, 90), (0, 10)])
    assert one_answer.right.mean() == 0.9
    assert balanced_accuracy(one_answer.right, one_answer.classes) == 0.5


def test_weights_give_each_class_the_same() -> None:
    assert balanced_weights([0, 0, 0, 1]) == pytest.approx([1 / 6, 1 / 6, 1 / 6, 1 / 2])


def test_shares_by_hand_neither_clipped_at_0_nor_at_1() -> None:
    at = judged([(30, 50), (30, 50)])
    found = Bootstrap(judged([(45, 50), (45, 50)]), at, np.random.default_rng(0))
    assert found.loss.value == pytest.approx(0.3)
    assert found.share(at.right).value == pytest.approx(0)
    for k, share in ((45, 1.0), (50, 4 / 3), (15, -1.0)):
        made = found.share(judged([(k, 50), (k, 50)]).right)
        assert made.value == pytest.approx(share)
        assert made.low < share < made.high


def test_a_repair_that_turns_one_class_right_and_the_other_wrong_restores_nothing() -> None:
    """In the plain accuracy of this law, with 9 of 10 strings of one class, it would restore nearly all."""
    at = judged([(45, 90), (10, 10)])
    found = Bootstrap(judged([(90, 90), (10, 10)]), at, np.random.default_rng(0))
    assert found.share(judged([(90, 90), (5, 10)]).right).value == pytest.approx(0)


def test_the_interval_of_a_complete_repair_of_a_complete_loss_is_not_a_point() -> None:
    found = Bootstrap(judged([(64, 64)] * 2), judged([(0, 64)] * 2), np.random.default_rng(0))
    made = found.share(np.ones(128))
    assert (made.value, made.low < 0.98, made.high > 1.02) == (1.0, True, True)


@pytest.mark.parametrize(
    ("strings", "loss", "half"), [(256, 0.2, 0.16), (512, 0.1, 0.18), (512, 0.2, 0.11), (512, 0.4, 0.07)]
)
def test_half_widths_where_half_of_the_wrong_are_mended_and_2_percent_harmed(
    strings: int, loss: float, half: float
) -> None:
    rng = np.random.default_rng(1)
    widths = []
    for _ in range(8):
        classes = rng.integers(0, 2, strings)
        right = (rng.random(strings) > loss).astype(float)
        repaired = np.where(right == 1, rng.random(strings) > 0.02, rng.random(strings) < 0.5).astype(float)
        found = Bootstrap(Judged(np.ones(strings), classes), Judged(right, classes), rng, 400).share(repaired)
        widths.append((found.high - found.low) / 2)
    assert np.mean(widths) == pytest.approx(half, rel=0.2)


def test_two_repairs_are_compared_on_the_same_strings() -> None:
    at = judged([(20, 100), (20, 100)])
    found = Bootstrap(judged([(100, 100)] * 2), at, np.random.default_rng(0))
    most = judged([(90, 100), (90, 100)]).right
    more = found.share_difference(judged([(100, 100), (100, 100)]).right, most)
    assert more.value == pytest.approx(0.125)
    assert more.low > 0
    assert found.share_difference(most, most).low < 0 < found.share_difference(most, most).high


def test_what_cannot_be_diagnosed_says_why() -> None:
    whole = judged([(256, 256)] * 2)
    assert "not learned" in refusal(judged([(140, 256)] * 2), judged([(130, 256)] * 2), 64)
    assert refusal(whole, judged([(240, 256)] * 2), 64) == "loss below 0.1: nothing to explain at 64"
    assert refusal(whole, judged([(10, 20)] * 2), 64) == "20 wrong strings of the 100 that are needed"
    assert refusal(whole, judged([(215, 256)] * 2), 64).startswith("24") is False
    assert refusal(whole, judged([(880, 1024)] * 2), 64) == "loss 0.14, below 0.2: no cause is named"
    assert refusal(whole, judged([(130, 256)] * 2), 64) == ""
    nearly = refusal(judged([(1794, 2000)] * 2), judged([(130, 256)] * 2), 64)
    assert nearly == "not learned: class-balanced accuracy at N is 0.897, below 0.9", "never 0.90, below 0.9"
    assert refusal(whole, judged([(1606, 2000)] * 2), 64) == "loss 0.197, below 0.2: no cause is named"


def test_halves_share_no_string() -> None:
    first, second = halves(7)
    assert sorted([*first, *second]) == list(range(7))
    assert not set(first) & set(second)
