"""Answers of a model: results per sequence of one test set and length, and counts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from torch import Tensor

from workbench.measure.behaviour.interim_tests import Tally
from workbench.measure.measurement import Observer, join_parts
from workbench.measure.study import LOGITS
from workbench.models.transformer.predicted_ids import NEXT_IDS, ids_right
from workbench.tasks.base import Batch

if TYPE_CHECKING:
    from workbench.models.base.architecture import Architecture
    from workbench.tasks.base import Task


@runtime_checkable
class ObservedModel(Protocol):
    """What is needed to score answers: the task, and how the model reads position ids."""

    @property
    def task(self) -> Task: ...

    @property
    def cfg(self) -> Architecture: ...


@dataclass(frozen=True)
class Observed:
    """Results for each sequence of one test set and length, each ``[sequence]``.

    ``tokens`` is set only where the answer has several tokens. ``parts`` (all tokens, all ids) is filled only where ids
    are predicted.
    """

    correct: np.ndarray
    exact: np.ndarray
    tokens: np.ndarray | None
    loss: np.ndarray
    parts: Mapping[str, np.ndarray]


def reduce_batch(study: ObservedModel, length: int, batch: Batch, cache: Mapping[str, Tensor]) -> Observed:
    """Return correctness and loss per sequence at the query whose prefix length is exactly ``length``.

    Where the answer has several tokens, a sequence is right if all of them are, and its loss is their mean. Sequences
    whose query there is not supervised (an undefined answer) do not count.

    Args:
        study: the task and architecture.
        length: prefix length of the query.
        batch: the sequences.
        cache: ``logits``, and the predicted ids where the model predicts them.
    """
    at = batch.index(length)
    right, parts = right_queries(study, batch, cache)
    query_mask = batch.mask[:, at]
    exact = (right | ~batch.mask).all(1)
    answered = study.task.sequence_correct(right, batch)
    losses = study.task.losses(cache["logits"], batch)
    loss = losses[:, at] if batch.prompt is None else (losses * batch.mask).sum(1) / batch.mask.sum(1)
    return Observed(
        correct=answered[query_mask].cpu().numpy().astype(float),
        exact=exact[query_mask].cpu().numpy().astype(float),
        tokens=None if batch.prompt is None else share_right(right, batch)[query_mask.cpu().numpy()],
        loss=loss[query_mask].cpu().double().numpy(),
        parts={
            name: study.task.sequence_correct(part, batch)[query_mask].cpu().numpy() for name, part in parts.items()
        },
    )


@dataclass
class Answered:
    """The results that are stored from the answers to one batch.

    Attributes:
        batch: the sequences.
        parts: results of consecutive parts of the batch.
        first: outputs, and predicted ids where they exist, of the first few sequences.
    """

    batch: Batch
    parts: list[Observed] = field(default_factory=list)
    first: dict[str, Tensor] = field(default_factory=dict)


class AnswerObserver(Observer):
    """Scores answers during a pass.

    Args:
        study: the task and architecture, which define what is right.
        length: prefix length of the query.
        batch: the sequences.
        names: activations that scoring needs besides the outputs.
        kept: number of sequences whose outputs are kept.
    """

    def __init__(self, study: ObservedModel, length: int, batch: Batch, names: Sequence[str], kept: int) -> None:
        self.batch, self.groups = batch, {0: [*names, LOGITS]}
        self.answered = Answered(batch)
        self._study, self._length, self._kept = study, length, kept

    def see(self, key: int, rows: slice, part: Batch, seen: Mapping[str, Tensor]) -> None:
        self.answered.parts.append(reduce_batch(self._study, self._length, part, seen))
        if rows.start < self._kept:
            wanted = {name: tensor[: self._kept - rows.start].clone() for name, tensor in seen.items()}
            before = self.answered.first
            self.answered.first = join_parts([before, wanted]) if before else wanted


def join_observed(parts: Sequence[Observed]) -> Observed:
    """Join the results of consecutive parts of a batch (at least one part)."""
    tokens = [part.tokens for part in parts if part.tokens is not None]
    return Observed(
        correct=np.concatenate([part.correct for part in parts]),
        exact=np.concatenate([part.exact for part in parts]),
        tokens=np.concatenate(tokens) if tokens else None,
        loss=np.concatenate([part.loss for part in parts]),
        parts={name: np.concatenate([part.parts[name] for part in parts]) for name in parts[0].parts},
    )


def right_queries(
    study: ObservedModel, batch: Batch, cache: Mapping[str, Tensor]
) -> tuple[Tensor, Mapping[str, Tensor]]:
    """Return which queries are right, ``[batch, pos]``.

    Where ids are predicted, also return which tokens and which ids are right; a query then needs both.
    """
    right = study.task.correct(cache["logits"], batch)
    if NEXT_IDS not in cache:
        return right, {}
    ids = study.cfg.ids.evaluation(batch.tokens.shape[1], study.cfg.n_ctx, batch.position_ids)
    parts = {"tokens": right, "ids": ids_right(cache[NEXT_IDS], ids, batch.mask)}
    return right & parts["ids"], parts


def share_right(right: Tensor, batch: Batch) -> np.ndarray:
    """Return, per sequence, the share of its supervised queries that are right."""
    share: np.ndarray = ((right & batch.mask).sum(1).double() / batch.mask.sum(1)).cpu().numpy()
    return share


def tally(study: ObservedModel, answers: Iterable[tuple[Batch, Mapping[str, Tensor]]], strings: set[int]) -> Tally:
    """Count the queries at the ends of sequences and the right answers, batch by batch.

    ``strings`` collects hashes of the sequences with a query.
    """
    right = n = 0
    for batch, cache in answers:
        asked = batch.mask[:, batch.index(batch.length)]
        answered = study.task.sequence_correct(right_queries(study, batch, cache)[0], batch)
        right, n = right + int(answered[asked].sum()), n + int(asked.sum())
        strings |= string_hashes(batch, asked)
    return Tally(right, n, len(strings))


def string_hashes(batch: Batch, asked: Tensor) -> set[int]:
    """Return a hash for each distinct sequence with a query."""
    return {hash(string.tobytes()) for string in batch.tokens[asked].cpu().numpy()}
