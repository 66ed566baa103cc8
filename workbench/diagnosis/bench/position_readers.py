"""Hand-built transformers whose previous-token head reads position rows, and the two tasks that they solve.

A previous-token head finds the token before a query by its row of the position table. Rows beyond N are then changed,
completely or in part. They repeat row N, or they are random, as untrained rows are. In models that answer from only the
last token, keeping the ids of the last N tokens recovers the answer. In models that need the previous token of every
token, repeated ids break the head inside training as well. So no position intervention is applicable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel, ConfigDict
from torch import Tensor
from torch.nn import functional as F

from workbench.diagnosis.bench.needle_models import LOGIT, TRAINED
from workbench.models.handmade.blank import blank
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.tasks.base import BOS, Law, Task
from workbench.tasks.sampling import integers, positions

WIDTH = 8
"""Dimensions of a position row; the row of its predecessor has as many."""
ROWS = 4 * TRAINED + 1
"""Rows of the position table: one for BOS and one for each token at the diagnosed length."""
LOOK_UP = 20.0
"""Score that makes a head read the token after a marker with certainty."""

# Residual dimensions; the rows follow.
ONE, MARK, BIT, FLAG, OUT = range(5)
OWN = 5
PREVIOUS = OWN + WIDTH
WIDE = PREVIOUS + WIDTH


class PreviousBit(Task):
    """The task of returning the bit before the last token.

    Sequences are uniform bits. All test sets are the same.
    """

    name: ClassVar[str] = "previous_bit"
    question: ClassVar[str] = "Which bit stands before the last token?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the bit of the previous token"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS, "0", "1")
    outputs: ClassVar[tuple[str, ...] | None] = ("0", "1")

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        bits = 1 + integers(2, (batch, length), generator)
        return bits, {"answer_position": torch.full((batch,), length - 1)}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        before = F.pad(strings[:, :-1] - 1, (1, 0))
        mask = (positions(strings) > 1).expand_as(strings)
        return before, mask, before.where(mask, 2), None

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        return _one_hot(self.label_strings(tokens, {})[2][:, -1])

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        return [None, *(token - 1 for token in tokens[:-1])]


class MarkedBit(Task):
    """The task of returning the bit that follows a marker.

    One marker ``m`` is at a uniform position among the last :data:`TRAINED` tokens except the last one. All other
    tokens are bits. All test sets are the same.
    """

    name: ClassVar[str] = "marked_bit"
    question: ClassVar[str] = "Which bit follows the marker?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the bit after the marker"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS, "0", "1", "m")
    outputs: ClassVar[tuple[str, ...] | None] = ("0", "1")

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        bits = 1 + integers(2, (batch, length), generator)
        lag = 1 + integers(max(1, min(length, TRAINED) - 1), (batch, 1), generator)
        marker = length - 1 - lag
        return torch.where(torch.arange(length) == marker, 3, bits), {"answer_position": marker[:, 0] + 2}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        follows = F.pad(strings[:, :-1] == 3, (1, 0)) & (strings != 3)
        last = torch.where(follows, positions(strings), 0).cummax(1).values
        bit = strings.gather(1, (last - 1).clamp(min=0)) - 1
        state = bit.where(last > 0, 2)
        return state.where(last > 0, 0), last > 0, state, None

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        return _one_hot(self.label_strings(tokens, {})[2][:, -1])

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        answers: list[int | None] = []
        for before, token in zip([0, *tokens[:-1]], tokens, strict=True):
            follows = before == 3 and token != 3
            answers.append(token - 1 if follows else answers[-1] if answers else None)
        return answers


class ReaderNumbers(BaseModel):
    """The numbers of a reader. With the defaults, it is right at every length in use.

    Each row of the position table contains a random direction and that of the row before it. The head scores a key by
    ``match`` times the cosine between the direction that the query seeks and the key's.

    Attributes:
        marked: whether the head marks the token after the marker, which a second head then reads. Otherwise the head
            reads the previous token of the last query.
        match: score of the previous token. A soft head leaves about half of its weight to others at N.
        first_changed: the first row that is changed; all rows after it are changed, too.
        repeated: share of row N in every changed row.
        untrained: share of a random row in every changed row.
        n_ctx: rows of the position table.
        seed: seed of the rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    marked: bool = False
    match: float = 8.0
    first_changed: int = TRAINED + 1
    repeated: float = 0.0
    untrained: float = 0.0
    n_ctx: int = ROWS
    seed: int = 0

    def build(self) -> HookedTransformer:
        """Return the model."""
        cfg = ModelConfig(
            d_vocab=4 if self.marked else 3, d_vocab_out=2, n_layers=2, d_model=WIDE, n_heads=1, d_head=WIDTH, d_mlp=2,
            n_ctx=self.n_ctx, positions="learned", act_fn="relu", normalization_type=None,
        )  # fmt: skip
        model = blank(cfg)
        with torch.no_grad():
            weights = dict(model.named_parameters())
            embedding = weights["embed.W_E"]
            embedding[:, ONE] = 1.0
            embedding[1:3, BIT] = torch.tensor([-1.0, 1.0])
            if self.marked:
                embedding[3, MARK] = 1.0
            weights["pos_embed.W_pos"][:, OWN:] = self._rows().to(embedding)
            self._attend(weights, cfg.attn_scale)
            weights["unembed.W_U"][OUT] = torch.tensor([-LOGIT, LOGIT])
        return model

    def _rows(self) -> Float[Tensor, "id two_widths"]:
        draw = torch.Generator().manual_seed(self.seed)
        directions = F.normalize(torch.randn(self.n_ctx + 1, WIDTH, generator=draw, dtype=torch.float64), dim=1)
        rows = torch.cat([directions[1:], directions[:-1]], 1)
        random = torch.randn(rows.shape, generator=draw, dtype=torch.float64) / WIDTH**0.5
        for share, other in ((self.repeated, rows[TRAINED].expand_as(rows)), (self.untrained, random)):
            rows[self.first_changed :] = ((1 - share) * rows + share * other)[self.first_changed :]
        return rows

    def _attend(self, weights: dict[str, torch.nn.Parameter], scale: float) -> None:
        each = torch.arange(WIDTH)
        query, key, value, out = (weights[f"blocks.0.attn.W_{part}"] for part in "QKVO")
        query[0, PREVIOUS + each, each] = scale * self.match
        key[0, OWN + each, each] = 1.0
        value[0, MARK if self.marked else BIT, 0] = 1.0
        out[0, 0, FLAG if self.marked else OUT] = 1.0
        if self.marked:
            query, key, value, out = (weights[f"blocks.1.attn.W_{part}"] for part in "QKVO")
            query[0, ONE, 0] = scale * LOOK_UP
            key[0, FLAG, 0] = 1.0
            value[0, BIT, 0] = 1.0
            out[0, 0, OUT] = 1.0


def _one_hot(state: Int[Tensor, " batch"]) -> Float[Tensor, "batch out"]:
    """Return the probability of each answer; both are equally likely where no token answers."""
    return F.one_hot(state, 3)[:, :2].double() + 0.5 * (state == 2)[:, None]
