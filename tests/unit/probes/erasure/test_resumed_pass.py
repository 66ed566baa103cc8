"""Edited passes that go on from the edited block give the outputs of whole passes, to the last bit."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import Tensor

from probes.erasure.resumed_pass import ResumedPasses
from probes.fitting.probe_rows import sites_of
from workbench.measure.study import forward
from workbench.models import HookedSSM, HookedTransformer, ModelConfig, SSMConfig
from workbench.tasks import make_task


@pytest.mark.parametrize("options", [
    {"positions": "learned", "log_scaling": "all"}, {"positions": "rotary"}, {"positions": "relative"},
    {"attention": "linear"}, {"attn_only": True, "normalization_type": None}, None,
])  # fmt: skip
def test_outputs_are_those_of_whole_passes(options: dict[str, Any] | None) -> None:
    task = make_task("majority")
    sizes: dict[str, Any] = {
        "d_vocab": task.d_vocab, "d_vocab_out": task.d_vocab_out, "n_layers": 3, "n_ctx": 64, "d_model": 16,
    }  # fmt: skip
    model: Any = HookedSSM(SSMConfig(**sizes), seed=1)
    if options is not None:
        model = HookedTransformer(ModelConfig(**sizes, n_heads=2, **options), seed=1)
    batch = task.sample(70, 41, torch.Generator().manual_seed(0), "matched", 16)  # more than one chunk
    passes = ResumedPasses(model.eval(), batch)
    clean = passes.clean()
    assert torch.equal(clean, forward(model, batch, [])["logits"])
    for site in sites_of(3, mids=False):
        for last in (1, 20):

            def change(x: Tensor, hook: Any, last: int = last) -> Tensor:
                return torch.cat([x[:, :-last], 0.3 * x[:, -last:] ** 2], 1)

            outputs = passes.edited_outputs(site, change)
            assert torch.equal(outputs, forward(model, batch, [], [(site, change)])["logits"]), (site, last)
            assert not torch.equal(outputs, clean)
