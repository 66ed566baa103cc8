"""Which earlier tokens an answer needs: they are masked out of all attention, one or a group at a time.

Source: Golowich et al. 2025, "The Role of Sparsity for Length Generalization in Transformers" (2502.16792), equation 6.
Leave-one-out misses redundancy: of two copies of the same fact, either can be removed without effect, so that both have
influence 0. Leaving out groups (all copies of a token at once) finds them.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from numpy.typing import NDArray
from torch import Tensor

from circuits.interchange.prefix_exchange import ending
from circuits.passes import Clean, clean_pass, edited_pass, evaluation_ids

if TYPE_CHECKING:
    from workbench.models.base.protocol import HookedModel
    from workbench.tasks.base import Batch, Task

SCORES = 1 << 24
"""Number of scores in memory at once, as masking needs explicit attention."""

Groups = Literal["token", "type"]


@dataclass(frozen=True)
class Influence:
    """The effect of masking on the loss of the last query.

    Attributes:
        rise: ``[sequence, pos]`` loss with that token (or its group) masked minus the loss with all. NaN where it
            cannot be masked: BOS, the query, and positions outside the search.
        chosen: ``[sequence, k]`` indices on the position axis of the k most influential ones, the first first.
        loss_long: ``[sequence]`` loss with every token visible.
        loss_short: with the last ``window`` tokens (and BOS) only.
        loss_sparse: with those and the chosen ones.
    """

    rise: NDArray[np.float64]
    chosen: NDArray[np.int64]
    loss_long: NDArray[np.float64]
    loss_short: NDArray[np.float64]
    loss_sparse: NDArray[np.float64]


def influential_tokens(
    model: HookedModel, task: Task, batch: Batch, k: int = 5, window: int = 0, groups: Groups = "token"
) -> Influence:
    """Find the k tokens before the last ``window`` ones whose removal increases the loss of the last answer most.

    Args:
        model: any model with attention and TransformerLens's hook names.
        task: the task, which determines the answers.
        batch: sequences of one length with a query at their end.
        k: number of chosen tokens.
        window: number of last tokens, including the query, that are never left out (at least the query itself).
        groups: ``token`` leaves out one position at a time, ``type`` all positions of the search with the same token.

    Raises:
        ValueError: if no token is outside the window.
    """
    positions = earlier_positions(batch, window)
    nothing = torch.zeros(len(batch), batch.tokens.shape[1], dtype=torch.bool)
    rise = np.full(tuple(nothing.shape), np.nan)
    for rows, piece, clean in _clean_passes(model, batch):
        own = _losses(task, piece, _masked(model, clean, nothing[rows]))
        for position in positions.tolist():
            hidden = _hidden(piece, positions, position, groups)
            rise[rows, position] = _losses(task, piece, _masked(model, clean, hidden)) - own
    clean_loss = masked_losses(model, task, batch, nothing)
    chosen = np.argsort(-np.where(np.isnan(rise), -math.inf, rise), 1, kind="stable")[:, : min(k, len(positions))]
    short, sparse = (visible_losses(model, task, batch, kept, window) for kept in (chosen[:, :0], chosen))
    return Influence(rise, chosen, clean_loss, short, sparse)


def _hidden(
    batch: Batch, positions: Int[Tensor, " earlier"], position: int, groups: Groups
) -> Bool[Tensor, "batch pos"]:
    """Return what is masked together with a position: only itself, or all positions of the search with its token."""
    hidden = torch.zeros(batch.tokens.shape, dtype=torch.bool)
    if groups == "token":
        hidden[:, position] = True
    else:
        hidden[:, positions] = batch.tokens[:, positions] == batch.tokens[:, position, None]
    return hidden


def earlier_positions(batch: Batch, window: int) -> Int[Tensor, " earlier"]:
    """Return indices on the position axis of the tokens before the last ``window`` ones, without BOS.

    Raises:
        ValueError: if there is no such token.
    """
    first, last = int(batch.bos), batch.tokens.shape[1] - max(1, window)
    if last <= first:
        raise ValueError(f"sequences of {batch.length} tokens have no token before the last {window} tokens")
    return torch.arange(first, last)


def visible_losses(
    model: HookedModel, task: Task, batch: Batch, kept: NDArray[np.int64], window: int
) -> NDArray[np.float64]:
    """Return ``[sequence]``, loss of the last query with BOS, the last ``window`` tokens and some earlier ones visible.

    Args:
        model, task, batch: as in :func:`influential_tokens`.
        kept: ``[sequence, k]`` indices on the position axis of the earlier tokens; k may be 0.
        window: number of last tokens, including the query.
    """
    hidden = torch.zeros(len(batch), batch.tokens.shape[1], dtype=torch.bool)
    hidden[:, earlier_positions(batch, window)] = True
    return masked_losses(model, task, batch, hidden.scatter(1, torch.as_tensor(kept), False))


def masked_outputs(model: HookedModel, batch: Batch, hidden: Bool[Tensor, "batch pos"]) -> Float[Tensor, "batch out"]:
    """Return outputs of the last query when some keys are masked for every later query, in all layers and heads.

    A masked token still sees itself, but no query reads it.
    """
    return torch.cat([_masked(model, clean, hidden[rows]) for rows, _, clean in _clean_passes(model, batch)])


def _clean_passes(model: HookedModel, batch: Batch) -> Iterator[tuple[slice, Batch, Clean]]:
    """Yield parts of a batch with their indices and their clean pass, which all masks share."""
    size = batch.tokens.shape[1]
    step = max(1, SCORES // (model.cfg.n_heads * size * size))
    for start in range(0, len(batch), step):
        rows = slice(start, start + step)
        piece = batch.rows(rows.start, rows.stop)
        yield rows, piece, clean_pass(model, piece.tokens, evaluation_ids(model, piece))


def _masked(model: HookedModel, clean: Clean, hidden: Bool[Tensor, "batch pos"]) -> Float[Tensor, "batch out"]:
    """Return :func:`masked_outputs` for the sequences of a clean pass."""
    names = [f"blocks.{layer}.attn.hook_attn_scores" for layer in range(model.cfg.n_layers)]
    gone = hidden[:, None, None, :] & ~torch.eye(hidden.shape[1], dtype=torch.bool)

    def mask(scores: Tensor) -> Tensor:
        return scores.masked_fill(gone, -math.inf)

    return edited_pass(model, clean, dict.fromkeys(names, mask))[0][:, -1]


def masked_losses(
    model: HookedModel, task: Task, batch: Batch, hidden: Bool[Tensor, "batch pos"]
) -> NDArray[np.float64]:
    """Return ``[sequence]``, losses of the last query when some keys are masked, as in :func:`masked_outputs`."""
    return _losses(task, batch, masked_outputs(model, batch, hidden))


def _losses(task: Task, batch: Batch, outputs: Float[Tensor, "batch out"]) -> NDArray[np.float64]:
    """Return ``[sequence]``, losses of outputs of the last query."""
    targets: Int[Tensor, "batch 1"] = batch.targets[:, -1:]
    found: NDArray[np.float64] = (
        task.losses(outputs[:, None], ending(batch, 1, targets))[:, 0].double().numpy(force=True)
    )
    return found


def recall(chosen: NDArray[np.int64], planted: Sequence[set[int]]) -> NDArray[np.float64]:
    """Return ``[sequence]``, the share of planted positions among the chosen ones; NaN where nothing is planted."""
    shares = [
        len(set(row.tolist()) & wanted) / len(wanted) if wanted else math.nan
        for row, wanted in zip(chosen, planted, strict=True)
    ]
    return np.array(shares)
