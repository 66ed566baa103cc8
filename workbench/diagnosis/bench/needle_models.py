"""The needle: one write among ignored tokens, and hand-built transformers that find it, each with a known flaw.

The task is the simplest one that needs one key among many: which bit was written? Every number of the model is a
setting. So one number plants a flaw, and setting it back removes the flaw.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import BaseModel, ConfigDict, Field
from torch import Tensor
from torch.nn import functional as F

from workbench.models.handmade.blank import blank
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.tasks.base import BOS, Law, Task
from workbench.tasks.sampling import coins, integers, positions

TRAINED = 32
"""N of the planted models. Each is right up to this length by construction."""
LATE = -60.0
"""Score that hides a key at every length in use."""
LOGIT = 4.0
"""The two logits are minus and plus this number times the output."""

# Residual dimensions.
ONE, BOS_TOKEN, UNIT, WRITE, WRITTEN, IGNORED, CARRIED, DECOY, DECOYED, ROW, ROW_VALUE, HIDDEN = range(12)
BEYOND, SURPLUS, OUT = range(12, 15)
WIDTH = 15


class WrittenBit(Task):
    """The task of the bench in which a model returns the bit that was written in the sequence.

    One write ``w0`` or ``w1`` is at a uniform position, and ignored bits ``i0`` and ``i1`` are elsewhere. Some tokens
    are decoys ``d0`` or ``d1``, which also carry a bit to ignore. All test sets are the same.
    """

    name: ClassVar[str] = "written_bit"
    question: ClassVar[str] = "Which bit was written?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the bit written"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS, "w0", "w1", "i0", "i1", "d0", "d1")
    outputs: ClassVar[tuple[str, ...] | None] = ("0", "1")

    decoys: float = Field(default=0.0, ge=0, lt=1)
    """Share of decoys among the tokens that are not writes."""

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        place = integers(length, (batch, 1), generator)
        bit = integers(2, (batch, length), generator)
        other = 3 + bit + 2 * coins((batch, length), self.decoys, generator).long()
        written = torch.arange(length) == place
        return torch.where(written, 1 + bit, other), {"answer_position": place[:, 0] + 1}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        last = torch.where(strings <= 2, positions(strings), 0).cummax(1).values
        bit = strings.gather(1, (last - 1).clamp(min=0)) - 1
        state = torch.where(last > 0, bit, 2)
        return state.where(last > 0, 0), last > 0, state, None

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        state = self.label_strings(tokens, {})[2][:, -1]
        return F.one_hot(state, 3)[:, :2].double() + 0.5 * (state == 2)[:, None]

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        found: list[int | None] = []
        for token in tokens:
            name = self.vocabulary[token]
            found.append(int(name[1]) if name[0] == "w" else found[-1] if found else None)
        return found


class NeedleNumbers(BaseModel):
    """The numbers of a needle model. With the defaults, it is right at every length in use.

    Let K be the number of keys that a query sees, and K_N = N + 1. Block 0 writes f = 1/K with a uniform head, and the
    surplus s = max(0, 1 - K_N f), which is 0 up to N. The head of block 1 gives the write the score ``match``. The
    output is the value that this head reads, plus the terms below.

    Attributes:
        match: score of the write; all other keys have 0.
        carried: value of an ignored bit; the written bit has 1.
        bias_of_ignored: value of every ignored token.
        decoy: score of a decoy; its value is its bit.
        drift: score of ignored tokens, times s.
        row_scores, row_values: standard deviation of what positions beyond N add to a key's score, and to its value.
        row_output: what positions add to the output, times (id - N) / N beyond N.
        lag_speed: with rotary positions, the score of the write is ``match`` times the cosine of this times its lag.
        first_keys: keys after this position are hidden; 0 = none.
        gated: whether the surplus is 0 also where the query's position is at most N.
        offset: added to the output, times s.
        unembedded: added to the logit of 1, times s.
        threshold: added to the output.
        largest_lead: with ``match`` 0, the output is the lead of one bit over the other, divided by K. Leads beyond 1.5
            times this number reverse the answer; 0 = none does. The model compares the lead with this number by
            comparing both divided by K.
        ballast: a constant that the output carries and the read-out subtracts again. With it, float32 rounds the output
            to multiples of 2^-23 of the ballast, up to the next power of 2.
        norm: 0 = no LayerNorm; otherwise a constant in the residual stream. LayerNorm scales everything else relative
            to it.
        n_ctx: rows of the position table.
        seed: seed of the rows.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    match: float = 8.0
    carried: float = 1.0
    bias_of_ignored: float = 0.0
    decoy: float = 0.0
    drift: float = 0.0
    row_scores: float = 0.0
    row_values: float = 0.0
    row_output: float = 0.0
    lag_speed: float = 0.0
    first_keys: int = 0
    gated: bool = False
    offset: float = 0.0
    unembedded: float = 0.0
    threshold: float = 0.0
    largest_lead: float = 0.0
    ballast: float = 0.0
    norm: float = 0.0
    n_ctx: int = 16 * TRAINED
    seed: int = 0

    def build(self) -> HookedTransformer:
        """Return the model."""
        positions: Any = "learned"
        if self.lag_speed:  # the slower of two pairs rotates by this angle per id
            positions = {"name": "rotary", "base": self.lag_speed**-2}
        cfg = ModelConfig(
            d_vocab=7, d_vocab_out=2, n_layers=2, d_model=WIDTH, n_heads=1, d_head=4, d_mlp=2, n_ctx=self.n_ctx,
            positions=positions, act_fn="relu", normalization_type=None,
        )  # fmt: skip
        model = blank(cfg)
        with torch.no_grad():
            weights = dict(model.named_parameters())
            self._embed(weights["embed.W_E"])
            if not self.lag_speed:
                self._rows(weights["pos_embed.W_pos"])
            self._attend(weights, cfg.attn_scale)
            self._read_out(weights["unembed.W_U"])
        return add_layer_norms(model, self.norm) if self.norm else model

    def _embed(self, embedding: Tensor) -> None:
        embedding[:, ONE] = 1.0
        embedding[:, OUT] = self.threshold + self.ballast
        embedding[0, BOS_TOKEN] = 1.0
        for first, kind, bit in ((1, WRITE, WRITTEN), (3, IGNORED, CARRIED), (5, DECOY, DECOYED)):
            embedding[first : first + 2, kind] = 1.0
            embedding[first : first + 2, bit] = torch.tensor([-1.0, 1.0])

    def _rows(self, table: Tensor) -> None:
        beyond = table.shape[0] - TRAINED - 1
        generator = torch.Generator().manual_seed(self.seed)
        scores, values = torch.randn(2, beyond, generator=generator, dtype=torch.float64).to(table)
        table[TRAINED + 1 :, ROW] = self.row_scores * scores
        table[TRAINED + 1 :, ROW_VALUE] = self.row_values * values
        table[TRAINED + 1 :, OUT] = self.row_output * torch.arange(1, beyond + 1) / TRAINED
        if self.first_keys:
            table[self.first_keys + 1 :, HIDDEN] = 1.0
        table[TRAINED + 1 :, BEYOND] = 1.0

    def _attend(self, weights: dict[str, torch.nn.Parameter], scale: float) -> None:
        value, out = weights["blocks.0.attn.W_V"], weights["blocks.0.attn.W_O"]
        value[0, BOS_TOKEN, 0] = 1.0
        out[0, 0, UNIT] = 1.0
        surplus, mlp_out = weights["blocks.0.mlp.W_in"], weights["blocks.0.mlp.W_out"]
        surplus[ONE, 0], surplus[UNIT, 0] = 1.0, -(TRAINED + 1)
        if self.gated:
            surplus[ONE, 0], surplus[BEYOND, 0] = 0.0, 1.0
        if self.largest_lead:
            lead, turned = weights["blocks.1.mlp.W_in"], weights["blocks.1.mlp.W_out"]
            for unit, sign in ((0, 1.0), (1, -1.0)):
                lead[OUT, unit], lead[UNIT, unit] = sign, -self.largest_lead
                turned[unit, OUT] = -3.0 * sign
        mlp_out[0, SURPLUS], mlp_out[0, OUT] = 1.0, self.offset
        query, key, value, out = (weights[f"blocks.1.attn.W_{part}"] for part in "QKVO")
        pair = 1 if self.lag_speed else 0
        query[0, ONE, pair] = scale
        key[0, WRITE, pair] = self.match
        if not self.lag_speed:
            key[0, DECOY, 0] = self.decoy
            key[0, ROW, 0] = 1.0
            key[0, HIDDEN, 0] = LATE
            query[0, SURPLUS, 1] = scale
            key[0, IGNORED, 1] = self.drift
        for bit, amount in ((WRITTEN, 1.0), (CARRIED, self.carried), (DECOYED, 1.0), (ROW_VALUE, 1.0)):
            value[0, bit, 0] = amount
        value[0, IGNORED, 0] = self.bias_of_ignored
        out[0, 0, OUT] = 1.0

    def _read_out(self, unembedding: Tensor) -> None:
        unembedding[OUT] = torch.tensor([-LOGIT, LOGIT])
        unembedding[ONE] = -self.ballast * unembedding[OUT]
        unembedding[SURPLUS, 1] = self.unembedded


