"""The task majority, whose task state is a counter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from workbench.tasks.base import BOS, Batch, Law, Support, Task
from workbench.tasks.later_parameter import later
from workbench.tasks.listed_test_sets import sorted_strings, urn_strings
from workbench.tasks.sampling import bits_with, last_alone, near_leads, positions, sorted_bits, urn_bits

__all__ = ["Majority"]


class Majority(Task):
    """Report which of two symbols occurs more often.

    Odd prefix lengths are supervised, because they have no ties. So the admissible lengths are odd. With ``queries``
    *last*, only the end of the sequence is supervised, as in the papers.

    Distributions: *training* and *matched* draw the number of ones uniformly on 0..L and shuffle. So the share of ones
    has the same distribution at every length. Under independent fair bits it would approach 1/2, and the task would
    become harder with length. *challenge* sorts the tokens, and a fair coin picks the first symbol, so that neither end
    of the sequence determines the answer.

    Task states: ``output_summary`` is the sign of the lead: 0 or 1, and 2 for a tie, which is not supervised.
    ``update_summary`` is the lead itself, the number of ones minus that of zeros.

    Example: in ``0 1 1`` zero leads after one token and one leads after three.

        >>> Majority().reference([1, 2, 2])
        [0, None, 1]
    """

    name: ClassVar[str] = "majority"
    family: ClassVar[str] = "counting"
    question: ClassVar[str] = "Which symbol occurs more often?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "counter"
    summary: ClassVar[str] = "which symbol leads"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS, "0", "1")
    outputs: ClassVar[tuple[str, ...] | None] = ("0", "1")
    LEADS: ClassVar[Mapping[str, tuple[int, int]]] = {"lead 1": (1, 1), "lead 3 to 5": (3, 5)}
    strata_names: ClassVar[tuple[str, ...]] = tuple(LEADS)
    strata_kind: ClassVar[str] = "small margins"

    queries: Literal["every", "last"] = later("every")
    """Whether every odd prefix is supervised, or only the whole sequence."""

    def admissible(self, length: int) -> bool:
        return length >= 1 and length % 2 == 1

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge" and self.queries == "every"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        draw = sorted_bits if law == "challenge" else urn_bits
        return 1 + draw(batch, length, generator).long(), {}

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        return self._support(sorted_strings(length) if law == "challenge" else urn_strings(length), law)

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        lead = (2 * strings - 3).cumsum(1)
        ones_lead = (lead > 0).long()
        odd = (positions(strings) % 2 == 1).expand_as(strings)
        mask = odd if self.queries == "every" else last_alone(odd)
        return ones_lead, mask, torch.where(lead == 0, 2, ones_lead), lead

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        lead = (2 * tokens - 3).sum(1).sign().double()
        return torch.stack([1 - lead, 1 + lead], 1) / 2

    def strata(self, batch: Batch) -> dict[str, Bool[Tensor, " batch"]]:
        """Return which sequences have a small margin. A blurred threshold errs only on them, and they are rare."""
        assert batch.update_summary is not None
        lead = batch.update_summary[:, -1].abs()
        return {name: (lead >= low) & (lead <= high) for name, (low, high) in self.LEADS.items()}

    def draw_stratum(
        self, name: str, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> Batch | None:
        """Draw sequences of a stratum: the lead is uniform among the values of the stratum, and its sign is fair.

        This is the distribution given the stratum, because the lead is uniform under every distribution.
        """
        leads = near_leads(self.LEADS[name], length, (batch, 1), generator)
        if leads is None:
            return None
        return self._batch(1 + bits_with(leads, length, law, generator).long(), law, {})

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        tally = {"0": 0, "1": 0}
        answers: list[int | None] = []
        for length, token in enumerate(tokens, start=1):
            tally[self.vocabulary[token]] += 1
            supervised = length % 2 == 1 and (self.queries == "every" or length == len(tokens))
            answers.append(int(tally["1"] > tally["0"]) if supervised else None)
        return answers
