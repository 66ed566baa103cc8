"""Predictive position coupling: a model that also predicts which coupled id its next token has.

From Golowich et al. 2025 ("The Role of Sparsity for Length Generalization in Transformers", 2502.16792). A second
read-out predicts the next token's position id, and both predictions are fed back when the model generates freely.
Training supervises both at each answer that is followed by a token. An answer is right if both are right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

if TYPE_CHECKING:
    from workbench.models.base.architecture import Architecture
    from workbench.models.base.protocol import HookedModel

ID_LOGITS = "hook_id_logits"
"""Hook ``[batch, pos, n_ctx]``: logits of the ids that the next token may have."""
NEXT_IDS = "hook_next_ids"
"""Hook ``[batch, pos]``: the id with the highest logit."""


def next_id_hooks(cfg: Architecture) -> list[str]:
    """The hook of the predicted ids, as a list; empty for a model that predicts none."""
    return [NEXT_IDS] if cfg.ids.predicted else []


def outputs_and_ids(
    model: HookedModel, tokens: Int[Tensor, "batch pos"], ids: Int[Tensor, "#batch pos"]
) -> tuple[Float[Tensor, "batch pos out"], Int[Tensor, "batch pos"] | None]:
    """Return a model's outputs, and the position ids that it predicts for the next tokens (None for other models)."""
    if not model.cfg.ids.predicted:
        return model(tokens, ids), None
    outputs, cache = model.run_with_cache(tokens, ids, names_filter=[NEXT_IDS], return_cache_object=False)
    return outputs, cache[NEXT_IDS]


def ids_supervised(mask: Bool[Tensor, "batch pos"]) -> Bool[Tensor, "batch queries"]:
    """The supervised positions of ids, among all queries except the last: the positions of answers."""
    return mask[:, :-1]


def id_loss(
    id_logits: Float[Tensor, "batch pos ids"], ids: Int[Tensor, "#batch pos"], mask: Bool[Tensor, "batch pos"]
) -> Float[Tensor, ""]:
    """Mean cross-entropy, in nats, of the id of each token that is an answer.

    Args:
        id_logits: the read-out.
        ids: the ids that the model was given.
        mask: the supervised positions.
    """
    wanted = ids.expand_as(mask)[:, 1:]
    return F.cross_entropy(id_logits[:, :-1][ids_supervised(mask)], wanted[ids_supervised(mask)])


def ids_right(
    next_ids: Int[Tensor, "batch pos"], ids: Int[Tensor, "#batch pos"], mask: Bool[Tensor, "batch pos"]
) -> Bool[Tensor, "batch pos"]:
    """Whether each predicted id is that of the next token; True at positions that are not supervised."""
    right = F.pad(next_ids[:, :-1] == ids.expand_as(mask)[:, 1:], (0, 1), value=True)
    return right | ~F.pad(ids_supervised(mask), (0, 1), value=False)
