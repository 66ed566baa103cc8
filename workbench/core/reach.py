"""Reach: the mean of skill over five lengths beyond training, with its interval.

Example: with skill 0.68, 0.65, 0.64, 0.46 and 0.26 at 1.5, 2, 3, 4 and 8 N, reach is 0.54. Skill below 0 counts as 0.
So a length at which the model does worse than a guess does not cancel the skill at another length. Reach is computed
from stored rows, and nothing is measured for it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.core.exact_limits import lower_limit, upper_limit
from workbench.core.length_multiples import length_at
from workbench.core.thresholds import HIGHEST_FLOOR, LEVEL

REACH = "reach"
"""The name of the quantity."""
REACH_MULTIPLES = (1.5, 2.0, 3.0, 4.0, 8.0)
"""Multiples of N, the longest trained length, over which reach is a mean."""
MULTIPLES_TEXT = "1.5, 2, 3, 4 and 8 N"
""":data:`REACH_MULTIPLES` in words."""
_TAIL = (1 - LEVEL) / 2


class Score(NamedTuple):
    """Answers at one length of the matched test set.

    Attributes:
        accuracy: share of correct answers.
        n: number of sequences, at least 1.
        baseline: accuracy of the best constant answer; None if skill is undefined here.
        counted: whether all sequences were counted, so that there is no sampling error.
    """

    accuracy: float
    n: int
    baseline: float | None
    counted: bool = False

    def skill(self, accuracy: float) -> float:
        """Return the skill that an accuracy means here."""
        assert self.baseline is not None
        return (accuracy - self.baseline) / (1 - self.baseline)


class Reach(NamedTuple):
    """Reach at one checkpoint, or why it has no value.

    Attributes:
        value: the mean of clipped skill; None where it has no value.
        low, high: the 95 % interval; None without a value, and where all sequences of all lengths were counted.
        lengths: the five lengths in tokens, ascending.
        n: smallest and largest number of sequences at the lengths that were sampled; None where none was.
        reason: why there is no value, as a clause; "" with a value.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    lengths: tuple[int, ...] = ()
    n: tuple[int, int] | None = None
    reason: str = ""

    @property
    def estimate(self) -> dict[str, float | None]:
        """Return value and interval by the names that tables give them."""
        return {REACH: self.value, f"{REACH}_low": self.low, f"{REACH}_high": self.high}


NO_REACH = Reach(None, reason="no accuracy was measured")
"""Reach of a run without accuracies."""


def checked_reach(fields: Mapping[str, Any]) -> Reach:
    """Return the reach with these fields, as JSON gives them.

    Raises:
        TypeError, ValueError: for fields that no reach has.
    """
    reach = Reach(**{**fields, "lengths": tuple(fields["lengths"]), "n": tuple(fields["n"]) if fields["n"] else None})
    numbers = (reach.value, reach.low, reach.high)
    if not all(number is None or (type(number) is float and 0 <= number <= 1) for number in numbers):
        raise ValueError(f"reach and its interval must be floats between 0 and 1, or None, not {numbers}")
    if not all(type(n) is int for n in (*reach.lengths, *(reach.n or ()))) or not isinstance(reach.reason, str):
        raise ValueError("lengths and numbers of sequences must be integers, and the reason must be text")
    return reach


def reach_of(scores: Mapping[int, Score], trained: int) -> Reach:
    """Return reach from the answers at each measured length.

    Args:
        scores: length in tokens -> answers, of the matched test set.
        trained: N, the longest trained length.
    """
    lengths = []
    for times in REACH_MULTIPLES:
        length = length_at(scores, trained, times)
        if length is None:
            return Reach(None, reason=f"length {math.ceil(times * trained):,} ({times:g} N) was not measured")
        if scores[length].baseline is None:
            why = f"the best constant answer scores above {HIGHEST_FLOOR:g}"
            return Reach(None, reason=f"skill is undefined at length {length:,} ({times:g} N), where {why}")
        lengths.append(length)
    if len(set(lengths)) < len(lengths):
        return Reach(None, reason=f"N = {trained} is so short that two of {MULTIPLES_TEXT} are the same length")
    used = [scores[n] for n in lengths]
    sampled = [score.n for score in used if not score.counted]
    many = (min(sampled), max(sampled)) if sampled else None
    low, high = interval(used) if sampled else (None, None)
    return Reach(mean_skill(used), low, high, tuple(lengths), many)


def mean_skill(scores: Sequence[Score]) -> float:
    """Return :func:`mean_clipped` of the skill that some answers show."""
    return mean_clipped([score.skill(score.accuracy) for score in scores])


def mean_clipped(skills: Sequence[float]) -> float:
    """Return the mean over lengths of skill, each clipped to [0, 1]."""
    return math.fsum(map(_clipped, skills)) / len(skills)


def interval(scores: Sequence[Score]) -> tuple[float, float]:
    """Return the 95 % interval of :func:`mean_skill`, with sequences as the unit of sampling.

    The distances from the skill of each length to its exact limits are combined as independent errors (Zou and Donner
    2008, "method of variance estimates recovery"). Two changes keep the coverage at its level:

    - Limits are not clipped before they are combined, unless the whole interval is below 0. Otherwise the interval of a
      model that guesses would often exclude 0.
    - With few errors in all, one length's limit cannot exceed its errors. There the upper limit is at least that of the
      pooled errors, scaled by the ratio of the standard deviations (Dobson and others 1991).
    """
    weights = [1 / (len(scores) * (1 - (score.baseline or 0.0))) for score in scores]
    below = above = variance = errors = total = 0.0
    for score, weight in zip(scores, weights, strict=True):
        if score.counted:
            continue
        right = round(score.accuracy * score.n)
        low = score.skill(lower_limit(right, score.n, _TAIL))
        high = score.skill(upper_limit(right, score.n, _TAIL))
        if high <= 0:
            continue
        skill = _clipped(score.skill(score.accuracy))
        below += (skill - low) ** 2
        above += (high - skill) ** 2
        variance += weight**2 * score.accuracy * (1 - score.accuracy) / score.n
        errors += score.n - right
        total += score.n
    mean = mean_skill(scores)
    up = math.sqrt(above) / len(scores)
    if 0 < errors < total:
        share = errors / total
        fewest = lower_limit(round(errors), round(total), _TAIL)
        up = max(up, math.sqrt(variance / (share * (1 - share) / total)) * (share - fewest))
    return max(0.0, mean - math.sqrt(below) / len(scores)), min(1.0, mean + up)


def _clipped(skill: float) -> float:
    return min(1.0, max(0.0, skill))
