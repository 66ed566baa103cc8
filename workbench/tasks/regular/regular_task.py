"""Tasks over regular languages: an automaton determines the answer at every prefix of a string."""

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
from workbench.tasks.later_parameter import later
from workbench.tasks.sampling import last_alone, outer_margin

__all__ = ["Regular", "RegularTask"]

END = "<eos>"
COUNTS = "counts"
"""Name of the shortcut oracle that knows the number of occurrences of each symbol."""
MOST_STATES = 64
"""Largest number of states of an automaton. Words are counted between all pairs of states."""


class RegularTask(Task):
    """Base class of the tasks over a regular language; a subclass states its expression.

    ``ask`` selects the query after every symbol:

    - *member*: whether the string so far is in the language;
    - *next*: which symbols may follow on the way to a word of the language, and whether the string may end (``<eos>``).
      Positions from which no word can be reached are not supervised;
    - *state*: the state of the minimal automaton after the string so far.

    With ``queries`` *last*, only the end of the sequence is supervised.

    **Distributions.** *training* and *matched* draw the answer uniformly among those that occur at this length, and
    then a string with this answer. So the answer has the same distribution at all lengths with the same possible
    answers. Strings are uniform among those with the answer, with one exception: an answer from a state that is never
    left, because something forbidden has occurred. Such strings are near misses. One starts from a string that never
    enters that state. Then one symbol at a random position is replaced or, with ``misses`` *mixed*, two are exchanged.
    An exchange does not change the counts of symbols; half of all strings with the answer have one, if the language
    allows it. For *next*, symbols are only replaced.

    *challenge* draws the first and the last N tokens (N = the longest training length) such that together they do not
    determine the answer. Then it draws the answer uniformly among the possible ones; the tokens in between decide it.
    If no string allows that, *challenge* equals *matched*. That is so up to length 2N, and for languages in which the
    last tokens always decide. :mod:`workbench.tasks.automata.string_sampling` has the details.

    **The oracle ``counts``.** With ``misses`` *replaced* (all that existed at first), counts of symbols separate near
    misses from words in some languages: D_n, (abab)*, (10)*. The shortcut oracle ``counts`` measures how well counts of
    symbols predict the answer, for *member* and *state*. It never counts in the baseline of skill, because it is
    equally right at all lengths. For *member* over two symbols it is exact: it knows whether the language has a word
    with these counts. Otherwise it is the best answer to each set of counts among the given strings. That is an upper
    bound, because it is fitted to these strings.

    **Periods.** Some answers occur only at some lengths, such as membership in (abab)*. These lengths repeat with a
    period, and a sequence counts as answered if its last ``period`` queries are right. If there is one string per
    length, as for (aa)*, no constant answer is right for a whole period, and chance is 0.

    **Task states.** ``output_summary`` is the answer (the number of answers at positions without supervision);
    ``update_summary`` is the state of the automaton.
    """

    kind: ClassVar[Literal["state", "average", "counter", "pointer"]] = "state"
    family: ClassVar[str] = "automata"
    vocabulary: ClassVar[tuple[str, ...]] = (BOS,)
    formerly: ClassVar[Mapping[str, Any]] = {"misses": "replaced"}
    outside_floor: ClassVar[frozenset[str]] = frozenset({COUNTS})

    ask: Literal["member", "next", "state"] = "member"
    """The query after every symbol."""
    misses: Literal["replaced", "mixed"] = "mixed"
    """How near misses enter a state that is never left: by a replaced symbol, or half of them by an exchange of two."""
    queries: Literal["every", "last"] = later("every")
    """Whether every prefix is supervised, or only the last :attr:`period` ones, which decide if a sequence is right."""

    # ---- what a subclass states ------------------------------------------------------------------
    @property
    @abstractmethod
    def expression(self) -> str:
        """The regular expression of the language."""

    @property
    def symbols(self) -> str | None:
        """Return the symbols in the order of their ids; by default those of the expression, sorted."""
        return None

    @property
    def language(self) -> str:
        """The name of the language in a sentence."""
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
        """``[state]`` name of the answer in each state; None for states without supervision."""
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
        """``[state]`` answer in each state; -1 for states without supervision."""
        number: dict[str | None, int] = {name: i for i, name in enumerate(self.output_names)}
        return np.array([number.get(name, -1) for name in self.answer_names], dtype=np.int64)

    @cached_property
    def string_law(self) -> StringSampling:
        """Return the sampler of the task's sequences."""
        return StringSampling(self.acceptor, self.answers, exchanging=self.misses == "mixed" and self.ask != "next")

    @cached_property
    def rhythm(self) -> Rhythm:
        """The answers that occur at each length."""
        return rhythm_of(self.acceptor, self.answers, self.language)

    @property
    def period(self) -> int:
        """The number of lengths after which the same answers occur again."""
        return self.rhythm.period

    @property
    def one_string_per_length(self) -> bool:
        """Whether each length has at most one string."""
        return self._one_string

    @property
    def challenge_is_matched(self) -> str:
        """Return the clause "there is one string per length" if this is so; otherwise ""."""
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
                f"the automaton of {self.language} has {len(self.acceptor)} states, but at most "
                f"{MOST_STATES} are possible; choose a simpler language"
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
        """The query as a question."""
        return {
            "member": f"Is the string so far in {self.language}?",
            "next": f"Which symbols may follow the string so far in {self.language}?",
            "state": f"Which state of {self.language} does the string so far lead to?",
        }[self.ask]

    @property
    def tokens_names(self) -> tuple[str, ...]:
        """Return the names of the tokens: BOS and the symbols."""
        return (BOS, *self.acceptor.alphabet)

    @property
    def output_names(self) -> tuple[str, ...]:
        """``no`` and ``yes``; for *next* the sets of continuations, in the order of states; for *state* the states."""
        if self.ask == "member":
            return ("no", "yes")
        return tuple(dict.fromkeys(name for name in self.answer_names if name is not None))

    @property
    def neutral_tokens(self) -> tuple[int, ...]:
        """The symbols that change no state."""
        return tuple(1 + symbol for symbol in self.acceptor.neutral)

    # ---- lengths and distributions ---------------------------------------------------------------
    def admissible(self, length: int) -> bool:
        """Whether strings with a supervised end exist and, for membership, words of the language."""
        if length < 1:
            return False
        occurring = self.rhythm.at(length)
        return bool(occurring) and (self.ask != "member" or self.one_string_per_length or 1 in occurring)

    def prefix_closed(self, law: Law) -> bool:
        return self.one_string_per_length and self.queries == "every"

    def _margin(self, law: Law, length: int, window: int | None) -> int:
        return self.string_law.margin(length, outer_margin(length, window)) if law == "challenge" else 0

    def draw_strings(
        self, batch: int, length: int, generator: torch.Generator, law: Law, window: int | None
    ) -> tuple[Int[Tensor, "batch length"], dict[str, Tensor]]:
        symbols = self.string_law.draw(batch, length, self._margin(law, length, window), generator)
        return torch.from_numpy(1 + symbols).to(generator.device), {}

    def support(self, law: Law, length: int, window: int | None = None) -> Support | None:
        self._refuse(length, law)
        probabilities = Listing(self.string_law, MOST_LISTED).strings(length, self._margin(law, length, window))
        if probabilities is None:
            return None
        batch = self._batch(1 + torch.tensor(list(probabilities)), law, {})
        return Support.of(batch, torch.tensor(list(probabilities.values()), dtype=torch.float64))

    def label_strings(
        self, strings: Int[Tensor, "batch length"], meta: dict[str, Tensor]
    ) -> tuple[Tensor, Bool[Tensor, "batch length"], Tensor, Tensor | None]:
        states = self.acceptor.run(_symbols(strings))
        answers = torch.from_numpy(self.answers[states]).to(strings.device)
        known = answers >= 0
        supervised = known if self.queries == "every" else last_alone(known, self.period)
        summary = answers.where(known, self.d_vocab_out)
        return answers.where(known, 0), supervised, summary, torch.from_numpy(states.copy()).to(strings.device)

    def sequence_correct(self, right: Bool[Tensor, "batch pos"], batch: Batch) -> Bool[Tensor, " batch"]:
        """Whether the last :attr:`period` queries are right."""
        decisive = slice(-self.period, None)
        return (right | ~batch.mask)[:, decisive].all(1)

    # ---- baselines -------------------------------------------------------------------------------
    def chance(self, law: Law, length: int) -> float:
        """Return the largest share of an answer at the last query, exactly; 0 if there is one string per length.

        Under *challenge* it is computed for N = length // 8. For membership it is 1/2 for every N.
        """
        if self.one_string_per_length and self.period > 1:
            return 0.0
        return float(self.string_law.shares(length, self._margin(law, length, None)).max())

    def answer(self, tokens: Int[Tensor, "batch window"]) -> Float[Tensor, "batch out"]:
        """Return votes for the answers that the visible tokens reach, from every state that can be left."""
        return self._answers_from(tokens, ~self.acceptor.sinks)

    def _answers_from(self, tokens: Int[Tensor, "batch window"], starts: Bools) -> Float[Tensor, "batch out"]:
        votes = torch.zeros(len(tokens), self.d_vocab_out, dtype=torch.float64, device=tokens.device)
        symbols = _symbols(tokens)
        for start in np.flatnonzero(starts).tolist():
            last = torch.from_numpy(self.answers[self.acceptor.after(symbols, start)]).to(tokens.device)
            votes += F.one_hot(last.clamp(min=0), self.d_vocab_out) * (last >= 0)[:, None]
        return torch.where(votes.sum(1, keepdim=True) > 0, votes, 1.0)

    def shortcuts(self, batch: Batch, window: int) -> dict[str, Float[Tensor, " batch"]]:
        """Return the shortcuts of every task; the first window also knows that the string starts there.

        If there is one string per length, ``position_only`` and ``last_token`` are 1 if a constant answer, or one
        answer per symbol, is right for a whole period. Windows then show nothing beyond that string. Their score is the
        probability of guessing the phase of its end within the period.
        """
        hits = super().shortcuts(batch, window)
        if self.one_string_per_length:
            return {name: torch.full_like(values, self._odds(name, batch)) for name, values in hits.items()}
        if self.ask != "next":
            hits[COUNTS] = counts_hits(batch, self._words_by_count(batch.length) if self._binary else None)
        if "first_window" in hits:
            start = np.arange(len(self.acceptor)) == self.acceptor.start
            guess = self._answers_from(batch.tokens[:, 1 : 1 + window], start)
            hits["first_window"] = self._expected_correct(guess, batch.targets[:, -1])
        return hits

    @property
    def _binary(self) -> bool:
        """Whether the oracle ``counts`` knows exactly which counts of symbols words have."""
        return self.ask == "member" and len(self.acceptor.alphabet) == 2

    def _words_by_count(self, length: int) -> Bool[Tensor, " count"]:
        """Whether the language has a word of this length with each number, from 0 on, of the second symbol."""
        return torch.from_numpy(counts_of_words(self.acceptor, length))

    def _odds(self, shortcut: str, batch: Batch) -> float:
        period = self.period
        if shortcut.endswith("window"):
            return 1 / period
        tokens = torch.zeros_like(batch.tokens) if shortcut == "position_only" else batch.tokens
        queries = list(zip(tokens[0, -period:].tolist(), batch.targets[0, -period:].tolist(), strict=True))
        return float(len(set(queries)) == len({token for token, _ in queries}))

    # ---- the oracle ------------------------------------------------------------------------------
    @cached_property
    def oracle(self) -> Oracle:
        """The algorithm that computes the reference."""
        return ByDerivatives(self.expression, self.acceptor.alphabet)

    def reference(self, tokens: Sequence[int]) -> list[Any]:
        state, answers = self.oracle.start, []
        for token in tokens:
            state = self.oracle.step(state, self.tokens_names[token])
            answers.append(self._reference_answer(state))
        if self.queries == "last":
            answers[: -self.period] = [None] * len(answers[: -self.period])
        return answers

    def _reference_answer(self, state: Any) -> int | None:
        oracle = self.oracle
        if self.ask == "member":
            return int(oracle.accepts(state))
        if self.ask == "state":
            return self.output_names.index(oracle.name(state, self.output_names))
        following = (s for s in self.tokens_names[1:] if oracle.viable(oracle.step(state, s)))
        name = _may_follow(following, oracle.accepts(state))
        return None if name is None else self.output_names.index(name)


