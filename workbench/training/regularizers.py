"""Penalties that can be added to the loss, in addition to the optimizer's own weight decay.

A run names regularizers with their coefficients. Training minimizes the task's loss plus the sum of coefficient times
penalty. If the model predicts position ids, the loss of these predictions is added as well. The logged *loss* is the
task's own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import torch
from jaxtyping import Bool, Float
from torch import Tensor

from workbench.core.suggest import nearest
from workbench.models.base.architecture import Architecture
from workbench.models.base.hooked import Hooked
from workbench.models.base.mixer_stack import State
from workbench.models.transformer.predicted_ids import ID_LOGITS, id_loss
from workbench.tasks.base import Batch
from workbench.theory.limit_transformers.norm_regularizer import positional_penalty
from workbench.training.errors import TrainingError


@runtime_checkable
class Regularizer(Protocol):
    """A penalty on a model's weights and on its activations on a batch."""

    def check(self, cfg: Architecture, coefficient: float) -> None:
        """Refuse a model or a coefficient for which the penalty is meaningless.

        Raises:
            TrainingError: with the reason and the way out.
        """
        ...

    def hooks(self, cfg: Architecture) -> list[str]:
        """Names of the activations that :meth:`penalty` reads."""
        ...

    def penalty(self, model: Hooked, batch: Batch, seen: Mapping[str, Tensor]) -> Float[Tensor, ""]:
        """Return the penalty as a scalar tensor with its autograd graph."""
        ...


@dataclass(frozen=True)
class PositionalPenalty:
    """Pushes the part of attention that depends only on position vectors to be local.

    The regularizer of Huang et al. (2410.02140) in the form of their experiments. Let p_1 .. p_N be the position
    vectors (every row of the table), and M = (p W_Q)(p W_K)^T for each layer and head, without biases, scale or
    LayerNorm. The squares of the lower triangle of M (query i >= key j) are summed over queries and averaged over keys,
    then summed over layers and heads. The penalty stays bounded as N grows if M falls off with the lag i - j, and grows
    like N if M is periodic or constant.
    """

    def check(self, cfg: Architecture, coefficient: float) -> None:
        if not cfg.positions.added:
            raise TrainingError(
                f"the regularizer positional needs position vectors that are added to the embedding, which positions "
                f"{cfg.positions.name} do not have; use learned, sinusoidal or limit, or leave it out"
            )
        if coefficient < 0:
            raise TrainingError(f"the coefficient of the regularizer positional must be at least 0, not {coefficient}")

    def hooks(self, cfg: Architecture) -> list[str]:
        return []

    def penalty(self, model: Hooked, batch: Batch, seen: Mapping[str, Tensor]) -> Float[Tensor, ""]:
        ids = torch.arange(model.cfg.n_ctx, device=batch.tokens.device)[None]
        rows = model.pos_embed(ids)[0]
        layers = zip(model.W_Q, model.W_K, strict=True)
        return torch.stack([positional_penalty(rows, w_q, w_k) for w_q, w_k in layers]).sum()


@dataclass(frozen=True)
class AttentionEntropy:
    """Mean entropy of attention, in nats, over layers, heads and supervised queries.

    A positive coefficient sharpens attention, a negative one spreads it.
    """

    def check(self, cfg: Architecture, coefficient: float) -> None:
        if cfg.attention != "softmax":
            raise TrainingError(
                f"the regularizer attention_entropy needs softmax attention, not {cfg.attention}: its entropy has no "
                "gradient, or it has no pattern; leave the regularizer out"
            )

    def hooks(self, cfg: Architecture) -> list[str]:
        return [f"blocks.{layer}.attn.hook_pattern" for layer in range(cfg.n_layers)]

    def penalty(self, model: Hooked, batch: Batch, seen: Mapping[str, Tensor]) -> Float[Tensor, ""]:
        return torch.stack([mean_entropy(seen[name], batch.mask) for name in self.hooks(model.cfg)]).mean()


def mean_entropy(
    pattern: Float[Tensor, "batch head query key"], mask: Bool[Tensor, "batch query"]
) -> Float[Tensor, ""]:
    """Mean over heads and over the queries in ``mask`` of the entropy of each row, in nats."""
    # Masked keys weigh exactly 0; there the slope of p log p is infinite and would make the gradient NaN.
    logs = pattern.clamp_min(torch.finfo(pattern.dtype).tiny).log()
    entropy = -(pattern * logs).sum(-1)
    return entropy.mean(1)[mask].mean()


REGULARIZERS: dict[str, Regularizer] = {"positional": PositionalPenalty(), "attention_entropy": AttentionEntropy()}


def check_regularizers(coefficients: Mapping[str, float], cfg: Architecture) -> None:
    """Raise an error for unknown regularizers, and for those that are not defined for this model.

    Raises:
        TrainingError: naming the regularizer and the way out.
    """
    for name, coefficient in coefficients.items():
        if name not in REGULARIZERS:
            raise TrainingError(f"unknown regularizer {name!r}; {nearest(name, REGULARIZERS)}")
        REGULARIZERS[name].check(cfg, coefficient)


def outputs_and_penalty(
    model: Hooked,
    batch: Batch,
    ids: Tensor,
    coefficients: Mapping[str, float],
    initial_states: Sequence[State] | None = None,
) -> tuple[Float[Tensor, "batch pos out"], Float[Tensor, ""] | None]:
    """The model's outputs [batch, pos, out] and the scalar that is added to the task's loss; None if nothing is added.

    The outputs are correct only at supervised positions. The added scalar is the sum of coefficient times penalty. If
    the model predicts position ids, it includes their weighted cross-entropy. ``initial_states`` are the states of each
    layer before the first token; None = those of an empty sequence.
    """
    law = model.cfg.ids
    begin = {} if initial_states is None else {"initial_states": initial_states}
    if not coefficients and not law.predicted:
        whole = model(batch.tokens, ids, **begin) if begin else model.supervised_outputs(batch.tokens, ids, batch.mask)
        return whole, None
    activations: dict[str, Tensor] = {}

    def keep(value: Tensor, hook: object) -> None:
        activations[hook.name] = value  # type: ignore[attr-defined]

    names = {name for one in coefficients for name in REGULARIZERS[one].hooks(model.cfg)}
    names |= {ID_LOGITS} if law.predicted else set()
    outputs = model.run_with_hooks(batch.tokens, ids, fwd_hooks=[(name, keep) for name in sorted(names)], **begin)
    parts = [c * REGULARIZERS[one].penalty(model, batch, activations) for one, c in coefficients.items()]
    if law.predicted:
        parts.append(law.weight * id_loss(activations[ID_LOGITS], ids, batch.mask))
    return outputs, torch.stack(parts).sum()
