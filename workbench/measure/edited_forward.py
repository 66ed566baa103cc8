"""Forward passes with edits: each :class:`workbench.models.interventions.Edit` as hooks on the model.

Every edit takes hold at the last moment: an ablated head's output before ``W_O``, hard attention on the
scores, a patched row on the residual stream after its block. Edits compose; each sees the others' effects.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from workbench.measure.study import forward
from workbench.models.base.protocol import HookedModel
from workbench.models.interventions import Edit, EditError
from workbench.models.transformer.tie_sets import tie_set_scores
from workbench.tasks.base import Batch

Hook = Callable[..., Tensor]


def edited_forward(
    model: HookedModel, batch: Batch, edits: Sequence[Edit], names: Sequence[str], reference: Batch | None = None
) -> dict[str, Tensor]:
    """Named activations and ``logits`` of a batch under edits.

    Args:
        model: any hooked model.
        batch: the sequences.
        edits: what is changed; none = the clean pass.
        names: activations to return, as they are after the edits.
        reference: strings at least as long as the batch's, whose mean output per position stands in for a
            head's in mean ablation.

    Raises:
        EditError: for a head in a model without attention, or mean ablation without a reference.
    """
    hooks = [hook for edit in edits for hook in edit_hooks(model, batch, edit, reference)]
    return forward(model, batch, names, hooks)


def edit_hooks(model: HookedModel, batch: Batch, edit: Edit, reference: Batch | None) -> list[tuple[str, Hook]]:
    """The hooks that make one edit."""
    if edit.kind == "patch":
        assert edit.layer is not None
        assert edit.donor is not None
        into = batch.index(batch.length if edit.query is None else edit.query)
        row = partial(copy_row, source=batch.index(edit.donor), target=into)
        return [(f"blocks.{edit.layer}.hook_resid_post", row)]
    if edit.kind == "hardmax":
        layers = range(model.cfg.n_layers) if edit.layer is None else [edit.layer]
        harden = partial(replace_scores, head=edit.head, make=tie_set_scores)
        return [(_has(model, f"blocks.{layer}.attn.hook_attn_scores", edit), harden) for layer in layers]
    assert edit.head is not None
    name = _has(model, f"blocks.{edit.layer}.attn.hook_z", edit)
    if edit.kind == "zero":
        return [(name, partial(replace_head, head=edit.head, value=torch.zeros(())))]
    if reference is None:
        raise EditError(f"{edit.name} needs strings to take the mean over")
    mean = forward(model, reference, [name])[name][:, : batch.tokens.shape[1], edit.head].mean(0)
    return [(name, partial(replace_head, head=edit.head, value=mean))]


def copy_row(x: Float[Tensor, "batch pos d"], hook: Any, source: int, target: int) -> Tensor:
    """The residual stream with the row at ``target`` replaced by the one at ``source``."""
    x = x.clone()
    x[:, target] = x[:, source]
    return x


def replace_head(z: Float[Tensor, "batch pos head d"], hook: Any, head: int, value: Tensor) -> Tensor:
    """A layer's head outputs with one head's replaced by a value per position."""
    z = z.clone()
    z[:, :, head] = value
    return z


def replace_scores(
    scores: Float[Tensor, "batch head query key"], hook: Any, head: int | None, make: Callable[[Tensor], Tensor]
) -> Tensor:
    """A layer's scores with those of one head (None = of all) replaced."""
    if head is None:
        return make(scores)
    scores = scores.clone()
    scores[:, head : head + 1] = make(scores[:, head : head + 1])
    return scores


def _has(model: HookedModel, name: str, edit: Edit) -> str:
    if name not in model.hook_dict:
        raise EditError(f"{edit.name}: this model has no attention head there; patch a state instead")
    return name
