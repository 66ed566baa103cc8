"""The batches of several runs at one step: drawn as single training draws them, and padded to one length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.nn import functional as F

from workbench.models.base.stacked_inputs import StackedInputs
from workbench.models.transformer.supervised_positions import SHARE
from workbench.tasks.base import Batch, Task
from workbench.training.config import RunConfig
from workbench.training.training_batch import drawn_together, pool_of, training_batch, training_batches

STEPS_AT_ONCE = 16
"""Steps whose sequences are drawn in one call, because labelling several batches of one length together is faster."""
TOKENS_AT_ONCE = 8192
"""The most tokens, padding included, in one forward pass. A larger one exceeds the cache and is slower."""

Drawn = tuple[Batch, Tensor]
"""A batch and its position ids."""


def drawn_batches(configs: Sequence[RunConfig], first: int, last: int) -> Iterator[list[Drawn]]:
    """The batches of all runs at each step from ``first`` on, before ``last``: one list a step."""
    if not all(map(drawn_together, configs)):
        pools = [pool_of(config) for config in configs]
        for step in range(first, last):
            yield [training_batch(config, step, pool) for config, pool in zip(configs, pools, strict=True)]
        return
    for start in range(first, last, STEPS_AT_ONCE):
        steps = range(start, min(start + STEPS_AT_ONCE, last))
        drawn = training_batches([(config, step) for step in steps for config in configs])
        for place in range(len(steps)):
            yield drawn[place * len(configs) : (place + 1) * len(configs)]


def groups_of_similar_length(drawn: Sequence[Drawn]) -> list[list[int]]:
    """The runs in groups for one forward pass each, longest sequences first, so that little is padded."""
    positions = [batch.tokens.shape[1] for batch, _ in drawn]
    order = sorted(range(len(drawn)), key=lambda run: -positions[run])
    groups: list[list[int]] = []
    for run in order:
        tokens_per_run = len(drawn[run][0]) * positions[groups[-1][0]] if groups else 0
        if groups and (len(groups[-1]) + 1) * tokens_per_run <= TOKENS_AT_ONCE:
            groups[-1].append(run)
        else:
            groups.append([run])
    return groups


@dataclass(frozen=True)
class PaddedBatches:
    """The batches of several runs, padded at their ends to the length of the longest.

    Attributes:
        batches: the batches without padding.
        inputs: the input of the forward pass. If few positions are supervised, outputs are computed only there.
        labels: targets and mask at these positions ``[run, query]``; for a loss that acts on each position by itself.
        weights: the weight of each of these positions in the mean loss of its run; 0 at padding.
    """

    batches: Sequence[Batch]
    inputs: StackedInputs
    labels: Batch
    weights: Float[Tensor, "run query"]

    @classmethod
    def of(cls, drawn: Sequence[Drawn], dtype: torch.dtype, everywhere: bool) -> PaddedBatches:
        """Pad batches.

        Args:
            drawn: batches of one task and one size, and their position ids.
            dtype: that of the model.
            everywhere: whether outputs are needed at all positions.
        """
        batches = [batch for batch, _ in drawn]
        tokens, targets, mask = (
            pad_and_stack([getattr(batch, name) for batch in batches]) for name in ("tokens", "targets", "mask")
        )
        targets, mask = targets.flatten(1, 2), mask.flatten(1, 2)
        index = None if everywhere else query_index(mask)
        if index is not None:
            mask = mask.gather(1, index)
            targets = torch.take_along_dim(targets, index.view(*index.shape, *[1] * (targets.ndim - 2)), 1)
        labels = replace(batches[0], tokens=mask, targets=targets, mask=mask, meta={})
        weights = mask.to(dtype) / mask.sum(1, keepdim=True)
        return cls(batches, StackedInputs(tokens, stacked_ids(drawn), index), labels, weights)

    def losses(self, task: Task, outputs: Float[Tensor, "run query out"]) -> Float[Tensor, " run"]:
        """The loss of each run on its own batch, as its task defines it."""
        if acts_by_position(task):
            return (task.losses(outputs, self.labels) * self.weights).sum(1)
        runs, size, pos = self.inputs.tokens.shape
        each = outputs.view(runs, size, pos, -1)
        pairs = zip(each, self.batches, strict=True)
        return torch.stack([task.loss(of_run[:, : batch.tokens.shape[1]], batch) for of_run, batch in pairs])


def acts_by_position(task: Task) -> bool:
    """Whether the task's loss is the base class's: the mean over supervised positions of a loss of each position."""
    return type(task).loss is Task.loss and type(task).losses is Task.losses


def query_index(mask: Bool[Tensor, "run place"]) -> Tensor | None:
    """The supervised positions of each run, followed by others up to the largest number; None if they are many."""
    most = int(mask.sum(1).max())
    if most > SHARE * mask.shape[1]:
        return None
    return torch.argsort(mask.to(torch.int8), dim=1, descending=True, stable=True)[:, :most]


def stacked_ids(drawn: Sequence[Drawn]) -> Tensor:
    """The position ids of all sequences, run by run; one row if they are the same for all."""
    longest = max((ids for _, ids in drawn), key=lambda ids: ids.shape[1])
    if all(len(ids) == 1 and torch.equal(ids, longest[:, : ids.shape[1]]) for _, ids in drawn):
        return longest
    return pad_and_stack([ids.expand(len(batch), -1) for batch, ids in drawn]).flatten(0, 1)


def pad_and_stack(parts: Sequence[Tensor]) -> Tensor:
    """Tensors ``[batch, pos, ...]`` of different length as one ``[run, batch, pos, ...]``, with 0 after the end."""
    longest = max(part.shape[1] for part in parts)
    rest = [0, 0] * (parts[0].ndim - 2)
    return torch.stack([F.pad(part, (*rest, 0, longest - part.shape[1])) for part in parts])
