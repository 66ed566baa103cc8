"""Features of a run inside its trained lengths, which might forecast how far it will reach.

The eight features of a fork step and the four of the first step were named before any of them was computed. None uses
a length beyond N, the longest trained length.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from workbench.claims.determinacy.cells import LONGEST, StudyCell
from workbench.core.names import MATCHED
from workbench.core.seeds import seed_of

if TYPE_CHECKING:
    from workbench.models.base.hooked import Hooked
    from workbench.tasks.base import Batch

FEATURES = {
    "margin_slope": "change of the 5 % quantile of the margin from N/2 to N",
    "margin_spread": "standard deviation of the margin at N",
    "separation": "variance between answers over variance within answers, of the last residual stream at N",
    "code_drift": "1 - cosine between the mean residual of an answer at N/2 and at N, each less the overall mean",
    "weight_norm": "Euclidean norm of all weights",
    "entropy_slope": "change of attention entropy of the last query from N/2 to N, in nats for each unit of log length",
    "gradient_ratio": "norm of the loss gradient at N over its norm at N/2",
    "loss_gap": "loss at N less loss at N/2",
}
"""Features at a fork step, with their definitions. The margin is the right output less the largest other output."""
FIRST_STEP = {
    "answer": "the right answer",
    "last_tokens": "the last two tokens",
    "first_tokens": "the first two tokens",
    "length": "the length",
}
"""What may explain how the first step of gradient descent changes the outputs: each score is a share of variance."""
SEQUENCES = 256
STEP_SIZE = 1e-4
"""Length of the step in weight space, so small that the outputs change in proportion to it."""
WITHIN = (0.25, 0.5, 0.75, 1.0)
"""Lengths of the first-step scores, in multiples of N."""
_QUANTILE = 0.05


def model_with(cell: StudyCell, weights: Mapping[str, Tensor]) -> Hooked:
    """Return the model of a cell with some weights, in float64.

    Args:
        cell: the cell.
        weights: the weights by name.
    """
    from workbench.models.architectures import make_model

    model = make_model(cell.config(0).model, 0)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(weights[name])
    model.double()
    return model


def features_at(cell: StudyCell, weights: Mapping[str, Tensor], seed: int, step: int) -> dict[str, float]:
    """Return the features of a run at a fork step, by the names in :data:`FEATURES`.

    Args:
        cell: the cell.
        weights: the run's weights at this step.
        seed: the run's seed; each run has test sequences of its own.
        step: the step.
    """
    task, model = cell.make_task(), model_with(cell, weights)
    half, full = (task.next_length(round(share * LONGEST)) for share in (0.5, 1.0))
    word = seed_of("features", cell.name, cell.schedule, seed, step)
    short, long = (_Seen.of(model, task.batch(SEQUENCES, n, word, MATCHED), task.loss) for n in (half, full))
    return {
        "margin_slope": _quantile(long.margins) - _quantile(short.margins),
        "margin_spread": float(long.margins.std()),
        "separation": separation(long.residual, long.answers),
        "code_drift": code_drift(short.residual, short.answers, long.residual, long.answers),
        "weight_norm": float(torch.cat([p.detach().flatten() for p in model.parameters()]).norm()),
        "entropy_slope": (long.entropy - short.entropy) / float(np.log(full / half)),
        "gradient_ratio": long.gradient / short.gradient,
        "loss_gap": long.loss - short.loss,
    }


def first_step_scores(cell: StudyCell, seed: int) -> dict[str, float]:
    """Return how much of the first step of gradient descent each candidate explains, by the names in
    :data:`FIRST_STEP`.

    The step goes along the mean loss gradient over all trained lengths, from the run's initial weights. The change of
    the outputs is then compared between groups of matched sequences with lengths from N/4 to N. A score is the share of
    the variance of this change between the groups.

    Args:
        cell: the cell.
        seed: the run's seed.
    """
    from workbench.models.architectures import make_model

    config = cell.config(seed)
    task, model = config.task, make_model(config.model, config.seeds.init)
    model.double()
    word = seed_of("first step", cell.name, seed)
    trained = [task.batch(SEQUENCES, n, word, "training") for n in task.lengths(1, LONGEST)]
    gradient = _gradient(model, lambda: torch.stack([task.loss(model(b.tokens), b) for b in trained]).mean())
    tests = [task.batch(SEQUENCES, task.next_length(round(m * LONGEST)), word, MATCHED) for m in WITHIN]
    before = torch.cat([_last_outputs(model, batch) for batch in tests])
    size = torch.sqrt(sum((g**2).sum() for g in gradient))  # type: ignore[arg-type]
    with torch.no_grad():
        for parameter, part in zip(model.parameters(), gradient, strict=True):
            parameter -= STEP_SIZE / size * part
    change = (torch.cat([_last_outputs(model, batch) for batch in tests]) - before) / STEP_SIZE
    first = int(task.bos)
    groups = {
        "answer": [batch.targets[:, -1:] for batch in tests],
        "last_tokens": [batch.tokens[:, -2:] for batch in tests],
        "first_tokens": [batch.tokens[:, first : first + 2] for batch in tests],
        "length": [torch.full((len(batch), 1), batch.length) for batch in tests],
    }
    return {name: explained_variance(change, torch.cat(parts)) for name, parts in groups.items()}


def separation(residual: Float[Tensor, "sequence width"], answers: Tensor) -> float:
    """Return the variance of the residual stream between answers, over its variance within answers.

    Args:
        residual: of each sequence.
        answers: the right answer of each sequence.
    """
    share = explained_variance(residual, answers[:, None])
    return share / (1 - share)


def explained_variance(values: Float[Tensor, "sequence dimension"], groups: Tensor) -> float:
    """Return the share of the variance of vectors that lies between groups.

    Args:
        values: a vector for each sequence.
        groups: a row of labels for each sequence; equal rows are one group.
    """
    _, group = groups.unique(dim=0, return_inverse=True)
    count = torch.bincount(group).to(values.dtype)
    means = torch.zeros(len(count), values.shape[1], dtype=values.dtype).index_add_(0, group, values) / count[:, None]
    centre = values.mean(0)
    total = ((values - centre) ** 2).sum()
    return float((count[:, None] * (means - centre) ** 2).sum() / total)


def code_drift(
    short: Float[Tensor, "sequence width"],
    short_answers: Tensor,
    long: Float[Tensor, "sequence width"],
    long_answers: Tensor,
) -> float:
    """Return the mean over answers of 1 - cosine between the answer's mean residual at two lengths.

    The overall mean of each length is removed first. Answers that are missing at one length are left out.

    Args:
        short, long: residual stream of each sequence at the two lengths.
        short_answers, long_answers: right answers.
    """
    both = sorted(set(short_answers.tolist()) & set(long_answers.tolist()))
    found = []
    for answer in both:
        one = short[short_answers == answer].mean(0) - short.mean(0)
        other = long[long_answers == answer].mean(0) - long.mean(0)
        found.append(1 - float(torch.nn.functional.cosine_similarity(one, other, dim=0)))
    return float(np.mean(found))


class _Seen:
    """What a model does at one length.

    Attributes:
        margins: right output less the largest other output, at the last query of each sequence.
        residual: the last residual stream there ``[sequence, width]``.
        answers: the right answers there.
        entropy: mean attention entropy of the last query, over heads, layers and sequences, in nats.
        loss: the mean loss.
        gradient: norm of its gradient.
    """

    def __init__(
        self, margins: Tensor, residual: Tensor, answers: Tensor, entropy: float, loss: float, gradient: float
    ) -> None:
        self.margins, self.residual, self.answers = margins, residual, answers
        self.entropy, self.loss, self.gradient = entropy, loss, gradient

    @classmethod
    def of(cls, model: Hooked, batch: Batch, loss_of: Callable[[Tensor, Batch], Tensor]) -> _Seen:
        """Run a model on a batch."""
        with torch.no_grad():
            outputs, cache = model.run_with_cache(batch.tokens)
        patterns = [value[:, :, -1] for name, value in cache.items() if name.endswith("attn.hook_pattern")]
        entropies = [torch.special.entr(pattern).sum(-1).mean() for pattern in patterns]
        last = max(int(name.split(".")[1]) for name in cache if name.startswith("blocks."))
        gradient = _gradient(model, lambda: loss_of(model(batch.tokens), batch))
        answers = batch.targets[:, -1]
        return cls(
            margins(outputs[:, -1], answers),
            cache[f"blocks.{last}.hook_resid_post"][:, -1],
            answers,
            float(torch.stack(entropies).mean()),
            float(loss_of(outputs, batch)),
            float(torch.sqrt(sum((g**2).sum() for g in gradient))),  # type: ignore[arg-type]
        )


def margins(outputs: Float[Tensor, "sequence answer"], answers: Tensor) -> Float[Tensor, " sequence"]:
    """Return the right output less the largest other output.

    Args:
        outputs: of each sequence.
        answers: the right answer of each sequence.
    """
    right = outputs.gather(1, answers[:, None])
    others = outputs.scatter(1, answers[:, None], float("-inf"))
    return right[:, 0] - others.max(1).values


def _quantile(values: Tensor) -> float:
    return float(torch.quantile(values, _QUANTILE))


def _gradient(model: Hooked, loss: Callable[[], Tensor]) -> tuple[Tensor, ...]:
    """The gradient of a loss, with zeros for weights that it does not depend on."""
    found = torch.autograd.grad(loss(), list(model.parameters()), allow_unused=True, materialize_grads=True)
    return tuple(found)


@torch.no_grad()
def _last_outputs(model: Hooked, batch: Batch) -> Tensor:
    """The outputs at the last query of each sequence."""
    outputs: Tensor = model(batch.tokens)[:, -1]
    return outputs
