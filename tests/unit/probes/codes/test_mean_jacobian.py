"""The mean Jacobian of models whose derivative is known, and codes read through it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from probes.codes.code_change import Codes
from probes.codes.mean_jacobian import mean_jacobian
from probes.fitting.probe_rows import ProbeError, ProbeRows, halves
from probes.residual_stream import TARGET
from workbench.measure.study import forward
from workbench.models import HookedSSM, HookedTransformer, ModelConfig, SSMConfig
from workbench.models.handmade.transformers import majority
from workbench.tasks.base import Batch
from workbench.tasks.counting.majority import Majority
from workbench.tasks.regular.state_machines import Parity

EMBEDDING, LAST = "blocks.0.hook_resid_pre", "blocks.1.hook_resid_post"


def strings(count: int, length: int) -> Batch:
    return Parity().sample(count, length, torch.Generator().manual_seed(length), "matched")


def test_uniform_attention_without_mlps_is_linear() -> None:
    """Each block adds the mean of what it reads, times W_VO: the query's own row counts 1/K of it."""
    cfg = ModelConfig(
        d_vocab=3, d_vocab_out=2, n_layers=2, d_model=6, n_heads=1, n_ctx=20, attn_only=True, normalization_type=None
    )
    model = HookedTransformer(cfg, seed=1)
    with torch.no_grad():
        for block in model.blocks:
            block.attn.W_Q.zero_()
            block.attn.b_Q.zero_()
    batch = strings(5, 7)
    found = mean_jacobian(model, batch, [EMBEDDING, "blocks.0.hook_resid_post", LAST])
    through = [torch.eye(6) + block.attn.W_V[0] @ block.attn.W_O[0] / batch.tokens.shape[1] for block in model.blocks]
    expected = [through[0] @ through[1] @ model.unembed.W_U, through[1] @ model.unembed.W_U, model.unembed.W_U]
    for one, wanted in zip(found, expected, strict=True):
        assert torch.allclose(one, wanted.T.detach().double(), atol=1e-6)


@pytest.mark.parametrize("kind", ["transformer", "state space"])
def test_it_is_the_mean_of_the_derivatives(kind: str) -> None:
    """Against differences of the outputs, with LayerNorm, softmax and MLPs, or a scan."""
    sizes: dict[str, Any] = {"d_vocab": 3, "d_vocab_out": 2, "n_layers": 2, "d_model": 4, "n_ctx": 20}
    if kind == "transformer":
        made: Any = HookedTransformer(ModelConfig(**sizes, n_heads=2, positions="learned"), seed=2)
    else:
        made = HookedSSM(SSMConfig(**sizes), seed=2)
    model, batch, h = made.double(), strings(3, 5), 1e-5
    site, expected = "blocks.0.hook_resid_post", torch.zeros(2, 4, dtype=torch.float64)
    for d in range(4):

        def moved(x: torch.Tensor, hook: Any, by: float, d: int = d) -> torch.Tensor:
            x = x.clone()
            x[:, -1, d] += by
            return x

        ends = [
            forward(model, batch, [], [(site, lambda x, hook, by=by: moved(x, hook, by))])["logits"][:, -1]
            for by in (h, -h)
        ]
        expected[:, d] = ((ends[0] - ends[1]) / (2 * h)).mean(0)
    assert torch.allclose(mean_jacobian(model, batch, [site])[0], expected, atol=1e-6)


def test_a_direction_that_nothing_reads_does_not_count() -> None:
    """A position code that is read is as much of a change as it is large; one that is not read is none."""
    labels = torch.randint(2, (600,), generator=torch.Generator().manual_seed(0))
    s, rows = 2.0 * labels - 1, {}
    for n, offset in ((25, 0.0), (50, 0.0), (400, 2.0)):
        x = 0.1 * torch.randn(600, 3, generator=torch.Generator().manual_seed(n))
        x[:, 0] += s
        x[:, 1] += offset
        rows[n] = ProbeRows(x[None], {TARGET: labels}, torch.arange(600), torch.full((600, 8), -1))
    fit = halves(600, np.random.default_rng(0))
    codes = Codes(rows, (25, 50), fit, lambda *parts: np.random.default_rng(parts[-1]), 20)

    def change(reads: list[list[float]]) -> float:
        jacobian = torch.tensor(reads, dtype=torch.float64)
        found = codes.changes({n: r.x[0].double() @ jacobian.T for n, r in rows.items()})
        return float(found[400, False].draws[0])

    assert change(torch.eye(3).tolist()) == pytest.approx(4 / 6, abs=0.02)
    assert change([[1.0, 0.0, 0.0], [-1.0, 0.0, 0.0]]) == pytest.approx(0, abs=0.01)
    assert change([[1.0, 0.5, 0.0]]) == pytest.approx(1 / 3, abs=0.02)  # half of the offset is read


def test_after_the_last_block_it_is_the_logits(
    make_run: Callable[..., Any], measured: Callable[..., list[dict[str, Any]]]
) -> None:
    """Without a final LayerNorm nothing lies in between; before it, a saturated step reads nothing to first order."""
    run = make_run(majority(gain_length=400), Majority(), 25)
    rows = measured(run, 100, "probes.length_coupling", lengths=[51, 101, 201], resamples=30)
    inner = {r["site"]: r for r in rows if r["mode"] == "used_inner" and r["quantity"] == "length_coupling"}
    assert list(inner) == [EMBEDDING, "blocks.0.hook_resid_post", LAST]
    assert inner[LAST]["value"] == pytest.approx(0, abs=1e-9)
    assert (inner[LAST]["low"], inner[LAST]["high"]) == (None, None)
    assert inner[EMBEDDING]["status"] == "undefined"
    assert "above its sampling noise" in inner[EMBEDDING]["note"]


def test_a_model_with_many_outputs_is_told_so() -> None:
    cfg = ModelConfig(d_vocab=3, d_vocab_out=65, n_layers=1, d_model=4, n_heads=1, n_ctx=20)
    with pytest.raises(ProbeError, match="65 outputs"):
        mean_jacobian(HookedTransformer(cfg), strings(2, 4), [EMBEDDING])
