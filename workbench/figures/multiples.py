"""Prefix lengths as multiples of N, the longest training length: what runs of different N have in common."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

MULTIPLES = (1 / 8, 1 / 4, 1 / 2, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
"""The multiples that the grid of lengths has by default."""
ROUNDED = 4
"""A length counts as a multiple that it exceeds by less than this: tasks without strings of every length have the
next one that they admit, at most so far away."""


def length_at(lengths: Iterable[int], trained: int, times: float) -> int | None:
    """The length among ``lengths`` that stands for ``times`` N, or None where none does.

    It is the smallest that is not below ``times`` N, if it exceeds that by less than :data:`ROUNDED` tokens, as a
    multiple that was rounded up to the task's next admissible length does.

    Example:

        >>> length_at([25, 49, 99, 393], 49, 8.0), length_at([25, 49, 99, 393], 49, 4.0)
        (393, None)
    """
    place = times * trained
    above = [n for n in lengths if n >= place]
    found = min(above, default=None)
    return found if found is not None and found - place < ROUNDED else None


def times_text(times: float) -> str:
    """A multiple of N as it is written: ``8 x``, ``1/4 x``.

    Example:

        >>> times_text(0.25), times_text(1.5), times_text(8.0)
        ('1/4 \u00d7 N', '1.5 \u00d7 N', '8 \u00d7 N')
    """
    whole = Fraction(times).limit_denominator(8)
    text = f"{whole}" if times < 1 else f"{times:g}"
    return f"{text} \u00d7 N"
