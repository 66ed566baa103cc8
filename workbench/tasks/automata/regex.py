"""Regular expressions as terms: a parser that says where an expression is wrong, and derivatives.

Syntax: letters and digits are symbols; ``|`` is union; ``*``, ``+`` and ``?`` after something repeat it
any number of times, at least once, at most once; parentheses group, and ``()`` is the empty word. So
every expression accepted here means the same to Python's ``re`` and to automata-lib, which is why a
second repetition sign right after the first is refused (to ``re``, ``a*+`` means something else).

The derivative of an expression by a symbol stands for what may follow that symbol (Brzozowski 1964,
"Derivatives of Regular Expressions"). It decides membership word by word without any automaton, which is
what makes it a second opinion on one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from workbench.core.interned import Interned
from workbench.tasks.batch import TaskError

REPEATS = "*+?"
LONGEST = 150
"""Characters of the longest expression that is read; terms nest as deep as it is long."""


@dataclass(frozen=True, eq=False)
class Nothing(metaclass=Interned):
    """The empty language."""


@dataclass(frozen=True, eq=False)
class Empty(metaclass=Interned):
    """The language of the empty word alone."""


@dataclass(frozen=True, eq=False)
class Letter(metaclass=Interned):
    """One symbol."""

    symbol: str


@dataclass(frozen=True, eq=False)
class Either(metaclass=Interned):
    """Union, of two languages at least; being a set, it knows no order and no repetition."""

    options: frozenset[Expression]


@dataclass(frozen=True, eq=False)
class Then(metaclass=Interned):
    """Concatenation; ``first`` is itself no concatenation."""

    first: Expression
    rest: Expression


@dataclass(frozen=True, eq=False)
class Many(metaclass=Interned):
    """Any number of repetitions, none included."""

    inner: Expression


Expression = Nothing | Empty | Letter | Either | Then | Many
NOTHING, EMPTY = Nothing(), Empty()


# ---- making --------------------------------------------------------------------------------------
def either(options: Iterable[Expression]) -> Expression:
    """The union, with unions inside it opened and the empty language left out."""
    flat: set[Expression] = set()
    for option in options:
        flat |= option.options if isinstance(option, Either) else {option}
    flat.discard(NOTHING)
    if len(flat) > 1:
        return Either(frozenset(flat))
    return flat.pop() if flat else NOTHING


def then(first: Expression, rest: Expression) -> Expression:
    """The concatenation, leaning to the right."""
    if NOTHING in (first, rest):
        return NOTHING
    if isinstance(first, Empty):
        return rest
    if isinstance(rest, Empty):
        return first
    if isinstance(first, Then):
        return Then(first.first, then(first.rest, rest))
    return Then(first, rest)


def many(inner: Expression) -> Expression:
    """The repetition; of a repetition it is that repetition."""
    if isinstance(inner, Nothing | Empty):
        return EMPTY
    return inner if isinstance(inner, Many) else Many(inner)


# ---- asking --------------------------------------------------------------------------------------
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
    """The language of all words that complete ``symbol`` to a word of the language.

    It is :data:`NOTHING` exactly if no word of the language starts with the symbol.
    """
    match expression:
        case Letter(own):
            return EMPTY if own == symbol else NOTHING
        case Either(options):
            return either(derivative(option, symbol) for option in options)
        case Then(first, rest):
            after_first = then(derivative(first, symbol), rest)
            return either([after_first, derivative(rest, symbol)]) if nullable(first) else after_first
        case Many(inner):
            return then(derivative(inner, symbol), expression)
        case _:
            return NOTHING


@lru_cache(maxsize=65_536)
def equivalent(one: Expression, other: Expression, alphabet: tuple[str, ...]) -> bool:
    """Whether two expressions mean the same language: no word is in the one and not in the other."""
    met, waiting = {(one, other)}, [(one, other)]
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
    """How many different terms repeated derivatives lead to, counted up to one more than ``most``.

    A bound on the states of an automaton of the language.
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
    """The symbols that an expression mentions, sorted."""
    return tuple(sorted({c for c in text if _is_symbol(c)}))


def parse(text: str) -> Expression:
    """The term that an expression denotes.

    Example:

        >>> parse("a|()") == either([Letter("a"), EMPTY])
        True
        >>> parse("(ab|*)")
        Traceback (most recent call last):
        ...
        workbench.tasks.errors.TaskError: regular expression (ab|>>*<<): character 5, '*', has nothing to repeat

    Raises:
        TaskError: for an invalid expression; the sentence marks the place.
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
    """A text on one line: characters that cannot be printed, and line breaks, as their escapes."""
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
        before, here, after = self.text[: self.position], self.next, self.text[self.position + 1 :]
        position = "its end" if self.at_end else f"character {self.position + 1}, {here!r},"
        raise TaskError(f"regular expression {_visible(f'{before}>>{here}<<{after}')}: {position} {why}")

    def union(self) -> Expression:
        options = [self.concatenation()]
        while self.next == "|":
            self.position += 1
            options.append(self.concatenation())
        return either(options)

    def concatenation(self) -> Expression:
        parts = []
        while self.next not in ("", "|", ")"):
            parts.append(self.repetition())
        if not parts and self.next == ")" and self.depth == 0:
            self.refuse("closes no parenthesis")
        if not parts:
            self.refuse("leaves a side empty; the empty word is written ()")
        found: Expression = EMPTY
        for part in reversed(parts):
            found = then(part, found)
        return found

    def repetition(self) -> Expression:
        inner = self.atom()
        sign = self.next
        if sign == "" or sign not in REPEATS:
            return inner
        self.position += 1
        if self.next and self.next in REPEATS:
            self.refuse("repeats a repetition; put that in parentheses first")
        if sign == "?":
            return either([inner, EMPTY])
        return many(inner) if sign == "*" else then(inner, many(inner))

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
