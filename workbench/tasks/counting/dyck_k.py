"""Brackets of several types, nested to a bounded depth: the task state is a stack."""

from __future__ import annotations

from collections.abc import Sequence
from math import comb
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.automata.dfa import LARGEST_AUTOMATON, Automaton
from workbench.tasks.base import BOS, Law, Task, TaskError
from workbench.tasks.sampling import integers, outer_margin, positions, uniforms

__all__ = ["DyckK", "fold_walk"]


_Stack = tuple[int, ...] | None
"""The types of the open brackets in order; None once the sequence is broken."""
_EMPTY: _Stack = ()


class DyckK(Task):
    """Report which bracket closes the one opened last: k types of brackets, nested at most ``depth`` deep.

    ``ask`` selects the query after every symbol. *close*: the type of the closing bracket that may follow, at positions
    with an open bracket. *next*: all symbols that may follow, which are any opening bracket unless ``depth`` are open,
    that closing bracket, and ``<eos>`` if none is open. Lengths are odd, so that some bracket has not been closed at
    the end. Positions are not supervised once a sequence is broken: it closes a bracket that was not opened last, or
    opens more than ``depth``.

    Distributions: *training* and *matched* are the process of Hewitt et al. 2020 ("RNNs can generate bounded
    hierarchical languages with optimal memory"), without end. If a bracket can be opened or closed, both are equally
    likely; types are uniform. *challenge* opens the queried bracket at a position that is uniform over those outside
    the first and the last N tokens (N = the longest training length). At most ``depth`` - 2 brackets are then open, and
    everything opened later is closed. The rest is the same process under these conditions. ``meta["answer_position"]``
    is that position.

    Task states: ``output_summary`` is the answer (the number of answers at positions without supervision).
    ``update_summary`` is the stack, and 1 once the sequence is broken. The stack is one number to the base k + 1, whose
    digits are the types (1 to k), the top first.

    Example: with k = 2, ``(1 (2 )2`` leaves ``(1`` open.

        >>> [DyckK(k=2, depth=3).output_names[i] for i in DyckK(k=2, depth=3).reference([1, 3, 4])]
        [')1', ')2', ')1']
    """

    name: ClassVar[str] = "dyck_k"
    family: ClassVar[str] = "counting"
    question: ClassVar[str] = "Which bracket closes the one opened last?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    summary: ClassVar[str] = "the type of the bracket opened last"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    k: int = Field(8, ge=2, le=32)
    """Number of types of brackets."""
    depth: int = Field(10, ge=2, le=30)
    """Largest number of brackets that are open at once."""
    ask: Literal["close", "next"] = "close"
    """The query after every symbol."""

    @model_validator(mode="after")
    def _stack_fits_a_number(self) -> DyckK:
        most = next(m for m in range(self.depth, 0, -1) if (self.k + 1) ** m < 2**62)
        if self.depth > most:
            raise TaskError(f"depth must be an integer from 2 to {most} where k is {self.k}, not {self.depth}")
        return self

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS, then the opening and the closing bracket of each type."""
        return (BOS, *(side + str(j + 1) for j in range(self.k) for side in "()"))

    @property
    def output_names(self) -> tuple[str, ...]:
        """The closing brackets; for *next*, the sets of symbols below the bound, at the bound, and with none open."""
        names = self.tokens_names
        openings, closings = " ".join(names[1::2]), names[2::2]
        if self.ask == "close":
            return closings
        return (*(f"{openings} {closing}" for closing in closings), *closings, f"{openings} <eos>")

    def automaton(self) -> Automaton | None:
        """Return an automaton of all stacks (types of the open brackets in order) and one broken state."""
        if sum(self.k**height for height in range(self.depth + 1)) + 1 > LARGEST_AUTOMATON:
            return None
        return Automaton.explore(
            self.tokens_names[1:],
            _EMPTY,
            self._pushed,
            accepts=lambda _: False,
            name=lambda stack: "broken" if stack is None else "(" + " (".join(map(str, stack)) if stack else "empty",
            answer=self._stack_answer,
        )

    def _pushed(self, stack: _Stack, symbol: str) -> _Stack:
        """Return the stack after one more symbol."""
        kind = int(symbol[1:])
        if stack is None or (symbol[0] == "(" and len(stack) == self.depth):
            return None
        if symbol[0] == "(":
            return (*stack, kind)
        return stack[:-1] if stack[-1:] == (kind,) else None

    def _stack_answer(self, stack: _Stack) -> int:
        """Return the number of the answer for a stack; -1 if it is not supervised."""
        if stack is None or (self.ask == "close" and not stack):
            return -1
        if not stack:
            return 2 * self.k
        full = self.ask == "next" and len(stack) == self.depth
        return stack[-1] - 1 + self.k * full

    def admissible(self, length: int) -> bool:
        return length >= 1 and length % 2 == 1

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    # ---- drawing -----------------------------------------------------------------------------
    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        meta: dict[str, Tensor] = {}
        if law == "challenge":
            position = self._answer_places(batch, length, window, generator)
            heights = self._heights_over(position, length, generator)
            meta = {"answer_position": position + 1}
        else:
            steps = 2 * integers(2, (batch, length), generator) - 1
            heights = fold_walk(steps.cumsum(1), self.depth)
        types = integers(self.k, (batch, length), generator)
        return 1 + _brackets(heights, types), meta

    def _answer_places(
        self, batch: int, length: int, window: int | None, generator: torch.Generator
    ) -> Int[Tensor, " batch"]:
        """Draw positions (from 0) of the queried bracket, at an even distance from the end. The rest can then close."""
        margin = outer_margin(length, window)
        places = [p for p in range(0, length, 2) if margin <= p < length - margin]
        return torch.tensor(places or [0], device=generator.device)[integers(len(places or [0]), (batch,), generator)]

    def _heights_over(
        self, position: Int[Tensor, " batch"], length: int, generator: torch.Generator
    ) -> Int[Tensor, "batch length"]:
        """Return depths after every symbol; the symbol at ``position`` opens the bracket that is on top at the end."""
        before, after = position, length - 1 - position
        low = self._end_of_walk(before, lambda end: fold_walk(end, self.depth) <= self.depth - 2, generator)
        base = fold_walk(2 * low - before, self.depth) + 1
        room = (self.depth - base)[:, None]
        back = self._end_of_walk(after, lambda end: fold_walk(end, room) == 0, generator)

        index = torch.arange(length, device=position.device).expand(len(position), length)
        part = (index > position[:, None]).long() + (index >= position[:, None])  # 0 before, 1 at, 2 after the bracket
        keys = uniforms(part.shape, generator) + part
        within = torch.where(part == 2, index - position[:, None] - 1, index)
        up = within < torch.where(part == 2, back[:, None], low[:, None])
        steps = torch.where(up, 1, -1).gather(1, keys.argsort(1))
        first = torch.where(part == 0, steps, 0).cumsum(1)
        second = torch.where(part == 2, steps, 0).cumsum(1)
        heights = torch.where(part == 0, fold_walk(first, self.depth), base[:, None] + fold_walk(second, room))
        return heights

    def _end_of_walk(
        self, steps: Int[Tensor, " batch"], allowed: Any, generator: torch.Generator
    ) -> Int[Tensor, " batch"]:
        """Draw how many of ``steps`` fair steps of +1 and -1 go up, given that their sum is allowed.

        ``allowed`` takes sums ``[batch, number]`` and returns which ones are allowed.
        """
        most = int(steps.max())
        ups = torch.arange(most + 1, device=steps.device, dtype=torch.float64)
        total = steps[:, None].double()
        log_ways = torch.lgamma(total + 1) - torch.lgamma(ups + 1) - torch.lgamma((total - ups).clamp(min=0) + 1)
        possible = (ups <= total) & allowed(2 * ups.long() - steps[:, None])
        uniform = uniforms(possible.shape, generator)
        noise = -(-uniform.log()).log()  # the argmax of log weights plus Gumbel noise is a draw from the weights
        return (log_ways + noise).masked_fill(~possible, -torch.inf).argmax(1)

    # ---- labels ------------------------------------------------------------------------------
    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        closing, kind = (strings - 1) % 2 == 1, (strings - 1) // 2 + 1
        height = torch.where(closing, -1, 1).cumsum(1)
        base = self.k + 1
        power = torch.tensor([base**level for level in range(self.depth + 1)], device=strings.device)
        level = torch.where(closing, height, height - 1)  # of the bracket that this symbol opens or closes
        stack = torch.where(closing, -kind, kind) * power[level.clamp(0, self.depth)]
        stack = stack.cumsum(1)
        top = stack // power[(height - 1).clamp(0, self.depth)]
        top_before = F.pad(top[:, :-1], (1, 0))
        wrong = (height < 0) | (height > self.depth) | closing & (kind != top_before)
        broken = wrong.long().cummax(1).values.bool()
        answers = top - 1
        supervised = ~broken & (height > 0)
        if self.ask == "next":
            answers = torch.where(height == self.depth, self.k + answers, answers).where(height > 0, 2 * self.k)
            supervised = ~broken
        update = torch.stack([stack.masked_fill(broken, 0), broken.long()], -1)
        return answers.where(supervised, 0), supervised, answers.where(supervised, self.d_vocab_out), update

    # ---- baselines ---------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """Return 1/k; for *next* under *training* and *matched*, times the probability of the likelier case.

        The two cases are that ``depth`` brackets are open at the end, and that fewer are.
        """
        if self.ask == "close" or law == "challenge":
            return 1 / self.k
        at_bound = fold_walk(2 * torch.arange(length + 1) - length, self.depth) == self.depth
        full = sum(comb(length, up) for up in at_bound.nonzero()[:, 0].tolist())
        return float(max(full, 2**length - full) / 2**length / self.k)

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return the type of the last bracket that is open among the visible ones; a plain guess if none is."""
        symbol = tokens - 1
        closing = symbol % 2 == 1
        height = torch.where(closing, -1, 1).cumsum(1)
        lowest_after = height.flip(1).cummin(1).values.flip(1)
        position = torch.where(~closing & (height == lowest_after), positions(tokens), 0).max(1).values
        answers = symbol.gather(1, (position - 1).clamp(min=0)[:, None])[:, 0] // 2
        weights = F.one_hot(answers, self.d_vocab_out).double()
        return weights.where((position > 0)[:, None], 1.0)

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        stack: list[str] | None = []
        answers: list[int | None] = []
        for token in tokens:
            stack = self._after(stack, self.tokens_names[token])
            answers.append(None if stack is None else self._answer(stack))
        return answers

    def _after(self, stack: list[str] | None, symbol: str) -> list[str] | None:
        if stack is None or (symbol[0] == "(" and len(stack) == self.depth):
            return None
        if symbol[0] == "(":
            return [*stack, symbol[1:]]
        return stack[:-1] if stack and stack[-1] == symbol[1:] else None

    def _answer(self, stack: list[str]) -> int | None:
        names = self.output_names
        if self.ask == "close":
            return names.index(")" + stack[-1]) if stack else None
        may = [name for name in self.tokens_names if name[0] == "(" and len(stack) < self.depth]
        may.append(")" + stack[-1] if stack else "<eos>")
        return names.index(" ".join(may))


def fold_walk(walk: Int[Tensor, "*any"], bound: int | Int[Tensor, "*#any"]) -> Int[Tensor, "*any"]:
    """Fold a walk on all integers into ``0..bound``: from 0 it always goes up, from the bound always down.

    Elsewhere a fair walk stays fair. So the result is a walk with reflecting ends, computed without a loop over steps.
    """
    return bound - (bound - walk % (2 * bound)).abs()


def _brackets(heights: Int[Tensor, "batch length"], types: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
    """Return the symbols (2 j opens, 2 j + 1 closes type j) of given depths.

    An opening bracket takes the type at its index. A bracket and the one that closes it are neighbours among the
    symbols of their level.
    """
    before = F.pad(heights[:, :-1], (1, 0))
    closing = heights < before
    level = torch.maximum(heights, before)
    order = level.sort(dim=1, stable=True).indices
    in_order = types.gather(1, order)
    in_order = torch.where(closing.gather(1, order), in_order.roll(1, 1), in_order)
    return 2 * torch.zeros_like(types).scatter_(1, order, in_order) + closing.long()
