"""Sequences of one task, one distribution and one length, with supervised positions and right answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from workbench.tasks.errors import TaskError

__all__ = ["MOST_LISTED", "Batch", "Support", "TaskError"]

MOST_LISTED = 512
"""Most sequences of a distribution that is listed."""


@dataclass(frozen=True)
class Batch:
    """Labelled sequences of one task, one distribution and one length, so that no padding is needed.

    With a BOS token, index ``i`` of the position axis is the query of prefix length ``i``; index 0 is BOS, with prefix
    length 0. Without BOS, index ``i`` has prefix length ``i + 1``.

    Attributes:
        tokens: token ids, with BOS first if the task has it.
        targets: right answers; class ids ``[batch, pos]`` or real vectors ``[batch, pos, dim]``.
        mask: True where a query is supervised (never at BOS).
        output_summary: the task state, which the next output needs; int64 = a class, float = a number or a vector.
        update_summary: a state that can be carried along token by token, or None.
        length: number of task tokens (BOS excluded).
        bos: whether index 0 is BOS.
        law: the distribution of the sequences.
        position_ids: ids that the task couples, BOS included, or None if it couples none. Only the id sampler
            ``coupled`` reads them.
        prompt: number of leading indices that are input (BOS included), for answers of several tokens that are part of
            the sequence. The answer at index i >= prompt - 1 is the token at i + 1, and the sequence lacks the last
            answer. None if answers are not part of the sequence.
        meta: further facts per sequence, e.g. the position of the key of a retrieval.
    """

    tokens: Int[Tensor, "batch pos"]
    targets: Shaped[Tensor, "batch pos *dim"]
    mask: Bool[Tensor, "batch pos"]
    output_summary: Shaped[Tensor, "batch pos *s"]
    update_summary: Shaped[Tensor, "batch pos *k"] | None
    length: int
    bos: bool
    law: str
    position_ids: Int[Tensor, "#batch pos"] | None = None
    prompt: int | None = None
    meta: dict[str, Tensor] = field(default_factory=dict)

    def __len__(self) -> int:
        return self.tokens.shape[0]

    @property
    def led(self) -> bool:
        """Whether index 0 is a token that starts every sequence without being one of its task tokens."""
        return self.bos

    @property
    def categorical(self) -> bool:
        """Whether the task state (``output_summary``) is a class (int64) rather than a real number."""
        return not self.output_summary.is_floating_point()

    def index(self, length: int) -> int:
        """Return the index on the position axis of the query whose prefix length is exactly ``length``."""
        if not 1 <= length <= self.length:
            raise TaskError(f"prefix length {length} is not in this batch, whose length is {self.length}")
        return length if self.bos else length - 1

    def prefix_lengths(self) -> Int[Tensor, " pos"]:
        """Return the prefix length of every index of the position axis (0 at BOS)."""
        start = 0 if self.bos else 1
        return torch.arange(start, start + self.tokens.shape[1], device=self.tokens.device)

    def prefix(self, length: int) -> Batch:
        """Return the same sequences cut after ``length`` task tokens (for prefix-closed distributions)."""
        end = self.index(length) + 1
        return self._map(lambda x: x[:, :end], length=length)

    def rows(self, start: int, stop: int) -> Batch:
        """Return the sequences ``start:stop``."""
        cut = self._map(lambda x: x[start:stop])
        return replace(cut, meta={k: v[start:stop] for k, v in self.meta.items()})

    def take(self, which: Int[Tensor, "chosen"]) -> Batch:
        """Return the sequences of these indices. Position ids that all sequences share are not indexed."""
        cut = self._map(lambda x: x[which] if len(x) == len(self) else x)
        return replace(cut, meta={k: v[which] for k, v in self.meta.items()})

    @staticmethod
    def join(batches: Sequence[Batch]) -> Batch:
        """Return the sequences of several batches of one task, distribution and length, in order."""

        def joined(values: Sequence[Tensor | None]) -> Tensor | None:
            tensors = [value for value in values if value is not None]
            return torch.cat(tensors) if tensors else None

        names = ("tokens", "targets", "mask", "output_summary", "update_summary", "position_ids")
        meta = {key: torch.cat([batch.meta[key] for batch in batches]) for key in batches[0].meta}
        parts: dict[str, Any] = {name: joined([getattr(batch, name) for batch in batches]) for name in names}
        return replace(batches[0], **parts, meta=meta)

    def to(self, device: torch.device | str) -> Batch:
        """Return the same batch on another device."""
        moved = self._map(lambda x: x.to(device))
        return replace(moved, meta={k: v.to(device) for k, v in self.meta.items()})

    def _map(self, f: Any, length: int | None = None) -> Batch:
        def g(x: Tensor | None) -> Tensor | None:
            return None if x is None else f(x)

        return replace(
            self,
            tokens=f(self.tokens),
            targets=f(self.targets),
            mask=f(self.mask),
            output_summary=f(self.output_summary),
            update_summary=g(self.update_summary),
            position_ids=g(self.position_ids),
            length=self.length if length is None else length,
        )


@dataclass(frozen=True)
class Support:
    """All sequences of a distribution, each once.

    Attributes:
        batch: the sequences, labelled.
        probabilities: the probability of each under the distribution; they add up to 1.
    """

    batch: Batch
    probabilities: Float[Tensor, " batch"]

    @classmethod
    def of(cls, batch: Batch, probabilities: Float[Tensor, " batch"]) -> Support:
        """Merge equal sequences, and sum their probabilities."""
        _, position = batch.tokens.unique(dim=0, return_inverse=True)
        first = torch.full((int(position.max()) + 1,), len(batch), device=position.device)
        first = first.scatter_reduce(0, position, torch.arange(len(batch), device=position.device), "amin")
        total = torch.zeros(len(first), dtype=torch.float64, device=position.device)
        return cls(batch.take(first), total.index_add(0, position, probabilities.double()))
