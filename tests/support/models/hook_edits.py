"""Every hook of a model reaches its logits: an edit through it changes them, and ends with its run."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor


def edit(value: Tensor, hook: Any) -> Tensor:
    """A change that no part of the model may swallow."""
    if not value.is_floating_point():
        return 2 * value  # ids
    noise = torch.randn(value.shape, generator=torch.Generator().manual_seed(1))
    additive = hook.name.endswith(("pattern", "attn_scores"))  # scores hold -inf, which a factor may flip
    return value + noise.abs() if additive else value * (1 + 0.5 * noise)


def assert_every_hook_reaches_the_logits(model: Any, tokens: Tensor) -> None:
    """Edit each hook in a run of its own, and compare with the model as it is."""
    with torch.no_grad():
        clean = model(tokens)
        for hook in model.hook_dict:
            edited = model.run_with_hooks(tokens, fwd_hooks=[(hook, edit)])
            assert (edited - clean).abs().max() > 1e-4, f"{hook} is a silent no-op"
        assert torch.equal(clean, model(tokens)), "a hook outlived its run"
