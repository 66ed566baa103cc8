"""Base class of the tasks with one query about a context: ``<bos> x_1 .. x_c <sep> q``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.base import BOS, Batch, Law, Task
from workbench.tasks.sequences.sequence_task import SEP

__all__ = ["QueryTask"]


class QueryTask(Task):
    """The base class of tasks with a context x, a query q after the separator, and one answer. Only the answer to q is
    supervised.

    The length is c + 2. A subclass states :attr:`alphabet`, :attr:`answer_alphabet`, :meth:`_draw`, :meth:`_retrieve`
    and, in plain Python, the oracle :meth:`look_up`. Token ids are BOS, the alphabet in its order, then the separator.
    The answer classes are :attr:`answer_alphabet` in its order.

    Task states: ``output_summary`` is the answer, or the number of classes at positions without supervision.
    """

    family: ClassVar[str] = "retrieval"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "pointer"
    suggested: ClassVar[Mapping[str, Any]] = {"positions": "rotary"}

    # ---- what a subclass states --------------------------------------------------------------
    @property
    @abstractmethod
    def alphabet(self) -> tuple[str, ...]:
        """Names of the tokens except BOS and the separator, in the order of their ids from 1 on."""

    @property
    @abstractmethod
    def answer_alphabet(self) -> tuple[str, ...]:
        """Names of the answers."""

    @property
    @abstractmethod
    def shortest_context(self) -> int:
        """Number of tokens in the shortest context that can be drawn."""

    @abstractmethod
    def _draw(
        self, batch: int, context: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch context"], Int[Tensor, " batch"], dict[str, Tensor]]:
        """Draw contexts with this many tokens, queries (token ids), and ``meta``."""

    @abstractmethod
    def _retrieve(
        self, context: Int[Tensor, "batch context"], query: Int[Tensor, " batch"]
    ) -> tuple[Int[Tensor, " batch"], Bool[Tensor, " batch"]]:
        """Return the answer class of each query, and whether there is one."""

    @abstractmethod
    def look_up(self, context: Sequence[str], query: str) -> str | None:
        """Return the answer in plain Python, sharing no code with the sampler; None if there is none."""

    # ---- shared methods ----------------------------------------------------------------------
    @property
    def tokens_names(self) -> tuple[str, ...]:
        return (BOS, *self.alphabet, SEP)

    @property
    def output_names(self) -> tuple[str, ...]:
        return self.answer_alphabet

    def admissible(self, length: int) -> bool:
        return length >= self.shortest_context + 2

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        context, query, meta = self._draw(batch, length - 2, generator, law, window)
        return self._asking(context, query), meta

    def _asking(
        self, context: Int[Tensor, "batch context"], query: Int[Tensor, " batch"]
    ) -> Int[Tensor, "batch length"]:
        """Return ``context <sep> query``, without BOS."""
        separator = torch.full_like(query, self.d_vocab - 1)
        return torch.cat([context, separator[:, None], query[:, None]], 1)

    def _answers(self, tokens: Int[Tensor, "batch length"]) -> tuple[Int[Tensor, " batch"], Bool[Tensor, " batch"]]:
        """Return the answer class of each sequence, and whether it has the right format and an answer."""
        if tokens.shape[1] < 3:
            return torch.zeros_like(tokens[:, 0]), torch.zeros_like(tokens[:, 0], dtype=torch.bool)
        separator = tokens == self.d_vocab - 1
        answer, exists = self._retrieve(tokens[:, :-2], tokens[:, -1])
        return answer, exists & separator[:, -2] & (separator.sum(1) == 1)

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        answer, exists = self._answers(strings)
        targets, mask = torch.zeros_like(strings), torch.zeros_like(strings, dtype=torch.bool)
        targets[:, -1] = answer.where(exists, 0)
        mask[:, -1] = exists
        return targets, mask, targets.where(mask, self.d_vocab_out), None

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        names = [self.tokens_names[token] for token in tokens]
        answers: list[int | None] = [None] * len(names)
        if SEP in names and names.index(SEP) == len(names) - 2 >= 1:
            answer = self.look_up(names[:-2], names[-1])
            answers[-1] = None if answer is None else self.output_names.index(answer)
        return answers

    # ---- baselines ---------------------------------------------------------------------------
    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return the answer that the visible context contains; uniform if it contains none."""
        answer, exists = self._answers(tokens)
        one_hot = F.one_hot(answer.where(exists, 0), self.d_vocab_out).double()
        return torch.where(exists[:, None], one_hot, 1.0)

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Return the shortcuts of every task; the first window also knows the query, which comes last."""
        hits = super().shortcuts(batch, window)
        if "first_window" in hits:
            size = min(window, batch.length - 2)
            visible = self._asking(batch.tokens[:, 1 : 1 + size], batch.tokens[:, -1])
            hits["first_window"] = self._expected_correct(self.answer(visible), batch.targets[:, -1])
        return hits
