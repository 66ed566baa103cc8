"""Small trained transformers that find the written bit at every length, and flaws planted into their weights.

They show whether a diagnosis that works on hand-built models also works on trained weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import torch
from pydantic import BaseModel, ConfigDict

from workbench.diagnosis.bench.needle_models import TRAINED, WrittenBit
from workbench.models.transformer.config import ModelConfig
from workbench.models.transformer.model import HookedTransformer
from workbench.tasks.random_generator import generator
from workbench.training.config import TrainingConfig
from workbench.training.curriculum import Uniform
from workbench.training.optimizer import learning_rate, make_optimizer

STEPS = 500
LAST_KEPT = 64
"""Rows of the learned table beyond this one are set back to those of step 0."""
CONTEXT = 6 * TRAINED
SLOW = 7
"""The pair of rotary dimensions for the planted lag. With 16 pairs it rotates by 0.0178 per id."""


class TrainedNumbers(BaseModel):
    """Changes of trained weights; the defaults change nothing.

    Attributes:
        positions: ``learned``, trained with random offsets, so that all rows are trained; or ``rotary``, trained with
            ids from the whole range (PoSE).
        seed: seed of weights and training sequences.
        rows: 0 = the trained rows stay; otherwise rows beyond :data:`LAST_KEPT` are those of step 0, times this.
        row_output: what learned rows add along the read-out of 1, times (id - N) / N beyond N.
        weakened: factor of all queries.
        lag: what rotary positions add to every score, times the cosine of a slow pair's angle.
        steps: number of training steps.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    positions: str = "learned"
    seed: int = 0
    rows: float = 0.0
    row_output: float = 0.0
    weakened: float = 1.0
    lag: float = 0.0
    steps: int = STEPS

    @property
    def trained_ids(self) -> Sequence[tuple[int, int]]:
        """Return the position ids that occurred in training, as intervals."""
        return [(0, LAST_KEPT if self.rows else CONTEXT - 1)]

    def build(self) -> HookedTransformer:
        """Return the model."""
        model = HookedTransformer(config(self.positions), seed=self.seed)
        model.load_state_dict(trained_weights(self.positions, self.seed, self.steps))
        model.eval()
        weights = dict(model.named_parameters())
        with torch.no_grad():
            if self.rows:
                begun = HookedTransformer(config(self.positions), seed=self.seed)
                first = dict(begun.named_parameters())["pos_embed.W_pos"]
                weights["pos_embed.W_pos"][LAST_KEPT + 1 :] = self.rows * first[LAST_KEPT + 1 :]
            if self.row_output:
                unembedding = weights["unembed.W_U"]
                along = unembedding[:, 1] - unembedding[:, 0]
                beyond = torch.arange(1, CONTEXT - TRAINED) / TRAINED
                weights["pos_embed.W_pos"][TRAINED + 1 :] += self.row_output * beyond[:, None] * along / along.norm()
            for layer in range(model.cfg.n_layers):
                at = f"blocks.{layer}.attn"
                for part in ("W_Q", "b_Q"):
                    weights[f"{at}.{part}"] *= self.weakened
                if self.lag:
                    pair = [SLOW, SLOW + model.cfg.d_head // 2]
                    for side in ("Q", "K"):  # remove everything else from the pair
                        weights[f"{at}.W_{side}"][:, :, pair] = 0.0
                        weights[f"{at}.b_{side}"][:, pair] = 0.0
                        weights[f"{at}.b_{side}"][:, SLOW] = (self.lag * model.cfg.attn_scale) ** 0.5
        return model


def config(positions: str) -> ModelConfig:
    """Return a config with one block and one head, so that the head that finds the write is known."""
    ids: Any = "random_offset" if positions == "learned" else "pose"
    return ModelConfig(
        d_vocab=7, d_vocab_out=2, n_layers=1, d_model=32, n_heads=1, n_ctx=CONTEXT, positions=positions, ids=ids
    )


@cache
def trained_weights(positions: str, seed: int, steps: int) -> dict[str, torch.Tensor]:
    """Return weights after training on sequences of 1 to N tokens; they depend only on the arguments."""
    training = TrainingConfig(steps=steps, learning_rate=3e-3, curriculum=Uniform(low=1, high=TRAINED))
    task, model = WrittenBit(), HookedTransformer(config(positions), seed=seed)
    optimizer, cfg = make_optimizer(model, training), model.cfg
    for step in range(steps):
        draw = generator("bench", seed, step)
        batch = task.sample(training.batch_size, training.curriculum.length(task, step, draw), draw, "training")
        ids = cfg.ids.training(len(batch), batch.tokens.shape[1], cfg.n_ctx, draw, batch.position_ids)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(training, step)
        loss = task.loss(model(batch.tokens, ids), batch)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), training.clip)
        optimizer.step()
    return {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
