"""C(n) of codes, hand-made and compiled models whose length coupling is known in closed form."""

from __future__ import annotations

import numpy as np
import pytest

from tests.support.probes.length_coupling import changes, coupled_as_known, draw, mixture


@pytest.mark.parametrize("twin", ["robust", "first", "gain"])
def test_compiled_models_whose_answers_are_known(twin: str) -> None:
    coupled_as_known("compiled", twin)


def test_intervals_cover_the_truth_as_often_as_they_say() -> None:
    """The mixture at alpha = .3, 200 sequences per length: C = .349."""
    truth, hits, trials = 0.3 * 1.58**2 / (1.4 + 0.3 * 1.58**2), 0, 150
    for seed in range(trials):
        found = changes(draw(mixture(0.3, 1.58), (25, 50, 400), 200, 0.3, seed), resamples=300, seed=seed)
        low, high = np.quantile(found[400, False].draws[1:], [0.025, 0.975])
        hits += low <= truth <= high
    assert 0.90 <= hits / trials <= 0.99  # three standard errors of 150 trials around .95, and .92 to .96 as designed
