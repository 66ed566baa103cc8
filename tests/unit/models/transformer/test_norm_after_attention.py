"""A norm after attention: its place, its hooks, old ids, and what refuses such a model or takes its scale into account."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from circuits.connections.cut_connections import ConnectionCutter, cuttable
from circuits.interchange.last_query import SITES, LastRow, sites
from tests.support.training.training import config
from workbench.models import HookedTransformer, ModelConfig, to_bridge, to_upstream
from workbench.models.base.lens_interface import LensUseError
from workbench.models.interop.upstream_lens import UpstreamError
from workbench.tasks import make_task
from workbench.theory.limit_transformers.checkpoint_bounds import coverage

TASK = make_task("majority")
FIELDS: dict[str, Any] = {
    "d_vocab": TASK.d_vocab, "d_vocab_out": TASK.d_vocab_out, "n_layers": 2, "d_model": 12, "n_heads": 3, "n_ctx": 32,
    "positions": "rotary",
}  # fmt: skip


def random_model(**settings: Any) -> HookedTransformer:
    """A model whose weights are all random, gains and biases too, in float64."""
    model = HookedTransformer(ModelConfig(**{**FIELDS, "norm_after_attention": True, **settings})).double().eval()
    generator = torch.Generator().manual_seed(3)
    with torch.no_grad():
        for weight in model.parameters():
            weight.normal_(0, 0.5, generator=generator)
    return model


def tokens(count: int = 4, length: int = 11) -> Tensor:
    return TASK.batch(count, length).tokens


@pytest.mark.parametrize("normalization", ["LN", None])
def test_the_sum_over_heads_is_normalized_before_it_is_added(normalization: str | None) -> None:
    model = random_model(normalization_type=normalization)
    _, cache = model.run_with_cache(tokens(), return_cache_object=False)
    for layer, block in enumerate(model.blocks):
        at = f"blocks.{layer}."
        written = torch.einsum("bphe,hed->bpd", cache[f"{at}attn.hook_z"], block.attn.W_O) + block.attn.b_O
        mean, variance = written.mean(-1, keepdim=True), written.var(-1, correction=0, keepdim=True)
        scale = (variance + model.cfg.eps).sqrt()
        expected = (written - mean) / scale * block.ln1_post.w + block.ln1_post.b
        torch.testing.assert_close(cache[f"{at}ln1_post.hook_scale"], scale)
        torch.testing.assert_close(cache[f"{at}ln1_post.hook_normalized"], (written - mean) / scale)
        torch.testing.assert_close(cache[f"{at}hook_attn_out"], expected)
        torch.testing.assert_close(cache[f"{at}hook_resid_mid"], cache[f"{at}hook_resid_pre"] + expected)


def test_the_scale_of_what_attention_writes_does_not_matter() -> None:
    model = random_model(eps=1e-12)
    before = model(tokens())
    with torch.no_grad():
        for block in model.blocks:
            block.attn.W_O.mul_(7)
            block.attn.b_O.mul_(7)
    torch.testing.assert_close(model(tokens()), before)
    plain = random_model(norm_after_attention=False)
    assert not torch.allclose(plain(tokens()), before, atol=0.1)


def test_an_edit_of_the_output_reaches_the_stream_as_it_is() -> None:
    model = random_model()
    edited = {}

    def keep(x: Tensor, hook: Any) -> None:
        edited["mid"] = x

    def zero(x: Tensor, hook: Any) -> Tensor:
        return torch.zeros_like(x)

    with torch.no_grad(), model.hooks(fwd_hooks=[("blocks.0.hook_attn_out", zero), ("blocks.0.hook_resid_mid", keep)]):
        model(tokens())
    _, cache = model.run_with_cache(tokens(), return_cache_object=False)
    torch.testing.assert_close(edited["mid"], cache["blocks.0.hook_resid_pre"])


def test_the_brief_pass_of_training_gives_the_same_outputs_and_gradients() -> None:
    model, batch = random_model().train(), TASK.batch(6, 9)
    ids = torch.arange(batch.tokens.shape[1])[None]
    brief = TASK.loss(model.supervised_outputs(batch.tokens, ids, batch.mask), batch)
    brief.backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    assert "blocks.0.ln1_post.w" in gradients
    model.zero_grad()
    whole = TASK.loss(model.eval()(batch.tokens), batch)  # nothing is skipped
    torch.testing.assert_close(brief, whole)
    whole.backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(gradients[name], parameter.grad)


def test_configs_without_it_are_as_before() -> None:
    plain, normed = ModelConfig(**FIELDS), ModelConfig(**FIELDS, norm_after_attention=True)
    assert "norm_after_attention" not in plain.model_dump(mode="json")
    assert ModelConfig(**normed.model_dump(mode="json")) == normed != plain
    assert not [name for name in HookedTransformer(plain).state_dict() if "ln1_post" in name]
    assert "norm_after_attention" not in config().as_json()["model"]


def test_a_patched_last_row_is_that_of_the_whole_pass() -> None:
    model, batch = random_model(), TASK.batch(4, 11)
    names = sites(model, SITES)
    row, whole = LastRow(model, batch, names), LastRow(model, batch, names)
    whole._whole = True
    for name in names:
        other = row.rows[name].roll(1, 0) * 1.5
        torch.testing.assert_close(row.patched_outputs(name, other), whole.patched_outputs(name, other))


def test_what_a_norm_makes_undefined_is_refused() -> None:
    model = random_model()
    with pytest.raises(LensUseError, match="hook_attn_out"):
        model.accumulated_bias(1)
    assert random_model(norm_after_attention=False).accumulated_bias(1).shape == (12,)
    assert not cuttable(model)
    with pytest.raises(ValueError, match="norm after attention"):
        ConnectionCutter(model, TASK.batch(4, 9), TASK, np.random.default_rng(0))
    with pytest.raises(UpstreamError, match="norm after attention"):
        to_upstream(model)
    with pytest.raises(UpstreamError, match="norm after attention"):
        to_bridge(model)
    covered = ModelConfig(**{**FIELDS, "positions": "limit", "normalization_type": None, "log_scaling": "local"})
    assert coverage(covered) is None
    reason = coverage(covered.model_copy(update={"norm_after_attention": True}))
    assert reason is not None
    assert "LayerNorm" in reason.reason