def add_layer_norms(model: HookedTransformer, constant: float) -> HookedTransformer:
    """Return a model with LayerNorms before attention, MLP and read-out that computes nearly the same function.

    Each dimension is paired with its negative, so that the mean is 0, and a pair of constants is added. LayerNorm
    divides by the root mean square. The weights that read compensate for the root mean square of the constants. All
    other dimensions are scaled relative to the constants.

    Args:
        model: a model without LayerNorms.
        constant: value of the two added dimensions.
    """
    width, cfg = model.cfg.d_model, model.cfg
    ln_model = HookedTransformer(cfg.model_copy(update={"d_model": 2 * width + 2, "normalization_type": "LN"}))
    ln_model.eval()
    scale = constant * (2 / (2 * width + 2)) ** 0.5
    with torch.no_grad():
        weights = dict(model.named_parameters())
        for name, parameter in ln_model.named_parameters():
            if name.endswith(".w"):  # of a LayerNorm
                parameter.fill_(1.0)
                continue
            parameter.zero_()  # biases are 0 in both models
            kind = name.rpartition(".")[2]
            if kind in ("W_E", "W_pos", "W_O", "W_out"):
                parameter[..., :width], parameter[..., width : 2 * width] = weights[name], -weights[name]
            elif kind in ("W_Q", "W_K", "W_V", "W_in", "W_U"):
                parameter[..., :width, :] = scale * weights[name]
        ln_model.embed.W_E[:, -2:] = torch.tensor([constant, -constant])
    return ln_model
