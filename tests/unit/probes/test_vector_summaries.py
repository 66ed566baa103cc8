"""Summaries that are vectors: codes whose R^2 is known, scikit-learn as oracle, and a task of that kind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score
from torch import Tensor

from probes.fitting import controls
from probes.fitting.decode import Target
from probes.fitting.linear import fit_probes
from probes.fitting.metrics import Resamples, r2, rmse
from probes.summary import Summary
from workbench.tasks.base import Batch

Code = Callable[[Tensor, int], Tensor]
NOISE = 0.5
SPREAD = torch.tensor([1.0, 2.0])


def batch_of(summary: Tensor, length: int) -> Batch:
    """A batch whose every prefix has the same vector as summary and whose last query is supervised."""
    mask = torch.zeros(len(summary), length, dtype=torch.bool)
    mask[:, -1] = True
    spread = summary[:, None].expand(-1, length, -1)
    tokens = torch.randint(4, (len(summary), length), generator=torch.Generator().manual_seed(length))
    return Batch(tokens, spread, mask, spread, None, length, False, "matched")


def read(code: Code, rng: Any, noise: float = NOISE) -> dict[tuple[int, str, str], dict[str, Any]]:
    """Rows of summary probes of a code, by (length, mode, quantity); fitted at 25 and 50."""
    generator, measurement = torch.Generator().manual_seed(7), Summary(resamples=20)
    for length in (25, 50, 400):
        summary = torch.randn(3000, 2, generator=generator) * SPREAD
        x = code(summary, length) + noise * torch.randn(3000, 8, generator=generator)
        cache = {"blocks.0.hook_resid_pre": x[:, None].expand(-1, length, -1)}
        measurement.observe("matched", length, batch_of(summary, length), cache)
    rows = measurement.decode((25, 50), rng, lambda: None)
    return {(r["length"], r["mode"], r["quantity"]): r for r in rows if not r["control"]}


def written(summary: Tensor) -> Tensor:
    return torch.cat([summary, torch.zeros(len(summary), 6)], 1)


def variance_weighted(parts: list[float]) -> float:
    """The mean of the components' R^2, weighted by their variances."""
    power = SPREAD.pow(2)
    return float((torch.tensor(parts) * power).sum() / power.sum())


READABLE = [float(v / (v + NOISE**2)) for v in SPREAD.pow(2)]
HALVED = 0.5  # the second component is written half as large at 400
CODES = {
    "same": (lambda s, n: written(s), (READABLE, READABLE, READABLE)),
    "swapped": (lambda s, n: written(s.flip(1) if n == 400 else s), (None, [0.0, 0.0], READABLE)),
    "halved": (
        lambda s, n: written(s * torch.tensor([1.0, HALVED if n == 400 else 1.0])),
        (
            # A frozen gain g reads g (s / 2 + noise) of s: 1 - [(1 - g/2)^2 v + g^2 noise^2] / v.
            [READABLE[0], 1 - (1 - READABLE[1] / 2) ** 2 - READABLE[1] ** 2 * NOISE**2 / 4],
            [READABLE[0], 1 / (1 + NOISE**2)],
            [READABLE[0], 1 / (1 + NOISE**2)],
        ),
    ),
}


@pytest.mark.asserts("summary_decodability", "summary_rmse")
@pytest.mark.parametrize("name", list(CODES))
def test_r2_of_a_vector_is_the_variance_weighted_one(name, generators):
    code, expected = CODES[name]
    rows = read(code, generators(1))
    for mode, parts in zip(("transfer", "recalibrated", "refit"), expected, strict=True):
        row = rows[400, mode, "summary_decodability"]
        assert row["status"] == "ok"
        assert row["low"] <= row["value"] <= row["high"]
        if parts is not None:
            assert row["value"] == pytest.approx(variance_weighted(parts), abs=0.03), mode
        else:
            assert row["value"] < -0.5
    error = rows[400, "refit", "summary_rmse"]["value"]
    left = sum((1 - r) * float(v) for r, v in zip(expected[2], SPREAD.pow(2), strict=True)) / 2
    assert error == pytest.approx(left**0.5, rel=0.05)


