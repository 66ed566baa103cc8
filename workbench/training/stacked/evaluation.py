"""Outputs and right answers of several models of one config at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from jaxtyping import Bool, Float, Int, Real
from torch import Tensor

from workbench.models.base.architecture import Architecture
from workbench.models.base.stacked_inputs import StackedInputs
from workbench.models.stacked_forward import stacked_forward, why_not_stacked_model
from workbench.tasks.base import Batch, Law, Task
from workbench.tasks.random_generator import generator
from workbench.training.errors import TrainingError
from workbench.training.stacked.batches import TOKENS_AT_ONCE

ModelWeights = Mapping[str, Tensor]
"""The weights of one model by name."""


def stacked_outputs(
    model: Architecture,
    weights: Sequence[ModelWeights],
    tokens: Int[Tensor, "#run batch pos"],
    ids: Real[Tensor, "#rows pos"] | None = None,
) -> Float[Tensor, "run batch pos out"]:
    """Return the outputs of several models at every position.

    Args:
        model: their config.
        weights: the weights of each model.
        tokens: token ids of each model's sequences; with a first axis of 1, all models get the same sequences.
        ids: position ids, one row for all sequences or one for each, model by model; None = 0, 1, 2, ...

    Raises:
        TrainingError: for a model that cannot be stacked.
    """
    runs, (_, size, pos) = len(weights), tokens.shape
    ids = torch.arange(pos)[None] if ids is None else ids
    outputs = _outputs(model, weights, tokens.expand(runs, -1, -1), ids, None)
    return torch.cat(list(outputs)).view(runs, size, pos, -1)


def stacked_correct(
    task: Task, model: Architecture, weights: Sequence[ModelWeights], batches: Sequence[Batch]
) -> Bool[Tensor, "run batch"]:
    """Return which sequences each model answers correctly.

    Args:
        task: the task of the batches.
        model: the models' config.
        weights: the weights of each model.
        batches: one batch for each model, or a single one for all. All have one length and one size.

    Raises:
        TrainingError: for a model that cannot be stacked.
    """
    runs = len(weights)
    batches = list(batches) * runs if len(batches) == 1 else batches
    tokens = torch.stack([batch.tokens for batch in batches])
    size, pos = tokens.shape[1:]
    each = [model.ids.evaluation(pos, model.n_ctx, batch.position_ids) for batch in batches]
    shared = all(len(ids) == 1 and torch.equal(ids, each[0]) for ids in each)
    ids = each[0] if shared else torch.cat([rows.expand(size, -1) for rows in each])
    index = None
    if _last_decides(task, batches[0]):
        index = torch.arange(pos - 1, size * pos, pos).expand(runs, -1)
        batches = [replace(batch, targets=batch.targets[:, -1:], mask=batch.mask[:, -1:]) for batch in batches]
    outputs = torch.cat(list(_outputs(model, weights, tokens, ids, index))).view(runs, size, -1, model.d_vocab_out)
    return torch.stack(
        [task.sequence_correct(task.correct(own, batch), batch) for own, batch in zip(outputs, batches, strict=True)]
    )


def stacked_right_answers(
    task: Task,
    model: Architecture,
    weights: Sequence[ModelWeights],
    length: int,
    sequences: int,
    seeds: int | Sequence[int],
    test_set: Law = "matched",
    trained_length: int | None = None,
) -> Int[Tensor, " run"]:
    """Return how many sequences of a test set each model answers correctly.

    Args:
        task, model: the models' task and config.
        weights: the weights of each model.
        length: the length of the sequences, which are those of :meth:`workbench.tasks.base.Task.batch`.
        sequences: number of sequences for each model.
        seeds: a seed for each model's own sequences, or one for the same sequences for all.
        test_set, trained_length: as for :meth:`workbench.tasks.base.Task.batch`.

    Raises:
        TrainingError: for a model that cannot be stacked.
        TaskError: for a length or a test set that the task does not have.
    """
    each = [seeds] if isinstance(seeds, int) else list(seeds)
    streams = [generator("batch", seed, test_set, length) for seed in each]
    if model.ids.coupled:
        batches = [task.sample(sequences, length, stream, test_set, trained_length) for stream in streams]
    else:
        drawn = task.sample_blocks(sequences, length, streams, test_set, trained_length)
        drawn = replace(drawn, position_ids=None)
        batches = [drawn.rows(i * sequences, (i + 1) * sequences) for i in range(len(each))]
    return stacked_correct(task, model, weights, batches).sum(1)


def _last_decides(task: Task, batch: Batch) -> bool:
    """Whether a sequence counts as answered by its last query alone, so that other outputs are not needed."""
    usual = type(task).sequence_correct is Task.sequence_correct and type(task).correct is Task.correct
    return usual and batch.prompt is None


@torch.no_grad()
def _outputs(
    model: Architecture,
    weights: Sequence[ModelWeights],
    tokens: Int[Tensor, "run batch pos"],
    ids: Real[Tensor, "#rows pos"],
    query_index: Int[Tensor, "run query"] | None,
) -> Iterator[Float[Tensor, "run query out"]]:
    """The outputs of a few models at a time.

    Raises:
        TrainingError: for a model that cannot be stacked.
    """
    if (reason := why_not_stacked_model(model)) is not None:
        raise TrainingError(f"these models cannot be computed as a stack: {reason}; evaluate them one at a time")
    runs, size, pos = tokens.shape
    at_once = max(1, TOKENS_AT_ONCE // (size * pos))
    for start in range(0, runs, at_once):
        part = slice(start, start + at_once)
        some = {name: torch.stack([of_run[name] for of_run in weights[part]]) for name in weights[0]}
        rows = ids if len(ids) == 1 else ids[start * size : (start + at_once) * size]
        index = None if query_index is None else query_index[part]
        yield stacked_forward(model, some, StackedInputs(tokens[part], rows, index))
