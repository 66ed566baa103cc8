"""Majorities over more than one binary sequence: of many letters, and of three interleaved sequences."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor

from workbench.tasks.base import BOS, Batch, Law, Task, TaskError
from workbench.tasks.later_parameter import later
from workbench.tasks.retrieval.kgram import earlier_occurrence
from workbench.tasks.sampling import bits_with, flat_shares, integers, near_leads, sample_by_rejection, uniforms
from workbench.tasks.sequences.sequence_task import SequenceTask, symbol_names

__all__ = ["InterleavedMajority", "LetterMajority"]

STRINGS = 3
"""Number of sequences that are interleaved."""


class LetterMajority(Task):
    """Report the letter that occurs most often.

    Prefixes in which one letter leads are supervised; prefixes that end in a tie are not. With 26 letters this is the
    majority of Huang et al. 2025 ("A Formal Framework for Understanding Length Generalization in Transformers").

    Distributions: letters are independent given their shares. With ``shares`` *any*, each sequence draws its own
    shares, uniform on the simplex, so that the leader's lead keeps its distribution at every length. With *even*, as in
    that paper, all letters are equally likely. The lead then shrinks with length, and the task becomes harder. ``half``
    restricts the letters to one half of the alphabet. Sequences that end in a tie are drawn again. *challenge* sorts
    the tokens, with the letters in random order, so that neither end of the sequence contains many letters.

    Task states: ``output_summary`` is the leading letter, or the number ``letters`` for a tie. ``update_summary`` is
    the count of each letter.

    Example: in ``b a b`` b leads after one token and after three.

        >>> LetterMajority(letters=3).reference([2, 1, 2])
        [1, None, 1]
    """

    name: ClassVar[str] = "letter_majority"
    family: ClassVar[str] = "counting"
    question: ClassVar[str] = "Which letter occurs most often?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "counter"
    summary: ClassVar[str] = "which letter leads"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)
    LEADS: ClassVar[Mapping[str, tuple[int, int]]] = {"lead 1": (1, 1), "lead 2 to 5": (2, 5)}
    strata_names: ClassVar[tuple[str, ...]] = tuple(LEADS)
    strata_kind: ClassVar[str] = "small margins"

    letters: int = Field(26, ge=2, le=128)
    """Size of the alphabet."""
    shares: Literal["any", "even"] = "any"
    """Whether the letters of a sequence have different probabilities."""
    half: Literal["both", "first", "second"] = later("both")
    """The half of the alphabet that sequences use. For odd sizes the first half is the smaller one."""

    @model_validator(mode="after")
    def _two_letters_compete(self) -> LetterMajority:
        if self.half != "both" and self.letters < 4:
            raise TaskError(f"letters must be at least 4, so that a half has two, not {self.letters}")
        return self

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS and the letters."""
        return (BOS, *self.output_names)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The letters."""
        return symbol_names(self.letters)

    @property
    def _occurring(self) -> range:
        """The letters that sequences use, counted from 0."""
        middle = self.letters // 2
        return range(middle if self.half == "second" else 0, middle if self.half == "first" else self.letters)

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        letters = len(self._occurring)

        def draw(rows: int) -> Tensor:
            if self.shares == "even":
                return integers(letters, (rows, length), generator)
            bounds = flat_shares((rows, letters), generator).cumsum(1)[:, :-1]
            return torch.searchsorted(bounds.contiguous(), uniforms((rows, length), generator), right=True)

        strings = sample_by_rejection(batch, draw, lambda strings: _leaders(strings)[1][:, -1])
        if law == "challenge":
            letter = uniforms((batch, letters), generator).argsort(1)
            strings = letter.gather(1, letter.argsort(1).gather(1, strings).sort(1).values)
        return 1 + self._occurring.start + strings, {}

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        leader, unique = _leaders(strings - 1)
        letters = torch.arange(1, self.letters + 1, device=strings.device)[:, None]
        counts = (strings[:, None] == letters).cumsum(2).transpose(1, 2)
        return leader.where(unique, 0), unique, leader.where(unique, self.letters), counts

    def chance(self, law: Law, length: int) -> float:
        """Return one over the number of letters that sequences use: every distribution is symmetric in them."""
        return 1.0 / len(self._occurring)

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        counts = torch.zeros(len(tokens), self.letters, dtype=torch.float64, device=tokens.device)
        counts.scatter_add_(1, tokens - 1, torch.ones_like(tokens, dtype=torch.float64))
        return (counts == counts.amax(1, keepdim=True)).double()

    def strata(self, batch: Batch) -> dict[str, Bool[Tensor, " batch"]]:
        """Return which sequences have a small margin: a small lead over the second letter."""
        assert batch.update_summary is not None
        first, second = batch.update_summary[:, -1].topk(2, dim=1).values.unbind(1)
        lead = first - second
        return {name: (lead >= low) & (lead <= high) for name, (low, high) in self.LEADS.items()}

    def draw_stratum(
        self, name: str, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> Batch | None:
        if len(self._occurring) == 2 and near_leads(self.LEADS[name], length, (), generator) is None:
            return None  # two counts with a given sum: this lead cannot occur
        return super().draw_stratum(name, batch, length, generator, law, window)

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        tally: Counter[str] = Counter()
        answers: list[int | None] = []
        for token in tokens:
            tally[self.tokens_names[token]] += 1
            most = max(tally.values())
            leading = [letter for letter, count in tally.items() if count == most]
            answers.append(self.output_names.index(leading[0]) if len(leading) == 1 else None)
        return answers


def _leaders(
    letters: Int[Tensor, "batch length"],
) -> tuple[Int[Tensor, "batch length"], Bool[Tensor, "batch length"]]:
    """Return a most frequent letter of every prefix, and whether it is the only one.

    A letter that reaches a new highest count is the only leader until another letter reaches that count.
    """
    count = earlier_occurrence(letters)[1] + 1
    most = count.cummax(1).values
    before = torch.cat([torch.zeros_like(most[:, :1]), most[:, :-1]], 1)
    position = torch.arange(1, letters.shape[1] + 1, device=letters.device)
    record = torch.where(count > before, position, 0).cummax(1).values
    level = torch.where(count >= before, position, 0).cummax(1).values
    return letters.gather(1, record - 1), record == level


class InterleavedMajority(SequenceTask):
    """Report the symbol that leads in each of three interleaved sequences.

    ``<bos> x <sep> y``: y_j, for j = 1, 2, 3, is the symbol that occurs more often at the positions j, j + 3, j + 6,
    ... of x. This is the interleaved majority of Huang et al. 2025 ("A Formal Framework for Understanding Length
    Generalization in Transformers"), with period 3.

    Distributions: in each of the three sequences the number of ones is uniform on 0..r (r = its length) without the
    tie, in a random order. The three are independent. *challenge* sorts each of them; a fair coin picks the first
    symbol.

    Task states: ``update_summary`` is the three leads (the number of ones minus that of zeros) and the position in the
    format. That is the length mod 3 within x, 3 at the separator, then 4, 5, 6.

    Example: ``0 1 1 0 0 1 0 0 1`` interleaves ``0 0 0``, ``1 0 0`` and ``1 1 1``.

        >>> InterleavedMajority().solve("0 1 1 0 0 1 0 0 1".split())
        ['0', '0', '1']
    """

    name: ClassVar[str] = "interleaved_majority"
    family: ClassVar[str] = "counting"
    question: ClassVar[str] = "Which symbol leads in each of three interleaved strings?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "counter"
    summary: ClassVar[str] = "which symbol leads in the string asked about"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)
    LEADS: ClassVar[Mapping[str, tuple[int, int]]] = {"closest lead 1 to 2": (1, 2), "closest lead 3 to 5": (3, 5)}
    strata_names: ClassVar[tuple[str, ...]] = tuple(LEADS)
    strata_kind: ClassVar[str] = "small margins"

    @property
    def alphabet(self) -> tuple[str, ...]:
        return ("0", "1")

    def answer_length(self, inputs: int) -> int:
        """Return the number of answers: one for each interleaved sequence."""
        return STRINGS

    def drawable(self, inputs: int) -> bool:
        return inputs >= STRINGS and inputs % STRINGS == 0

    def _inputs(
        self, batch: int, inputs: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch inputs"], dict[str, Tensor]]:
        size = inputs // STRINGS
        ones = self._ones(batch, size, generator)
        position = torch.arange(size, device=generator.device).expand(batch, STRINGS, size)
        if law == "challenge":
            bits = (position < ones) ^ integers(2, ones.shape, generator).bool()
        else:
            bits = uniforms(position.shape, generator).argsort(2) < ones
        return 1 + bits.transpose(1, 2).flatten(1).long(), {}

    def _ones(self, batch: int, size: int, generator: torch.Generator) -> Int[Tensor, "batch strings 1"]:
        """Draw numbers of ones in sequences of this size: uniform, without the tie."""
        ones = integers(size + size % 2, (batch, STRINGS, 1), generator)
        return ones if size % 2 else ones + (ones >= size // 2)

    def draw_stratum(
        self, name: str, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> Batch | None:
        """Give one of the three sequences, each equally likely, a lead of the stratum.

        The other two are drawn until neither has a smaller lead than the stratum allows.
        """
        inputs = self.input_length(length)
        assert inputs is not None, "sample_stratum() has refused lengths that are not admissible"
        size, span = inputs // STRINGS, self.LEADS[name]
        near = near_leads(span, size, (batch, 1, 1), generator)
        if near is None:
            return None
        others = sample_by_rejection(
            batch,
            lambda rows: 2 * self._ones(rows, size, generator)[:, 1:] - size,
            lambda leads: (leads.abs() >= span[0]).flatten(1).all(1),
        )
        leads = torch.cat([near, others], 1)
        order = (torch.arange(STRINGS, device=leads.device) + integers(STRINGS, (batch, 1), generator)) % STRINGS
        bits = bits_with(leads.gather(1, order[..., None]), size, law, generator)
        return self._batch(self._sequence(1 + bits.transpose(1, 2).flatten(1).long()), law, {})

    def _outputs(self, x: Int[Tensor, "batch inputs"]) -> Int[Tensor, "batch outputs"]:
        lead = (2 * x - 3).unflatten(1, (-1, STRINGS)).sum(1).sign()
        return torch.where(lead == 0, 0, (lead + 3) // 2)

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        targets, mask, output_summary, _ = super().label_strings(strings, meta)
        separator = self._separator_place(strings)
        position = torch.arange(strings.shape[1], device=strings.device)
        of_class = position % STRINGS == torch.arange(STRINGS, device=strings.device)[:, None]
        leads = torch.where(of_class & (position < separator), (2 * strings - 3)[:, None], 0).cumsum(2).transpose(1, 2)
        where = torch.where(position < separator, (position + 1) % STRINGS, STRINGS + position - separator)
        update = torch.cat([leads, where[None, :, None].expand(len(strings), -1, 1)], 2)
        return targets, mask, output_summary, update

    def _guess(self, x: Int[Tensor, "batch inputs"], seen: int, first: bool) -> Int[Tensor, "batch outputs"]:
        """Return the symbols that lead among the visible tokens; 0 for a tie."""
        guess = self._outputs(x[:, :seen] if first else x[:, -seen:])
        return guess.where(guess > 0, 1)

    def chance(self, law: Law, length: int) -> float:
        """Return 1/8: three independent fair bits."""
        return 0.5**STRINGS

    def solve(self, x: Sequence[str]) -> list[str]:
        strings = ["".join(x[j::STRINGS]) for j in range(STRINGS)]
        return ["1" if s.count("1") > s.count("0") else "0" for s in strings]
