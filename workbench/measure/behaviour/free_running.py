"""Free-running answers of several tokens: the model receives its own earlier answers as tokens."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from workbench.measure.study import CHUNK_TOKENS
from workbench.models.base.protocol import HookedModel
from workbench.models.transformer.predicted_ids import ids_right, outputs_and_ids
from workbench.tasks.base import Batch, Task

BUDGET_TOKENS = 1 << 19
"""Maximum tokens in the forward passes of one test set and length, in the worst case.

Half-trained models reach the worst case.
"""


@dataclass(frozen=True)
class FreeRun:
    """The answers of a model that is given only the prompt.

    Attributes:
        answers: the class answered at every index; meaningful from ``batch.prompt - 1`` on.
        right: which answers are right. Where the model predicts ids, the id of the next token must be right too. False
            before the first answer, and after the class that ends the model's answer.
        passes: forward passes made.
    """

    answers: Int[Tensor, "batch pos"]
    right: Bool[Tensor, "batch pos"]
    passes: int


def affordable(batch: Batch, most: int) -> int:
    """Return how many sequences may run free: at least one, at most ``most``, within the budget of tokens."""
    length = batch.tokens.shape[1]
    answers = length - (batch.prompt or 0) + 1
    return max(1, min(most, len(batch), BUDGET_TOKENS // (answers * length)))


@torch.no_grad()
def free_run(model: HookedModel, task: Task, batch: Batch, outputs: Tensor, next_ids: Tensor | None = None) -> FreeRun:
    """Return greedy answers from the prompt on, each given back to the model as a token.

    Ids are those of the whole sequence. Where the model predicts ids, the predicted ids of answers are given back, too.

    All answers are guessed at once, and the guesses are given back until none changes (Jacobi decoding, Santilli et al.
    2023, 2305.10427). After k passes, the first k answers equal those of answering one token at a time. So the fixed
    point is the whole answer, after at most as many passes as there are answers.

    Args:
        model: the model; causal.
        task: the task, which maps each answer class to a token.
        batch: sequences that contain their answers (``batch.prompt`` is not None).
        outputs: the model's outputs on the given sequences, ``[batch, pos, out]``: the first guess.
        next_ids: the ids that it predicts there, ``[batch, pos]``, for a model that predicts ids.
    """
    first = _prompt(batch) - 1
    token_of = torch.tensor(task.answer_tokens, device=batch.tokens.device)
    true_ids = model.cfg.ids.evaluation(batch.tokens.shape[1], model.cfg.n_ctx, batch.position_ids)
    tokens, outputs, passes = batch.tokens.clone(), outputs.clone(), 0
    ids = true_ids.expand_as(tokens).clone()
    next_ids = None if next_ids is None else next_ids.clone()
    while True:
        fed = token_of[outputs[:, first:-1].argmax(-1)]
        fed_ids = ids[:, first + 1 :] if next_ids is None else next_ids[:, first:-1]
        changed = ((fed != tokens[:, first + 1 :]) | (fed_ids != ids[:, first + 1 :])).any(1).nonzero()[:, 0]
        if not len(changed):
            break
        tokens[changed, first + 1 :], ids[changed, first + 1 :] = fed[changed], fed_ids[changed]
        size = max(1, CHUNK_TOKENS // tokens.shape[1])
        for rows in changed.split(size):
            outputs[rows], predicted = outputs_and_ids(model, tokens[rows], ids[rows])
            if next_ids is not None and predicted is not None:
                next_ids[rows] = predicted
            passes += 1
    answers = outputs.argmax(-1)
    ends = (token_of[answers] == 0) if task.bos else torch.zeros_like(answers, dtype=torch.bool)
    ends[:, :first] = False
    over = (ends.cumsum(1) - ends.long()) > 0
    right = task.correct(outputs, batch) & ~over
    if next_ids is not None:
        right &= ids_right(next_ids, true_ids, batch.mask)
    right[:, :first] = False
    return FreeRun(answers, right, passes)


def _prompt(batch: Batch) -> int:
    if batch.prompt is None:
        raise ValueError(
            "the model can continue only with answers that are part of the sequence, which this task does not have"
        )
    return batch.prompt
