"""How much distant context lowers the loss, and how much of that a few tokens recover, per sequence.

Source: Golowich et al. 2025, "The Role of Sparsity for Length Generalization in Transformers" (2502.16792), Figures 4
and 6. The tokens may be chosen by a model other than the one whose losses are measured.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray

from circuits.sparsity.influence import earlier_positions, influential_tokens, masked_losses, visible_losses
from workbench.tasks.random_generator import generator

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task


@dataclass(frozen=True)
class FewTokens:
    """Losses of the last query of each sequence, in nats, by which earlier tokens are visible.

    BOS and the last ``window`` tokens are always visible.

    Attributes:
        chosen: ``[sequence, k]`` indices on the position axis of the most influential earlier tokens.
        loss_long: ``[sequence]`` with every token visible.
        loss_short: ``[sequence]`` with no earlier one.
        loss_sparse: ``[sequence]`` with the chosen ones.
        loss_random: ``[sequence]`` with as many drawn at random, the control.
    """

    chosen: NDArray[np.int64]
    loss_long: NDArray[np.float64]
    loss_short: NDArray[np.float64]
    loss_sparse: NDArray[np.float64]
    loss_random: NDArray[np.float64]


def few_tokens(
    model: HookedModel,
    task: Task,
    batch: Batch,
    window: int,
    k: int = 5,
    *,
    chosen_by: HookedModel | None = None,
    chosen: NDArray[np.int64] | None = None,
) -> FewTokens:
    """Return losses with all, with none and with a few of the tokens before the last ``window`` ones.

    Args:
        model: the model whose losses are measured; any model with attention and TransformerLens's hook names.
        task: the task, which determines the answers.
        batch: sequences of one length with a query at their end.
        window: number of last tokens, including the query, that are always visible.
        k: number of chosen earlier tokens.
        chosen_by: the model whose leave-one-out losses choose them; None = ``model`` itself.
        chosen: ``[sequence, k]`` indices of tokens that were chosen before, instead of a search.

    Raises:
        ValueError: if fewer than k tokens are before the window, or the other model has another vocabulary. Also if
            both ``chosen`` and ``chosen_by`` are given.
    """
    earlier = earlier_positions(batch, window)
    if len(earlier) < k:
        raise ValueError(
            f"{k} tokens are to be chosen of the {len(earlier)} before the last {window}; give a smaller k"
        )
    if chosen is not None and chosen_by is not None:
        raise ValueError("chosen and chosen_by were both given; leave one of them out")
    if chosen_by is not None and chosen_by.cfg.d_vocab != model.cfg.d_vocab:
        raise ValueError(
            f"the model that chooses tokens has a vocabulary of {chosen_by.cfg.d_vocab}, and the other model one of "
            f"{model.cfg.d_vocab}; give two models of the same task"
        )
    if chosen is None:
        chosen = influential_tokens(model if chosen_by is None else chosen_by, task, batch, k, window).chosen
    every = torch.zeros(batch.tokens.shape, dtype=torch.bool)
    return FewTokens(
        chosen,
        masked_losses(model, task, batch, every),
        visible_losses(model, task, batch, chosen[:, :0], window),
        visible_losses(model, task, batch, chosen, window),
        visible_losses(model, task, batch, random_tokens(batch, window, k), window),
    )


def random_tokens(batch: Batch, window: int, k: int) -> NDArray[np.int64]:
    """Return ``[sequence, k]``, indices of k different tokens before the last ``window`` ones, equal for all models."""
    earlier = earlier_positions(batch, window)
    g = generator("few tokens", "control", len(batch), len(earlier), k)
    drawn: NDArray[np.int64] = earlier[torch.rand(len(batch), len(earlier), generator=g).argsort(1)[:, :k]].numpy()
    return drawn


def overlaps(one: NDArray[np.int64], other: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return ``[sequence]``, how many tokens two choices ``[sequence, k]`` have in common."""
    found: NDArray[np.int64] = (one[:, :, None] == other[:, None, :]).any(2).sum(1)
    return found


def expected_overlap(k: int, tokens: int) -> float:
    """Return the expected overlap of two independent choices of k of ``tokens`` tokens: k * k / tokens.

    The overlap is hypergeometric.

    Raises:
        ValueError: if more are chosen than there are.
    """
    if not 1 <= k <= tokens:
        raise ValueError(f"k must be from 1 to the number of tokens, {tokens}, not {k}")
    return k * k / tokens
