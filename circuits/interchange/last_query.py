"""Patching the last query of a sequence: all other rows keep their clean values, so only one row is computed.

In a causal model nothing before the query depends on it. A patch there changes one row per block, and later blocks need
that row's attention over clean keys and values: O(n) work, not a forward pass.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import torch
from einops import rearrange
from jaxtyping import Float
from torch import Tensor
from torch.nn import functional as F

from circuits.attention.attention_scores import cached_inputs, score_hooks
from circuits.passes import Clean, clean_pass, edited_pass, evaluation_ids, layer_of, resumable

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch

#: Activations of a block in which a row can be patched, in the order of computation.
SITES = ("hook_resid_pre", "attn.hook_z", "hook_attn_out", "hook_resid_mid", "hook_mlp_out", "hook_resid_post")


def sites(model: HookedModel, kinds: Sequence[str] = SITES) -> list[str]:
    """Return hook names of the given kinds in every block, as far as the model has them."""
    names = [f"blocks.{layer}.{kind}" for layer in range(model.cfg.n_layers) for kind in kinds]
    return [name for name in names if name in model.hook_dict]


class LastRow:
    """The last query of every sequence of a batch, clean and patched.

    Args:
        model: any model with TransformerLens's hook names.
        batch: sequences of one length.
        names: the sites that will be read or patched.
    """

    def __init__(self, model: HookedModel, batch: Batch, names: Sequence[str]) -> None:
        self.model = cast(Any, model)
        self._whole = not (resumable(self.model) and hasattr(self.model.blocks[0].attn, "project"))
        further = [] if self._whole else [*score_hooks(model.cfg), *self._values(), *sites(model, SITES)]
        reads = list(dict.fromkeys([*names, *further]))
        self._clean: Clean = clean_pass(model, batch.tokens, evaluation_ids(model, batch), reads)
        self.outputs: Float[Tensor, "batch out"] = self._clean.outputs[:, -1]
        self.rows = {name: self._clean.seen[name][:, -1] for name in {*names, *sites(model, SITES)} & {*reads}}
        if not self._whole:
            self._inputs = cached_inputs(model.cfg, self._clean.seen)
            self._at = self.model.places(self._clean.ids, self._clean.outputs.dtype)

    def patched_outputs(self, name: str, row: Tensor) -> Float[Tensor, "batch out"]:
        """Return the outputs of the last query with its residual-stream vector at a site replaced by ``row``."""
        if self._whole:
            return self._patched_pass(name, row)
        layer, kind = layer_of(name), name.split(".", 2)[2]
        with torch.no_grad():
            x = self._enter(layer, kind, row)
            for later in range(layer + 1, self.model.cfg.n_layers):
                x = self._after_attention(later, x + self._attention_out(later, x))
            outputs: Tensor = self.model.unembed(self.model.ln_final(x))
        return outputs[:, 0]

    def _patched_pass(self, name: str, row: Tensor) -> Tensor:
        def put(value: Tensor) -> Tensor:
            made = value.clone()
            made[:, -1] = row
            return made

        return edited_pass(self.model, self._clean, {name: put})[0][:, -1]

    def _enter(self, layer: int, kind: str, row: Tensor) -> Tensor:
        """Return the residual stream ``[batch, 1, d_model]`` after the block in which the row is patched."""
        at = f"blocks.{layer}.hook_resid_"
        row = row[:, None]
        if kind == "hook_resid_post":
            return row
        if kind == "hook_mlp_out":
            return self.rows[f"{at}mid"][:, None] + row
        if kind == "hook_resid_mid":
            return self._after_attention(layer, row)
        before = self.rows[f"{at}pre"][:, None]
        if kind == "hook_attn_out":
            return self._after_attention(layer, before + row)
        if kind == "attn.hook_z":
            return self._after_attention(layer, before + self._write_heads(layer, row))
        if kind == "hook_resid_pre":
            return self._after_attention(layer, row + self._attention_out(layer, row))
        raise ValueError(f"no row can be patched at blocks.{layer}.{kind}; the sites are {', '.join(SITES)}")

    def _after_attention(self, layer: int, x: Tensor) -> Tensor:
        block = self.model.blocks[layer]
        return x if self.model.cfg.attn_only else x + block.mlp(block.ln2(x))

    def _attention_out(self, layer: int, x: Tensor) -> Tensor:
        """Return what attention writes for the last query, whose row before the block is ``x [batch, 1, d_model]``."""
        attn, inputs = self.model.blocks[layer].attn, self._inputs[layer]
        q, k, v = attn.parts(attn.project(self.model.blocks[layer].ln1(x)))
        if self._at.turn is not None:
            last = tuple(part[:, -1:] for part in self._at.turn)
            turned = self.model.cfg.positions.rotate
            q, k = turned(q, last), turned(k, last)
        inputs = replace(inputs, q=_ending(inputs.q, q), k=_ending(inputs.k, k))
        pattern = inputs.pattern(inputs.scores([inputs.q.shape[1] - 1]))
        values = _ending(self._clean.seen[self._values()[layer]], v)
        return self._write_heads(layer, torch.einsum("bhqk,bkhe->bqhe", pattern, values))

    def _write_heads(self, layer: int, z: Tensor) -> Tensor:
        block = self.model.blocks[layer]
        weights = rearrange(block.attn.W_O, "h e d -> d (h e)")
        written = F.linear(rearrange(z, "b p h e -> b p (h e)"), weights, block.attn.b_O)
        norm = getattr(block, "ln1_post", None)
        return written if norm is None else norm(written)

    def _values(self) -> list[str]:
        return [f"blocks.{layer}.attn.hook_v" for layer in range(self.model.cfg.n_layers)]


def _ending(rows: Tensor, last: Tensor) -> Tensor:
    return torch.cat([rows[:, :-1], last], 1)
