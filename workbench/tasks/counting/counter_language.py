"""Base class of tasks over languages that counters recognise: words, near misses, and queries at every prefix."""

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
"""Kinds of sequences: a word; right counts in the wrong order; too much opened; too much closed."""
KINDS = {"word": WORD, "right counts, wrong order": ORDER, "too much opened": MORE, "too much closed": LESS}


class Trace(NamedTuple):
    """The counters after every symbol.

    Attributes:
        counters: their values.
        violated: whether no word can be reached any more.
        following: which set of symbols may follow, as an index into :attr:`CounterLanguage.following_names`. 0 if the
            sequence so far is a word. Meaningless once violated.
    """

    counters: Int[Tensor, "batch length counter"]
    violated: Bool[Tensor, "batch length"]
    following: Int[Tensor, "batch length"]


class CounterLanguage(Task):
    """Base class of the tasks over a language that counters recognise.

    ``ask`` selects the query after every symbol. *member*: whether the sequence so far is a word. *next*: which symbols
    may follow on the way to a word, and whether the sequence may end (``<eos>``). *next* is the format of Bhattamishra
    et al. 2020 ("On the Ability and Limitations of Transformers to Recognize Formal Languages"). As there, positions
    from which no word can be reached are not supervised.

    Distributions: with probability 1/2 the sequence is a word. Otherwise it misses a word by a single event, at a
    position that the word has too. For *member*, half of the near misses have the right counts in the wrong order, a
    quarter have too much opened and a quarter too much closed. For *next*, all have too much opened, so that they can
    still become words. *training* and *matched* place the event anywhere. *challenge* places it outside the first and
    the last N tokens (N = the longest training length) if the language has such a position. The tokens outside the
    event have the same distribution in words and near misses. So nothing that is computed only from them beats a coin
    flip.

    Task states: ``update_summary`` is the counters and whether a word is out of reach (0 or 1). ``output_summary`` is
    the answer (the number of answers at positions without supervision).
    """

    family: ClassVar[str] = "counting"
    strata_kind: ClassVar[str] = "near misses"
    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "counter"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)

    ask: Literal["member", "next"] = "member"
    """The query after every symbol."""

    # ---- what a subclass states ------------------------------------------------------------------
    @property
    @abstractmethod
    def language(self) -> str:
        """The name of the language in a sentence."""

    @property
    @abstractmethod
    def following_names(self) -> tuple[str, ...]:
        """The sets of symbols that may follow; the first one is that after a word."""

    @abstractmethod
    def _trace(self, strings: Int[Tensor, "batch length"]) -> Trace:
        """Run the counters over sequences of token ids (without BOS)."""

    @abstractmethod
    def _ends_a_word(self, tokens: Int[Tensor, "batch window"]) -> Bool[Tensor, " batch"]:
        """Whether some word ends with these tokens."""

    @abstractmethod
    def _draw(
        self, kind: Int[Tensor, " batch"], length: int, clear: int | None, generator: torch.Generator
    ) -> tuple[Int[Tensor, "batch length"], Int[Tensor, " batch"]]:
        """Return sequences of the given kinds, and the position (from 0) of the first token of the deciding event.

        Under *challenge* ``clear`` is the number of tokens at either end that the event avoids, if there is such a
        position. Otherwise it is None.
        """

    # ---- what all of them share ------------------------------------------------------------------
    @property
    def question(self) -> str:  # type: ignore[override]
        """The query as a question."""
        if self.ask == "member":
            return f"Is the string so far a word of {self.language}?"
        return f"Which symbols may follow the string so far in {self.language}?"

    @property
    def output_names(self) -> tuple[str, ...]:
        """``no`` and ``yes``; for *next* the sets of symbols that may follow."""
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

    # ---- baselines -------------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """Return 1/2 under every distribution, because a fair coin decides between a word and a near miss."""
        return 0.5

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return the answer for these tokens, taken as a complete sequence; equal weights for all classes if the end is
        not supervised.
        """
        answers, supervised, _, _ = self.label_strings(tokens, {})
        weights = F.one_hot(answers[:, -1], self.d_vocab_out).double()
        return weights.where(supervised[:, -1:], 1.0)

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Return the shortcuts of every task; each window also knows which end of the sequence it contains.

        A window guesses a word whenever its tokens can begin, or end, a word.
        """
        hits = super().shortcuts(batch, window)
        if batch.length > window:
            strings, target = batch.tokens[:, 1:], batch.targets[:, -1]
            for name, visible, possible in (
                ("first_window", strings[:, :window], ~self._trace(strings[:, :window]).violated[:, -1]),
                ("last_window", strings[:, -window:], self._ends_a_word(strings[:, -window:])),
            ):
                guess = self._as_word(possible) if self.ask == "member" else self._or_word(visible, possible)
                hits[name] = self._expected_correct(guess, target)
        return hits

    def _as_word(self, possible: Bool[Tensor, " batch"]) -> Float[Tensor, "batch out"]:
        return F.one_hot(possible.long(), 2).double()

    def _or_word(
        self, visible: Int[Tensor, "batch window"], possible: Bool[Tensor, " batch"]
    ) -> Float[Tensor, "batch out"]:
        word = F.one_hot(torch.zeros_like(visible[:, 0]), self.d_vocab_out).double()
        return word.where(possible[:, None], self.answer(visible))

    # ---- hard sequences ----------------------------------------------------------------------
    @property
    def strata_names(self) -> tuple[str, ...]:  # type: ignore[override]
        """The kinds of sequences. Counts cannot separate the second kind from words; order cannot separate the rest."""
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
        """Return the symbols that may follow, with ``<eos>`` after a word; None if no word begins so.

        This oracle is plain Python and shares no code with the sampler.
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
    """Return positions (from 0) of an event of two tokens, uniform over the given ones.

    If some of them keep both tokens outside the first and the last ``clear`` tokens, only these are drawn.
    """
    chosen = torch.tensor(clear_places(positions, length, clear), device=generator.device)
    return chosen[integers(len(chosen), (batch,), generator)]


def clear_places(positions: Sequence[int], length: int, clear: int | None) -> list[int]:
    """Return the positions that :func:`event_places` draws from."""
    margin = clear or 0
    return [position for position in positions if margin <= position < length - 1 - margin] or list(positions)
