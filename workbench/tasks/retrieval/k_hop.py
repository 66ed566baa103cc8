"""Induction heads in a chain: k-hop induction."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.base import BOS, Law, Task
from workbench.tasks.retrieval.kgram import earlier_occurrence
from workbench.tasks.sampling import integers, outer_places, positions
from workbench.tasks.sequences.sequence_task import symbol_names

__all__ = ["KHop"]

NONE = "none"


class KHop(Task):
    """Report the token at the end of a chain of k induction steps.

    One hop leads from a token to the one that followed its last earlier occurrence. The answer is the token at the end
    of k hops from the last token, or ``none`` if a hop finds no earlier occurrence. This is hop_k of Sanford, Hsu and
    Telgarsky 2024 ("Transformers, parallel computation, and logarithmic depth", 2402.09268), whose depth grows as log
    k. Every prefix is supervised. For k = 1 an induction head solves it.

    Distributions: *training* and *matched* draw the tokens independently and uniformly. The chain then reaches back
    about k times the size of the alphabet, and at the first few prefixes ``none`` is likely. *challenge* draws a chain
    and fills in tokens that do not break it; only the end is supervised. The position of its last hop is uniform over
    those outside the first and the last N tokens (N = the longest training length; anywhere up to length 2N). The other
    hops are uniform after it.

    ``meta`` contains ``hop_positions [batch, k]``, the position after each hop from the last token, counted from 1. It
    is 0 if a hop finds nothing.

    There is no ``update_summary``: a bounded state would have to contain, for every token, where all k hops lead.

    Example: the sequence ``a b c a b``. One hop from the last token leads to ``c``, after the earlier ``b``. A second
    hop finds nothing, because there is no earlier ``c``.

        >>> KHop(k=1, symbols=3).reference([1, 2, 3, 1, 2])
        [3, 3, 3, 1, 2]
        >>> KHop(k=2, symbols=3).reference([1, 2, 3, 1, 2])
        [3, 3, 3, 3, 3]
    """

    name: ClassVar[str] = "k_hop"
    family: ClassVar[str] = "retrieval"
    question: ClassVar[str] = "Which token do k induction steps from the last token lead to?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the token at the end of the chain"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)
    suggested: ClassVar[Mapping[str, Any]] = {"positions": "rotary", "steps": 6000}

    k: int = Field(2, ge=1, le=16)
    """Number of hops."""
    symbols: int = Field(8, ge=3, le=128)
    """Size of the alphabet; with two symbols the chain could only alternate."""

    @property
    def tokens_names(self) -> tuple[str, ...]:
        return (BOS, *symbol_names(self.symbols))

    @property
    def output_names(self) -> tuple[str, ...]:
        return (*symbol_names(self.symbols), NONE)

    def admissible(self, length: int) -> bool:
        """Whether a chain whose hops do not overlap fits."""
        return length >= 2 * self.k + 1

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        meta: dict[str, Tensor] = {}
        if law == "challenge":
            strings = 1 + self._chained(batch, length, generator, window)
            meta["first_query"] = strings.new_full((batch,), length)
        else:
            strings = 1 + integers(self.symbols, (batch, length), generator)
        landed = [1 + position.where(success, -1) for position, success in self._hops(strings)]
        return strings, {**meta, "hop_positions": torch.stack([hop[:, -1] for hop in landed], 1)}

    def _chained(
        self, batch: int, length: int, generator: torch.Generator, window: int | None
    ) -> Int[Tensor, "batch length"]:
        """Draw symbols (from 0) in which k hops from the last token succeed, the last one outside both windows.

        Hop j goes from a token t_(j-1) to its last earlier occurrence, at the index ``anchor[j-1]``, and on to t_j
        right after it. So t_(j-1) must not occur between that index and the start of hop j.
        """
        anchors = self._anchors(batch, length, generator, window)
        step = 1 + integers(self.symbols - 1, (batch, self.k + 1), generator)
        step[:, 0] = integers(self.symbols, (batch,), generator)
        chain = step.cumsum(1) % self.symbols
        position = torch.arange(length, device=generator.device).expand(batch, length)
        # The number of anchors after an index identifies the hop that passes over it; before the last hop none does.
        behind = (anchors[:, None, :] > position[..., None]).sum(2)
        avoided = chain.gather(1, behind)
        other = (avoided + 1 + integers(self.symbols - 1, (batch, length), generator)) % self.symbols
        strings = torch.where(behind < self.k, other, integers(self.symbols, (batch, length), generator))
        strings.scatter_(1, anchors, chain[:, :-1]).scatter_(1, anchors + 1, chain[:, 1:])
        strings[:, -1] = chain[:, 0]
        return strings

    def _anchors(
        self, batch: int, length: int, generator: torch.Generator, window: int | None
    ) -> Int[Tensor, "batch hops"]:
        """Draw indices (from 0) of the pairs that the hops read, the first hop's first; pairs do not overlap."""
        low, high = outer_places(0, length - 2 * self.k - 1, length, window, (0, 1))
        last = low + integers(high - low + 1, (batch, 1), generator)
        if self.k == 1:
            return last
        # A pair counts as one cell: choose cells among those after the last hop, then make room for pairs.
        cells = length - last - self.k - 2
        noise = torch.rand((batch, int(cells.max())), generator=generator, device=generator.device)
        noise = noise.masked_fill(torch.arange(noise.shape[1], device=noise.device) >= cells, -1.0)
        chosen = noise.topk(self.k - 1, dim=1).indices.sort(1).values
        others = last + 2 + chosen + torch.arange(self.k - 1, device=chosen.device)
        return torch.cat([last, others], 1).flip(1)

    def _hops(
        self, strings: Int[Tensor, "batch length"]
    ) -> list[tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]]:
        """Return, for each hop, the index (from 0) that it reaches from every prefix, and whether it succeeds."""
        earlier, times = earlier_occurrence(strings)
        at = torch.arange(strings.shape[1], device=strings.device).expand_as(strings)
        alive = torch.ones_like(strings, dtype=torch.bool)
        hops = []
        for _ in range(self.k):
            alive = alive & (times.gather(1, at) > 0)
            at = torch.where(alive, earlier.gather(1, at) + 1, at)
            hops.append((at, alive))
        return hops

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        at, success = self._hops(strings)[-1]
        answer = torch.where(success, strings.gather(1, at) - 1, self.symbols)
        if "first_query" in meta:
            return answer, positions(strings) >= meta["first_query"][:, None], answer, None
        return answer, torch.ones_like(success), answer, None

    def chance(self, law: Law, length: int) -> float:
        """Return 1/V for *challenge*; else the larger of P(none) and P(some token) / V, both exact.

        Either the token before is the same, and all hops stay at the last token. Or each hop reaches back a geometric
        number of tokens, the first one one more: that needs k successes in the length - 2 tokens before.
        """
        if law == "challenge":
            return 1 / self.symbols
        same = 1 / self.symbols
        tries = length - 2
        fewer = sum(math.comb(tries, j) * same**j * (1 - same) ** (tries - j) for j in range(min(self.k, tries + 1)))
        success = same + (1 - same) * (1 - fewer) if length >= 2 else 0.0
        return max(1 - success, success / self.symbols)

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return the token that the hops from the last visible token reach; any symbol if a hop finds nothing."""
        last = self.label_strings(tokens, {})[0][:, -1]
        guess = F.one_hot(last, self.symbols + 1).double()
        any_symbol = torch.ones_like(guess)
        any_symbol[:, -1] = 0.0
        return torch.where((last == self.symbols)[:, None], any_symbol, guess)

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        answers: list[int] = []
        for start in range(len(tokens)):
            position: int | None = start
            for _ in range(self.k):
                if position is not None:
                    matches = [j for j in range(1, position + 1) if tokens[j - 1] == tokens[position]]
                    position = matches[-1] if matches else None
            name = NONE if position is None else self.tokens_names[tokens[position]]
            answers.append(self.output_names.index(name))
        return answers