class Regular(RegularTask):
    """Any regular language: a regular expression, or an automaton, of the user's own.

    Give ``regex`` and, if the order of symbols or further symbols matter, ``alphabet``. In an expression, symbols are
    letters and digits, ``|`` is union, and ``*``, ``+`` and ``?`` repeat what precedes them. Parentheses group, and
    ``()`` is the empty word.

    Or give ``dfa`` as plain JSON with ``start``, ``accepting``, ``transitions`` and, if needed, ``alphabet``. Missing
    transitions lead to a state ``dead``. For ``ask`` *state*, the answers are the states of this automaton, not of the
    minimal one. With neither option, the language is the default expression: bb occurs.

    Distributions, format and task states are those of every regular language (:class:`RegularTask`).

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
    def _default_language(cls, fields: Any) -> Any:
        if isinstance(fields, dict) and fields.get("regex") is None and fields.get("dfa") is None:
            return {**fields, "regex": cls.DEFAULT}
        return fields

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
        """The minimal automaton; for ``ask`` *state* the reachable part of the given automaton."""
        if self.dfa is None:
            return Automaton.from_regex(self.expression, self.symbols)
        automaton = Automaton.from_dict(self.dfa)
        return automaton if self.ask == "state" else automaton.minimal()

    @cached_property
    def oracle(self) -> Oracle:
        if self.dfa is not None:
            return ByTransitions(self.dfa)
        return ByDerivatives(self.expression, self.acceptor.alphabet)


def _may_follow(symbols: Iterable[str], ends: bool) -> str | None:
    """Return the name of a set of continuations; None for the empty set."""
    return " ".join([*symbols, *([END] if ends else [])]) or None


def _symbols(tokens: Int[Tensor, "batch length"]) -> Ints:
    symbols: Ints = tokens.cpu().numpy() - 1
    return symbols
