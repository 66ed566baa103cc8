"""Next-token prediction on the files of a folder: a small language model's task."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import torch
from jaxtyping import Int
from pydantic import Field, model_validator
from torch import Tensor

from workbench.tasks.base import BOS, Law
from workbench.tasks.sampling import integers, positions
from workbench.tasks.text.byte_pairs import byte_pairs
from workbench.tasks.text.corpus import Corpus
from workbench.tasks.text.next_symbol import NextInText

__all__ = ["NextToken"]

SHORTEST = 8
"""Shortest period of a training sequence that repeats itself."""
FEWEST, MOST = 512, 16_384
"""Smallest and largest alphabet: all bytes with some pairs, and a size that 16-bit ids hold easily."""


class NextToken(NextInText):
    """Predict the next token of text.

    As ``text``, in tokens: a byte-level BPE is made from the training files, which are concatenated in a circle, each
    followed by an end token. Nothing is downloaded: the same files give the same tokens.

    Distributions: *training* and *matched* are windows at uniform positions, of the training and of the held-out files.
    *challenge* supervises only the end, at held-out positions where only a copy from far back determines the token. The
    four tokens before it occurred earlier, well inside the window, followed by that same token.

    Of the training sequences the share ``repeated_passages`` are passages that repeat themselves, with a period from 8
    tokens to half of the sequence. The share ``repeated_tokens`` are random tokens that repeat themselves. With 0 for
    both, the default, a model learns any copying from text only.

    The loss is in nats per token. Accuracy never comes near 1.

    Example: the answer at each token is the next one, and the answer at the last one is unknown.

        >>> NextToken(most=1).reference([7, 3, 9])
        [2, 8, None]
    """

    name: ClassVar[str] = "next_token"
    question: ClassVar[str] = "Which token comes next?"
    summary: ClassVar[str] = "the next token"
    following: ClassVar[str] = "next_token"
    suggested: ClassVar[Mapping[str, Any]] = {
        "lengths": "256", "positions": "rotary", "steps": 14_650, "d_model": 128, "batch_size": 16,
    }  # fmt: skip

    tokens: int = Field(1024, ge=FEWEST, le=MOST)
    """Size of the alphabet, including the end."""
    most: int = Field(8, ge=1, le=256)
    """Largest amount of training text to read, in MiB."""
    repeated_passages: float = Field(0.0, ge=0, le=1)
    """Share of the training sequences that repeat a passage of the text."""
    repeated_tokens: float = Field(0.0, ge=0, le=1)
    """Share of the training sequences that repeat random tokens."""

    @model_validator(mode="after")
    def _shares(self) -> NextToken:
        if self.repeated_passages + self.repeated_tokens > 1:
            raise ValueError(
                "repeated_passages and repeated_tokens are shares of the same sequences; their sum must be at most 1"
            )
        return self

    @property
    def tokens_names(self) -> tuple[str, ...]:
        return (BOS, *self.output_names)

    @property
    def d_vocab(self) -> int:
        return 1 + self.tokens

    @property
    def d_vocab_out(self) -> int:
        return self.tokens

    @property
    def output_names(self) -> tuple[str, ...]:
        return byte_pairs(self.folder, self.share, self.tokens, self.most << 20).names

    @property
    def corpus(self) -> Corpus:
        """The tokens, read on first use."""
        return byte_pairs(self.folder, self.share, self.tokens, self.most << 20).corpus

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        strings, meta = super().draw_strings(batch, length, generator, law, window)
        if law != "training" or not self.repeated_passages + self.repeated_tokens or length < 2 * SHORTEST:
            return strings, meta
        kind = torch.rand(batch, generator=generator, device=generator.device)
        passages, random = kind < self.repeated_passages, kind >= 1 - self.repeated_tokens
        random_tokens = 1 + integers(self.tokens, (batch, length), generator)
        source = torch.where(random[:, None], random_tokens, strings)
        period = SHORTEST + integers(length // 2 - SHORTEST + 1, (batch,), generator)
        again = torch.gather(source, 1, (positions(strings) - 1) % period[:, None])
        after = torch.gather(source, 1, (length % period)[:, None])[:, 0] - 1
        chosen = passages | random
        strings = torch.where(chosen[:, None], again, strings)
        meta[self.following] = torch.where(chosen, after, meta[self.following])
        return strings, meta
