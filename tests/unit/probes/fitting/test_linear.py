"""The closed-form fits against independent implementations."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

from probes.fitting.linear import code, discriminant, fit_probes, fit_rule, ridge


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("strength", [1e-6, 1e-2, 3.0])
def test_ridge_equals_sklearn_on_standardised_features(strength: float) -> None:
    x = normal(3, 90, 7) * torch.tensor([1.0, 5, 0.01, 2, 100, 1, 1]) + 4
    y = [normal(90, 2, seed=1) + x[0, :, :2], normal(90, 1, seed=2)]
    fold = torch.arange(90) % 4
    for target, fitted in zip(y, ridge(x, y, fold, [strength]), strict=True):
        for site in range(3):
            z = StandardScaler().fit(x[site])
            oracle = Ridge(alpha=strength * 90).fit(z.transform(x[site]), target)
            expected = oracle.predict(z.transform(x[site])).reshape(90, -1)
            assert np.allclose(fitted(x)[site], expected, atol=1e-9)


def test_strength_is_the_best_on_held_out_folds() -> None:
    x, fold = normal(2, 60, 40), torch.arange(60) % 4
    y = x[0, :, :1] + normal(60, 1, seed=5)
    strengths = (1e-6, 1e-2, 1.0)
    (fitted,) = ridge(x, [y], fold, strengths)
    z = (x - x.mean(1, keepdim=True)) / x.std(1, correction=0, keepdim=True)
    target = (y - y.mean())[:, 0].numpy()
    for site in range(2):
        errors = []
        for strength in strengths:
            error = 0.0
            for k in range(4):
                inn, out = (fold != k).numpy(), (fold == k).numpy()
                oracle = Ridge(alpha=strength * inn.sum(), fit_intercept=False)
                oracle.fit(z[site].numpy()[inn], target[inn])
                error += ((oracle.predict(z[site].numpy()[out]) - target[out]) ** 2).sum()
            errors.append(error)
        assert float(fitted.ridge[site]) == strengths[int(np.argmin(errors))]


def test_neither_weak_signals_nor_many_features_defeat_the_chosen_strength() -> None:
    fold = torch.arange(256) % 4
    # A signal of relative variance 1e-4 beside a loud feature that is collinear with it.
    loud, y = normal(512, 1), normal(512, seed=1)
    weak = torch.cat([loud + 0.01 * y[:, None], loud], 1)[None]
    (probe,) = fit_probes(weak[:, :256], [y[:256]], [0], fold)
    assert float((probe(weak[:, 256:])[0] - y[256:]).pow(2).mean()) < 0.05
    # As many features as rows: nearly unpenalised least squares fits the noise (R^2 far below 0).
    x = normal(512, 256, seed=2)
    y = x[:, 0] * 3 + normal(512, seed=3)
    (probe,) = fit_probes(x[None, :256], [y[:256]], [0], fold)
    (bare,) = fit_probes(x[None, :256], [y[:256]], [0], fold, [1e-8])

    def error(p):
        return float((p(x[None, 256:])[0] - y[256:]).pow(2).mean() / y[256:].var())

    assert error(probe) < 0.7
    assert error(bare) > 1.5


def test_classes_are_read_as_linear_discriminant_analysis_reads_them() -> None:
    generator = torch.Generator().manual_seed(4)
    y = torch.randint(4, (600,), generator=generator)
    y[y == 3] = torch.where(torch.rand(int((y == 3).sum()), generator=generator) < 0.8, 0, 3)  # a rare class
    x = normal(4, 6, seed=6)[y] * 1.2 + normal(600, 6, seed=7) @ normal(6, 6, seed=8)
    (probe,) = fit_probes(x[None], [y], [4], torch.arange(600) % 4, [1e-10])
    oracle = LinearDiscriminantAnalysis(priors=[0.25] * 4).fit(x.numpy(), y.numpy())
    assert (probe(x[None])[0].numpy() == oracle.predict(x.numpy())).mean() == 1.0


def test_a_class_between_two_others_is_answered() -> None:
    y = torch.arange(300) % 3
    x = (y.double() - 1 + 0.1 * normal(300))[None, :, None]
    (probe,) = fit_probes(x, [y], [3], torch.arange(300) % 4)
    assert torch.equal(probe(x)[0], y)
    # Ridge onto indicators with argmax, the usual short cut, never answers the middle class.
    (scores,) = ridge(x, [torch.nn.functional.one_hot(y, 3).double()], torch.arange(300) % 4)
    assert not bool((scores(x)[0].argmax(-1) == 1).any())


def test_noiseless_and_constant_features() -> None:
    y, fold = torch.arange(40) % 2, torch.arange(40) // 10
    clean = torch.stack([y.double(), torch.full((40,), 5.0)], 1)[None]
    (probe,) = fit_probes(clean, [y], [2], fold)
    assert torch.equal(probe(clean)[0], y)
    (constant,) = fit_probes(torch.ones(1, 40, 3), [y], [2], fold)
    assert len(constant(torch.ones(1, 40, 3)).unique()) == 1
    real = normal(40)
    (flat,) = fit_probes(torch.ones(1, 40, 3), [real], [0], fold)
    assert torch.allclose(flat(torch.ones(1, 40, 3)), real.mean().expand(1, 40))


def test_a_class_without_rows_is_never_answered() -> None:
    y = torch.arange(40) % 2 * 2
    x = normal(1, 40, 3)
    rule = fit_rule(x[..., :2], y, 3)
    assert not bool((rule(x[..., :2]) == 1).any())
    assert code(y, 3).shape == (40, 2)


def test_bad_input_is_named() -> None:
    y = [torch.zeros(4, 1)]
    with pytest.raises(ValueError, match="there is none"):
        ridge(torch.zeros(1, 0, 3), [torch.zeros(0, 1)], torch.zeros(0, dtype=torch.long))
    with pytest.raises(ValueError, match="must be positive, not 0"):
        ridge(normal(1, 4, 3), y, torch.arange(4), [1.0, 0.0])
    with pytest.raises(ValueError, match="two folds"):
        ridge(normal(1, 4, 3), y, torch.zeros(4, dtype=torch.long))


def test_scores_that_are_constant_but_for_rounding_are_read_as_nothing() -> None:
    """Their mean is exact and class means differ in the last bit: no ridge relative to a variance of 0 would help."""
    generator = torch.Generator().manual_seed(0)
    for _ in range(50):
        scores = torch.rand(1, 1, 2, generator=generator, dtype=torch.float64).expand(1, 48, 2)
        y = torch.randint(0, 3, (48,), generator=generator)
        assert len(discriminant(scores, y, 3)(scores).unique()) == 1