def test_fit_and_score_are_those_of_scikit_learn():
    generator = torch.Generator().manual_seed(2)
    x = torch.randn(2, 120, 6, generator=generator, dtype=torch.float64)
    y = x[0, :, :3] * torch.tensor([1.0, 3.0, 0.2]) + torch.randn(120, 3, generator=generator, dtype=torch.float64)
    sequence = torch.arange(120)
    (probe,) = fit_probes(x, [y], [0], sequence % 4, [1e-9])
    resamples = Resamples.of(sequence, np.random.default_rng(0), 3)
    scores, errors = r2(probe(x), y, resamples)[0], rmse(probe(x), y, resamples)[0]
    for site in range(2):
        predicted = Ridge(alpha=1e-9).fit(x[site], y).predict(x[site])
        assert np.allclose(probe(x)[site], predicted, atol=1e-6)
        assert scores[site] == pytest.approx(r2_score(y, predicted, multioutput="variance_weighted"))
        assert errors[site] == pytest.approx(float(np.sqrt(((predicted - y.numpy()) ** 2).mean())))


def test_resampled_scores_are_those_of_the_rows_drawn():
    generator = torch.Generator().manual_seed(3)
    truth, guess = torch.randn(2, 40, 2, generator=generator, dtype=torch.float64)
    resamples = Resamples.of(torch.arange(40), np.random.default_rng(1), 5)
    scores = r2(guess[None], truth, resamples)[:, 0]
    for counts, score in zip(resamples.counts, scores, strict=True):
        rows = torch.arange(40).repeat_interleave(counts.long())
        expected = r2_score(truth[rows], guess[rows], multioutput="variance_weighted")
        assert score == pytest.approx(expected)


def test_a_vector_of_one_component_is_read_like_a_number():
    generator = torch.Generator().manual_seed(4)
    x = torch.randn(1, 80, 5, generator=generator, dtype=torch.float64)
    y = x[0, :, 0] + torch.randn(80, generator=generator, dtype=torch.float64)
    number, vector = fit_probes(x, [y, y[:, None]], [0, 0], torch.arange(80) % 4)
    assert torch.equal(number(x), vector(x)[..., 0])
    assert number(x).shape == (1, 80)
    assert vector.recalibrate(-x, y[:, None], 0).rule.gain < 0
    assert vector.sign_flips(vector.recalibrate(-x, y[:, None], 0)) == [True]
    for weaker in (0.01, 1.0, 3.0):  # a gain of the same sign, however small, reads them the same way round
        assert vector.sign_flips(vector.recalibrate(x / weaker, y[:, None], 0)) == [False]


def test_controls_keep_vectors_together(generators):
    y = torch.arange(12.0).reshape(6, 2).flip(0)
    for labels in (
        controls.shuffle_labels(y, generators(0)()),
        controls.hash_labels(y, torch.randint(9, (6, 8), generator=torch.Generator().manual_seed(0))),
    ):
        assert {tuple(row) for row in labels.tolist()} <= {tuple(row) for row in y.tolist()}
    tokens = torch.randint(3, (50, 8), generator=torch.Generator().manual_seed(1))
    y = torch.randn(50, 2, generator=torch.Generator().manual_seed(2))
    order = torch.randperm(50, generator=torch.Generator().manual_seed(3))
    assert torch.equal(controls.hash_labels(y, tokens)[order], controls.hash_labels(y[order], tokens[order]))
    assert Target("v", None).poor(torch.ones(4, 2), "here") == "v does not vary here"
    assert Target("v", None).poor(torch.tensor([[1.0, 0.0], [1.0, 2.0]]), "here") == ""
