"""Arithmetic with bounded intermediate results: expressions modulo a number."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.automata.word_counts import state_shares
from workbench.tasks.base import BOS, Law, Task
from workbench.tasks.sampling import integers, outer_margin

__all__ = ["ModularArithmetic"]

OPERATORS = ("+", "-", "*")
Progress = tuple[int, int, str]
"""Sum of the finished terms, product of the factors of the last term, and the kind of the next token."""
BEGIN: Progress = (0, 1, "digit")
BROKEN: Progress = (0, 0, "")


class ModularArithmetic(Task):
    """Report the value of an expression modulo a number.

    Digits and the operators ``+``, ``-``, ``*`` alternate, without brackets; ``*`` binds before ``+`` and ``-``. The
    position of each digit is supervised, so the admissible lengths are odd. After two digits or two operators in a row,
    positions are not supervised any more. From Deletang et al. 2022 ("Neural Networks and the Chomsky Hierarchy",
    2207.02098), where the modulus is 5.

    Distributions: *training* and *matched* draw digits and operators independently and uniformly. The distribution of
    the value is close to uniform after a few digits. *challenge* is the same in the middle. The first and the last N
    tokens are neutral (N = the longest training length; none up to length 2N): ``0 + 0 - 0 + ...`` first, ``... + 0 - 0
    * 1`` last.

    Task states: ``output_summary`` is the value (the modulus at positions without supervision). ``update_summary`` is
    the sum of the finished terms, the product of the last term's factors and the operator, as one number.

    Example: ``2 + 3 * 4`` is 14, so 4 modulo 5.

        >>> ModularArithmetic().reference([3, 6, 4, 8, 5])
        [2, None, 0, None, 4]
    """

    name: ClassVar[str] = "modular_arithmetic"
    question: ClassVar[str] = "What is the value of the expression, modulo a number?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    summary: ClassVar[str] = "the value of the expression"
    family: ClassVar[str] = "automata"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    modulus: int = Field(5, ge=2, le=10)
    """Modulus of values and digits."""

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS, the digits, the operators."""
        return (BOS, *self.output_names, *OPERATORS)

    @property
    def output_names(self) -> tuple[str, ...]:
        """The digits."""
        return tuple(map(str, range(self.modulus)))

    def admissible(self, length: int) -> bool:
        return length >= 1 and length % 2 == 1

    def prefix_closed(self, law: Law) -> bool:
        return law != "challenge"

    # ---- labels ----------------------------------------------------------------------------------
    @cached_property
    def _progress(self) -> Automaton:
        """The automaton of the calculation; its answer is the value."""
        return Automaton.explore(
            self.tokens_names[1:],
            BEGIN,
            self._step,
            accepts=lambda _: False,
            name=lambda state: " ".join(map(str, state)),
            answer=lambda state: (state[0] + state[1]) % self.modulus if state[2] == "operator" else -1,
        )

    def automaton(self) -> Automaton:
        return self._progress

    def _step(self, state: Progress, symbol: str) -> Progress:
        total, term, due = state
        if due != ("operator" if symbol in OPERATORS else "digit"):
            return BROKEN
        if due == "digit":
            return total, term * int(symbol) % self.modulus, "operator"
        if symbol == "*":
            return total, term, "digit"
        return (total + term) % self.modulus, 1 if symbol == "+" else self.modulus - 1, "digit"

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        states = self._progress.run(strings.cpu().numpy() - 1)
        values = self._progress.labels[states]
        value, state = (torch.from_numpy(x.copy()).to(strings.device) for x in (values, states))
        supervised = value >= 0
        return value.where(supervised, 0), supervised, value.where(supervised, self.modulus), state

    # ---- distributions ---------------------------------------------------------------------------
    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        digit = integers(self.modulus, (batch, (length + 1) // 2), generator)
        operator = integers(3, (batch, length // 2), generator)
        margin = self._neutral(law, length, window)
        if margin:
            digit[:, :margin] = 0
            operator[:, :margin] %= 2
            digit[:, -margin:] = operator[:, -margin:] // 2  # * 1, else + 0 or - 0
        strings = digit.new_empty((batch, length))
        strings[:, 0::2] = 1 + digit
        strings[:, 1::2] = 1 + self.modulus + operator
        return strings, {}

    def _neutral(self, law: Law, length: int, window: int | None) -> int:
        """Return how many digits at either end are neutral; a digit in the middle never is."""
        margin = outer_margin(length, window) if law == "challenge" else 0
        return min(math.ceil(margin / 2), (length - 1) // 4)

    def chance(self, law: Law, length: int) -> float:
        """Return the largest share of a value, exactly; for *challenge* that of N = length // 8."""
        automaton, values = self._progress, self._progress.labels
        free = length - 4 * self._neutral(law, length, None)
        digits = np.repeat([1 / self.modulus, 0], [self.modulus, 3])
        operators = np.repeat([0, 1 / 3], [self.modulus, 3])
        turns = np.array([operators if position % 2 else digits for position in range(free)])
        shares = state_shares(automaton.table, automaton.start, turns)
        return float(np.bincount(values[values >= 0], shares[values >= 0]).max())

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return the value of the visible tokens, without an operator at either end."""
        operator = tokens > self.modulus
        visible = tokens[:, int(operator[:, 0].all()) : tokens.shape[1] - int(operator[:, -1].all())]
        if visible.shape[1] == 0:
            return torch.ones(len(tokens), self.modulus, dtype=torch.float64, device=tokens.device)
        value, supervised, _, _ = self.label_strings(visible, {})
        return torch.where(supervised[:, -1:], F.one_hot(value[:, -1], self.modulus).double(), 1.0)

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        text = "".join(self.tokens_names[token] for token in tokens)
        return [self._value(text[: end + 1]) for end in range(len(text))]

    def _value(self, text: str) -> int | None:
        if not re.fullmatch(r"\d([-+*]\d)*", text):
            return None
        terms = re.findall(r"[-+]?\d(?:\*\d)*", text)
        signs = [-1 if term.startswith("-") else 1 for term in terms]
        factors = [[int(digit) for digit in re.findall(r"\d", term)] for term in terms]
        return sum(sign * math.prod(some) for sign, some in zip(signs, factors, strict=True)) % self.modulus
