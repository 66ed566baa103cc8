"""The complement of a set: which letters have not occurred so far."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, ClassVar, Literal

import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.automata.dfa import Automaton
from workbench.tasks.automata.string_sampling import StringSampling
from workbench.tasks.automata.string_support import Listing
from workbench.tasks.base import BOS, Law, Support, Task
from workbench.tasks.batch import MOST_LISTED
from workbench.tasks.sampling import integers, outer_margin, uniforms
from workbench.tasks.sequences.sequence_task import symbol_names

__all__ = ["SetComplement"]

NONE = "none"


class SetComplement(Task):
    """Report which letters of the alphabet have not occurred so far.

    Every prefix is supervised. Each set of letters is one answer class, as for ``dyck_1`` with ``ask=next``. This is
    the set complement of Zsamboki et al. 2025 (2510.08341). There the letters of a sequence differ, and the target is
    the uniform distribution on the absent letters. Here letters repeat, so that a sequence can be longer than the
    alphabet.

    Distributions: *training* and *matched* draw the set uniformly among those that are possible at this length, and
    then a string with this set, uniformly. There is one exception: if no letter is absent, one of the letters occurs
    only once. *challenge* draws the set uniformly, too. Some of the letters then occur only outside the first and the
    last N tokens (N = the longest training length). Their number is uniform from one to all letters of the set except
    one. Up to length 2N, and if so few tokens are outside that not all letters fit, *challenge* equals *matched*.

    Task states: ``output_summary`` is the answer. ``update_summary`` is the set of letters that have occurred, as a
    number in which letter j counts 2^j.

    Example: after ``b``, all letters except b are absent.

        >>> task = SetComplement(letters=3)
        >>> [task.output_names[i] for i in task.reference([2, 2, 1, 3])]
        ['a c', 'a c', 'c', 'none']
    """

    name: ClassVar[str] = "set_complement"
    family: ClassVar[str] = "automata"
    question: ClassVar[str] = "Which letters have not occurred so far?"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    summary: ClassVar[str] = "the set of absent letters"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    letters: int = Field(4, ge=3, le=6)
    """Size of the alphabet."""

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS and the letters."""
        return (BOS, *symbol_names(self.letters))

    @property
    def output_names(self) -> tuple[str, ...]:
        """The sets of absent letters, in the order of their numbers, in which letter j counts 2^j.

        The set of all letters is not an answer, because one of them has occurred.
        """
        letters = symbol_names(self.letters)
        sets = range(2**self.letters - 1)
        return tuple(" ".join(name for j, name in enumerate(letters) if code >> j & 1) or NONE for code in sets)

    @cached_property
    def acceptor(self) -> Automaton:
        """The automaton whose states are the sets of letters that have occurred; it accepts if no letter is absent."""
        letters, full = symbol_names(self.letters), 2**self.letters - 1
        return Automaton.explore(
            letters,
            0,
            lambda occurred, letter: occurred | 1 << letters.index(letter),
            accepts=lambda occurred: occurred == full,
            name=lambda occurred: " ".join(letters[j] for j in range(self.letters) if occurred >> j & 1) or "start",
            answer=lambda occurred: full - occurred if occurred else -1,
        )

    def automaton(self) -> Automaton:
        return self.acceptor

    @cached_property
    def string_law(self) -> StringSampling:
        """Return the sampler of the task's sequences."""
        return StringSampling(self.acceptor, self.acceptor.labels)

    # ---- distributions ---------------------------------------------------------------------------
    def _margin(self, law: Law, length: int, window: int | None) -> int:
        """Return the number of tokens at either end in which some letters do not occur; 0 if all may occur anywhere."""
        margin = outer_margin(length, window) if law == "challenge" else 0
        return margin if length - 2 * margin >= self.letters else 0

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        if margin := self._margin(law, length, window):
            return 1 + self._with_inner_letters(batch, length, margin, generator), {}
        symbols = self.string_law.draw(batch, length, 0, generator)
        return torch.from_numpy(1 + symbols).to(generator.device), {}

    def _with_inner_letters(
        self, batch: int, length: int, margin: int, generator: torch.Generator
    ) -> Int[Tensor, "batch length"]:
        """Draw symbols (from 0) of a uniform set; some letters of a set of several do not occur in the margins.

        Every letter has one place of its own. All other symbols are independent, uniform over the letters that may
        stand there.
        """
        rank = torch.arange(self.letters, device=generator.device)
        occurs = (1 + integers(2**self.letters - 1, (batch, 1), generator)) >> rank & 1
        order = (uniforms((batch, self.letters), generator) - occurs).argsort(1)  # the letters of the set come first
        size = occurs.sum(1, keepdim=True)
        outer = 1 + _below((size - 1).clamp(min=1), generator, (batch, 1))
        index = torch.arange(length, device=generator.device)
        inside = (index >= margin) & (index < length - margin)
        strings = order.gather(1, _below(torch.where(inside, size, outer), generator, (batch, length)))
        places = (uniforms((batch, length), generator) - inside.double()).argsort(1)  # those inside come first
        place = places.gather(1, torch.where(rank < outer, length - 1 - rank, rank - outer))
        belongs = rank < size
        # The letters of the set are written at their places; the first of them is written again for each of the others.
        return strings.scatter_(1, place.where(belongs, places[:, -1:]), order.where(belongs, order[:, :1]))

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        self._refuse(length, law)
        if self._margin(law, length, window):
            return None
        probabilities = Listing(self.string_law, MOST_LISTED).strings(length, 0)
        if probabilities is None:
            return None
        batch = self._batch(1 + torch.tensor(list(probabilities)), law, {})
        return Support.of(batch, torch.tensor(list(probabilities.values()), dtype=torch.float64))

    def _absent(self, strings: Int[Tensor, "batch length"]) -> Int[Tensor, "batch length"]:
        """Return the number of the set of letters that are absent from each prefix."""
        occurred = F.one_hot(strings - 1, self.letters).cummax(1).values
        return ((1 - occurred) << torch.arange(self.letters, device=strings.device)).sum(2)

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        absent = self._absent(strings)
        return absent, torch.ones_like(absent, dtype=torch.bool), absent, 2**self.letters - 1 - absent

    # ---- baselines -------------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """Return one over the number of sets that are possible at the length: all distributions are uniform on them."""
        return float(self.string_law.shares(length, 0).max())

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return the letters that the visible tokens lack."""
        return F.one_hot(self._absent(tokens)[:, -1], self.d_vocab_out).double()

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        answers = []
        for end in range(1, len(tokens) + 1):
            occurred = {self.tokens_names[token] for token in tokens[:end]}
            absent = [name for name in self.tokens_names[1:] if name not in occurred]
            answers.append(self.output_names.index(" ".join(absent) or NONE))
        return answers


def _below(bound: Int[Tensor, "batch any"], generator: torch.Generator, shape: tuple[int, int]) -> Tensor:
    """Return independent integers, uniform on ``0..bound-1``."""
    return (uniforms(shape, generator) * bound).long().minimum(bound - 1)
