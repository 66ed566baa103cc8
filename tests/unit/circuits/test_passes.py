"""Edited passes: alive or an error, the same whichever part is reused."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import nn
from transformer_lens.hook_points import HookPoint

from circuits.interchange.last_query import LastRow, sites
from circuits.passes import DeadHookError, canary, clean_pass, edited_pass, evaluation_ids
from tests.support.every_encoding import EXAMPLES
from workbench.models import HookedTransformer, ModelConfig
from workbench.tasks.base import Batch

Make = Callable[..., Batch]
LIMIT = {"name": "limit", "period": 3, "locality": 4}
OPTIONS = [
    *({"positions": p, "log_scaling": s} for p in EXAMPLES for s in ("none", "learned")),
    {"positions": LIMIT, "log_scaling": "local"},
    {"attention": "hardmax"}, {"attention": "linear"}, {"attn_only": True}, {"normalization_type": None},
]  # fmt: skip


def make_model(**options: object) -> HookedTransformer:
    cfg = ModelConfig(
        **{"d_vocab": 5, "n_layers": 3, "d_model": 16, "n_heads": 2, "n_ctx": 64, "initializer_range": 0.5, **options}
    )
    return HookedTransformer(cfg, seed=1).double().eval()


def tokens(batch: int, pos: int, seed: int = 0) -> torch.Tensor:
    return torch.randint(0, 5, (batch, pos), generator=torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_one_patched_row_is_the_whole_patched_pass(options: dict[str, object], asked: Make) -> None:
    model = make_model(**options)
    recipients, donors = asked(tokens(3, 20)), asked(tokens(3, 9, 1))
    names = sites(model)
    mine, theirs = LastRow(model, recipients, names), LastRow(model, donors, names)
    clean = model(recipients.tokens)

    def put(name: str) -> Callable[[torch.Tensor, object], torch.Tensor]:
        def hook(value: torch.Tensor, hook: object) -> torch.Tensor:
            value[:, -1] = theirs.rows[name]
            return value

        return hook

    for name in names:
        with torch.no_grad():
            whole = model.run_with_hooks(recipients.tokens, fwd_hooks=[(name, put(name))])
        assert torch.allclose(mine.patched_outputs(name, theirs.rows[name]), whole[:, -1], atol=1e-10), name
        assert torch.equal(whole[:, :-1].argmax(-1), clean[:, :-1].argmax(-1))
    assert torch.allclose(mine.patched_outputs(names[0], mine.rows[names[0]]), clean[:, -1], atol=1e-10)


def test_blocks_before_an_edit_do_not_run_again(asked: Make) -> None:
    model, batch = make_model(positions="rotary"), asked(tokens(2, 10))
    clean = clean_pass(model, batch.tokens, evaluation_ids(model, batch))
    calls = []
    for layer, block in enumerate(model.blocks):
        block.register_forward_hook(lambda *_, layer=layer: calls.append(layer))
    for layer in range(3):
        calls.clear()
        name = f"blocks.{layer}.attn.hook_z"
        found, _ = edited_pass(model, clean, {name: torch.zeros_like})
        assert calls == list(range(layer, 3))
        with torch.no_grad():
            whole = model.run_with_hooks(batch.tokens, fwd_hooks=[(name, lambda z, hook: torch.zeros_like(z))])
        assert torch.allclose(found, whole, atol=1e-12)
        assert not torch.allclose(found, clean.outputs, atol=1e-6)


def test_every_site_is_alive_and_a_dead_one_is_an_error(asked: Make) -> None:
    model, batch = make_model(), asked(tokens(2, 10))
    names = [*sites(model), "blocks.1.attn.hook_attn_scores", "blocks.1.attn.hook_pattern", "blocks.2.attn.hook_v"]
    canary(model, batch, names)
    clean = clean_pass(model, batch.tokens, evaluation_ids(model, batch))
    with pytest.raises(DeadHookError, match=r"'blocks\.7\.hook_resid_pre'"):
        edited_pass(model, clean, {"blocks.7.hook_resid_pre": torch.zeros_like})
    with pytest.raises(DeadHookError, match=r"changed the shape \(2, 10, 16\) to \(2, 1, 16\)"):
        edited_pass(model, clean, {"blocks.0.hook_resid_pre": lambda x: x[:, :1]})
    model.blocks[1].hook_mlp_out = Shown(model.blocks[1].hook_mlp_out)
    with pytest.raises(DeadHookError, match=r"blocks\.1\.hook_mlp_out"):
        canary(model, batch, sites(model))
    ghost = HookPoint()
    ghost.name = "hook_ghost"
    model.hook_dict["hook_ghost"] = model.mod_dict["hook_ghost"] = ghost
    with pytest.raises(DeadHookError, match="hook_ghost"):
        edited_pass(model, clean, {"hook_ghost": torch.zeros_like})


class Shown(nn.Module):
    """A hook that runs, and what it returns is thrown away."""

    def __init__(self, point: HookPoint) -> None:
        super().__init__()
        self.point = point

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.point(x)
        return x


def test_a_head_without_effect_is_not_taken_for_a_dead_hook(asked: Make) -> None:
    model, batch = make_model(), asked(tokens(2, 10))
    with torch.no_grad():
        model.blocks[0].attn.W_O.zero_()
    canary(model, batch, ["blocks.0.attn.hook_z"])
