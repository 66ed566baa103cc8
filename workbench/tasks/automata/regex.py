"""Regular expressions as terms: a parser that marks the position of an error, and derivatives.

Syntax: letters and digits are symbols, and ``|`` is union. ``*``, ``+`` and ``?`` repeat what precedes them any number
of times, at least once, or at most once. Parentheses group, and ``()`` is the empty word. So every expression accepted
here means the same to Python's ``re`` and to automata-lib. A second repetition sign directly after the first is
refused, because ``a*+`` means something else to ``re``.

The derivative of an expression by a symbol describes what may follow that symbol (Brzozowski 1964, "Derivatives of
Regular Expressions"). It decides membership without an automaton. So it is an independent check of an automaton.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from workbench.core.interned import Interned
from workbench.tasks.batch import TaskError

REPEATS = "*+?"
LONGEST = 150
"""Longest expression that is read, in characters; terms nest as deep as it is long."""


@dataclass(frozen=True, eq=False)
class Nothing(metaclass=Interned):
    """The regular expression of the empty language."""


@dataclass(frozen=True, eq=False)
class Empty(metaclass=Interned):
    """The language that contains only the empty word."""


@dataclass(frozen=True, eq=False)
class Letter(metaclass=Interned):
    """The regular expression of one symbol."""

    symbol: str


@dataclass(frozen=True, eq=False)
class Either(metaclass=Interned):
    """Union of at least two languages. It is a set, so that order and repetition do not matter."""

    options: frozenset[Expression]


@dataclass(frozen=True, eq=False)
class Then(metaclass=Interned):
    """Concatenation; ``first`` itself is not a concatenation."""

    first: Expression
    rest: Expression


@dataclass(frozen=True, eq=False)
class Many(metaclass=Interned):
    """Any number of repetitions, including zero."""

    inner: Expression


Expression = Nothing | Empty | Letter | Either | Then | Many
NOTHING, EMPTY = Nothing(), Empty()


# ---- making --------------------------------------------------------------------------------------
def union_of(options: Iterable[Expression]) -> Expression:
    """Return the union. Unions inside it are merged, and the empty language is left out."""
    flat: set[Expression] = set()
    for option in options:
        flat |= option.options if isinstance(option, Either) else {option}
    flat.discard(NOTHING)
    if len(flat) > 1:
        return Either(frozenset(flat))
    return flat.pop() if flat else NOTHING


def then(first: Expression, rest: Expression) -> Expression:
    """Return the concatenation, nested to the right."""
    if NOTHING in (first, rest):
        return NOTHING
    if isinstance(first, Empty):
        return rest
    if isinstance(rest, Empty):
        return first
    if isinstance(first, Then):
        return Then(first.first, then(first.rest, rest))
    return Then(first, rest)


def repetition_of(inner: Expression) -> Expression:
    """Return the repetition; the repetition of a repetition is that repetition."""
    if isinstance(inner, Nothing | Empty):
        return EMPTY
    return inner if isinstance(inner, Many) else Many(inner)


# ---- queries -------------------------------------------------------------------------------------
@lru_cache(maxsize=65_536)
def nullable(expression: Expression) -> bool:
    """Whether the empty word is in the language."""
    match expression:
        case Empty() | Many():
            return True
        case Either(options):
            return any(nullable(option) for option in options)
        case Then(first, rest):
            return nullable(first) and nullable(rest)
        case _:
            return False


@lru_cache(maxsize=65_536)
def derivative(expression: Expression, symbol: str) -> Expression:
    """Return the language of all words that complete ``symbol`` to a word of the language.

    It is :data:`NOTHING` exactly if no word of the language starts with the symbol.
    """
    match expression:
        case Letter(letter):
            return EMPTY if letter == symbol else NOTHING
        case Either(options):
            return union_of(derivative(option, symbol) for option in options)
        case Then(first, rest):
            after_first = then(derivative(first, symbol), rest)
            return union_of([after_first, derivative(rest, symbol)]) if nullable(first) else after_first
        case Many(inner):
            return then(derivative(inner, symbol), expression)
        case _:
            return NOTHING


@lru_cache(maxsize=65_536)
def equivalent(first: Expression, second: Expression, alphabet: tuple[str, ...]) -> bool:
    """Whether two expressions denote the same language."""
    met, waiting = {(first, second)}, [(first, second)]
    while waiting:
        pair = waiting.pop()
        if nullable(pair[0]) != nullable(pair[1]):
            return False
        for symbol in alphabet:
            following = derivative(pair[0], symbol), derivative(pair[1], symbol)
            if following not in met:
                met.add(following)
                waiting.append(following)
    return True


def derivatives(expression: Expression, alphabet: Sequence[str], most: int) -> int:
    """Return how many different terms repeated derivatives lead to, counted up to one more than ``most``.

    The count bounds the number of states of an automaton of the language.
    """
    met, order = {expression}, [expression]
    for term in order:
        for symbol in alphabet:
            following = derivative(term, symbol)
            if following not in met:
                met.add(following)
                order.append(following)
        if len(met) > most:
            return most + 1
    return len(met)


# ---- reading -------------------------------------------------------------------------------------
def symbols_of(text: str) -> tuple[str, ...]:
    """Return the symbols that an expression mentions, sorted."""
    return tuple(sorted({c for c in text if _is_symbol(c)}))


def parse(text: str) -> Expression:
    """Return the term that an expression denotes.

    Example:

        >>> parse("a|()") == union_of([Letter("a"), EMPTY])
        True
        >>> parse("(ab|*)")
        Traceback (most recent call last):
        ...
        workbench.tasks.errors.TaskError: regular expression (ab|>>*<<): character 5, '*', has nothing to repeat

    Raises:
        TaskError: for an invalid expression; the message marks the position.
    """
    if len(text) > LONGEST:
        raise TaskError(f"a regular expression takes at most {LONGEST} characters, not {len(text)}")
    reader = _Reader(text)
    expression = reader.union()
    if not reader.at_end:
        reader.refuse("closes no parenthesis")
    return expression


def _is_symbol(character: str) -> bool:
    return character.isascii() and character.isalnum()


def _visible(text: str) -> str:
    """Return a text on one line, with unprintable characters and line breaks as their escapes."""
    return "".join(character if character.isprintable() else repr(character)[1:-1] for character in text)


class _Reader:
    """Recursive descent over one expression; ``position`` is the next character to read."""

    def __init__(self, text: str) -> None:
        self.text, self.position, self.depth = text, 0, 0

    @property
    def at_end(self) -> bool:
        return self.position == len(self.text)

    @property
    def next(self) -> str:
        return "" if self.at_end else self.text[self.position]

    def refuse(self, why: str) -> None:
        before, character, after = self.text[: self.position], self.next, self.text[self.position + 1 :]
        position = "its end" if self.at_end else f"character {self.position + 1}, {character!r},"
        raise TaskError(f"regular expression {_visible(f'{before}>>{character}<<{after}')}: {position} {why}")

    def union(self) -> Expression:
        options = [self.concatenation()]
        while self.next == "|":
            self.position += 1
            options.append(self.concatenation())
        return union_of(options)

    def concatenation(self) -> Expression:
        parts = []
        while self.next not in ("", "|", ")"):
            parts.append(self.repetition())
        if not parts and self.next == ")" and self.depth == 0:
            self.refuse("closes no parenthesis")
        if not parts:
            self.refuse("leaves a side empty; the empty word is written ()")
        sequence: Expression = EMPTY
        for part in reversed(parts):
            sequence = then(part, sequence)
        return sequence

    def repetition(self) -> Expression:
        inner = self.atom()
        sign = self.next
        if sign == "" or sign not in REPEATS:
            return inner
        self.position += 1
        if self.next and self.next in REPEATS:
            self.refuse("repeats a repetition; put that in parentheses first")
        if sign == "?":
            return union_of([inner, EMPTY])
        return repetition_of(inner) if sign == "*" else then(inner, repetition_of(inner))

    def atom(self) -> Expression:
        if self.next in REPEATS:
            self.refuse("has nothing to repeat")
        if self.next == "(":
            return self.group()
        if not _is_symbol(self.next):
            self.refuse("is neither a letter or digit nor one of | * + ? ( )")
        self.position += 1
        return Letter(self.text[self.position - 1])

    def group(self) -> Expression:
        opened = self.position
        self.position += 1
        self.depth += 1
        inner = EMPTY if self.at_end or self.next == ")" else self.union()
        if self.at_end:
            self.position = opened
            self.refuse("is never closed")
        self.position += 1
        self.depth -= 1
        return inner
