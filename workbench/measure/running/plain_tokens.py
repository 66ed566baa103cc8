"""Plain tokens and labels as batches, for users of other libraries."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import Tensor

from workbench.measure.settings import MeasurementError
from workbench.tasks.base import Batch, Task

Data = Task | Batch | Tensor | Iterable[Batch | Tensor]
"""Input of a measurement: a task whose sequences are drawn, batches, or tensors of token ids, one per length."""


def batches_of(
    data: Batch | Tensor | Iterable[Batch | Tensor],
    labels: Tensor | Sequence[Tensor] | None,
    task: Task | None,
    law: str,
) -> list[Batch]:
    """Convert the given data to batches; each tensor of plain tokens becomes one batch.

    Args:
        data: batches, or token ids ``[batch, pos]`` as the model reads them. Without a task, their length includes BOS.
        labels: right answers of plain tokens without a task: classes (integers) or numbers, ``[batch, pos]``, or
            ``[batch]`` for the last position only. They also serve as the task state at the output.
        task: the task that labels plain tokens.
        law: name of the test set that plain tokens are stored under.

    Raises:
        MeasurementError: for labels of other shapes, or for labels of data that has labels already.
        TaskError: for token ids that the task does not have.
    """
    if isinstance(labels, str):
        raise MeasurementError(
            f"{labels!r} is not an array of token labels; name the target of a probe by target={labels!r}"
        )
    listed: list[Any] = [data] if isinstance(data, Batch | Tensor) else list(data)
    label_list: list[Any] = (
        [None] * len(listed) if labels is None else [labels] if isinstance(labels, Tensor) else list(labels)
    )
    if len(label_list) != len(listed):
        raise MeasurementError(
            f"{len(listed)} batches of tokens were given with {len(label_list)} batches of labels; give one batch of "
            "labels for each batch of tokens"
        )
    return [_batch(one, label, task, law) for one, label in zip(listed, label_list, strict=True)]


def _batch(tokens: Batch | Tensor, labels: Tensor | None, task: Task | None, law: str) -> Batch:
    if labels is not None and (isinstance(tokens, Batch) or task is not None):
        raise MeasurementError("labels are for plain tokens without a task; leave them out, or leave the task out")
    if isinstance(tokens, Batch):
        return tokens
    if tokens.ndim != 2 or tokens.is_floating_point() or 0 in tokens.shape:
        raise MeasurementError(f"plain tokens are integers [batch, pos], not {tokens.dtype} {tuple(tokens.shape)}")
    if task is not None:
        begins = task.bos and bool((tokens[:, 0] == 0).all())
        return task.label(tokens[:, 1:] if begins else tokens, law)
    mask = torch.ones(tokens.shape, dtype=torch.bool, device=tokens.device)
    answers = torch.zeros_like(tokens, dtype=torch.long) if labels is None else labels.to(tokens.device)
    if answers.shape == tokens.shape[:1]:
        mask[:, :-1] = False
        answers = answers[:, None].expand(tokens.shape).contiguous()
    if answers.shape[:2] != tokens.shape:
        raise MeasurementError(
            f"labels are [batch, pos] or [batch], here {tuple(tokens.shape)} or ({len(tokens)},), not "
            f"{tuple(answers.shape)}"
        )
    answers = answers.float() if answers.is_floating_point() else answers.long()
    return Batch(
        tokens=tokens.long(), targets=answers, mask=mask, output_summary=answers, update_summary=None,
        length=tokens.shape[1], bos=False, law=law,
    )  # fmt: skip
