"""Long strings that are just inside or just outside a language.

Random long strings prove nothing about a recogniser. Nearly all are outside Dyck-1, (aa)* or a^n b^n c^n, so that a
recogniser that always rejects is right about them. Each function here returns strings of one exact length, which must
be a multiple of 12, as tuples of symbols. :func:`variants` then changes one symbol at a time.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence

from workbench.theory.crasp.syntax import CraspError

__all__ = ["Strings", "variants"]

String = tuple[str, ...]
Strings = Callable[[int], list[String]]
"""Returns strings of a given length."""


def variants(strings: Sequence[String], alphabet: Sequence[str]) -> list[String]:
    """Return the strings, and each with one symbol replaced: the first, the last, at one third and at two thirds.

    The replacement is the next symbol of the alphabet, in a circle.
    """
    following = dict(zip(alphabet, [*alphabet[1:], alphabet[0]], strict=True))
    distinct: dict[String, None] = dict.fromkeys(strings)
    for string in strings:
        for position in (0, len(string) // 3, 2 * len(string) // 3, len(string) - 1):
            distinct[(*string[:position], following[string[position]], *string[position + 1 :])] = None
    return list(distinct)


def repeats(*patterns: str) -> Strings:
    """Return strings that repeat each pattern, whose length divides 12."""
    return _checked(lambda n: [pattern * (n // len(pattern)) for pattern in patterns])


def parts(*patterns: str) -> Strings:
    """Return each pattern's symbols as equal blocks: ``ab`` is a^(n/2) b^(n/2); the last block takes a remainder."""
    return _checked(lambda n: [_blocks(pattern, n) for pattern in patterns])


def combine(*groups: Strings) -> Strings:
    """Return all strings of several functions."""
    return lambda n: [string for group in groups for string in group(n)]


def rename_symbols(strings: Strings, names: Mapping[str, str]) -> Strings:
    """Return the strings of another function, with other symbols."""
    return lambda n: [tuple(names[symbol] for symbol in string) for string in strings(n)]


def balanced_words(opening: str, closing: str) -> Strings:
    """Return balanced words, one that dips below zero in the middle, and one that violates only its first symbol."""

    def words(n: int) -> Iterable[str]:
        half, quarter = n // 2, n // 4
        word = _random_balanced(half - 1, opening, closing)
        left = _random_balanced(quarter, opening, closing)
        right = _random_balanced(half - quarter - 1, opening, closing)
        yield _random_balanced(half, opening, closing)
        yield opening * half + closing * half
        yield opening + word + closing
        yield left + closing + opening + right
        yield closing + word + opening

    return _checked(words)


def words_up_to_depth(depth: int, opening: str, closing: str) -> Strings:
    """Return balanced words that stay at or under ``depth``, and one that exceeds it once, in the middle."""

    def words(n: int) -> Iterable[str]:
        tooth = opening * depth + closing * depth
        within = (tooth * n)[: n // len(tooth) * len(tooth)]
        within += (opening + closing) * ((n - len(within)) // 2)
        peak = opening * (depth + 1) + closing * (depth + 1)
        half = (opening + closing) * ((n - len(peak)) // 4)
        yield within
        yield half + peak + (opening + closing) * ((n - len(peak) - len(half)) // 2)

    return _checked(words)


def blocks(separator: str, *patterns: tuple[str, str]) -> Strings:
    """Return strings ``first ^ k  separator  second ^ m`` with the separator after the middle; repeated patterns are
    cut to fit.
    """

    def words(n: int) -> Iterable[String]:
        for first, second in patterns:
            yield (*(first * n)[: n // 2], separator, *(second * n)[: n - n // 2 - 1])

    return _checked(words)


def far_parts(*cases: tuple[Sequence[str], str, Sequence[str]]) -> Strings:
    """Return strings ``start  filler ^ k  end``: a part that occurs once, far away from the end."""

    def words(n: int) -> Iterable[String]:
        for start, filler, end in cases:
            yield (*start, *(filler * n)[: n - len(start) - len(end)], *end)

    return _checked(words)


def _checked(words: Callable[[int], Iterable[str | String]]) -> Strings:
    def strings(n: int) -> list[String]:
        if n < 12 or n % 12:
            raise CraspError(f"near misses are made for lengths that are multiples of 12, not {n}")
        tuples = [tuple(word) for word in words(n)]
        assert all(len(string) == n for string in tuples)
        return tuples

    return strings


def _blocks(symbols: str, n: int) -> str:
    size = n // len(symbols)
    return "".join(symbol * size for symbol in symbols) + symbols[-1] * (n - size * len(symbols))


def _random_balanced(pairs: int, opening: str, closing: str) -> str:
    """Return a uniformly random balanced word, the same at every call (cycle lemma, Dvoretzky and Motzkin 1947).

    Shuffle a word with one more opening bracket. Exactly one of its rotations has only positive prefixes: the one that
    starts after the last minimum. Without its first bracket that rotation is balanced.
    """
    steps = [1] * (pairs + 1) + [-1] * pairs
    random.Random(pairs).shuffle(steps)
    heights = [0]
    for step in steps:
        heights.append(heights[-1] + step)
    lowest = max(i for i, height in enumerate(heights[:-1]) if height == min(heights[:-1]))
    turned = steps[lowest:] + steps[:lowest]
    return "".join(opening if step > 0 else closing for step in turned[1:])
