"""Trigger and output: the token that followed a trigger when it occurred before, with a distribution of distances."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor

from workbench.tasks.base import BOS, Batch, Law, Task
from workbench.tasks.retrieval.kgram import earlier_occurrence
from workbench.tasks.sampling import integers, outer_places, uniforms
from workbench.tasks.sequences.sequence_task import numbered_names, symbol_names

__all__ = ["TriggerOutput"]

MIDDLE = "middle_token"
POWERS: Mapping[str, float] = {"uniform": 0.0, "proportional": 1.0, "inverse": -1.0}
"""Value of ``distances`` -> the power of the distance to which its probability is proportional."""


class TriggerOutput(Task):
    """Report the token that followed the trigger when it occurred before.

    A sequence is ``x_1 .. x_l1 t o y_1 .. y_l2 t``, and the answer is o. The trigger t is one of a few tokens, which
    occur nowhere else. All other tokens are letters. l2 is the *distance*, and both l1 and l2 are at least 1. Only the
    end is supervised. This is the trigger-output task of Kawata et al. 2025 (2512.18634). They show when one layer
    learns an induction head, and when it learns the position of o.

    Distributions: trigger and letters are uniform. *training* and *matched* draw the distance as ``distances`` states:

    - *equal*: l1 = l2, as in that paper. The answer is then the token just after the middle, so a model can learn its
      position. The lengths of training decide which distances occur;
    - *uniform*: all distances are equally likely;
    - *proportional* and *inverse*: the probability is proportional to l2, or to 1 / l2.

    *challenge* admits those distances at which trigger and answer are outside the first and the last N tokens (N = the
    longest training length), uniformly. Up to length 2N there are none, and it admits all. With *equal*, it leaves out
    the distance of training. So the position of training never gives the answer, except by chance.

    The shortcut ``middle_token`` exists with *equal* only. It answers with the token just after the middle. It never
    counts in the baseline of skill, because it is right on all matched sequences.

    ``meta`` contains ``key_position``, the position of the first trigger, and ``answer_position``, the next one. Both
    count from 1, so they are indices on the position axis of a batch with BOS.

    Task states: ``output_summary`` is the answer at a trigger that occurred exactly once before, and the number
    ``letters`` at all other positions. There is no ``update_summary``.

    Example: in ``c t0 a b t0`` the earlier ``t0`` was followed by ``a``.

        >>> TriggerOutput(letters=3, triggers=2).reference([3, 4, 1, 2, 4])
        [None, None, None, None, 0]
    """

    name: ClassVar[str] = "trigger_output"
    family: ClassVar[str] = "retrieval"
    question: ClassVar[str] = "Which letter followed the trigger when it occurred before?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    summary: ClassVar[str] = "the letter that followed the earlier trigger"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)
    suggested: ClassVar[Mapping[str, Any]] = {"positions": "rotary"}
    outside_floor: ClassVar[frozenset[str]] = frozenset({MIDDLE})

    triggers: int = Field(4, ge=1, le=64)
    """Number of triggers."""
    letters: int = Field(16, ge=2, le=128)
    """Number of all other tokens, which are the possible answers."""
    distances: Literal["equal", "uniform", "proportional", "inverse"] = "equal"
    """The distribution of the number of letters between the answer and the second trigger, in training."""

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS, the letters and the triggers."""
        return (BOS, *self.output_names, *numbered_names("t", self.triggers))

    @property
    def output_names(self) -> tuple[str, ...]:
        """The letters."""
        return symbol_names(self.letters)

    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        """The letters."""
        return tuple(range(1, 1 + self.letters))

    def neutral_gaps(self, strings: Int[Tensor, "batch length"]) -> Bool[Tensor, "batch length"]:
        """Whether letters may be inserted: anywhere except first, and except between a trigger and its answer."""
        gaps = super().neutral_gaps(strings)
        gaps[:, 1:] &= strings[:, :-1] <= self.letters
        return gaps

    def admissible(self, length: int) -> bool:
        """Whether both triggers, the answer and one letter before each trigger fit; with *equal* only odd lengths."""
        return length >= 5 and (length % 2 == 1 or self.distances != "equal")

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        strings = 1 + integers(self.letters, (batch, length), generator)
        trigger = 1 + self.letters + integers(self.triggers, (batch, 1), generator)
        first = self._first_triggers(batch, length, generator, law, window)
        strings.scatter_(1, first, trigger)
        strings[:, -1:] = trigger
        position = first[:, 0] + 1
        return strings, {"key_position": position, "answer_position": position + 1}

    def _first_triggers(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> Int[Tensor, "batch 1"]:
        """Draw l1, which is the index (from 0) of the first trigger."""
        middle, device = (length - 3) // 2, generator.device
        if law == "challenge":
            low, high = outer_places(1, length - 4, length, window, (0, 1))
            admitted = torch.arange(low, high + 1, device=device)
            if self.distances == "equal" and len(admitted) > 1:
                admitted = admitted[admitted != middle]
            return admitted[integers(len(admitted), (batch, 1), generator)]
        if self.distances == "equal":
            return torch.full((batch, 1), middle, device=device)
        distance = torch.arange(1, length - 3, dtype=torch.float64, device=device)
        shares = distance.pow(POWERS[self.distances]).cumsum(0)
        rank = torch.searchsorted(shares, uniforms((batch, 1), generator) * shares[-1], right=True)
        return length - 4 - rank.clamp(max=length - 5)

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        earlier, times = earlier_occurrence(strings)
        follower = strings.gather(1, (earlier + 1).clamp(max=strings.shape[1] - 1))
        known = (strings > self.letters) & (times == 1) & (follower <= self.letters)
        summary = (follower - 1).where(known, self.letters)
        mask = torch.zeros_like(known)
        mask[:, -1] = known[:, -1]
        return summary.where(known, 0), mask, summary, None

    # ---- baselines -------------------------------------------------------------------------------
    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return votes for the letters that follow the last visible token earlier, if that is a trigger; otherwise
        votes for those that follow any trigger. They are uniform if there are none.
        """
        votes = torch.zeros(len(tokens), self.letters + 1, dtype=torch.float64, device=tokens.device)
        trigger = tokens[:, -1:]
        keys = torch.where(trigger > self.letters, tokens == trigger, tokens > self.letters)[:, :-1]
        followers = tokens[:, 1:].where(tokens[:, 1:] <= self.letters, self.letters + 1)
        votes.scatter_add_(1, followers - 1, keys.double())
        votes = votes[:, :-1]
        return torch.where(votes.sum(1, keepdim=True) > 0, votes, 1.0)

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Return the shortcuts of every task and, with *equal* distances, ``middle_token``."""
        hits = super().shortcuts(batch, window)
        if self.distances == "equal":
            token = batch.tokens[:, batch.bos + (batch.length - 1) // 2]
            hits[MIDDLE] = (token - 1 == batch.targets[:, -1]).double()
        return hits

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        names = [self.tokens_names[token] for token in tokens]
        answers: list[int | None] = [None] * len(names)
        triggers = self.tokens_names[1 + self.letters :]
        if names[-1] in triggers and names.count(names[-1]) == 2:
            follower = names[names.index(names[-1]) + 1]
            answers[-1] = None if follower in triggers else self.output_names.index(follower)
        return answers
