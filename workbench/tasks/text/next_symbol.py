"""Base classes of next-symbol prediction: for any symbols, and for the files of a folder."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor

from workbench.tasks.base import BOS, Batch, Law, Task
from workbench.tasks.sampling import integers, positions
from workbench.tasks.text.corpus import STANDARD_LIBRARY, Corpus, check_texts

__all__ = ["NextInText", "NextSymbol"]

CONTEXTS = (3, 2, 1)
"""Lengths of context for which a window oracle looks for earlier followers, in the order it tries them."""


class NextSymbol(Task):
    """Predict the next symbol. Token ids are symbols plus one, after BOS."""

    family: ClassVar[str] = "text"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)
    following: ClassVar[str]
    """Key in a batch's ``meta`` of the symbol after each window."""

    def best_accuracy(self, law: Law, length: int) -> float | None:
        """Return None: earlier text does not determine what comes next, so the best accuracy is unknown."""
        return None

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        complete = self.following in meta
        last = meta[self.following] if complete else torch.zeros_like(strings[:, 0])
        following = torch.cat([strings[:, 1:] - 1, last[:, None]], 1)
        mask = torch.ones_like(strings, dtype=torch.bool)
        mask[:, -1] = complete
        if "first_query" in meta:
            mask &= positions(strings) >= meta["first_query"][:, None]
        return following, mask, following, None

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return how often each symbol followed earlier occurrences of the last three visible ones.

        If there are none, the last two count, then the last one. If even the last one is new, the result is how often
        each symbol is visible.
        """
        weights = torch.zeros(len(tokens), self.d_vocab_out, dtype=torch.float64, device=tokens.device)
        for context in (*CONTEXTS, 0):
            occurrences = tokens.shape[1] - context
            if occurrences < 1:
                continue
            same = torch.ones_like(tokens[:, context:], dtype=torch.bool)
            for back in range(1, context + 1):
                same &= tokens[:, context - back : tokens.shape[1] - back] == tokens[:, -back, None]
            votes = torch.zeros_like(weights).scatter_add_(1, tokens[:, context:] - 1, same.double())
            weights = torch.where(weights.sum(1, keepdim=True) > 0, weights, votes)
        return weights

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        return [token - 1 for token in tokens[1:]] + [None]


class NextInText(NextSymbol):
    """Base class of tasks on the text of a folder."""

    folder: str = STANDARD_LIBRARY
    """A folder of text files, read with its subfolders.

    ``stdlib`` is the top level of Python's own library. ``generated`` is text that the project writes itself, the same
    on every machine.
    """
    share: float = Field(0.9, gt=0, lt=1)
    """Share of the files that train."""

    @model_validator(mode="after")
    def _has_text(self) -> NextInText:
        check_texts(self.folder, self.share)
        return self

    @property
    @abstractmethod
    def corpus(self) -> Corpus:
        """The symbols, read on first use."""

    @property
    def token_counts(self) -> Int[Tensor, " token"]:
        counts = self.corpus.counts
        return torch.cat([torch.zeros_like(counts[:1]), counts])  # no text contains BOS

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        data = self.corpus.training if law == "training" else self.corpus.held_out
        meta: dict[str, Tensor] = {}
        if law == "challenge":
            ends = self.corpus.far_repeats(length)
            chosen = ends[integers(len(ends), (batch,), generator).cpu()]
            meta["first_query"] = torch.full_like(chosen, length).to(generator.device)
        else:
            chosen = integers(len(data), (batch,), generator).cpu() + length
        position = chosen[:, None] + torch.arange(-length, 1)
        window_and_next = data[position % len(data)].long().to(generator.device)
        return 1 + window_and_next[:, :-1], {**meta, self.following: window_and_next[:, -1]}

    def chance(self, law: Law, length: int) -> float:
        """Return the share of the most frequent symbol among the supervised ones of a distribution."""
        data = self.corpus.training if law == "training" else self.corpus.held_out
        supervised = data[self.corpus.far_repeats(length)] if law == "challenge" else data
        return int(supervised.long().bincount().max()) / len(supervised)

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        hits = super().shortcuts(batch, window)
        if batch.length >= 2:
            last = batch.tokens[:, -2:].cpu() - 1
            guess = self.corpus.likeliest_after[last[:, 0], last[:, 1]].long().to(batch.tokens.device)
            hits["bigram"] = (guess == batch.targets[:, -1]).double()
        return hits
