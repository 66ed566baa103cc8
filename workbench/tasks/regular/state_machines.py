"""Tasks with the state of a small automaton and distributions of their own: flip-flop, parity, even pairs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.base import BOS, SMALL_RECURRENT, Batch, Law, Support, Task, TaskError
from workbench.tasks.batch import MOST_LISTED
from workbench.tasks.listed_test_sets import every_string, sorted_strings, uniform_strings
from workbench.tasks.sampling import coins, integers, outer_margin, positions, sorted_bits

__all__ = ["EvenPairs", "FlipFlop", "Parity"]


class FlipFlop(Task):
    """Report the bit that was written last: one bit of memory.

    Every token is one whole instruction: ``w0`` and ``w1`` write a bit, ``i0`` and ``i1`` carry a bit to ignore, ``r``
    reads. The first instruction is a write. Every position is supervised: the answer is what a read would return there,
    and it is not part of the sequence. This is flip-flop language modelling (Liu et al. 2023, "Exposing Attention
    Glitches with Flip-Flop Language Modeling"). Here an instruction and its bit are one token, so that every prefix has
    a state.

    Distributions: *training* and *matched* draw instructions independently, with fair bits. *challenge* draws the
    position of the last write uniformly outside the first and the last N tokens (N = the longest training length). Up
    to length 2N, where no such position exists, it may be anywhere. Before that write, instructions are drawn as in
    training; after it, as in training without writes. Only the end is supervised.

    Example: ``w1 i0 r w0 i1`` has the states 1 1 1 0 0.

        >>> FlipFlop().reference([2, 3, 5, 1, 4])
        [1, 1, 1, 0, 0]
    """

    name: ClassVar[str] = "flip_flop"
    family: ClassVar[str] = "automata"
    question: ClassVar[str] = "Which bit was written last?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    summary: ClassVar[str] = "the bit last written"
    suggested_with: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = SMALL_RECURRENT
    vocabulary: ClassVar[tuple[str, ...]] = (BOS, "w0", "w1", "i0", "i1", "r")
    outputs: ClassVar[tuple[str, ...] | None] = ("0", "1")

    write_probability: float = Field(0.1, gt=0, lt=1)
    """Probability of a write at each instruction after the first."""
    read_probability: float = Field(0.1, ge=0, lt=1)
    """Probability of a read. All other instructions are to be ignored."""

    @model_validator(mode="after")
    def _shares_fit(self) -> FlipFlop:
        if self.write_probability + self.read_probability > 1 + 1e-9:
            raise TaskError(
                "write_probability and read_probability must sum to at most 1, not "
                f"{self.write_probability + self.read_probability:g}"
            )
        return self

    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        """``i0`` and ``i1``, whose bits are to be ignored."""
        return (3, 4)

    def automaton(self) -> Automaton:
        return Automaton.explore(
            self.vocabulary[1:],
            "",
            lambda written, token: token[1] if token.startswith("w") else written,
            accepts=lambda _: False,
            name=lambda written: written or "nothing written",
            answer=lambda written: int(written) if written else -1,
        )

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        write = coins((batch, length), self.write_probability, generator)
        write[:, 0] = True
        meta: dict[str, Tensor] = {}
        if law == "challenge":
            margin = outer_margin(length, window)
            deciding = margin + 1 + integers(length - 2 * margin, (batch,), generator)
            position = positions(write)
            write = (write & (position < deciding[:, None])) | (position == deciding[:, None])
            # The first instruction is always a write. It is the deciding one or comes before it.
            meta = {"deciding_position": deciding, "first_query": torch.full_like(deciding, length)}
        read_share = self.read_probability / (1 - self.write_probability)
        read = coins((batch, length), read_share, generator)
        bit = integers(2, (batch, length), generator)
        return torch.where(write, 1 + bit, torch.where(read, 5, 3 + bit)), meta

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        strings = every_string(5, length)
        if strings is None:
            return None
        reads = self.read_probability / (1 - self.write_probability)
        other = torch.tensor([0, 0, (1 - reads) / 2, (1 - reads) / 2, reads], dtype=torch.float64)
        write = torch.tensor([0.5, 0.5, 0, 0, 0], dtype=torch.float64)
        odds = self.write_probability * write + (1 - self.write_probability) * other
        if law != "challenge":
            return self._support((strings, write[strings[:, 0]] * odds[strings[:, 1:]].prod(1)), law)
        margin = outer_margin(length, window)
        parts = []
        for deciding in range(margin + 1, length - margin + 1):
            law_at = torch.stack([odds] * (deciding - 1) + [write] + [other] * (length - deciding))
            law_at[0] = write  # the first instruction is always a write
            parts.append(law_at[torch.arange(length), strings].prod(1))
        last_write = torch.arange(margin + 1, length - margin + 1).repeat_interleave(len(strings))
        meta = {"deciding_position": last_write, "first_query": torch.full_like(last_write, length)}
        return self._support((strings.repeat(len(parts), 1), torch.cat(parts) / len(parts)), law, meta)

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        position = positions(strings)
        last_write = torch.where(strings <= 2, position, 0).cummax(1).values
        written = last_write > 0
        bit = strings.gather(1, (last_write - 1).clamp(min=0)) - 1
        state = torch.where(written, bit, 2)  # 2: nothing written yet
        mask = written & (position >= meta["first_query"][:, None]) if "first_query" in meta else written
        return state.where(written, 0), mask, state, state

    def answer_index(self, batch: Batch) -> Int[Tensor, " batch"] | None:
        """Return the index of the last write."""
        write = (batch.tokens == 1) | (batch.tokens == 2)
        return torch.where(write, torch.arange(batch.tokens.shape[1]), 0).amax(1) if bool(write.any(1).all()) else None

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        _, _, state, _ = self.label_strings(tokens, {})
        last = state[:, -1]
        return F.one_hot(last, 3)[:, :2].double() + 0.5 * (last == 2)[:, None]

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        memory: int | None = None
        answers: list[int | None] = []
        for token in tokens:
            if self.vocabulary[token].startswith("w"):
                memory = int(self.vocabulary[token][1])
            answers.append(memory)
        return answers


class Parity(Task):
    """Decide whether the number of ones is odd.

    Distributions: *training* and *matched* are independent fair bits, so that parity is a fair coin given any part of
    the prefix. *challenge* draws the number of ones uniformly and sorts the tokens; a fair coin picks the first symbol.

    Example: ``1 0 1 1`` has the parities odd, odd, even, odd.

        >>> Parity().reference([2, 1, 2, 2])
        [1, 1, 0, 1]
    """

    name: ClassVar[str] = "parity"
    family: ClassVar[str] = "automata"
    question: ClassVar[str] = "Is the number of ones odd?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    summary: ClassVar[str] = "whether the number of ones is odd"
    suggested_with: ClassVar[Mapping[tuple[str, str], Mapping[str, Any]]] = SMALL_RECURRENT
    vocabulary: ClassVar[tuple[str, ...]] = (BOS, "0", "1")
    outputs: ClassVar[tuple[str, ...] | None] = ("even", "odd")

    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        """The symbol 0."""
        return (1,)

    def automaton(self) -> Automaton:
        return Automaton.explore(
            self.vocabulary[1:],
            0,
            lambda odd, token: odd ^ int(token),
            accepts=lambda _: False,
            name=lambda odd: ("even", "odd")[odd],
            answer=lambda odd: odd,
        )

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        if law == "challenge":
            return 1 + sorted_bits(batch, length, generator).long(), {}
        return 1 + integers(2, (batch, length), generator), {}

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        return self._support(sorted_strings(length) if law == "challenge" else uniform_strings(2, length), law)

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        parity = (strings == 2).cumsum(1) % 2
        return parity, torch.ones_like(strings, dtype=torch.bool), parity, parity

    def chance(self, law: Law, length: int) -> float:
        """Return 1/2; for *challenge* the share of even numbers among ``0..length``, which is at least 1/2."""
        return (length // 2 + 1) / (length + 1) if law == "challenge" else 0.5

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        return F.one_hot((tokens == 2).sum(1) % 2, 2).double()

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        odd = False
        answers: list[int] = []
        for token in tokens:
            odd ^= self.vocabulary[token] == "1"
            answers.append(int(odd))
        return answers


class EvenPairs(Task):
    """Decide whether the symbol changes an even number of times.

    A change is a pair ab or ba of neighbours. The number of changes is even exactly if the first and the last symbol
    agree. From Deletang et al. 2022 ("Neural Networks and the Chomsky Hierarchy", 2207.02098).

    Distributions: *training* and *matched* are independent fair bits, so that the answer is a fair coin given only one
    end of the sequence. *challenge* has at most three changes, each number equally likely. Their positions are random
    outside the first and the last N tokens (N = the longest training length; anywhere up to length 2N).

    Task states: ``output_summary`` is the answer. ``update_summary`` is the first and the last symbol, as a number: 0
    aa, 1 ab, 2 ba, 3 bb.

    Example: ``a b b a`` changes twice.

        >>> EvenPairs().reference([1, 2, 2, 1])
        [0, 1, 1, 0]
    """

    name: ClassVar[str] = "even_pairs"
    family: ClassVar[str] = "automata"
    question: ClassVar[str] = "Is the number of places where the symbol changes even?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    summary: ClassVar[str] = "whether the number of changes is even"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS, "a", "b")
    outputs: ClassVar[tuple[str, ...] | None] = ("even", "odd")

    MOST_CHANGES: ClassVar[int] = 3

    def automaton(self) -> Automaton:
        return Automaton.explore(
            self.vocabulary[1:],
            "",
            lambda ends, token: (ends or token)[0] + token,
            accepts=lambda _: False,
            name=lambda ends: ends or "start",
            answer=lambda ends: int(ends[0] != ends[-1]) if ends else -1,
        )

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        if law != "challenge":
            return 1 + integers(2, (batch, length), generator), {}
        first = integers(2, (batch, 1), generator)
        low, high = self._changes(length, window)
        order = torch.rand((batch, high - low), generator=generator, device=generator.device).argsort(1)
        number = integers(min(self.MOST_CHANGES, high - low) + 1, (batch, 1), generator)
        changes = torch.zeros((batch, length), dtype=torch.long, device=generator.device)
        changes[:, low:high] = (order < number).long()
        return 1 + (first + changes.cumsum(1)) % 2, {}

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        if law != "challenge":
            return self._support(uniform_strings(2, length), law)
        low, high = self._changes(length, window)
        numbers = min(self.MOST_CHANGES, high - low) + 1
        if 2 * sum(math.comb(high - low, number) for number in range(numbers)) > MOST_LISTED:
            return None
        strings, probabilities = [], []
        for first, number in product(range(2), range(numbers)):
            for places in combinations(range(low, high), number):
                changes = torch.zeros(length, dtype=torch.long)
                changes[list(places)] = 1
                strings.append((first + changes.cumsum(0)) % 2)
                probabilities.append(1 / (2 * numbers * math.comb(high - low, number)))
        return self._support((torch.stack(strings), torch.tensor(probabilities, dtype=torch.float64)), law)

    def _changes(self, length: int, window: int | None) -> tuple[int, int]:
        """Return the range (from 0; the end is excluded) of positions whose token may differ from the one before."""
        margin = outer_margin(length, window)
        return margin + 1, max(length - margin, margin + 1)

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        first = strings[:, :1]
        odd = (strings != first).long()
        return odd, torch.ones_like(odd, dtype=torch.bool), odd, 2 * (first - 1) + strings - 1

    def chance(self, law: Law, length: int) -> float:
        """Return 1/2 if a change fits; for *challenge* the share of the likelier parity of the number of changes."""
        if law != "challenge":
            return 0.5 if length > 1 else 1.0
        low, high = self._changes(length, None)
        most = min(self.MOST_CHANGES, high - low)
        return (most // 2 + 1) / (most + 1)

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        return F.one_hot((tokens[:, -1] != tokens[:, 0]).long(), 2).double()

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        changes = 0
        answers: list[int] = []
        for index, token in enumerate(tokens):
            changes += index > 0 and self.vocabulary[token] != self.vocabulary[tokens[index - 1]]
            answers.append(changes % 2)
        return answers
