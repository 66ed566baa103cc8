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
    """Which token does a chain of k induction steps end on?

    One hop leads from a token to the one that followed its last earlier occurrence; the answer is the
    token that k hops, starting from the last token, end on, or ``none`` where a hop finds no earlier
    occurrence. This is hop_k of Sanford, Hsu and Telgarsky 2024 ("Transformers, parallel computation, and
    logarithmic depth", 2402.09268), whose depth grows as log k. It is asked at every prefix. For k = 1
    an induction head does it.

    Laws: *training* and *matched* draw the tokens independently and uniformly, under which the chain
    reaches back about k times the alphabet; at the first few prefixes ``none`` is likely. *challenge*
    draws a chain, its last hop at a place uniform over those where it lies outside the first and the last
    N tokens (N = the longest training length; up to length 2N, where there are none, over every place)
    and its other hops uniform behind that, fills in what does not break it, and asks at the end only.

    ``meta`` gives ``hop_positions [batch, k]``, where each hop from the last token lands, from 1 on;
    0 where it finds nothing.

    No bounded update summary is stated: what each token would lead to must be kept for all k hops.

    Example: two hops from the last token of ``a b c a b`` lead to ``c`` behind the earlier ``b``, and on
    to nothing, for there is no earlier ``c``; one hop leads to ``c``.

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
        """A chain whose hops do not overlap must fit."""
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
        landed = [1 + position.where(found, -1) for position, found in self._hops(strings)]
        return strings, {**meta, "hop_positions": torch.stack([hop[:, -1] for hop in landed], 1)}

    def _chained(
        self, batch: int, length: int, generator: torch.Generator, window: int | None
    ) -> Int[Tensor, "batch length"]:
        """Symbols (from 0) in which k hops from the last token succeed, the last one outside both windows.

        Hop j goes from a token t_(j-1) to its last earlier occurrence, at the place ``anchor[j-1]``, and on
        to t_j right behind; so t_(j-1) must not occur between there and where hop j starts.
        """
        anchors = self._anchors(batch, length, generator, window)
        step = 1 + integers(self.symbols - 1, (batch, self.k + 1), generator)
        step[:, 0] = integers(self.symbols, (batch,), generator)
        chain = step.cumsum(1) % self.symbols
        position = torch.arange(length, device=generator.device).expand(batch, length)
        # How many anchors lie behind a place says which hop passes over it; before the last hop none does.
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
        """Places (from 0) of the pairs that the hops read, the first hop's first; pairs do not overlap."""
        low, high = outer_places(0, length - 2 * self.k - 1, length, window, (0, 1))
        last = low + integers(high - low + 1, (batch, 1), generator)
        if self.k == 1:
            return last
        # A pair counts as one cell: choose cells among those behind the last hop, then make room for pairs.
        cells = length - last - self.k - 2
        noise = torch.rand((batch, int(cells.max())), generator=generator, device=generator.device)
        noise = noise.masked_fill(torch.arange(noise.shape[1], device=noise.device) >= cells, -1.0)
        chosen = noise.topk(self.k - 1, dim=1).indices.sort(1).values
        others = last + 2 + chosen + torch.arange(self.k - 1, device=chosen.device)
        return torch.cat([last, others], 1).flip(1)

    def _hops(
        self, strings: Int[Tensor, "batch length"]
    ) -> list[tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]]:
        """For each hop, the place (from 0) where it lands from every prefix, and whether it got there."""
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
        at, found = self._hops(strings)[-1]
        answer = torch.where(found, strings.gather(1, at) - 1, self.symbols)
        if "first_query" in meta:
            return answer, positions(strings) >= meta["first_query"][:, None], answer, None
        return answer, torch.ones_like(found), answer, None

    def chance(self, law: Law, length: int) -> float:
        """1/V in *challenge*; else the larger of P(none) and P(some token) / V, both exact.

        Either the token before is the same, and all hops stay in place, or each hop reaches back a
        geometric number of tokens, the first one one more: k successes in the length - 2 tokens before.
        """
        if law == "challenge":
            return 1 / self.symbols
        same = 1 / self.symbols
        tries = length - 2
        fewer = sum(math.comb(tries, j) * same**j * (1 - same) ** (tries - j) for j in range(min(self.k, tries + 1)))
        found = same + (1 - same) * (1 - fewer) if length >= 2 else 0.0
        return max(1 - found, found / self.symbols)

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Where the hops from the last visible token lead in the visible string; where to nothing, any symbol."""
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
                    found = [j for j in range(1, position + 1) if tokens[j - 1] == tokens[position]]
                    position = found[-1] if found else None
            name = NONE if position is None else self.tokens_names[tokens[position]]
            answers.append(self.output_names.index(name))
        return answers
