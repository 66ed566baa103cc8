"""Reach: values by hand, the coverage of its interval by simulation, and what has no value."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import binomtest

from workbench.core.reach import NO_REACH, Score, checked_reach, interval, mean_skill, reach_of

N = 32
LENGTHS = (48, 64, 96, 128, 256)


def scores(rights: Sequence[int], n: int = 512, baseline: float = 0.5) -> dict[int, Score]:
    return {length: Score(right / n, n, baseline) for length, right in zip(LENGTHS, rights, strict=True)}


def test_reach_is_the_mean_of_clipped_skill() -> None:
    """Skill 1, 0.5, 0.25, 0 and -1, of which the last counts as 0."""
    reach = reach_of(scores([512, 384, 320, 256, 0]) | {192: Score(0.0, 512, 0.5)}, N)
    assert reach.value == pytest.approx(1.75 / 5)
    assert (reach.lengths, reach.n, reach.reason) == (LENGTHS, (512, 512), "")


def test_the_interval_by_hand() -> None:
    """Exact limits of each length, doubled by the baseline of 0.5 and combined as a root of a sum of squares."""
    rights = [480, 448, 400, 352, 320]
    limits = [binomtest(right, 512).proportion_ci(method="exact") for right in rights]
    shares = [right / 512 for right in rights]
    mean = sum(2 * share - 1 for share in shares) / 5
    low = mean - 2 * math.sqrt(sum((share - end.low) ** 2 for share, end in zip(shares, limits, strict=True))) / 5
    high = mean + 2 * math.sqrt(sum((end.high - share) ** 2 for share, end in zip(shares, limits, strict=True))) / 5
    reach = reach_of(scores(rights), N)
    assert reach.value == pytest.approx(mean)
    assert reach.low == pytest.approx(low)
    assert reach.high == pytest.approx(high, abs=0.002), "the pooled limit may be slightly higher"
    assert reach.high is not None
    assert reach.high >= high - 1e-12


def test_all_answers_right_or_all_wrong() -> None:
    """All right: each length loses what Clopper-Pearson's limit 0.025^(1/512) does. All wrong: no skill is possible."""
    right = reach_of(scores([512] * 5), N)
    assert right.high == right.value == 1
    assert right.low == pytest.approx(1 - math.sqrt(5) / 5 * 2 * (1 - 0.025 ** (1 / 512)))
    wrong = reach_of(scores([0] * 5), N)
    assert (wrong.low, wrong.value, wrong.high) == (0, 0, 0)


def test_few_errors_have_the_limit_of_the_pooled_errors() -> None:
    """3 errors in 2,560 answers, at three lengths; the smallest expected number of errors is 0.619."""
    fewest = 2560 * binomtest(3, 2560).proportion_ci(method="exact").low
    reach = reach_of(scores([511, 511, 511, 512, 512]), N)
    assert reach.high == pytest.approx(1 - 2 * fewest / 2560, abs=1e-5)


def test_complete_counts_have_no_sampling_error() -> None:
    counted = {length: Score(0.75, 16, 0.5, counted=True) for length in LENGTHS}
    reach = reach_of(counted, N)
    assert (reach.value, reach.low, reach.high, reach.n) == (0.5, None, None, None)
    mixed = reach_of({**counted, 256: Score(0.75, 512, 0.5)}, N)
    end = binomtest(384, 512).proportion_ci(method="exact")
    assert mixed.n == (512, 512)
    assert mixed.low == pytest.approx(0.5 - 2 * (0.75 - end.low) / 5)


TRUTHS = [
    *[[share] * 5 for share in (0.45, 0.5, 0.51, 0.6, 0.75, 0.9, 0.99, 0.998, 0.9995, 1.0)],
    [1, 1, 1, 1, 0.5],
    [1, 0.9, 0.7, 0.5, 0.5],
    [0.999, 0.99, 0.9, 0.6, 0.2],
]


def coverage(truth: Sequence[float], samples: int = 1000, n: int = 512) -> float:
    """The share of simulated intervals that contain the true reach, for a baseline of 0.5."""
    rights = np.random.default_rng(3).binomial(n, truth, size=(samples, 5))
    expected = mean_skill([Score(share, n, 0.5) for share in truth])
    ends = [interval([Score(right / n, n, 0.5) for right in row]) for row in rights.tolist()]
    return float(np.mean([low - 1e-12 <= expected <= high + 1e-12 for low, high in ends]))


@pytest.mark.parametrize("truth", TRUTHS, ids=str)
def test_the_interval_contains_the_true_reach(truth: list[float]) -> None:
    """0.95 for many more samples; 1,000 samples at 0.95 give less than 0.929 with probability 0.001."""
    assert coverage(truth) >= 0.929


def test_limits_that_are_clipped_too_early_miss_a_guessing_model() -> None:
    """The planted mistake: each limit of a length is clipped to 0..1 before they are combined."""

    class ClippedEarly(Score):
        """Answers whose limits are clipped at once."""

        def skill(self, accuracy: float) -> float:
            return min(1.0, max(0.0, super().skill(accuracy)))

    rights = np.random.default_rng(3).binomial(512, 0.5, size=(200, 5))
    lows = [interval([ClippedEarly(right / 512, 512, 0.5) for right in row])[0] for row in rights.tolist()]
    assert np.mean(np.array(lows) <= 0) < 0.5


@pytest.mark.parametrize("missing", LENGTHS)
def test_a_missing_length_is_named(missing: int) -> None:
    measured = {length: score for length, score in scores([512] * 5).items() if length != missing}
    reach = reach_of(measured, N)
    assert reach.value is None
    assert reach.reason == f"length {missing} ({missing / N:g} N) was not measured"


def test_lengths_are_those_that_the_task_has() -> None:
    """N = 31 of a task with odd lengths only: 47, 63, 93, 125 and 249 stand for 46.5, 62, 93, 124 and 248."""
    measured = dict.fromkeys((16, 31, 47, 63, 93, 125, 187, 249), Score(1.0, 512, 0.5))
    assert reach_of(measured, 31).lengths == (47, 63, 93, 125, 249)


def test_undefined_skill_and_too_short_training_have_no_value() -> None:
    undefined = reach_of({**scores([512] * 5), 96: Score(1.0, 512, None)}, N)
    assert undefined.value is None
    assert "undefined at length 96 (3 N)" in undefined.reason
    short = reach_of(dict.fromkeys((1, 2, 3, 4, 8), Score(1.0, 512, 0.5)), 1)
    assert short.value is None
    assert "N = 1" in short.reason


def test_reach_is_read_back_from_json() -> None:
    reach = reach_of(scores([500, 480, 400, 300, 256]), N)
    fields = reach._asdict()
    assert checked_reach({**fields, "lengths": list(reach.lengths), "n": list(reach.n or ())}) == reach
    assert checked_reach(NO_REACH._asdict()) == NO_REACH
    for wrong in ({"value": 2.0}, {"value": "1"}, {"lengths": [1.5]}, {"reason": 3}):
        with pytest.raises((TypeError, ValueError)):
            checked_reach(fields | wrong)
    with pytest.raises(TypeError):
        checked_reach(fields | {"unknown": 1})
