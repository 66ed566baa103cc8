"""Needles in a haystack: the value of a key somewhere among filler."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import torch
from jaxtyping import Bool, Int
from pydantic import Field, model_validator
from torch import Tensor

from workbench.tasks.base import Law, TaskError
from workbench.tasks.retrieval.query_task import QueryTask
from workbench.tasks.sampling import distinct, integers, outer_places
from workbench.tasks.sequences.sequence_task import numbered_names

__all__ = ["Needle"]


class Needle(QueryTask):
    """Report the value that was given to a key.

    A haystack of independent uniform filler tokens contains pairs of a key and its value; the query is one of the keys.
    This is the synthetic needle in a haystack of RULER (Hsieh et al. 2024, 2404.06654). Without ``distractors`` it is
    single; with them it is multi-key, because pairs of other keys must not be mistaken for the queried one. The format
    is ``<bos> haystack <sep> key``.

    Distributions: the keys differ, the values are independent and uniform, and all arrangements of pairs and filler are
    equally likely. *challenge* draws the position of the queried pair uniformly outside the first and the last N tokens
    (N = the longest training length), given the order of everything else. Up to length 2N there are none, and it admits
    all positions.

    ``meta`` contains ``key_position`` and ``answer_position``, the positions of the queried key and its value. Both
    count from 1, so they are indices on the position axis.

    Example: ``f2 k1 v3 f0 k0 v1 <sep> k1`` is answered ``v3``.

        >>> task = Needle(distractors=1, keys=2, values=4, fillers=3)
        >>> task.reference([9, 2, 6, 7, 1, 4, 10, 2])
        [None, None, None, None, None, None, None, 3]
    """

    name: ClassVar[str] = "needle"
    question: ClassVar[str] = "Which value was given to this key?"
    summary: ClassVar[str] = "the value given to the key"
    suggested: ClassVar[Mapping[str, Any]] = {"positions": "rotary", "steps": 6000}

    distractors: int = Field(3, ge=0, le=31)
    """Pairs of other keys in the haystack; 0 for a single needle."""
    keys: int = Field(16, ge=1, le=256)
    """Number of keys to draw from."""
    values: int = Field(16, ge=2, le=256)
    """Number of values to draw from."""
    fillers: int = Field(16, ge=1, le=256)
    """Number of filler tokens to draw from."""

    @model_validator(mode="after")
    def _keys_suffice(self) -> Needle:
        if self.distractors >= self.keys:
            raise TaskError(
                f"distractors must be at most keys - 1 = {self.keys - 1}, because all keys differ, not "
                f"{self.distractors}"
            )
        return self

    @property
    def alphabet(self) -> tuple[str, ...]:
        return numbered_names("k", self.keys) + numbered_names("v", self.values) + numbered_names("f", self.fillers)

    @property
    def answer_alphabet(self) -> tuple[str, ...]:
        return numbered_names("v", self.values)

    @property
    def shortest_context(self) -> int:
        return 2 * (self.distractors + 1)

    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        """The filler."""
        first = 1 + self.keys + self.values
        return tuple(range(first, first + self.fillers))

    def neutral_gaps(self, strings: Int[Tensor, "batch length"]) -> Bool[Tensor, "batch length"]:
        """Whether filler may be inserted: in the haystack, but not between a key and its value."""
        value = (strings > self.keys) & (strings <= self.keys + self.values)
        gaps = super().neutral_gaps(strings) & ~value
        gaps[:, -1] = False
        return gaps

    def _draw(
        self, batch: int, context: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch context"], Int[Tensor, " batch"], dict[str, Tensor]]:
        strings = 1 + self.keys + self.values + integers(self.fillers, (batch, context), generator)
        keys = 1 + distinct(self.keys, batch, self.distractors + 1, generator)
        values = 1 + self.keys + integers(self.values, tuple(keys.shape), generator)
        positions = self._places(batch, context, generator, law, window)
        strings.scatter_(1, positions, keys).scatter_(1, positions + 1, values)
        position = positions[:, 0] + 1
        return strings, keys[:, 0], {"key_position": position, "answer_position": position + 1}

    def _places(
        self, batch: int, context: int, generator: torch.Generator, law: Law, window: int | None
    ) -> Int[Tensor, "batch pairs"]:
        """Draw positions (from 0) of the keys, the queried one first; every key has its value directly after it.

        All pairs except the queried one make a row of cells with the filler, each a filler or a pair. The queried pair
        then goes between two cells, so that every arrangement is equally likely.
        """
        cells = context - self.distractors - 2
        others = distinct(max(cells, 1), batch, self.distractors, generator).sort(1).values
        cell = torch.arange(cells + 1, device=generator.device)
        # The position of each gap between cells: a pair before it occupies two positions.
        gap = cell + (others[:, None, :] < cell[:, None]).sum(2)
        low, high = 0, context - 2
        if law == "challenge":
            low, high = outer_places(low, high, context + 2, window, (0, 1))
        allowed = (gap >= low) & (gap <= high)
        allowed |= ~allowed.any(1, keepdim=True)
        noise = torch.rand(gap.shape, generator=generator, device=generator.device)
        chosen = noise.masked_fill(~allowed, -1.0).argmax(1, keepdim=True)
        queried = gap.gather(1, chosen)
        rank = torch.arange(self.distractors, device=generator.device)
        return torch.cat([queried, others + rank + 2 * (others >= chosen)], 1)

    def _retrieve(
        self, context: Int[Tensor, "batch context"], query: Int[Tensor, " batch"]
    ) -> tuple[Int[Tensor, " batch"], Bool[Tensor, " batch"]]:
        hits = context == query[:, None]
        position = hits.long().argmax(1)
        behind = (position + 1).clamp(max=context.shape[1] - 1)
        value = context.gather(1, behind[:, None])[:, 0] - 1 - self.keys
        unique = (hits.sum(1) == 1) & (position < behind)
        return value, unique & (query <= self.keys) & (value >= 0) & (value < self.values)

    def look_up(self, context: Sequence[str], query: str) -> str | None:
        if not query.startswith("k") or list(context).count(query) != 1:
            return None
        behind = list(context)[list(context).index(query) + 1 :]
        return behind[0] if behind and behind[0].startswith("v") else None
