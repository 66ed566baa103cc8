"""Gradient cosines: a model whose gradients are known, noise of known size, and what cannot be had."""

from __future__ import annotations

import math
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any, ClassVar, Literal

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from workbench.measure.gradient_alignment import Dynamics, ceiling, cosines, gram, products
from workbench.measure.measurement import Grid
from workbench.models.positions import Arange
from workbench.tasks import Task, make_task
from workbench.tasks.random_generator import generator


class One(Task):
    """The answer is 1 at every prefix; one token."""

    name: ClassVar[str] = "one"
    question: ClassVar[str] = "What is one?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "average"
    summary: ClassVar[str] = "nothing"
    vocabulary: ClassVar[tuple[str, ...]] = ("<bos>", "0")

    def draw_strings(self, batch: int, length: int, generator: torch.Generator, law: str, window: int | None) -> Any:
        return torch.ones(batch, length, dtype=torch.long), {"noise": torch.randn(batch, generator=generator)}

    def label_strings(self, strings: Tensor, meta: dict[str, Tensor]) -> Any:
        ones = torch.ones(strings.shape)
        return ones[..., None], ones.bool(), ones, None

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        return [1.0 for _ in tokens]

    def answer(self, tokens: Tensor) -> Tensor:
        return torch.ones(len(tokens), 1)


class Turning(nn.Module):
    """Output w . (cos a n, sin a n) at prefix length n: with w = 0 the gradient of (w . f - 1)^2 is -2 f(n)."""

    def __init__(self, angle: float) -> None:
        super().__init__()
        self.angle = angle
        self.w = nn.Parameter(torch.zeros(2))
        self.unused = nn.Parameter(torch.zeros(3))
        self.cfg = SimpleNamespace(ids=Arange(), n_ctx=512)

    def forward(self, tokens: Tensor, ids: Tensor) -> Tensor:
        n = torch.arange(tokens.shape[1]) * self.angle
        return (torch.stack([n.cos(), n.sin()], -1) @ self.w).expand(tokens.shape)[..., None]


class FakeStudy(SimpleNamespace):
    passes = 0

    def rng(self, *parts: object) -> np.random.Generator:
        return np.random.default_rng(generator(*parts).initial_seed())


