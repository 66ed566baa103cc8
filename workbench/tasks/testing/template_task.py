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
"""Token id of x: its place in the vocabulary."""


class TemplateTask(Task):
    """Has the symbol x occurred so far?

    Laws: strings are of fair letters a and b; a share of them holds one x. *training* and *matched* put it at any
    place, so that the answer at the end has the same law at every length. *challenge* puts it outside the first and the
    last N tokens, so that a model that reads one end alone cannot answer.
    """

    # Fields are parameters: lengthlens train FILE.py:CLASS --set task.share=0.3
    share: float = Field(0.5, ge=0.2, le=0.8, description="share of strings that hold x")

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
        """Letters, and x at one place of a share of the strings. All that is random comes from the generator."""
        letters = torch.randint(1, X, (batch, length), generator=generator)
        first, last = 0, length - 1
        if law == "challenge":
            near_end = length // 8 if window is None else window
            first = min(near_end, (length - 1) // 2)
            last = max(first, length - 1 - near_end)
        place = torch.randint(first, last + 1, (batch, 1), generator=generator)
        holds = torch.rand((batch, 1), generator=generator) < self.share
        return torch.where(holds & (torch.arange(length) == place), X, letters), {}

    def label_strings(self, strings: Tensor, meta: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        """Right answers, where they are asked (everywhere), the output summary and the update summary."""
        seen = (strings == X).long().cummax(1).values
        return seen, torch.ones_like(strings, dtype=torch.bool), seen, seen

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        """The answers of one string once more, from the definition; share no code with what is above."""
        return [int(X in tokens[: end + 1]) for end in range(len(tokens))]

    def answer(self, tokens: Tensor) -> Tensor:
        """The best guess of somebody who sees these tokens alone: a weight for each answer."""
        seen = (tokens == X).any(1)
        unseen_guess = torch.tensor([1 - self.share, self.share], dtype=torch.float64)
        return torch.where(seen[:, None], torch.tensor([0.0, 1.0], dtype=torch.float64), unseen_guess)

    def chance(self, law: Law, length: int) -> float:
        """What the best constant answer scores."""
        return max(self.share, 1 - self.share)

    def automaton(self) -> Automaton:
        """The states of the answer, so that `lengthlens predict` can say what theory expects."""
        return Automaton.explore(
            self.vocabulary[1:],
            False,
            lambda seen, token: seen or token == "x",
            accepts=lambda seen: seen,
            name=lambda seen: "seen" if seen else "not seen",
        )
