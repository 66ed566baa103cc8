"""Which length stands for a multiple of N, the longest trained length."""

from __future__ import annotations

from collections.abc import Iterable

ROUNDED = 4
"""A length counts as a multiple that it exceeds by less than this, and by less than a quarter of N.

Tasks without sequences of every length use the next admissible length, at most so far away.
"""


def length_at(lengths: Iterable[int], trained: int, times: float) -> int | None:
    """Return the length among ``lengths`` that is shown as ``times`` N, where N is the longest trained length; None if
    there is none.

    It is the smallest that is not below ``times`` N, if it exceeds that by less than :data:`ROUNDED` tokens and a
    quarter of N. A multiple that was rounded up to the task's next admissible length qualifies.

    Example:

        >>> length_at([25, 49, 99, 393], 49, 8.0), length_at([25, 49, 99, 393], 49, 4.0)
        (393, None)
    """
    near = min(ROUNDED, max(1.0, trained / 4))
    return min((int(n) for n in lengths if 0 <= n - times * trained < near), default=None)
