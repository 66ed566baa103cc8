"""Online codes whose length is known, and classifiers that converge or fail."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from scipy.optimize import minimize

import probes.fitting.logistic
from probes.description_length.measurement import DescriptionLength
from probes.description_length.online_code import PRECISION, class_code, number_codes
from probes.fitting.logistic import Unconverged, logistic
from probes.fitting.probe_rows import ProbeError
from workbench.measure.settings import MeasurementError
from workbench.models.handmade.transformers import majority
from workbench.tasks.counting.majority import Majority
from workbench.tasks.in_context.means import ModPMean


def normal(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def test_the_optimum_is_that_of_a_general_minimiser() -> None:
    x, y = normal(80, 3), (normal(80, seed=1) + normal(80, 3)[:, 0] > 0).long()
    fitted = logistic(x, y, 2)
    z = ((x - x.mean(0)) / x.std(0, correction=0)).numpy()
    sign = 2 * y.numpy() - 1

    def loss(w: np.ndarray) -> float:
        return float(np.logaddexp(0, -sign * (z @ w[:3] + w[3])).sum() + 0.5 * (w[:3] ** 2).sum())

    best = minimize(loss, np.zeros(4), tol=1e-12).x
    expected = -np.logaddexp(0, -(z @ best[:3] + best[3])) / np.log(2)
    assert np.allclose(fitted.log2_probabilities(x)[:, 1], expected, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 5, 40])
def test_probabilities_sum_to_one_with_classes_never_seen(classes: int) -> None:
    y = torch.randint(max(2, classes // 2), (200,), generator=torch.Generator().manual_seed(0))
    fitted = logistic(normal(200, 12), y, classes)
    assert np.exp2(fitted.log2_probabilities(normal(9, 12, seed=2))).sum(1) == pytest.approx(1)
    only = logistic(normal(200, 12), y * 0 + 1, classes)
    probability = np.exp2(only.log2_probabilities(normal(3, 12, seed=3)))
    assert probability.sum(1) == pytest.approx(1)
    assert probability[:, 1] == pytest.approx(200 / (200 + classes - 1))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_row_far_from_the_fitted_ones_costs_much_and_not_infinitely_much(classes: int) -> None:
    x, y = normal(90, 2), torch.arange(90) % classes
    x[:, 0] += 1e-3 * y
    far = torch.tensor([[1e9, 0.0], [-1e9, 0.0]], dtype=torch.float64)
    fitted = logistic(x, y, classes)
    bits = -fitted.log2_probabilities(far)
    assert np.isfinite(bits).all()
    assert bits.max() > 1100  # the probability itself would be rounded to 0
    near = fitted.log2_probabilities(x)
    assert fitted._fitted is not None
    assert np.allclose(np.exp2(near), fitted._fitted.predict_proba((x.numpy() - fitted._mean) / fitted._scale))


def test_an_unconverged_fit_is_an_error_and_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probes.fitting.logistic, "ITERATIONS", 1)
    y = (normal(100)[:] > 0).long()
    with pytest.raises(Unconverged, match="converge"):
        logistic(normal(100, 5), y, 2)
    monkeypatch.setattr(probes.fitting.logistic, "NEWTON", 0)
    with pytest.raises(Unconverged, match="converge"):
        logistic(normal(100, 5), y, 2)
    with pytest.raises(ProbeError, match="not finite"):
        logistic(torch.full((100, 2), torch.nan), y, 2)


def test_a_summary_that_lies_open_costs_little_more_than_the_first_block() -> None:
    y = torch.arange(512) % 2
    code = class_code((2.0 * y - 1)[:, None] + 0.001 * normal(512, 1), y, 2)
    assert code.bits[:32].tolist() == [1.0] * 32
    assert code.length() == pytest.approx(32, abs=22)  # what is left is the ridge's reluctance to be sure
    assert (code.predicted == y[256:].numpy()).all()


def test_noise_costs_a_bit_each_and_a_little_more() -> None:
    y = torch.randint(2, (2048,), generator=torch.Generator().manual_seed(0))
    code = class_code(normal(2048, 4), y, 2)
    assert 1.0 < code.length() / 2048 < 1.03
    few = class_code(normal(2048, 64), y, 2)
    assert few.length() / 2048 > code.length() / 2048  # more features to be wrongly sure of


def test_a_class_of_known_log_odds_costs_its_entropy() -> None:
    """y is 1 with probability 1/4 or 3/4 by a bit that x tells: H = .811 bits."""
    generator = torch.Generator().manual_seed(0)
    told = torch.randint(2, (8192,), generator=generator)
    y = (torch.rand(8192, generator=generator) < 0.25 + 0.5 * told).long()
    code = class_code(told[:, None].double(), y, 2)
    later = code.bits[code.block > 0]
    assert later.mean() == pytest.approx(0.811, abs=0.02)
    drawn, compression = code.resample(np.random.default_rng(0), 400)
    assert drawn.mean() == pytest.approx(code.length(), rel=0.01)
    assert compression == pytest.approx(8192 / drawn)
    assert drawn.std() == pytest.approx(np.sqrt(len(later)) * later.std(), rel=0.2)


def test_too_few_rows_are_named() -> None:
    with pytest.raises(ProbeError, match="63 sequences"):
        class_code(normal(63, 2), torch.arange(63) % 2, 2)
    with pytest.raises(MeasurementError, match=r"description_length\.factors"):
        DescriptionLength(factors=())


@pytest.mark.asserts("description_length", "compression", "logistic_accuracy")
def test_rows_of_a_run(make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]) -> None:
    run = make_run(majority(gain_length=400), Majority(), 13, steps=(0, 100))
    options = {"lengths": [27, 53], "resamples": 30, "sequences": 256, "layers": [1]}
    rows, first = (measured(run, step, "probes.description_length", **options) for step in (100, 0))
    at, before = (
        {
            (r["quantity"], r["control"]): r["value"]
            for r in found
            if r["length"] == 53 and r["site"] == "blocks.1.hook_resid_post"
        }
        for found in (rows, first)
    )
    assert at["logistic_accuracy", ""] == 1
    assert at["compression", ""] > 8
    assert at["compression", ""] == pytest.approx(1 / at["description_length", ""])
    assert at["compression", "untrained"] == before["compression", ""] != at["compression", ""], "that of step 0"
    for control in ("shuffled_labels", "hashed_labels"):
        assert at["compression", control] == pytest.approx(1, abs=0.2)
    assert {r["length"] for r in rows} == {13, 27, 53}, "N and 4N, and the length that was named"


@pytest.mark.parametrize("r2", [0.0, 0.5, 0.9, 0.99])
def test_normal_noise_saves_half_the_log_of_what_it_leaves(r2: float) -> None:
    """y = sqrt(R^2) w.x + sqrt(1 - R^2) noise costs log2(sd sqrt(2 pi e) / precision) bits, sd = sqrt(1 - R^2)."""
    x, y = normal(8192, 4), np.sqrt(r2) * normal(8192, 4)[:, 0] + np.sqrt(1 - r2) * normal(8192, seed=1)
    (code,) = number_codes(x, [3 + 5 * y])  # whatever its units
    later = code.block > 0
    plain = np.log2(np.sqrt(2 * np.pi * np.e) / PRECISION)
    assert code.plain.mean() == pytest.approx(plain, abs=0.03)
    assert (code.plain - code.bits)[later].mean() == pytest.approx(-np.log2(1 - r2) / 2, abs=0.03)
    assert (code.bits[~later] == code.plain[~later]).all()
    lengths, compression = code.resample(np.random.default_rng(0), 200)
    assert np.quantile(lengths, 0.025) < code.length() < np.quantile(lengths, 0.975)
    assert np.quantile(compression, 0.025) < code.compression() < np.quantile(compression, 0.975)


def test_the_cells_of_a_number_have_probabilities_that_sum_to_one() -> None:
    """Every value that could be sent, in the code of a prediction: Kraft's sum, and a density where cells are small."""
    from probes.description_length.online_code import _bits

    y = torch.arange(-40, 40, PRECISION, dtype=torch.float64)[:, None]
    for mean, deviation in ((0.0, 1.0), (0.3, PRECISION / 4), (-2.0, 5.0)):
        bits = _bits(y, torch.full_like(y, mean), torch.tensor([deviation], dtype=torch.float64))
        assert float(torch.exp2(-bits).sum()) == pytest.approx(1, abs=1e-9)
        assert bool((bits >= 0).all())
        assert bool(bits.isfinite().all())
    wide = _bits(y, torch.zeros_like(y), torch.tensor([5.0], dtype=torch.float64))
    density = 0.5 * np.log2(2 * np.pi * 25) + y[:, 0] ** 2 / 50 * np.log2(np.e) - np.log2(PRECISION)
    assert torch.allclose(wide, density, atol=1e-4)


