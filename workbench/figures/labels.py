"""Words on figures: how numbers are written, and line-end labels that do not overlap."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.core.thresholds import LEVEL_TEXT

MINUS = "\u2212"
MISSING = "\u2013"
AT_LENGTH = re.compile(r"at length (\d+(?:,\d{3})*)")

#: Part of a sentence: its text, and its role (plain, summary, position, or muted for intervals).
Piece = tuple[str, str]


def _missing(x: float | None) -> bool:
    return x is None or math.isnan(x)


def _minus(text: str) -> str:
    """A typographic minus, and no minus before a rounded zero."""
    if text.startswith("-") and not text.strip("-0."):
        text = text[1:]
    return text.replace("-", MINUS)


def proportion(x: float | None, decimals: int = 2) -> str:
    """Format a proportion or another quantity near 1 with two decimals (three in tooltips), never in percent."""
    if _missing(x):
        return MISSING
    assert x is not None
    if math.isinf(x):
        return "\u221e" if x > 0 else MINUS + "\u221e"
    return _minus(f"{x:.{decimals}f}")


def significance(p: float | None) -> str:
    """Format a p value with two decimals; values that would round to 0 become ``< 0.01``."""
    return "< 0.01" if p is not None and p < 0.01 else proportion(p)


def signed_number(x: float | None, decimals: int = 2) -> str:
    """Format a difference, with its sign unless it rounds to zero."""
    text = proportion(x, decimals)
    return "+" + text if x is not None and x > 0 and text.strip("0.") else text


def whole(x: float | None) -> str:
    """Format a training step, a length or a count, with commas between thousands."""
    if _missing(x):
        return MISSING
    assert x is not None
    return proportion(x) if math.isinf(x) else _minus(f"{round(x):,}")


def span_of_steps(first: int, last: int) -> str:
    """Format one training step, or the first and last of several: ``step 70``, ``steps 0 to 17``."""
    return f"step {whole(first)}" if first == last else f"steps {whole(first)} to {whole(last)}"


def span_of_lengths(first: int, last: int) -> str:
    """Format one length, or the shortest and longest of several: ``length 256``, ``lengths 3 to 8``."""
    return f"length {whole(first)}" if first == last else f"lengths {whole(first)} to {whole(last)}"


def compiled_limit(compiled: Mapping[str, Any]) -> str:
    """Describe, for a compiled run, the length up to which its answers are correct, or which keys a broken variant
    attends to.

    Args:
        compiled: ``training.compiled`` of the run's configuration.
    """
    if compiled.get("first_keys"):
        return f"a broken variant that sees only its first {whole(compiled['first_keys'])} keys"
    return f"its weights are made for lengths up to {whole(compiled['up_to'])}"


def time_left(seconds: float) -> str:
    """Format the time that a task still takes: ``40 s left``, ``12 min left``, ``3.5 h left``."""
    if seconds < 100:
        return f"{seconds:.0f} s left"
    return f"{seconds / 60:.0f} min left" if seconds < 6000 else f"{seconds / 3600:.1f} h left"


def length_label(length: float, items: bool) -> str:
    """Format a length: ``length 64``, or ``64 items`` if it is a number of items in a prompt."""
    return f"{whole(length)} items" if items else f"length {whole(length)}"


def in_items_said(text: str) -> str:
    """Replace lengths in a text by numbers of items in a prompt, e.g. ``at length 8`` by ``at 8 items``."""
    return AT_LENGTH.sub(r"at \1 items", text)


def short(x: float) -> str:
    """Format a training step as a tick label: 0, 10, 100, 1k, 1.5k, 2M."""
    for size, letter in ((1_000_000, "M"), (1_000, "k")):
        if x >= size:
            return f"{x / size:.3g}{letter}"
    return whole(x)


def magnitude(x: float | None) -> str:
    """Format a quantity of unknown scale: with commas from 1,000 on, otherwise with three significant digits."""
    if x is None or _missing(x) or math.isinf(x):
        return proportion(x)
    return whole(x) if abs(x) >= 1000 else _minus(f"{x:.3g}")


def multiple(times: float) -> str:
    """Format a multiple of N, the longest trained length: ``8``, ``1.5``, ``0.25``.

    Values below 1 have two digits, and values above 1 one decimal.

    Example:

        >>> [multiple(x) for x in (0.25, 1, 1.5, 249 / 31, 12.5)]
        ['0.25', '1', '1.5', '8', '12']
    """
    if times >= 10:
        return whole(times)
    return f"{times:.2g}" if times < 1 else f"{times:.1f}".removesuffix(".0")


def interval(low: float | None, high: float | None, decimals: int = 2) -> str:
    """Format a 95 % interval as ``[0.91, 0.95]``; "" if there is none."""
    if _missing(low) or _missing(high):
        return ""
    return f"[{proportion(low, decimals)}, {proportion(high, decimals)}]"


def estimate(value: float | None, low: float | None, high: float | None, decimals: int = 2) -> str:
    """Format a value with its 95 % interval: ``0.93 [0.91, 0.95]``."""
    return f"{proportion(value, decimals)} {interval(low, high, decimals)}".rstrip()


def whole_answers(accuracy: str, tokens: float) -> str:
    """Format the share of complete answers that are correct, for answers of several tokens.

    The result reads ``whole answers right: 0.09 [0.07, 0.12] (0.76 of tokens)``.

    Args:
        accuracy: with its interval, as it is written.
        tokens: share of the tokens that are right.
    """
    return f"whole answers right: {accuracy} ({proportion(tokens)} of tokens)"


_BAND = re.compile(r"lengths (\d+ to \d+)$")
_ALL = re.compile(r"all \d+ sequences?$")


def band_of(note: object) -> str:
    """Return the range of lengths that a row covers, such as ``3 to 4``, from the end of its note; "" if it covers one
    length.
    """
    found = _BAND.search(str(note or ""))
    return found.group(1) if found else ""


def length_said(length: float, note: object) -> str:
    """Format the length of a row: ``length 4``, or ``lengths 3 to 4`` if the row's note states that it covers
    several.
    """
    band = band_of(note)
    return f"lengths {band}" if band else f"length {whole(length)}"


def all_counted(note: object) -> str:
    """Return ``all 16 sequences`` if a row's note ends with these words, which means that its value is exact; otherwise
    "".
    """
    found = _ALL.search(str(note or ""))
    return found.group() if found else ""


def beyond(x: float) -> str:
    """Format a length that is known only to exceed all measured lengths: ``> 1,024``."""
    return f"> {whole(x)}"


def times_trained(length: float, trained: float) -> str:
    """Format a length relative to the longest trained length: ``5.1 × trained``, or ``inside training``."""
    return "inside training" if length <= trained else f"{length / trained:.2g} \u00d7 trained"


def over_training(length: float, trained: float) -> str:
    """Describe the fixed length of a line over training steps: ``over training at length 128, past training``."""
    return f"over training at length {whole(length)}, {'inside training' if length <= trained else 'past training'}"


def over_length(step: float) -> str:
    """Describe the fixed step of a line over prefix length: ``over prefix length at step 1,500``."""
    return f"over prefix length at step {whole(step)}"


def over_axis(step: float | None, length: float | None, trained: float) -> str:
    """Describe what is fixed along a line: the step (:func:`over_length`) if one is given, otherwise the length
    (:func:`over_training`).
    """
    return over_training(length or 0, trained) if step is None else over_length(step)


def join_with_dots(*parts: str) -> str:
    """Join short statements into one line, leaving out empty ones: ``per head · n 512 · 95 % CI``."""
    return " \u00b7 ".join(part for part in parts if part)


def sample_size(n: int | None, or_more: bool = False) -> str:
    """Format the number of sequences: ``n 512 · 95 % CI``, or ``n 64 or more`` if values have different numbers; "" if
    n is unknown.
    """
    return "" if n is None else f"n {whole(n)}{' or more' * or_more} \u00b7 {LEVEL_TEXT} CI"


def layer_name(layer: int) -> str:
    """Return the name of a point in the residual stream: the embedding, or after a block."""
    return "embed" if layer < 0 else f"after {layer}"


def layer_said(layer: float) -> str:
    """Return a point in the residual stream as words in a sentence: ``in the embedding``, ``after block 1``."""
    return "in the embedding" if layer < 0 else f"after block {int(layer)}"


LABEL_SEPARATION = 13
"""Pixels between two names at the ends of lines."""


def line_name_heights(ends: Sequence[float], low: float, high: float, pixels: float) -> list[float]:
    """Return where the names of lines stand, in axis units, in the order of the lines.

    Args:
        ends: where the lines end.
        low, high: the axis range.
        pixels: height of the axis.
    """
    pixel = (high - low) / pixels
    margin = LABEL_SEPARATION / 2 * pixel
    return spread(ends, LABEL_SEPARATION * pixel, low + margin, high - margin)


def spread(values: Sequence[float], separation: float, low: float, high: float) -> list[float]:
    """Move the heights of labels as little as needed until neighbours are ``separation`` apart.

    Labels that touch form a block, which sits at the mean of its members' desired heights (least squares, solved by
    pooling adjacent violators), then inside ``low..high``. Order is kept.

    Args:
        values: desired heights, in any order, in axis units.
        separation: smallest distance of two labels, same units.
        low: lowest height a label may take.
        high: highest height a label may take.

    Returns:
        the heights in the order of ``values``. Where the range is too small for all of them, they are
        spaced evenly over it.
    """
    count = len(values)
    if count == 0:
        return []
    if (count - 1) * separation > high - low:
        separation = (high - low) / max(1, count - 1)
    order = sorted(range(count), key=lambda i: values[i])
    # With z_k = y_k - k * separation, "neighbours apart" becomes "z does not decrease": isotonic regression.
    blocks: list[list[float]] = []
    for k, i in enumerate(order):
        blocks.append([values[i] - k * separation, 1.0])
        while len(blocks) > 1 and blocks[-2][0] > blocks[-1][0]:
            (m1, w1), (m2, w2) = blocks[-2], blocks[-1]
            blocks[-2:] = [[(m1 * w1 + m2 * w2) / (w1 + w2), w1 + w2]]
    flat = [mean for mean, weight in blocks for _ in range(int(weight))]
    top = high - (count - 1) * separation
    placed = [0.0] * count
    for k, i in enumerate(order):
        placed[i] = min(max(flat[k], low), top) + k * separation
    return placed
