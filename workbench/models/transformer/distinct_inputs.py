"""The distinct pairs of token and position id of a batch, which are the only inputs before attention.

Up to the queries, keys and values of block 0, every value depends only on the token and the id at its position. With a
small vocabulary and short contexts there are far fewer such pairs than positions in a batch.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor
from torch.nn import functional as F

from workbench.models.transformer.config import ModelConfig

WORTH = 2
"""Pairs are used if a batch has at least this many positions per pair, because looking up results takes time, too."""
FEWEST = 1024
"""With fewer positions in a batch, handling the pairs takes longer than it saves."""


@dataclass(frozen=True)
class Pairs:
    """All pairs of token and position id that a batch can contain, and the index of the pair at each position.

    Attributes:
        tokens: the tokens of the table's rows.
        ids: the position ids of its columns.
        index: the pair at each position, counted row by row.
    """

    tokens: Int[Tensor, "vocab columns"]
    ids: Int[Tensor, "1 columns"]
    index: Int[Tensor, "batch pos"]

    def spread(self, table: Float[Tensor, "vocab columns dim"]) -> Float[Tensor, "batch pos dim"]:
        """Values [batch, pos, dim] at all positions, from the values of each pair."""
        # Not by indexing: the backward of an embedding sums gradients much faster.
        return F.embedding(self.index, table.flatten(0, 1))


def pairs(cfg: ModelConfig, tokens: Int[Tensor, "batch pos"], ids: Int[Tensor, "#batch pos"]) -> Pairs | None:
    """The pairs of a batch, or None if computing each position separately is as cheap.

    The choice follows from the config and from shapes, never from the tokens, so that repeated training is
    bit-identical.
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
