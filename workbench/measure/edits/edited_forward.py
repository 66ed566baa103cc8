"""Forward passes with edits: each :class:`workbench.models.interventions.Edit` as hooks on the model.

Every edit takes hold at the last moment: an ablated head's output before ``W_O``, hard attention on the
scores, a patched row on the residual stream after its block. Edits compose; each sees the others' effects.
Blind repairs (:mod:`workbench.measure.edits.repairs`) change the ids of the whole pass, or the scores of every head.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from workbench.measure.edits.repairs import by_name, log_growth, no_place, repaired_ids
from workbench.measure.study import forward
from workbench.models.base.protocol import HookedModel
from workbench.models.interventions import Edit, EditError
from workbench.models.transformer.tie_sets import tie_set_scores
from workbench.tasks.base import Batch

Hook = Callable[..., Tensor]


@dataclass(frozen=True)
class Trained:
    """What training was like, as far as repairs of a single pass need it.

    Attributes:
        positions: of a string of length N, BOS counted: as many keys as its last query sees.
        top: the largest id seen in training; None = the largest at N.
    """

    positions: int
    top: int | None = None


def largest_id(trained_ids: Sequence[Sequence[int]] | None) -> int | None:
    """The largest position id seen in training, of intervals [first, last]; None before the first update, when none
    was, and where that is not recorded."""
    return max(int(last) for _, last in trained_ids) if trained_ids else None


def edited_forward(
    model: HookedModel,
    batch: Batch,
    edits: Sequence[Edit],
    names: Sequence[str],
    reference: Batch | None = None,
    trained: Trained | None = None,
) -> dict[str, Tensor]:
    """Named activations and ``logits`` of a batch under edits.

    Args:
        model: any hooked model.
        batch: the sequences.
        edits: what is changed; none = the clean pass.
        names: activations to return, as they are after the edits.
        reference: strings at least as long as the batch's, whose mean output per position stands in for a
            head's in mean ablation.
        trained: what repairs hold a pass to; needed where there are any.

    Raises:
        EditError: for a head in a model without attention, mean ablation without a reference, or a repair that the
            model has no place for.
    """
    repairs = [edit for edit in edits if edit.kind == "repair"]
    if repairs and trained is None:
        raise EditError(f"{repairs[0].name} needs to be told what training was like")
    hooks = [hook for edit in edits if edit not in repairs for hook in edit_hooks(model, batch, edit, reference)]
    ids = None
    for edit in repairs:
        assert trained is not None
        check_repair(model, edit)
        if edit.repair.startswith("P."):
            ids = ids_inside(model, batch, edit, trained)
        else:
            rescale = partial(rescale_scores, repair=edit.repair, keys=trained.positions)
            hooks += [(f"blocks.{layer}.attn.hook_attn_scores", rescale) for layer in range(model.cfg.n_layers)]
    return forward(model, batch, names, hooks, ids)


def check_repair(model: HookedModel, edit: Edit) -> None:
    """Refuse a repair that a model has no place for.

    Raises:
        EditError: naming the repair and why.
    """
    if edit.kind == "repair" and (why := no_place(by_name(edit.repair), model.cfg)):
        raise EditError(f"{edit.name}: {why}")


def ids_inside(model: HookedModel, batch: Batch, edit: Edit, trained: Trained) -> Tensor:
    """Position ids ``[batch or 1, pos]`` under a repair of them."""
    cfg, positions = model.cfg, batch.tokens.shape[1]
    ids = cfg.ids.evaluation(positions, cfg.n_ctx, batch.position_ids)
    # The tasks whose strings bring ids of their own have no place for these repairs.
    last = int(cfg.ids.evaluation(trained.positions, cfg.n_ctx, None).max())
    top = last if trained.top is None else max(trained.top, last)
    return repaired_ids(by_name(edit.repair), ids, last, cfg.positions.between, cfg.positions.absolute, top)


def rescale_scores(scores: Float[Tensor, "batch head query key"], hook: Any, repair: str, keys: int) -> Tensor:
    """A layer's scores under a repair that multiplies them."""
    return scores * score_factor(repair, scores.shape[2], keys).to(scores)[:, None]


def score_factor(repair: str, positions: int, keys: int) -> Float[Tensor, " query"]:
    """What a repair multiplies the scores of each query with.

    Args:
        repair: ``D.logn``, or one that sharpens by a number.
        positions: of the sequence.
        keys: K_N, the keys that the last query at N sees.
    """
    known = by_name(repair)
    seen = torch.arange(1, positions + 1, dtype=torch.float32, device="cpu")
    return log_growth(seen, keys) if known.kind == "scale_by_log" else torch.full_like(seen, known.factor)


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
