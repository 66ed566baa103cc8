"""A task to start from: has the symbol x occurred so far?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor

from workbench.tasks import BOS, Law, Task
from workbench.tasks.automata.dfa import Automaton

X = 3
"""Token id of x: its index in the vocabulary."""


class TemplateTask(Task):
    """Decide whether the symbol x has occurred so far.

    Distributions: sequences consist of fair letters a and b, and a share of them contains one x. *training* and
    *matched* put it at any position, so that the answer at the end has the same distribution at every length.
    *challenge* puts it outside the first and the last N tokens, so that a model that reads only one end cannot answer.
    """

    # Fields are parameters: lengthlens train FILE.py:CLASS --set task.share=0.3
    share: float = Field(0.5, ge=0.2, le=0.8, description="share of sequences that contain x")

    name: ClassVar[str] = "template_task"
    family: ClassVar[str] = "mine"
    question: ClassVar[str] = "Has x occurred so far?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    summary: ClassVar[str] = "whether x has occurred"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS, "a", "b", "x")
    outputs: ClassVar[tuple[str, ...] | None] = ("no", "yes")

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Draw letters, and x at one position in a share of the sequences. All randomness comes from the generator."""
        letters = torch.randint(1, X, (batch, length), generator=generator)
        first, last = 0, length - 1
        if law == "challenge":
            near_end = length // 8 if window is None else window
            first = min(near_end, (length - 1) // 2)
            last = max(first, length - 1 - near_end)
        position = torch.randint(first, last + 1, (batch, 1), generator=generator)
        has_x = torch.rand((batch, 1), generator=generator) < self.share
        return torch.where(has_x & (torch.arange(length) == position), X, letters), {}

    def label_strings(self, strings: Tensor, meta: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Return right answers, the mask (all supervised), ``output_summary`` and ``update_summary``."""
        occurred = (strings == X).long().cummax(1).values
        return occurred, torch.ones_like(strings, dtype=torch.bool), occurred, occurred

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        """Compute the answers of one sequence from the definition, without sharing code with the methods above."""
        return [int(X in tokens[: end + 1]) for end in range(len(tokens))]

    def answer(self, tokens: Tensor) -> Tensor:
        """Return the best guess from these tokens only: a weight for each answer."""
        visible = (tokens == X).any(1)
        prior = torch.tensor([1 - self.share, self.share], dtype=torch.float64)
        return torch.where(visible[:, None], torch.tensor([0.0, 1.0], dtype=torch.float64), prior)

    def chance(self, law: Law, length: int) -> float:
        """Return the score of the best constant answer."""
        return max(self.share, 1 - self.share)

    def automaton(self) -> Automaton:
        """Return the automaton of the answer, so that `lengthlens predict` can apply theory to the task."""
        return Automaton.explore(
            self.vocabulary[1:],
            False,
            lambda occurred, token: occurred or token == "x",
            accepts=lambda occurred: occurred,
            name=lambda occurred: "seen" if occurred else "not seen",
        )
