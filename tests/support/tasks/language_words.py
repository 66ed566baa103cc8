"""Words of counter languages, generated from their grammars, and what follows by looking at the words."""

from __future__ import annotations

from functools import cache
from itertools import product

END = "<eos>"
OPERANDS = {"0": 0, "1": 0, "~": 1, "+": 2, ">": 3, "*": 4, "^": 5}


@cache
def dyck(pairs: int, sides: str = "()") -> list[tuple[str, ...]]:
    """Balanced strings with so many pairs: S -> ( S ) S, or empty."""
    if pairs == 0:
        return [()]
    opening, closing = sides
    return [
        (opening, *inner, closing, *rest)
        for inside in range(pairs)
        for inner in dyck(inside, sides)
        for rest in dyck(pairs - 1 - inside, sides)
    ]


@cache
def shuffles(first: tuple[str, ...], second: tuple[str, ...]) -> frozenset[tuple[str, ...]]:
    """All ways to interleave two strings."""
    if not first or not second:
        return frozenset([first + second])
    return frozenset((first[0], *w) for w in shuffles(first[1:], second)) | frozenset(
        (second[0], *w) for w in shuffles(first, second[1:])
    )


def shuffle_dyck(types: int, pairs: int) -> set[tuple[str, ...]]:
    """Shuffles of one balanced string of each type, with so many pairs in all."""
    if types == 1:
        return {tuple(s + "1" for s in word) for word in dyck(pairs)}
    return {
        word
        for own in range(pairs + 1)
        for first in shuffle_dyck(types - 1, pairs - own)
        for second in dyck(own)
        for word in shuffles(first, tuple(f"{s}{types}" for s in second))
    }


@cache
def expressions(most_operands: int, length: int) -> list[tuple[str, ...]]:
    """Boolean expressions of exactly this length."""
    found: list[tuple[str, ...]] = []
    for symbol, operands in OPERANDS.items():
        if operands <= most_operands:
            found += [(symbol, *rest) for rest in _several(most_operands, operands, length - 1)]
    return found


def _several(most_operands: int, number: int, length: int) -> list[tuple[str, ...]]:
    """So many expressions one after the other, of this length together."""
    if number == 0:
        return [()] if length == 0 else []
    return [
        a + b
        for first in range(1, length - number + 2)
        for a in expressions(most_operands, first)
        for b in _several(most_operands, number - 1, length - first)
    ]


def blocks(letters: int, size: int) -> tuple[str, ...]:
    """a^n b^n ... with n = size."""
    return tuple(letter for letter in "abcdefgh"[:letters] for _ in range(size))


def prefixes_and_what_follows(words: set[tuple[str, ...]]) -> dict[tuple[str, ...], set[str]]:
    """For every prefix of a word, the symbols that follow it in some word, and END where it is one."""
    found: dict[tuple[str, ...], set[str]] = {}
    for word in words:
        for n in range(len(word) + 1):
            found.setdefault(word[:n], set()).add(word[n] if n < len(word) else END)
    return found


def every_string(symbols: tuple[str, ...], length: int) -> list[tuple[str, ...]]:
    """All strings of exactly this length."""
    return list(product(symbols, repeat=length))
