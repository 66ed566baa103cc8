"""Forward passes with edits: each :class:`workbench.measure.edits.edit.Edit` as hooks on the model.

Each edit changes one activation: an ablated head's output before ``W_O``, the attention scores for hardmax, or the
residual stream after the block of a patched row. Edits compose, and each sees the effects of earlier ones.
Interventions (:mod:`workbench.measure.edits.interventions`) change the ids of the whole pass, or the scores of every
head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from workbench.measure.edits.edit import Edit, EditError
from workbench.measure.edits.interventions.intervention import IdEdit, TrainedIds
from workbench.measure.edits.interventions.sharpening import ScaleScores
from workbench.measure.study import forward
from workbench.models.base.protocol import HookedModel
from workbench.models.transformer.tie_sets import tie_set_scores
from workbench.tasks.base import Batch

Hook = Callable[..., Tensor]


@dataclass(frozen=True)
class Trained:
    """Facts about training that interventions on a single pass need.

    Attributes:
        positions: positions of a sequence of length N, including BOS. This is also the number of keys that its last
            query sees.
        top: the largest id seen in training; None = the largest at N.
    """

    positions: int
    top: int | None = None


def largest_id(trained_ids: Sequence[Sequence[int]] | None) -> int | None:
    """Return the largest position id in intervals [first, last] seen in training.

    None is returned before the first update, when no id was seen, and where ids were not recorded.
    """
    return max(int(last) for _, last in trained_ids) if trained_ids else None


def edited_forward(
    model: HookedModel,
    batch: Batch,
    edits: Sequence[Edit],
    names: Sequence[str],
    reference: Batch | None = None,
    trained: Trained | None = None,
) -> dict[str, Tensor]:
    """Return named activations and ``logits`` of a batch under edits.

    Args:
        model: any hooked model.
        batch: the sequences.
        edits: the changes; none = the clean pass.
        names: activations to return, as they are after the edits.
        reference: sequences at least as long as those of the batch. In mean ablation, their mean output per position
            replaces the head's output.
        trained: facts about training; required by interventions.

    Raises:
        EditError: for a head in a model without attention, mean ablation without a reference, or an intervention that
            the model does not support.
    """
    interventions = [edit for edit in edits if edit.intervention]
    if interventions and trained is None:
        raise EditError(f"{interventions[0].name} needs facts about training: pass them as trained=")
    hooks = [hook for edit in edits if not edit.intervention for hook in edit_hooks(model, batch, edit, reference)]
    ids = None
    for edit in interventions:
        assert trained is not None
        check_intervention(model, edit)
        if edit.strength == 0:
            continue
        if isinstance(edit.intervention, IdEdit):
            ids = ids_inside(model, batch, edit, trained)
        elif isinstance(edit.intervention, ScaleScores):
            rescale = partial(rescale_scores, scaling=edit.intervention, keys=trained.positions, strength=edit.strength)
            hooks += [(f"blocks.{layer}.attn.hook_attn_scores", rescale) for layer in range(model.cfg.n_layers)]
    return forward(model, batch, names, hooks, ids)


def check_intervention(model: HookedModel, edit: Edit) -> None:
    """Refuse an intervention, or a strength of it, that a model does not support.

    Raises:
        EditError: naming the intervention and the reason.
    """
    if edit.intervention and (why := edit.intervention.no_place(model.cfg)):
        raise EditError(f"{edit.name}: {why}")
    if edit.intervention and edit.strength not in (0, 1) and not edit.intervention.has_strengths(model.cfg):
        raise EditError(f"{edit.name}: this model reads only whole ids; choose strength 0 or 1, not {edit.strength:g}")


def ids_inside(model: HookedModel, batch: Batch, edit: Edit, trained: Trained) -> Tensor:
    """Return position ids ``[batch or 1, pos]`` under an intervention on them.

    At strength s they are (1 - s) times the own id plus s times the id under the full intervention.
    """
    cfg, positions = model.cfg, batch.tokens.shape[1]
    ids = cfg.ids.evaluation(positions, cfg.n_ctx, batch.position_ids)
    # Tasks whose sequences define their own ids do not support these interventions.
    last = int(cfg.ids.evaluation(trained.positions, cfg.n_ctx, None).max())
    top = last if trained.top is None else max(trained.top, last)
    assert isinstance(edit.intervention, IdEdit)
    full = edit.intervention.edit(ids, TrainedIds(last, top, cfg.positions.between, cfg.positions.absolute))
    return full if edit.strength == 1 else torch.lerp(ids.double(), full.double(), edit.strength)


def rescale_scores(
    scores: Float[Tensor, "batch head query key"], hook: Any, scaling: ScaleScores, keys: int, strength: float = 1.0
) -> Tensor:
    """Return a layer's scores under an intervention that multiplies them."""
    return scores * score_factor(scaling, scores, range(scores.shape[2]), keys, strength)[..., None]


def score_factor(
    scaling: ScaleScores,
    scores: Float[Tensor, "batch head query key"],
    queries: range,
    keys: int,
    strength: float = 1.0,
) -> Tensor:
    """Return the factor by which an intervention multiplies the scores of each query.

    Args:
        scaling: the intervention, e.g. ``D.logn``.
        scores: the scores of the queries.
        queries: indices of the queries.
        keys: K_N, the number of keys that the last query at N sees.
        strength: of the intervention; at strength s the factor is 1 + s (f - 1), where f is the full one.
    """
    visible = torch.arange(queries.start + 1, queries.stop + 1, dtype=torch.float32, device="cpu")
    full = scaling.factor(scores, visible, keys)
    return (full if strength == 1 else 1 + strength * (full - 1)).to(scores)


def edit_hooks(model: HookedModel, batch: Batch, edit: Edit, reference: Batch | None) -> list[tuple[str, Hook]]:
    """Return the hooks that make one edit, as (hook name, function)."""
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
        raise EditError(f"{edit.name} needs sequences to take the mean over; pass them as reference=")
    mean = forward(model, reference, [name])[name][:, : batch.tokens.shape[1], edit.head].mean(0)
    return [(name, partial(replace_head, head=edit.head, value=mean))]


def copy_row(x: Float[Tensor, "batch pos d"], hook: Any, source: int, target: int) -> Tensor:
    """Return the residual stream ``[batch, pos, d_model]`` with the vector at position ``target`` replaced by the one
    at ``source``.
    """
    x = x.clone()
    x[:, target] = x[:, source]
    return x


def replace_head(z: Float[Tensor, "batch pos head d"], hook: Any, head: int, value: Tensor) -> Tensor:
    """Return a layer's head outputs with the output of one head replaced at every position."""
    z = z.clone()
    z[:, :, head] = value
    return z


def replace_scores(
    scores: Float[Tensor, "batch head query key"], hook: Any, head: int | None, make: Callable[[Tensor], Tensor]
) -> Tensor:
    """Return a layer's attention scores with those of one head replaced (``head`` None = of all heads)."""
    if head is None:
        return make(scores)
    scores = scores.clone()
    scores[:, head : head + 1] = make(scores[:, head : head + 1])
    return scores


def _has(model: HookedModel, name: str, edit: Edit) -> str:
    if name not in model.hook_dict:
        raise EditError(f"{edit.name}: this model has no attention head there; patch a state instead")
    return name
