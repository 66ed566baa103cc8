"""Tasks over regular languages: what an automaton has to say about every prefix of a string."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import compress
from typing import Any, ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from pydantic import Field, model_validator
from torch import Tensor
from torch.nn import functional as F

from workbench.tasks.automata.answer_rhythm import Rhythm, rhythm_of
from workbench.tasks.automata.dfa import Automaton, Bools, Ints
from workbench.tasks.automata.regular_oracles import ByDerivatives, ByTransitions, Oracle
from workbench.tasks.automata.string_sampling import StringSampling
from workbench.tasks.automata.string_support import Listing
from workbench.tasks.automata.symbol_counts import counts_hits, counts_of_words
from workbench.tasks.base import BOS, Batch, Law, Support, Task, TaskError
from workbench.tasks.batch import MOST_LISTED
from workbench.tasks.sampling import outer_margin

__all__ = ["Regular", "RegularTask"]

END = "<eos>"
COUNTS = "counts"
"""The oracle that knows how often each symbol occurs."""
MOST_STATES = 64
"""States of an automaton between any two of which words are counted."""


class RegularTask(Task):
    """Base of the tasks over a regular language; a subclass states its expression.

    ``ask`` says what is asked after every symbol: *member*, whether the string so far is in the language;
    *next*, which symbols may follow on the way to a word of the language, and whether the string may end
    (``<eos>``; nothing is asked once no word can be reached); *state*, which state of the minimal
    automaton the string so far leads to.

    Laws: *training* and *matched* draw the answer evenly among those that occur at this length, and then
    a string that has it: so the law of the answer is the same at every length at which the same answers
    occur. Strings are uniform among those with the answer; but where an answer comes from a state that
    that is never left (something forbidden has occurred), they are near misses: a string that stays out of
    that state, with one symbol replaced, or (``misses`` *mixed*) two exchanged, at places that may be anywhere. An
    exchange leaves the counts as they are; of all strings with the answer half have it by one, where the
    language allows that. Asked for *next*, symbols are only ever replaced. *challenge* draws the first and
    the last N tokens (N = the longest training length) such that all of them together leave the answer
    open, then the answer evenly among those left open; what decides it lies in between. Where no string
    allows that (up to length 2N, and where the last tokens always decide), it is the matched law.
    :mod:`workbench.tasks.automata.string_sampling` has the details.

    With ``misses`` *replaced*, as before there was the choice, the numbers of each symbol tell all misses of some
    languages (D_n, (abab)*, (10)*) from their words. What they tell is the oracle ``counts``, which is
    stated for *member* and *state* beside the shortcuts and is outside the floor, for it is as right at one
    length as at any other: whether the language has a word with these numbers (for *member* over two
    symbols; exact), else the best answer to each set of numbers among the given strings (an upper bound, for it
    is fitted to them).

    Where an answer occurs at some lengths only, such as membership in (abab)*, the lengths that have it
    come around with a period, and a sequence counts as answered if its last ``period`` queries are right.
    Where there is one string per length, as for (aa)*, no constant answer is right for a whole period,
    and chance is 0.

    The output summary is the answer (the number of answers, where nothing is asked); the update summary
    is the state.
    """

    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    family: ClassVar[str] = "automata"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)
    formerly: ClassVar[Mapping[str, Any]] = {"misses": "replaced"}
    outside_floor: ClassVar[frozenset[str]] = frozenset({COUNTS})

    ask: Literal["member", "next", "state"] = "member"
    """What is asked after every symbol."""
    misses: Literal["replaced", "mixed"] = "mixed"
    """How strings enter a state that is never left: by one replaced symbol, or half of them by two exchanged ones."""

    # ---- what a subclass states ------------------------------------------------------------------
    @property
    @abstractmethod
    def expression(self) -> str:
        """The regular expression of the language."""

    @property
    def symbols(self) -> str | None:
        """The symbols in the order of their ids; by default those of the expression, sorted."""
        return None

    @property
    def language(self) -> str:
        """What the language is called in a sentence."""
        return self.expression

    # ---- the automaton and its answers -----------------------------------------------------------
    @cached_property
    def acceptor(self) -> Automaton:
        """The minimal automaton of the language."""
        return Automaton.from_regex(self.expression, self.symbols)

    def automaton(self) -> Automaton:
        return replace(self.acceptor, answers=self.answers)

    @cached_property
    def answer_names(self) -> tuple[str | None, ...]:
        """``[state]`` what the answer in each state is called; None where nothing is asked."""
        acceptor = self.acceptor
        if self.ask == "member":
            return tuple("yes" if accepts else "no" for accepts in acceptor.accepting_mask)
        if self.ask == "state":
            return acceptor.names
        going = acceptor.live[acceptor.table]  # [state, symbol]
        return tuple(
            _may_follow(compress(acceptor.alphabet, row), state in acceptor.accepting)
            for state, row in enumerate(going)
        )

    @cached_property
    def answers(self) -> Ints:
        """``[state]`` the answer in each state; -1 where nothing is asked."""
        number: dict[str | None, int] = {name: i for i, name in enumerate(self.output_names)}
        return np.array([number.get(name, -1) for name in self.answer_names], dtype=np.int64)

    @cached_property
    def string_law(self) -> StringSampling:
        """What strings are drawn from."""
        return StringSampling(self.acceptor, self.answers, exchanging=self.misses == "mixed" and self.ask != "next")

    @cached_property
    def rhythm(self) -> Rhythm:
        """Which answers occur at which length."""
        return rhythm_of(self.acceptor, self.answers, self.language)

    @property
    def period(self) -> int:
        """After how many lengths the same answers occur again."""
        return self.rhythm.period

    @property
    def one_string_per_length(self) -> bool:
        """Whether at every length one string at most can be drawn."""
        return self._one_string

    @property
    def challenge_is_matched(self) -> str:
        """That there is one string per length, where there is."""
        return "there is one string per length" if self.one_string_per_length else ""

    @cached_property
    def _one_string(self) -> bool:
        table = self.acceptor.table
        going = self.acceptor.live if self.ask == "next" else np.ones(len(table), dtype=bool)
        return bool((going[table].sum(1) <= 1)[going].all())

    @model_validator(mode="after")
    def _has_something_to_ask(self) -> RegularTask:
        if len(self.acceptor) > MOST_STATES:
            raise TaskError(
                f"the automaton of {self.language} has {len(self.acceptor)} states; {MOST_STATES} is the most"
            )
        occurring = frozenset[int]().union(*self.rhythm.answers[self.rhythm.repeats :])
        if len(occurring) < 2:
            only = self.output_names[min(occurring)] if occurring else "none"
            raise TaskError(
                f"all long sequences of {self.language} have the same answer, {only}; change 'ask' {self.ask!r}"
            )
        return self

    # ---- what a model for this task must look like -----------------------------------------------
    @property
    def question(self) -> str:  # type: ignore[override]
        """What is asked."""
        return {
            "member": f"Is the string so far in {self.language}?",
            "next": f"Which symbols may follow the string so far in {self.language}?",
            "state": f"Which state of {self.language} does the string so far lead to?",
        }[self.ask]

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """BOS and the symbols."""
        return (BOS, *self.acceptor.alphabet)

    @property
    def output_names(self) -> tuple[str, ...]:
        """``no``, ``yes``; or the sets of what may follow, as the states have them in order; or the states."""
        if self.ask == "member":
            return ("no", "yes")
        return tuple(dict.fromkeys(name for name in self.answer_names if name is not None))

    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        """The symbols that leave every state as it is."""
        return tuple(1 + symbol for symbol in self.acceptor.neutral)

    # ---- lengths and laws ------------------------------------------------------------------------
    def admissible(self, length: int) -> bool:
        """Strings to ask about must exist, and words of the language where membership is asked."""
        if length < 1:
            return False
        occurring = self.rhythm.at(length)
        return bool(occurring) and (self.ask != "member" or self.one_string_per_length or 1 in occurring)

    def prefix_closed(self, law: Law) -> bool:
        return self.one_string_per_length

    def _margin(self, law: Law, length: int, window: int | None) -> int:
        return self.string_law.margin(length, outer_margin(length, window)) if law == "challenge" else 0

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        symbols = self.string_law.draw(batch, length, self._margin(law, length, window), generator)
        return torch.from_numpy(1 + symbols).to(generator.device), {}

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        self._refuse(length, law)
        found = Listing(self.string_law, MOST_LISTED).strings(length, self._margin(law, length, window))
        if found is None:
            return None
        batch = self._batch(1 + torch.tensor(list(found)), law, {})
        return Support.of(batch, torch.tensor(list(found.values()), dtype=torch.float64))

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        states = self.acceptor.run(_symbols(strings))
        answers = torch.from_numpy(self.answers[states]).to(strings.device)
        asked = answers >= 0
        summary = answers.where(asked, self.d_vocab_out)
        return answers.where(asked, 0), asked, summary, torch.from_numpy(states.copy()).to(strings.device)

    def answered(self, right: Bool[Tensor, "batch pos"], batch: Batch) -> Bool[Tensor, " batch"]:
        """The last :attr:`period` queries decide."""
        decisive = slice(-self.period, None)
        return (right | ~batch.mask)[:, decisive].all(1)

    # ---- floors ----------------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """The largest share of an answer at the last query, exactly; 0 where there is one string per length.

        Under *challenge* it is that of N = length // 8; for membership 1/2, whatever N is.
        """
        if self.one_string_per_length and self.period > 1:
            return 0.0
        return float(self.string_law.shares(length, self._margin(law, length, None)).max())

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """The answers that the visible tokens lead to, from every state that is left again."""
        return self._answers_from(tokens, ~self.acceptor.sinks)

    def _answers_from(self, tokens: Int[Tensor, "batch window"], starts: Bools) -> Float[Tensor, "batch out"]:
        votes = torch.zeros(len(tokens), self.d_vocab_out, dtype=torch.float64, device=tokens.device)
        symbols = _symbols(tokens)
        for start in np.flatnonzero(starts).tolist():
            last = torch.from_numpy(self.answers[self.acceptor.after(symbols, start)]).to(tokens.device)
            votes += F.one_hot(last.clamp(min=0), self.d_vocab_out) * (last >= 0)[:, None]
        return torch.where(votes.sum(1, keepdim=True) > 0, votes, 1.0)

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """As for every task, but the first window knows that the string starts there.

        Where there is one string per length: whether one answer, or one to each symbol, is right for a
        whole period; and for windows, which show no more than that string, the odds of guessing where in
        the period it ends.
        """
        found = super().shortcuts(batch, window)
        if self.one_string_per_length:
            return {name: torch.full_like(hits, self._odds(name, batch)) for name, hits in found.items()}
        if self.ask != "next":
            found[COUNTS] = counts_hits(batch, self._words_by_count(batch.length) if self._binary else None)
        if "first_window" in found:
            start = np.arange(len(self.acceptor)) == self.acceptor.start
            guess = self._answers_from(batch.tokens[:, 1 : 1 + window], start)
            found["first_window"] = self._expected_correct(guess, batch.targets[:, -1])
        return found

    @property
    def _binary(self) -> bool:
        """Whether the oracle ``counts`` knows exactly which counts words have."""
        return self.ask == "member" and len(self.acceptor.alphabet) == 2

    def _words_by_count(self, length: int) -> Bool[Tensor, " count"]:
        """Whether the language has a word of this length with so many of the second symbol, from 0 on."""
        return torch.from_numpy(counts_of_words(self.acceptor, length))

    def _odds(self, shortcut: str, batch: Batch) -> float:
        period = self.period
        if shortcut.endswith("window"):
            return 1 / period
        shown = torch.zeros_like(batch.tokens) if shortcut == "position_only" else batch.tokens
        queries = list(zip(shown[0, -period:].tolist(), batch.targets[0, -period:].tolist(), strict=True))
        return float(len(set(queries)) == len({token for token, _ in queries}))

    # ---- the oracle ------------------------------------------------------------------------------
    @cached_property
    def oracle(self) -> Oracle:
        """What the reference is computed with."""
        return ByDerivatives(self.expression, self.acceptor.alphabet)

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        known, answers = self.oracle.start, []
        for token in tokens:
            known = self.oracle.step(known, self.tokens_names[token])
            answers.append(self._reference_answer(known))
        return answers

    def _reference_answer(self, known: Any) -> int | None:
        oracle = self.oracle
        if self.ask == "member":
            return int(oracle.accepts(known))
        if self.ask == "state":
            return self.output_names.index(oracle.name(known, self.output_names))
        following = (s for s in self.tokens_names[1:] if oracle.viable(oracle.step(known, s)))
        name = _may_follow(following, oracle.accepts(known))
        return None if name is None else self.output_names.index(name)


class Regular(RegularTask):
    """Any regular language: a regular expression, or an automaton, of the user's own.

    Give ``regex`` (symbols are letters and digits; ``|`` is union, ``*``, ``+`` and ``?`` repeat what
    stands before them, parentheses group, ``()`` is the empty word) and, if the order or further symbols
    matter, ``alphabet``. Or give ``dfa``, plain JSON: ``start``, ``accepting``, ``transitions`` (missing ones
    lead to a state ``dead``), maybe ``alphabet``; asked for *state*, its own states are asked for, not those
    of its minimal automaton. With neither, the language is the default expression: bb occurs.

    Laws, format and summaries: as for every regular language (:class:`RegularTask`).

    Example: in ``a b b a`` the two b have occurred after three symbols.

        >>> Regular(regex="(a|b)*bb(a|b)*").reference([1, 2, 2, 1])
        [0, 0, 1, 1]
        >>> flip = {"start": "off", "accepting": [], "transitions": {"off": {"x": "on"}, "on": {"x": "off"}}}
        >>> Regular(dfa=flip, ask="state").output_names
        ('off', 'on')
    """

    name: ClassVar[str] = "regular"
    summary: ClassVar[str] = "membership in any regular language, or what may follow, or the state"
    DEFAULT: ClassVar[str] = "(a|b)*bb(a|b)*"

    regex: str | None = None
    """The language as a regular expression."""
    alphabet: str | None = Field(None, max_length=62)
    """The symbols of the expression in the order of their ids; by default those it mentions, sorted."""
    dfa: dict[str, Any] | None = None
    """The language as an automaton."""

    @model_validator(mode="before")
    @classmethod
    def _default_language(cls, given: Any) -> Any:
        if isinstance(given, dict) and given.get("regex") is None and given.get("dfa") is None:
            return {**given, "regex": cls.DEFAULT}
        return given

    @model_validator(mode="after")
    def _one_language(self) -> Regular:
        if self.dfa is not None and (self.regex is not None or self.alphabet is not None):
            raise TaskError("give either regex (with its alphabet) or dfa, which has its own alphabet, not both")
        return self

    @property
    def expression(self) -> str:
        assert self.regex is not None, "asked of an automaton that was given as one"
        return self.regex

    @property
    def symbols(self) -> str | None:
        return self.alphabet

    @property
    def language(self) -> str:
        return "the language of the given automaton" if self.regex is None else self.regex

    @cached_property
    def acceptor(self) -> Automaton:
        """The minimal automaton; the given one, as far as it can be reached, where its states are asked for."""
        if self.dfa is None:
            return Automaton.from_regex(self.expression, self.symbols)
        given = Automaton.from_dict(self.dfa)
        return given if self.ask == "state" else given.minimal()

    @cached_property
    def oracle(self) -> Oracle:
        if self.dfa is not None:
            return ByTransitions(self.dfa)
        return ByDerivatives(self.expression, self.acceptor.alphabet)


def _may_follow(symbols: Iterable[str], ends: bool) -> str | None:
    """What a set of continuations is called; None for the empty one."""
    return " ".join([*symbols, *([END] if ends else [])]) or None


def _symbols(tokens: Int[Tensor, "batch length"]) -> Ints:
    found: Ints = tokens.cpu().numpy() - 1
    return found
