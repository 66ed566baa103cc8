"""Complete deterministic finite automata: made from a regular expression or a table, and run over batches.

All tasks whose task state is the state of an automaton use this arithmetic. It uses numbers of states and of symbols.
It does not know token ids or distributions of sequences.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import quoted_value
from workbench.tasks.automata.regex import derivatives, parse, symbols_of
from workbench.tasks.batch import TaskError

if TYPE_CHECKING:
    from automata.fa.dfa import DFA

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]
State = TypeVar("State", bound=Hashable)
DEAD = "dead"
LARGEST_AUTOMATON = 2_000
"""Largest automaton that a task states, and for which membership in a class of programs is decided, in states."""
MOST_DERIVATIVES = 4096
"""Largest number of derivatives of an expression from which an automaton is made. There may be very many subsets."""


@dataclass(frozen=True, eq=False)
class Automaton:
    """A complete deterministic finite automaton.

    Attributes:
        table: ``[state, symbol]`` the following state; read-only.
        start: the state before the first symbol.
        accepting: the accepting states.
        alphabet: symbol names, one per column of the table.
        names: state names, one per row of the table.
        answers: ``[state]`` number of the answer in each state, -1 in states without supervision. None if the answer is
            whether the state accepts. See :attr:`labels`.
    """

    table: Ints
    start: int
    accepting: frozenset[int]
    alphabet: tuple[str, ...]
    names: tuple[str, ...]
    answers: Ints | None = None

    def __post_init__(self) -> None:
        self.table.flags.writeable = False

    # ---- making ----------------------------------------------------------------------------------
    @classmethod
    def from_regex(cls, expression: str, alphabet: Sequence[str] | None = None) -> Automaton:
        """Return the minimal automaton of a regular expression.

        States are numbered breadth first from the start, with symbols in the order of the alphabet. So equal languages
        over equal alphabets have equal tables. The name of a state is a shortest word that leads to it. A rejecting
        state that no word leads out of is called ``dead``.

        Args:
            expression: letters and digits are symbols; ``|`` is union, ``*``, ``+`` and ``?`` repeat what precedes
                them, parentheses group, ``()`` is the empty word.
            alphabet: the symbols in the order of their numbers, such as ``"abc"``; by default those that the expression
                mentions, sorted.

        Example:

            >>> ends_in_ab = Automaton.from_regex("(a|b)*ab")
            >>> ends_in_ab.table.tolist(), ends_in_ab.start, sorted(ends_in_ab.accepting)
            ([[1, 0], [1, 2], [1, 0]], 0, [2])
            >>> ends_in_ab.accepts("bab"), ends_in_ab.names
            (True, ('start', 'after a', 'after ab'))

        Raises:
            TaskError: for an invalid expression, with a mark at the error, or an alphabet that does not fit it.
        """
        from automata.fa.dfa import DFA
        from automata.fa.nfa import NFA

        term = parse(expression)
        symbols = _alphabet_of(expression, alphabet)
        if derivatives(term, symbols, MOST_DERIVATIVES) > MOST_DERIVATIVES:
            raise TaskError(
                f"regular expression {expression} needs more than {MOST_DERIVATIVES} states before minimization; give "
                "a shorter one"
            )
        nfa = NFA.from_regex(expression, input_symbols=set(symbols))
        return _numbered(DFA.from_nfa(nfa, minify=True), symbols)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Automaton:
        """Return an automaton from plain JSON data; its states and symbols keep their names.

        A missing transition leads to a further state, ``dead``. The order of symbols is ``alphabet`` or, by default,
        the order in which they are first mentioned. States that cannot be reached are left out.

        Example:

            >>> transitions = {"even": {"0": "even", "1": "odd"}, "odd": {"0": "odd", "1": "even"}}
            >>> odd = Automaton.from_dict({"start": "even", "accepting": ["odd"], "transitions": transitions})
            >>> odd.names, odd.accepts("1011")
            (('even', 'odd'), True)

        Raises:
            TaskError: for data that are not an automaton; the message names what is wrong.
        """
        transitions, alphabet = _checked(data)
        accepting = set(data["accepting"])
        dead = DEAD if DEAD not in transitions else f"{DEAD} (no transition)"
        return cls.explore(
            alphabet,
            data["start"],
            lambda state, symbol: transitions.get(state, {}).get(symbol, dead),
            accepting.__contains__,
            str,
        )

    @classmethod
    def explore(
        cls,
        alphabet: Sequence[str],
        start: State,
        step: Callable[[State, str], State],
        accepts: Callable[[State], bool],
        name: Callable[[State], str] | None = None,
        answer: Callable[[State], int] | None = None,
    ) -> Automaton:
        """Return the automaton of all states that can be reached, numbered breadth first from the start, 0.

        Args:
            alphabet: symbol names.
            start: the state before the first symbol, any hashable value.
            step: returns the state that follows a state and a symbol name.
            accepts: whether a state is accepting.
            name: returns the name of a state; by default its name is a shortest word that leads there.
            answer: returns the number of the answer in a state, -1 without supervision; by default states only accept.
        """
        number, states, rows = {start: 0}, [start], []
        for state in states:
            successors = [step(state, symbol) for symbol in alphabet]
            for successor in successors:
                if successor not in number:
                    number[successor] = len(states)
                    states.append(successor)
            rows.append([number[successor] for successor in successors])
        table = np.array(rows, dtype=np.int64)
        accepting = frozenset(number[state] for state in states if accepts(state))
        names = tuple(map(name, states)) if name else _word_names(table, 0, accepting, alphabet)
        answers = None if answer is None else np.array([answer(state) for state in states], dtype=np.int64)
        return cls(table, 0, accepting, tuple(alphabet), names, answers)

    def minimal(self) -> Automaton:
        """Return the smallest automaton of the same language, numbered and named as in :meth:`from_regex`."""
        from automata.fa.dfa import DFA

        rows = enumerate(self.table.tolist())
        dfa = DFA(
            states=set(range(len(self))),
            input_symbols=set(self.alphabet),
            transitions={state: dict(zip(self.alphabet, row, strict=True)) for state, row in rows},
            initial_state=self.start,
            final_states=set(self.accepting),
        )
        return _numbered(dfa.minify(), self.alphabet)

    def smallest(self) -> Automaton:
        """Return the smallest automaton with the same answer after every word, numbered breadth first from the start.

        States with different answers are kept apart, and so are states with and without supervision. Then groups of
        states are split until equal symbols lead from one group to one group (Moore 1956).
        """
        groups = np.unique(self.labels, return_inverse=True)[1].ravel()
        while True:
            rows = np.column_stack([groups, groups[self.table]])
            finer = np.unique(rows, axis=0, return_inverse=True)[1].ravel()
            if finer.max() == groups.max():
                break
            groups = finer
        member = {int(group): state for state, group in reversed(list(enumerate(groups.tolist())))}
        return Automaton.explore(
            self.alphabet,
            int(groups[self.start]),
            lambda group, symbol: int(groups[self.table[member[group], self.alphabet.index(symbol)]]),
            accepts=lambda group: member[group] in self.accepting,
            answer=None if self.answers is None else lambda group: int(self.labels[member[group]]),
        )

    # ---- queries ---------------------------------------------------------------------------------
    def __len__(self) -> int:
        """Number of states."""
        return len(self.table)

    def accepts(self, word: Iterable[str]) -> bool:
        """Whether a word is in the language; a string is a word of symbols of one character each.

        Raises:
            TaskError: for a symbol that is not in the alphabet.
        """
        state = self.start
        for symbol in word:
            if symbol not in self.alphabet:
                raise TaskError(f"the symbol {symbol!r} is not in the alphabet {' '.join(self.alphabet)}")
            state = int(self.table[state, self.alphabet.index(symbol)])
        return state in self.accepting

    def run(self, symbols: Ints, start: Ints | int | None = None) -> Ints:
        """Return the state after each symbol: ``[batch, length]`` symbol numbers to ``[batch, length]`` states.

        Args:
            symbols: numbers of symbols, i.e. columns of the table.
            start: state before the first symbol, one for all or ``[batch]``; by default the start state.
        """
        width = len(self.alphabet)
        columns, following = np.ascontiguousarray(symbols.T), self.table.ravel() * width
        rows = np.empty_like(columns)
        row: Any = (self.start if start is None else start) * width  # a state's index in the flat table
        for position, column in enumerate(columns):
            row = following.take(row + column, out=rows[position], mode="clip")
        return rows.T // width

    def after(self, symbols: Ints, start: Ints | int | None = None) -> Ints:
        """Return the state after the last symbol, ``[batch]``: the last column of :meth:`run`, same arguments."""
        width = len(self.alphabet)
        following = self.table.ravel() * width
        row: Any = np.full(len(symbols), self.start if start is None else start) * width
        for column in np.ascontiguousarray(symbols.T):
            row = following.take(row + column, mode="clip")
        last: Ints = row // width
        return last

    @cached_property
    def accepting_mask(self) -> Bools:
        """Return, for each state ``[state]``, whether it is accepting."""
        return np.isin(np.arange(len(self)), list(self.accepting))

    @cached_property
    def labels(self) -> Ints:
        """Return, for each state ``[state]``, the number of the answer, or -1 without supervision. If states only
        accept, the answer is 1 or 0.
        """
        return self.accepting_mask.astype(np.int64) if self.answers is None else self.answers

    def languages(self) -> Iterator[Automaton]:
        """Yield, for each answer, the minimal automaton of the words with this answer; with two answers, only one
        automaton.
        """
        classes = sorted({int(a) for a in self.labels} - {-1})
        for c in [1] if set(self.labels.tolist()) == {0, 1} else classes:
            accepting = frozenset(np.flatnonzero(self.labels == c).tolist())
            yield Automaton(self.table, self.start, accepting, self.alphabet, self.names).minimal()

    @cached_property
    def live(self) -> Bools:
        """Return, for each state ``[state]``, whether it is accepting or an accepting state can be reached from it."""
        return _can_reach(self.table, self.accepting_mask)

    @cached_property
    def sinks(self) -> Bools:
        """Return, for each state ``[state]``, whether no symbol leads out of it."""
        stays: Bools = (self.table == np.arange(len(self))[:, None]).all(1)
        return stays

    @property
    def neutral(self) -> tuple[int, ...]:
        """Return the symbols, as columns of the table, that leave every state unchanged."""
        still = (self.table == np.arange(len(self))[:, None]).all(0)
        return () if still.all() else tuple(np.flatnonzero(still).tolist())

    def number_of_words(self, length: int) -> int:
        """Return how many words of exactly this length are in the language, as an exact integer."""
        paths = self.accepting_mask.astype(object) * 1
        for _ in range(length):
            paths = paths[self.table].sum(1)
        return int(paths[self.start])


def _alphabet_of(expression: str, alphabet: Sequence[str] | None) -> tuple[str, ...]:
    mentioned = symbols_of(expression)
    symbols = mentioned if alphabet is None else tuple(alphabet)
    if not symbols:
        raise TaskError(f"regular expression {expression} mentions no symbol, so it needs an alphabet")
    wrong = [s for s in symbols if len(symbols_of(s)) != 1 or len(s) != 1]
    if wrong or len(set(symbols)) < len(symbols):
        raise TaskError(f"an alphabet takes different letters or digits, not {quoted_value(''.join(symbols))}")
    missing = [s for s in mentioned if s not in symbols]
    if missing:
        raise TaskError(f"regular expression {expression} mentions {missing[0]!r}, which is not in its alphabet")
    return symbols


def _numbered(dfa: DFA, alphabet: Sequence[str]) -> Automaton:
    whole = dfa.to_complete()
    return Automaton.explore(
        alphabet,
        whole.initial_state,
        lambda state, symbol: whole.transitions[state][symbol],
        whole.final_states.__contains__,
    )


def _word_names(table: Ints, start: int, accepting: frozenset[int], alphabet: Sequence[str]) -> tuple[str, ...]:
    """Return state names: ``start``, ``after ab`` with the first shortest word, or ``dead``."""
    words, order = {start: ""}, [start]
    for state in order:
        for symbol, following in zip(alphabet, table[state].tolist(), strict=True):
            if following not in words:
                words[following] = words[state] + symbol
                order.append(following)
    live = _can_reach(table, np.isin(np.arange(len(table)), list(accepting)))
    names = {state: f"after {word}" if word else "start" for state, word in words.items()}
    return tuple(names[state] if live[state] else DEAD for state in range(len(table)))


def _can_reach(table: Ints, goal: Bools) -> Bools:
    reach = goal
    while True:
        wider = reach | reach[table].any(1)
        if (wider == reach).all():
            return wider
        reach = wider


def _checked(data: Mapping[str, Any]) -> tuple[dict[str, dict[str, str]], tuple[str, ...]]:
    """Return transitions and alphabet of a JSON automaton, after checking all of its data."""
    required = {"start", "accepting", "transitions"}
    if not isinstance(data, Mapping) or not required <= set(data) <= required | {"alphabet"}:
        raise TaskError("an automaton needs start, accepting and transitions, and may have alphabet")
    transitions = data["transitions"]
    if not isinstance(transitions, Mapping) or not all(isinstance(row, Mapping) for row in transitions.values()):
        raise TaskError("an automaton's transitions are given as {state: {symbol: following state}}")
    followed = [following for row in transitions.values() for following in row.values()]
    if not isinstance(data["accepting"], Iterable) or isinstance(data["accepting"], str):
        raise TaskError(
            f"an automaton's accepting states are given as a list, not as {quoted_value(data['accepting'])}"
        )
    if strange := [name for name in [data["start"], *data["accepting"], *followed] if not isinstance(name, str)]:
        raise TaskError(f"an automaton's states are strings, not {quoted_value(strange[0])}")
    states = {*transitions, *followed}
    mentioned = tuple(dict.fromkeys(symbol for row in transitions.values() for symbol in row))
    named = data.get("alphabet", mentioned)
    if not isinstance(named, Iterable) or not all(isinstance(symbol, str) for symbol in named):
        raise TaskError(f"an automaton's alphabet is given as a list of strings, not as {quoted_value(named)}")
    alphabet = tuple(named)
    if not alphabet or len(set(alphabet)) < len(alphabet):
        raise TaskError("an automaton's alphabet must name at least one symbol, and each once")
    if unknown := [symbol for symbol in mentioned if symbol not in alphabet]:
        raise TaskError(
            f"an automaton's transitions mention the symbol {quoted_value(unknown[0])}, which is not in its alphabet"
        )
    if unknown := [state for state in [data["start"], *data["accepting"]] if state not in states]:
        raise TaskError(f"an automaton's transitions do not mention its state {quoted_value(unknown[0])}")
    return {state: dict(row) for state, row in transitions.items()}, alphabet