def test_numbers_that_lie_open_cost_little_and_noise_costs_what_it_does_unread() -> None:
    x = normal(512, 8)
    clear, noise, vector = number_codes(x, [x[:, 0], normal(512, seed=5), torch.stack([x[:, 0], x[:, 1]], 1)])
    assert clear.bits[clear.block == 4].mean() < 0.5  # as sure as the precision admits
    assert clear.compression() > 8
    assert noise.compression() == pytest.approx(1, abs=0.03)
    assert vector.length() == pytest.approx(2 * clear.length(), rel=0.05)
    assert vector.plain.sum() == pytest.approx(2 * clear.plain.sum(), rel=0.05)


def test_rows_of_a_run_with_a_summary_of_numbers(
    make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]
) -> None:
    from workbench.models import HookedTransformer, ModelConfig

    task = ModPMean()
    cfg = ModelConfig(d_vocab=task.d_vocab, n_layers=1, d_model=8, n_heads=1, n_ctx=64, d_vocab_out=task.d_vocab_out)
    run = make_run(HookedTransformer(cfg), task, 8, steps=(0, 100))
    rows = measured(run, 100, "probes.description_length", lengths=[32], resamples=20, sequences=256)
    assert {r["status"] for r in rows} == {"ok"}
    assert {r["quantity"] for r in rows} == {"description_length", "compression"}
    last = {(r["quantity"], r["control"]): r for r in rows if r["layer"] == 0 and r["site"].endswith("post")}
    names = {"", "shuffled_labels", "hashed_labels", "untrained", "token_only", "last_8_tokens"}
    assert {control for _, control in last} == names
    assert last["compression", ""]["value"] > 1.02 > last["compression", "shuffled_labels"]["value"]
    few = measured(run, 100, "probes.description_length", lengths=[32], resamples=20, sequences=32)
    assert {(r["status"], r["value"]) for r in few} == {("undefined", None)}
    assert "at least 64" in few[0]["note"]
