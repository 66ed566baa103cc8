"""The distinct pairs of token and position id of a batch: all that a model sees before attention.

Up to the queries, keys and values of block 0, what is computed at a place depends on its token and its id alone.
Small vocabularies and short contexts have far fewer such pairs than a batch has places.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from workbench.models.transformer.config import ModelConfig

WORTH = 2
"""Pairs are worth while where a batch has at least so many places for each: looking results up costs too."""
FEWEST = 1024
"""In a batch of fewer places, handling the pairs takes longer than what they save."""


@dataclass(frozen=True)
class Pairs:
    """Every pair that a batch can hold, and which of them is where.

    Attributes:
        tokens: the tokens of the table's rows.
        ids: the position ids of its columns.
        index: the pair at each place, counted row by row.
    """

    tokens: Int[Tensor, "vocab columns"]
    ids: Int[Tensor, "1 columns"]
    index: Int[Tensor, "batch pos"]

    def spread(self, table: Float[Tensor, "vocab columns dim"]) -> Float[Tensor, "batch pos dim"]:
        """What was computed of each pair, at the places that hold it."""
        # Not by indexing: the backward of an embedding sums gradients much faster.
        return F.embedding(self.index, table.flatten(0, 1))


def pairs(cfg: ModelConfig, tokens: Int[Tensor, "batch pos"], ids: Int[Tensor, "#batch pos"]) -> Pairs | None:
    """The pairs of a batch, or None where computing each place by itself is as cheap.

    The choice follows from the config and from shapes, never from what the tokens are, so that training repeats its
    bits.
    """
    if cfg.attention == "hardmax":
        return None  # the last bit may decide which keys tie for the highest score
    scheme, rows = cfg.positions, cfg.positions.rows(cfg.n_ctx)
    if not scheme.added:
        columns, column = ids.new_zeros(1, 1), ids.new_zeros(1, 1)
    elif len(ids) == 1 and (rows is None or ids.shape[1] <= rows):
        columns, column = ids, torch.arange(ids.shape[1], device=ids.device)[None]
    elif rows is not None:
        columns, column = torch.arange(rows, device=ids.device)[None], ids % rows
    else:
        return None
    width = columns.shape[1]
    if tokens.numel() < max(FEWEST, WORTH * cfg.d_vocab * width):
        return None
    every = torch.arange(cfg.d_vocab, device=tokens.device)[:, None].expand(-1, width)
    return Pairs(every, columns, tokens * width + column)