def measured(model, task, lengths: tuple[int, ...], trained: int, sequences: int = 32, **settings) -> list[dict]:
    inside = tuple(n for n in lengths if n <= trained)
    grid = Grid(trained, lengths, inside, tuple(n for n in lengths if n > trained))
    study = FakeStudy(task=task, model=model, grid=grid)
    dynamics = Dynamics(**settings)
    dynamics._wanted = sequences
    rows = dynamics.finish(study)
    assert study.passes == dynamics.batches * len(
        {n for n in lengths if n in (trained // 2, trained, 2 * trained, 4 * trained, 8 * trained)}
    )
    return rows


@pytest.mark.asserts("gradient_cosine")
@pytest.mark.parametrize("angle", [0.05, 0.2])
def test_the_known_cosine_of_a_linear_model(angle: float) -> None:
    """Between lengths n and N it is cos(a (n - N)), without noise; an exact-n loss, not one averaged over prefixes."""
    rows = measured(Turning(angle), One(), (4, 8, 16, 32, 64), trained=8)
    found = {(r["length"], r["mode"], r["control"]): r for r in rows}
    assert set(found) == {
        *((n, mode, "") for n in (4, 16, 32, 64) for mode in ("raw", "corrected")),
        *((n, "raw", "same_length") for n in (4, 8, 16, 32, 64)),
    }  # fmt: skip
    for (n, _, control), r in found.items():
        expected = 1.0 if control else math.cos(angle * (n - 8))
        assert r["value"] == pytest.approx(expected, abs=1e-5)
        assert r["low"] == pytest.approx(expected, abs=1e-5)
        assert (r["law"], r["n"], r["status"]) == ("matched", 32, "ok")
        assert r["target"] == (str(n) if control else "8")


def noisy(rng: np.random.Generator, angle: float, sigma: float, batches: int, dim: int) -> list[np.ndarray]:
    """Batches of gradients at two lengths: unit vectors at an angle, plus noise of variance sigma^2 per component."""
    a, b = np.zeros(dim), np.zeros(dim)
    a[0], b[:2] = 1, (math.cos(angle), math.sin(angle))
    return [(v + sigma * rng.standard_normal((batches, dim))).astype(np.float32) for v in (a, b)]


def statistics(vectors: list[np.ndarray], seed: int) -> dict[str, np.ndarray]:
    dynamics = Dynamics(batches=len(vectors[0]))
    study = FakeStudy(rng=lambda *parts: np.random.default_rng([seed, len(str(parts))]))
    grams = gram(vectors)
    wa, wb = dynamics._weights(study, 1), dynamics._weights(study, 10)
    aa, bb, ab = products(grams, 0, 0, wa, wa), products(grams, 1, 1, wb, wb), products(grams, 0, 1, wa, wb)
    return {**cosines(aa, bb, ab), "ceiling": ceiling(aa)}


def test_noise_lowers_raw_as_it_must_and_leaves_corrected_alone() -> None:
    """Half the batches have noise s = sigma^2 dim / 8 in their squared norm: raw and ceiling divide by 1 + s."""
    rng = np.random.default_rng(1)
    sigma, dim, batches = 0.2, 200, 16
    s = sigma**2 * dim / (batches / 2)
    found = [statistics(noisy(rng, math.pi / 3, sigma, batches, dim), i) for i in range(80)]
    mean = {key: np.mean([f[key][0] for f in found]) for key in ("raw", "corrected", "ceiling")}
    assert mean["raw"] == pytest.approx(0.5 / (1 + s), abs=0.02)
    assert mean["ceiling"] == pytest.approx(1 / (1 + s), abs=0.02)
    assert mean["corrected"] == pytest.approx(0.5, abs=0.03)
    limits = [np.nanquantile(f["corrected"][1:], (0.025, 0.975)) for f in found]
    covered = np.mean([low <= 0.5 <= high for low, high in limits])
    assert 0.85 <= covered <= 1


def test_products_are_those_of_the_mean_vectors() -> None:
    """The Gram matrix, taken in pieces, against the vectors themselves."""
    import workbench.measure.gradient_alignment as module

    rng = np.random.default_rng(0)
    vectors = [rng.standard_normal((6, 50)).astype(np.float32) for _ in range(3)]
    weights = Dynamics(batches=6)._weights(FakeStudy(), 5)
    whole, chunk = gram(vectors), module.CHUNK
    module.CHUNK = 7
    try:
        pieces = gram(vectors)
    finally:
        module.CHUNK = chunk
    assert np.allclose(whole, pieces)
    found = products(whole, 0, 2, weights, weights)
    means = [weights @ v.astype(float) for v in vectors]
    assert np.allclose(found, np.einsum("rhp,rgp->rhg", means[0], means[2]))
    assert np.allclose(weights.sum(2), 1)
    assert not weights[:, 0, 3:].any(), "halves share no batch"
    assert not weights[:, 1, :3].any()


def test_a_gradient_of_pure_noise_is_undefined_once_corrected() -> None:
    model = Turning(0.1)

    class Noise(One):
        def label_strings(self, strings: Tensor, meta: dict[str, Tensor]) -> Any:
            targets, mask, summary, update = super().label_strings(strings, meta)
            return targets * meta["noise"][:, None, None], mask, summary, update

    rows = measured(model, Noise(), (4, 8, 16), trained=8)
    corrected = [r for r in rows if r["mode"] == "corrected" and r["length"] in (4, 16)]
    assert {r["status"] for r in corrected} == {"undefined"}
    assert "not above its noise" in corrected[0]["note"]


def test_a_zero_gradient_is_undefined() -> None:
    class Zero(One):
        def label_strings(self, strings: Tensor, meta: dict[str, Tensor]) -> Any:
            targets, mask, summary, update = super().label_strings(strings, meta)
            return 0 * targets, mask, summary, update

    rows = measured(Turning(0.1), Zero(), (4, 8, 16), trained=8)
    assert {r["status"] for r in rows if r["length"] in (4, 8, 16)} == {"undefined"}


def test_lengths_that_are_not_measured_are_said_so() -> None:
    rows = measured(Turning(0.1), One(), (4, 8, 16), trained=8)
    missing = [r for r in rows if r["status"] == "not_applicable"]
    assert [r["length"] for r in missing] == [32, 64]


def test_the_gradient_is_that_of_the_query_of_that_length_alone() -> None:
    """Against one written out by hand for a small transformer."""
    from workbench.measure.gradient_alignment import gradients
    from workbench.models import HookedTransformer, ModelConfig

    task = make_task("parity")  # asked at every prefix, so that a neighbouring query would show
    cfg = ModelConfig(d_vocab=task.d_vocab, d_vocab_out=task.d_vocab_out, n_layers=1, d_model=8, n_heads=2, n_ctx=16)
    model = HookedTransformer(cfg, seed=2)
    study = FakeStudy(task=task, model=model, grid=Grid(5, (5,), (5,), ()))
    found = gradients(study, 5, batches=2, size=3)
    g = torch.Generator().manual_seed(int(study.rng("gradients", 5).integers(2**62)))
    for row in found:
        batch = task.sample(3, 5, g, "matched", window=5)
        loss = nn.functional.cross_entropy(model(batch.tokens)[:, -1], batch.targets[:, -1])
        model.zero_grad()
        loss.backward()
        expected = torch.cat([p.grad.flatten() for p in model.parameters()])
        assert np.allclose(row, expected.numpy(), atol=1e-6)


@pytest.mark.parametrize("batches", [2, 5])
def test_a_number_of_batches_without_two_halves_is_refused(batches: int) -> None:
    with pytest.raises(ValueError, match="even"):
        Dynamics(batches=batches)


def test_a_cosine_is_lost_where_its_interval_has_no_end() -> None:
    made = Dynamics(batches=4)
    values = np.linspace(0, 1, 201)
    for lost, status in ((5, "ok"), (6, "undefined")):
        some = values.copy()
        some[-lost:] = np.nan
        assert made._row(some, 3, 8, 4, mode="corrected")["status"] == status
    first = values.copy()
    first[0] = np.nan
    raw = made._row(first, 3, 8, 4, mode="raw")
    assert (raw["status"], raw["note"], raw["n"], raw["target"]) == ("undefined", "a gradient is zero", 12, "4")
    assert made._row(first, 3, 8, 4, mode="corrected")["note"] == "a gradient is not above its noise"


def test_cosines_of_halves_by_hand() -> None:
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 4, 7)).astype(np.float32)
    grams = gram([a, b])
    assert grams.shape == (2, 4, 2, 4)
    assert grams[0, 1, 1, 2] == pytest.approx(float(a[1] @ b[2]), rel=1e-5)
    aa, bb, ab = (np.array([[[x[h] @ y[k] for k in (0, 1)] for h in (0, 1)]]) for x, y in ((a, a), (b, b), (a, b)))
    found = cosines(np.abs(aa), np.abs(bb), ab)
    raw = np.mean([[ab[0, h, k] / np.sqrt(aa[0, h, h] * bb[0, k, k]) for k in (0, 1)] for h in (0, 1)])
    assert found["raw"][0] == pytest.approx(raw, rel=1e-5)
    assert found["corrected"][0] == pytest.approx(ab.mean() / np.sqrt(abs(aa[0, 0, 1] * bb[0, 0, 1])), rel=1e-5)
    none = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    assert np.isnan(cosines(none, np.abs(bb), ab)["corrected"]).all()
    assert np.isnan(cosines(np.abs(aa), none, ab)["corrected"]).all()
    assert ceiling(np.array([[[4.0, 3.0], [3.0, 9.0]]])).tolist() == [0.5]
    assert gram([]).shape == (0, 0, 0, 0)
