"""Languages that counters recognise: words, near misses, and what is asked of every prefix."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Literal, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.base import BOS, Batch, Law, Task
from workbench.tasks.sampling import integers, outer_margin

__all__ = ["LESS", "MORE", "ORDER", "WORD", "CounterLanguage", "Trace", "clear_places", "event_places"]

END = "<eos>"
WORD, ORDER, MORE, LESS = range(4)
"""Kinds of strings: a word; right counts in the wrong order; too much opened; too much closed."""
KINDS = {"word": WORD, "right counts, wrong order": ORDER, "too much opened": MORE, "too much closed": LESS}


class Trace(NamedTuple):
    """What counters say after every symbol.

    Attributes:
        counters: their values.
        violated: whether no word can be reached any more.
        following: which set of symbols may follow, by its place in :attr:`CounterLanguage.following_names`;
            0 where the string so far is a word. Meaningless once violated.
    """

    counters: Int[Tensor, "batch length counter"]
    violated: Bool[Tensor, "batch length"]
    following: Int[Tensor, "batch length"]


class CounterLanguage(Task):
    """Base of the tasks over a language that counters recognise.

    ``ask`` says what is asked after every symbol: *member*, whether the string so far is a word; *next*,
    which symbols may follow on the way to a word, and whether the string may end (``<eos>``), as in
    Bhattamishra et al. 2020 ("On the Ability and Limitations of Transformers to Recognize Formal
    Languages"), where nothing is asked once no word can be reached.

    Laws: a fair coin says whether the string is a word, else it misses one by a single event, at a place
    that the word has as well. Asked for *member*, half of the misses have the right counts in the wrong
    order, a quarter have too much opened and a quarter too much closed; asked for *next*, all have too much
    opened, and so can still become words. *training* and *matched* put the event anywhere; *challenge*
    outside the first and the last N tokens (N = the longest training length) wherever the language has
    such a place. What lies outside the event has the same law in words and misses, so that nothing
    computed from it alone beats the coin.

    The update summary is the counters and whether a word is out of reach (0 or 1); the output summary is
    the answer (the number of answers, where nothing is asked).
    """

    family: ClassVar[str] = "counting"
    strata_kind: ClassVar[str] = "near misses"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "counter"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    ask: Literal["member", "next"] = "member"
    """What is asked after every symbol."""

    # ---- what a subclass states ------------------------------------------------------------------
    @property
    @abstractmethod
    def language(self) -> str:
        """What the language is called in a sentence."""

    @property
    @abstractmethod
    def following_names(self) -> tuple[str, ...]:
        """The sets of what may follow, that of a word first."""

    @abstractmethod
    def _trace(self, strings: Int[Tensor, "batch length"]) -> Trace:
        """Run the counters over strings of token ids (without BOS)."""

    @abstractmethod
    def _ends_a_word(self, tokens: Int[Tensor, "batch window"]) -> Bool[Tensor, " batch"]:
        """Whether some word ends with these tokens."""

    @abstractmethod
    def _draw(
        self, kind: Int[Tensor, " batch"], length: int, clear: int | None, generator: torch.Generator
    ) -> tuple[Int[Tensor, "batch length"], Int[Tensor, " batch"]]:
        """Strings of the given kinds, and the place (from 0) of the first token of the deciding event.

        Under *challenge* ``clear`` says of how many tokens at either end the event stays clear, wherever
        there is such a place; else it is None.
        """

    # ---- what follows ----------------------------------------------------------------------------
    @property
    def question(self) -> str:  # type: ignore[override]
        """What is asked."""
        if self.ask == "member":
            return f"Is the string so far a word of {self.language}?"
        return f"Which symbols may follow the string so far in {self.language}?"

    @property
    def output_names(self) -> tuple[str, ...]:
        """``no``, ``yes``; or the sets of what may follow."""
        return ("no", "yes") if self.ask == "member" else self.following_names

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        miss = integers(2, (batch,), generator)
        kinds = (ORDER, ORDER, MORE, LESS) if self.ask == "member" else (MORE,)
        kind = miss * torch.tensor(kinds, device=miss.device)[integers(len(kinds), (batch,), generator)]
        strings, position = self._draw(kind, length, self._clear(length, law, window), generator)
        return strings, {"deciding_position": position + 1}

    def _clear(self, length: int, law: Law, window: int | None) -> int | None:
        return outer_margin(length, window) if law == "challenge" else None

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        counters, violated, following = self._trace(strings)
        update = torch.cat([counters, violated.long()[..., None]], -1)
        if self.ask == "member":
            word = ((following == 0) & ~violated).long()
            return word, torch.ones_like(violated), word, update
        return following.where(~violated, 0), ~violated, following.where(~violated, self.d_vocab_out), update

    # ---- floors ----------------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """1/2, for a fair coin decides between a word and a miss; the same under every law."""
        return 0.5

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """What the tokens answer when they are all there is; a plain guess where they answer nothing."""
        answers, asked, _, _ = self.label_strings(tokens, {})
        weights = F.one_hot(answers[:, -1], self.d_vocab_out).double()
        return weights.where(asked[:, -1:], 1.0)

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """As for every task, but windows know which end of the string they see.

        They take it for a word wherever what they see can begin, or end, one.
        """
        found = super().shortcuts(batch, window)
        if batch.length > window:
            strings, target = batch.tokens[:, 1:], batch.targets[:, -1]
            for name, seen, possible in (
                ("first_window", strings[:, :window], ~self._trace(strings[:, :window]).violated[:, -1]),
                ("last_window", strings[:, -window:], self._ends_a_word(strings[:, -window:])),
            ):
                guess = self._as_word(possible) if self.ask == "member" else self._or_word(seen, possible)
                found[name] = self._expected_correct(guess, target)
        return found

    def _as_word(self, possible: Bool[Tensor, " batch"]) -> Float[Tensor, "batch out"]:
        return F.one_hot(possible.long(), 2).double()

    def _or_word(
        self, seen: Int[Tensor, "batch window"], possible: Bool[Tensor, " batch"]
    ) -> Float[Tensor, "batch out"]:
        word = F.one_hot(torch.zeros_like(seen[:, 0]), self.d_vocab_out).double()
        return word.where(possible[:, None], self.answer(seen))

    # ---- hard strings ------------------------------------------------------------------------
    @property
    def strata_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The kinds of strings: counts alone do not tell the second from a word, order alone not the others."""
        return tuple(KINDS) if self.ask == "member" else ()

    def draw_stratum(
        self, name: str, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> Batch | None:
        kind = torch.full((batch,), KINDS[name], device=generator.device)
        strings, position = self._draw(kind, length, self._clear(length, law, window), generator)
        return self._batch(strings, law, {"deciding_position": position + 1})

    # ---- the oracle ------------------------------------------------------------------------------
    @abstractmethod
    def may_follow(self, symbols: Sequence[str]) -> set[str] | None:
        """Which symbols may follow, and ``<eos>`` where the string is a word; None where no word begins so.

        In plain Python and sharing no code with the sampler: the oracle.
        """

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        symbols = [self.tokens_names[token] for token in tokens]
        answers: list[int | None] = []
        for length in range(1, len(symbols) + 1):
            after = self.may_follow(symbols[:length])
            if self.ask == "member":
                answers.append(int(after is not None and END in after))
            else:
                answers.append(None if after is None else [set(n.split()) for n in self.following_names].index(after))
        return answers


def event_places(
    positions: Sequence[int], length: int, clear: int | None, batch: int, generator: torch.Generator
) -> Int[Tensor, " batch"]:
    """Places (from 0) of an event of two tokens, uniform over the given ones.

    Of these, over those where both tokens stay clear of the first and the last ``clear`` tokens, if any do.
    """
    chosen = torch.tensor(clear_places(positions, length, clear), device=generator.device)
    return chosen[integers(len(chosen), (batch,), generator)]


def clear_places(positions: Sequence[int], length: int, clear: int | None) -> list[int]:
    """The places that :func:`event_places` draws from."""
    margin = clear or 0
    return [position for position in positions if margin <= position < length - 1 - margin] or list(positions)
