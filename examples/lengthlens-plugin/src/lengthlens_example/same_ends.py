"""A task: are the first and the last symbol the same?"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import torch
from torch import Tensor

from workbench.tasks import Task
from workbench.tasks.base import BOS, Law


class SameEnds(Task):
    """Are the first and the last symbol the same? Two symbols are all that has to be remembered of a prefix.

    Laws: *training* and *matched* draw fair bits. *challenge* puts one symbol, chosen by a fair coin, at all places but
    the ends: what stands most often, or right before the end, says nothing.
    """

    name: ClassVar[str] = "same_ends"
    family: ClassVar[str] = "example"
    question: ClassVar[str] = "Are the first and the last symbol the same?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    summary: ClassVar[str] = "the first and the last symbol"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS, "0", "1")
    outputs: ClassVar[tuple[str, ...] | None] = ("different", "same")

    def prefix_closed(self, law: Law) -> bool:
        """Whether prefixes of strings of a law are strings of that law."""
        return law != "challenge"

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Tensor, dict[str, Tensor]]:
        bits = torch.randint(2, (batch, length), generator=generator)
        if law == "challenge":
            bits[:, 1:-1] = torch.randint(2, (batch, 1), generator=generator)
        return 1 + bits, {}

    def label_strings(self, strings: Tensor, meta: dict[str, Tensor]) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
        first = strings[:, :1].expand_as(strings)
        same = (strings == first).long()
        state = 2 * (first - 1) + (strings - 1)
        return same, torch.ones_like(strings, dtype=torch.bool), same, state

    def answer(self, tokens: Tensor) -> Tensor:
        """The best guess of somebody who sees these tokens alone."""
        same = (tokens[:, -1] == tokens[:, 0]).double()
        return torch.stack([1 - same, same], 1)

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        """The answers once more, from the definition."""
        return [int(symbol == tokens[0]) for symbol in tokens]
