"""Sensitivity of the Boolean functions that transformers compute at random initialization, over all sequences.

The sensitivity of a function at a sequence is the number of letters whose flip changes the answer.
"""

from __future__ import annotations

import numpy as np

from workbench.claims.claim import Row

LENGTHS = (4, 6, 8, 10, 12)
DRAWS = 200
WIDTH, HEADS, LAYERS = 16, 2, 2
Array = np.ndarray


def sensitivities(answers: Array) -> Array:
    """Return the sensitivity at each sequence.

    Args:
        answers: ``[sequence]`` of a Boolean function; the bits of the index are the letters.
    """
    index = np.arange(len(answers))
    letters = len(answers).bit_length() - 1
    counts: Array = sum((answers != answers[index ^ (1 << place)]).astype(int) for place in range(letters))
    return counts


def _standardized(hidden: Array) -> Array:
    centred = hidden - hidden.mean(-1, keepdims=True)
    scaled: Array = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5)
    return scaled


def random_outputs(length: int, rng: np.random.Generator) -> Array:
    """Return the output ``[sequence]`` of a random transformer for all sequences over two letters.

    Each layer adds attention, which looks back, and an MLP, both of the standardized input. The output is a random
    projection at the last position.

    Args:
        length: of the sequences.
        rng: draws the weights: normal, with a variance of 1 over the number of inputs.
    """
    letters = (np.arange(2**length)[:, None] >> np.arange(length)) & 1
    hidden = rng.standard_normal((2, WIDTH))[letters] + rng.standard_normal((length, WIDTH))
    size = WIDTH // HEADS
    hides = np.triu(np.full((length, length), -np.inf), 1)
    for _ in range(LAYERS):
        normal = _standardized(hidden)
        for _ in range(HEADS):
            query, key, value = (normal @ (rng.standard_normal((WIDTH, size)) / np.sqrt(WIDTH)) for _ in range(3))
            scores = query @ key.transpose(0, 2, 1) / np.sqrt(size) + hides
            weights = np.exp(scores - scores.max(-1, keepdims=True))
            mixed = weights / weights.sum(-1, keepdims=True) @ value
            hidden = hidden + mixed @ (rng.standard_normal((size, WIDTH)) / np.sqrt(size))
        inner = np.maximum(_standardized(hidden) @ (rng.standard_normal((WIDTH, 4 * WIDTH)) / np.sqrt(WIDTH)), 0)
        hidden = hidden + inner @ (rng.standard_normal((4 * WIDTH, WIDTH)) / np.sqrt(4 * WIDTH))
    output: Array = _standardized(hidden[:, -1]) @ rng.standard_normal(WIDTH)
    return output


def sensitivity_rows(lengths: tuple[int, ...] = LENGTHS, draws: int = DRAWS, function: str = "random") -> list[Row]:
    """Return the least sensitivity of random transformers over their length, by length.

    Args:
        lengths: in rising order.
        draws: initializations.
        function: ``random`` for transformers, ``parity`` for parity in their place.
    """
    rows, means = [], []
    for length in lengths:
        least, mean = np.empty(draws), np.empty(draws)
        for draw in range(draws):
            if function == "parity":
                outputs = np.array([bin(index).count("1") % 2 for index in range(2**length)], dtype=float)
            else:
                outputs = random_outputs(length, np.random.default_rng([length, draw]))
            counts = sensitivities(outputs > np.median(outputs))
            least[draw], mean[draw] = counts.min() / length, counts.mean() / length
        means.append(float(least.mean()))
        item = f"n {length}"
        rows.append(Row(f"least sensitivity over n at n = {length}", "", means[-1], n=draws))
        rows.append(Row("mean sensitivity over n", item, float(mean.mean()), n=draws))
        low = float((least <= 0.25).mean())
        rows.append(Row("share of initializations with a sequence of sensitivity at most n / 4", item, low, n=draws))
    difference = means[0] - means[-1]
    return [*rows, Row(f"least sensitivity over n at n = {lengths[0]} minus that at n = {lengths[-1]}", "", difference)]
