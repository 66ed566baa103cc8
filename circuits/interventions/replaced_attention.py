"""Attention replaced during a forward pass: the output of a head is recomputed from its own q, k and v.

No n x n array is kept. The replacement works in blocks of queries and edits ``hook_z``, so that the rest of the model
is unchanged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from circuits.passes import Clean, Edit, edited_pass
from workbench.measure.edits.interventions.sharpening import adaptive_factor
from workbench.models.transformer.kernels import query_blocks
from workbench.models.transformer.scores import ScoreInputs
from workbench.models.transformer.tie_sets import tie_set_pattern

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel

Pattern = Callable[[Float[Tensor, "batch head query key"], range], Float[Tensor, "batch head query key"]]
"""Maps the scores of a block of queries, over the keys up to its last one, to weights."""

HeadOutputs = Callable[[Tensor, ScoreInputs, Mapping[str, Tensor]], Tensor]
"""Maps head outputs ``[batch, pos, head, d_head]`` of a layer, its score inputs and its activations to new outputs."""


def replaced_attention(
    model: HookedModel, clean: Clean, pattern: Pattern, heads: Sequence[tuple[int, int]]
) -> Float[Tensor, "batch pos out"]:
    """Return outputs of the model if some heads weigh their keys by ``pattern`` instead.

    Heads of several layers are replaced together: each receives inputs that include the effect of replaced heads below.

    Args:
        model: any model with TransformerLens's hook names.
        clean: the clean pass over the same tokens.
        pattern: the weights.
        heads: layer and head.
    """
    edits: dict[str, Edit] = {}
    by_layer: dict[int, list[int]] = {}
    for layer, head in heads:
        by_layer.setdefault(layer, []).append(head)
    for layer, chosen in by_layer.items():
        edits |= _edits(model, layer, chosen, pattern, clean)
    return edited_pass(model, clean, edits)[0]


def tie_set(scores: Float[Tensor, "batch head query key"], queries: range) -> Float[Tensor, "batch head query key"]:
    """Return uniform weight on the k* keys of the nearest hardmax (:mod:`workbench.models.transformer.tie_sets`).

    Keys that tie up to rounding are included, because a counter averages over them.
    """
    return tie_set_pattern(scores)


def within(delta: float) -> Pattern:
    """Return a pattern with uniform weight on the keys at most ``delta`` below the top score."""

    def pattern(scores: Tensor, queries: range) -> Tensor:
        chosen = (scores >= scores.amax(-1, keepdim=True) - delta).to(scores.dtype)
        made: Tensor = chosen / chosen.sum(-1, keepdim=True)
        return made

    return pattern


def log_scaled(trained_keys: float) -> Pattern:
    """Return the softmax of the scores times max(1, log K / log K_train), where K is each query's number of keys.

    The factor is 1 up to the trained length; otherwise log 1 = 0 would erase the first row. It compensates a head's
    margin for the growing number of competing keys.
    """

    def pattern(scores: Tensor, queries: range) -> Tensor:
        keys = torch.tensor([float(q + 1) for q in queries], dtype=scores.dtype, device=scores.device)
        factor = (keys.log() / np.log(trained_keys)).clamp(min=1.0)
        made: Tensor = (scores * factor[:, None]).softmax(-1)
        return made

    return pattern


def adaptive_temperature(
    scores: Float[Tensor, "batch head query key"], queries: range
) -> Float[Tensor, "batch head query key"]:
    """Return the softmax of the scores with adaptive temperature: sharper where the weights have a high entropy.

    :func:`~workbench.measure.edits.interventions.sharpening.adaptive_factor` computes the factor. Unlike that of
    :func:`log_scaled`, it depends on the scores and can exceed 1 at trained lengths, too.
    """
    return (scores * adaptive_factor(scores)[..., None]).softmax(-1)


def _edits(model: HookedModel, layer: int, heads: Sequence[int], pattern: Pattern, clean: Clean) -> dict[str, Edit]:
    def z(own: Tensor, inputs: ScoreInputs, held: Mapping[str, Tensor]) -> Tensor:
        made = own.clone()
        for head in heads:
            made[:, :, head] = replaced_head_output(inputs, held[f"blocks.{layer}.attn.hook_v"], head, pattern)
        return made

    return head_output_edits(model, layer, clean.ids, z)


def head_output_edits(
    model: HookedModel, layer: int, ids: Tensor, make: HeadOutputs, reads: Sequence[str] = ()
) -> dict[str, Edit]:
    """Return edits that recompute the head outputs of a layer, for :func:`circuits.passes.edited_pass`.

    Args:
        model: the model.
        layer: index of the layer.
        ids: position ids of the pass ``[batch or 1, pos]``.
        make: returns the new outputs.
        reads: further hook names in the layer, before its head outputs, that ``make`` needs in addition to values and
            score inputs.
    """
    cached: dict[str, Tensor] = {}
    names = model.cfg.score_hooks(layer)
    if "hook_position_ids" in names:
        # Ids enter before the first block, which a resumed pass does not run again.
        cached["hook_position_ids"] = ids
        names = [name for name in names if name != "hook_position_ids"]

    def hold(name: str) -> Edit:
        def edit(x: Tensor) -> Tensor:
            cached[name] = x
            return x

        return edit

    def z(own: Tensor) -> Tensor:
        return make(own, model.cfg.score_inputs(layer, cached), cached)

    listed = dict.fromkeys([*names, f"blocks.{layer}.attn.hook_v", *reads])
    return {name: hold(name) for name in listed} | {f"blocks.{layer}.attn.hook_z": z}


def replaced_head_output(
    inputs: ScoreInputs, v: Tensor, head: int, pattern: Pattern
) -> Float[Tensor, "batch pos d_head"]:
    """Return the output of a head that weighs its keys by ``pattern``, block by block of queries.

    Args:
        inputs: score inputs of its layer.
        v: values of its layer ``[batch, pos, key_head, d_head]``. Several successive heads may share the same values.
        head: index of the head.
        pattern: the weights.
    """
    one = inputs.select(slice(None), slice(head, head + 1))
    head_values = v[:, :, head // (inputs.q.shape[2] // v.shape[2])]
    output = torch.empty_like(head_values)
    for queries in query_blocks(one):
        weights = pattern(one.scores(queries, queries.stop), queries)
        read = torch.einsum("bqk,bke->bqe", weights[:, 0], head_values[:, : queries.stop].to(weights.dtype))
        output[:, queries.start : queries.stop] = read.to(head_values.dtype)
    return output
