"""In-context k-grams: the shares of the symbols that followed the last k tokens."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor

from workbench.tasks.base import BOS, Batch, Law, TaskError
from workbench.tasks.in_context.chains import (
    codes_of,
    draw_chain,
    follower_counts,
    followers_of,
    transition_counts,
)
from workbench.tasks.in_context.chance_by_draws import ChanceByDraws
from workbench.tasks.sampling import flat_shares, integers, outer_margin, positions
from workbench.tasks.sequences.sequence_task import symbol_names

__all__ = ["InContextKGram"]

MOST_TRANSITIONS = 1024
"""Largest number of pairs of k tokens and a follower. Each sequence draws a share for each pair."""


class InContextKGram(ChanceByDraws):
    """Report how often each symbol followed the last k tokens when they occurred before.

    The answer is the vector of the shares of all S symbols among the followers of the earlier occurrences of the last k
    tokens. This is the in-context k-gram of Izzo, Nichani and Lee 2025 (arXiv 2510.27015, Definition 5.4). Without an
    earlier occurrence every share is 1/S. The answer is right if every share is within ``tolerance``. Positions are
    supervised from the (k + 1)-th token on.

    Distributions: *training* and *matched* are chains in which the last k tokens determine the probabilities of the
    next token. The first k tokens are uniform. Each sequence draws shares for each k tokens, uniform on the simplex, so
    that the answer does not approach 1/S with length. The answer has the same distribution at every length only in the
    limit, because few followers give coarse shares (one follower gives 0 and 1). With the defaults the largest share is
    0.71 on average at 8 tokens, 0.60 at 32, 0.56 at 64 and 0.53 from 256 on.

    *challenge* draws a symbol that ends the sequence and occurs nowhere else among the first and the last N tokens (N =
    the longest training length). Up to length 2N, it equals *matched*. So all earlier occurrences of the key are in
    between.

    Task states: ``output_summary`` is the answer. ``update_summary``, stated if S^(k+1) is at most 32, is the number of
    times each k + 1 tokens have occurred in a row, and the last k tokens.

    Example: with k = 1, ``a b a a b a``: a was followed by b, a and b.

        >>> InContextKGram(k=1, symbols=2).reference([1, 2, 1, 1, 2, 1])[-1]
        [0.3333333333333333, 0.6666666666666666]
    """

    name: ClassVar[str] = "in_context_kgram"
    question: ClassVar[str] = "How often did each symbol follow the last k tokens when they occurred before?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "average"
    summary: ClassVar[str] = "shares of what followed the last k tokens"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    k: int = Field(1, ge=1, le=8)
    """Length of the key in tokens."""
    symbols: int = Field(4, ge=2, le=32)
    """Size S of the alphabet, and of the answer."""
    tolerance: float = Field(0.1, gt=0, lt=0.5)
    """Largest distance of a share from its right value that still counts as right."""

    @model_validator(mode="after")
    def _few_contexts(self) -> InContextKGram:
        if self.symbols ** (self.k + 1) > MOST_TRANSITIONS:
            most = max(k for k in range(1, self.k) if self.symbols ** (k + 1) <= MOST_TRANSITIONS)
            raise TaskError(f"k must be an integer from 1 to {most} where symbols is {self.symbols}, not {self.k}")
        return self

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS and the symbols."""
        return (BOS, *symbol_names(self.symbols))

    @property
    def d_vocab_out(self) -> int:
        """Number of outputs: one share for each symbol."""
        return self.symbols

    def admissible(self, length: int) -> bool:
        return length > self.k

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        shares = flat_shares((batch, self.symbols**self.k, self.symbols), generator)
        margin = outer_margin(length, window) if law == "challenge" else 0
        if not margin:
            start = integers(self.symbols, (batch, self.k), generator)
            return 1 + draw_chain(shares, start, length, generator), {}
        last = integers(self.symbols, (batch, 1), generator)
        start = (last + 1 + integers(self.symbols - 1, (batch, self.k), generator)) % self.symbols  # not the last one
        strings = draw_chain(shares, start, length, generator, avoid=last[:, 0], ends=margin)
        return 1 + torch.cat([strings[:, :-1], last], 1), {}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        symbols = strings - 1
        shares = _shares(follower_counts(symbols, self.k, self.symbols)).float()
        supervised = (positions(strings) > self.k).expand_as(strings)
        return shares, supervised, shares, transition_counts(symbols, self.k, self.symbols)

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        return self._seen(tokens, tokens)

    def _seen(
        self, evidence: Int[Tensor, "batch window"], query: Int[Tensor, "batch latest"]
    ) -> Float[Tensor, "batch out"]:
        """Return the shares of the followers, within the evidence, of the last k tokens of the query."""
        if query.shape[1] < self.k:
            return query.new_full((len(query), self.symbols), 1.0, dtype=torch.float64) / self.symbols
        key = codes_of(query[:, -self.k :] - 1, self.k, self.symbols)
        return _shares(followers_of(evidence - 1, key, self.k, self.symbols))

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Return the shortcuts of every task; the first window also knows the last k tokens."""
        hits = super().shortcuts(batch, window)
        if "first_window" in hits:
            strings = batch.tokens[:, 1:]
            guess = self._seen(strings[:, :window], strings[:, -self.k :])
            hits["first_window"] = self._expected_correct(guess, batch.targets[:, -1])
        return hits

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        symbols = [self.tokens_names[token] for token in tokens]
        answers: list[list[float] | None] = []
        for length in range(1, len(symbols) + 1):
            key = symbols[length - self.k : length]
            followers = [symbols[t] for t in range(self.k, length) if symbols[t - self.k : t] == key]
            tally, total = Counter(followers), len(followers)
            shares = [Fraction(tally[s], total) if total else Fraction(1, self.symbols) for s in self.tokens_names[1:]]
            answers.append([float(share) for share in shares] if length > self.k else None)
        return answers


def _shares(counts: Tensor) -> Float[Tensor, "*batch symbol"]:
    """Return counts as shares; equal shares if all counts are 0."""
    total = counts.sum(-1, keepdim=True)
    even = torch.full((), 1 / counts.shape[-1], dtype=torch.float64, device=counts.device)
    return torch.where(total > 0, counts / total.clamp(min=1).double(), even)
