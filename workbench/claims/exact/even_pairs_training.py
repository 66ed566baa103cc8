"""One layer that is trained on all short sequences of even pairs by full-batch gradient descent, as its paper does.

A sequence over two letters belongs to even pairs if its last letter is its first. The answer is
``u . sum_k a_k x_k`` with one-hot codes x of (position, letter) and attention a from the last code:
``a_k`` is proportional to ``exp(x_k W x_last)``. The loss is logistic, averaged over all sequences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
from scipy.optimize import minimize

from workbench.claims.claim import Row

PILOT = (6, 2.0)
SETTINGS = (PILOT, (5, 2.0), (7, 2.0), (6, 1.0), (6, 4.0))
"""Longest length and factor of attention's rate."""
RATE = 0.1
FAST_STEPS = 100
STEPS = 200_000
CHECKPOINTS = (20_000, 40_000, 80_000, 200_000)
POINTS = 30
"""Steps of the last decade, evenly spaced in the log, at which loss and norms are stored."""
Array = np.ndarray


def sequences(length: int) -> Array:
    """Return all sequences ``[sequence, position]`` of letters 0 and 1 of a length."""
    return (np.arange(2**length)[:, None] >> np.arange(length - 1, -1, -1)) & 1


def codes(letters: Array) -> Array:
    """Return the index ``[sequence, position]`` of the one in the code of each (position, letter)."""
    places: Array = 2 * np.arange(letters.shape[1]) + letters
    return places


@dataclass(frozen=True)
class Layer:
    """A trained layer.

    Attributes:
        scores: ``[key, query]`` scores of attention between codes.
        linear: ``[code]`` the linear layer.
    """

    scores: Array
    linear: Array

    def attention_output(self, letters: Array) -> Array:
        """Return the output of attention ``[sequence, code]`` for sequences of one length."""
        places = codes(letters)
        weights = np.exp(self.scores[places, places[:, -1:]])
        output = np.zeros((len(letters), len(self.linear)))
        np.put_along_axis(output, places, weights / weights.sum(1, keepdims=True), 1)
        return output

    def answers(self, letters: Array) -> Array:
        """Return whether the layer takes each sequence for even pairs."""
        even: Array = self.attention_output(letters) @ self.linear > 0
        return even


@dataclass(frozen=True)
class Training:
    """The course of training.

    Attributes:
        steps: ``[point]`` the steps of the last decade at which the following is stored.
        losses: ``[point]`` mean loss.
        norms: ``[point]`` norm of the linear layer.
        changes: ``[point]`` norm of the change of attention's scores up to the end, over their norm at the end.
        layers: the layer at each checkpoint.
    """

    steps: Array
    losses: Array
    norms: Array
    changes: Array
    layers: dict[int, Layer]


def sequences_that_end_in_0(longest: int) -> tuple[Array, Array, Array]:
    """Return of all sequences to a length whose last letter is 0 which codes occur ``[sequence, code]``, their length
    ``[sequence]`` and whether the sequence is even (1 or -1).
    """
    present, lengths, signs = [], [], []
    identity = np.eye(2 * longest)
    for length in range(1, longest + 1):
        letters = sequences(length)
        letters = letters[letters[:, -1] == 0]
        present.append(identity[codes(letters)].sum(1))
        lengths.append(np.full(len(letters), length))
        signs.append(np.where(letters[:, 0] == 0, 1.0, -1.0))
    return np.concatenate(present), np.concatenate(lengths), np.concatenate(signs)


def with_swapped_letters(scores: Array, linear: Array) -> Layer:
    """Return the layer with scores ``[key, length]`` for the last letter 0; those for 1 have the letters swapped."""
    full = np.zeros((len(linear), len(linear)))
    swapped = np.arange(len(linear)) ^ 1
    full[:, 0::2], full[:, 1::2] = scores, scores[swapped]
    return Layer(full, linear.copy())


@cache
def train(
    longest: int,
    factor: float,
    steps: int = STEPS,
    fast_steps: int = FAST_STEPS,
    *,
    summed: bool = False,
    rate: float = RATE,
) -> Training:
    """Train a layer from zero on all sequences to a length.

    Swapping the two letters changes neither the task nor the start. So training on the sequences that end in 0, with
    each gradient added to its swapped copy, is training on all sequences.

    Args:
        longest: the length.
        factor: of the rate of attention in the first steps (lambda).
        steps: of training; the last decade begins at a tenth of them.
        fast_steps: steps with this factor.
        summed: whether the loss is the sum over lengths of the mean loss at each length, in place of the mean over all
            sequences.
        rate: of the linear layer at all steps, and of attention after the first steps.
    """
    present, lengths, signs = sequences_that_end_in_0(longest)
    last, swapped = np.eye(longest)[lengths - 1], np.arange(2 * longest) ^ 1
    scores, linear = np.zeros((2 * longest, longest)), np.zeros(2 * longest)
    points = np.unique(np.geomspace(steps // 10, steps, POINTS).round().astype(int))
    layers, losses, norms, history = {}, [], [], []
    weights = 2.0**-lengths if summed else np.full(len(signs), 0.5 / len(signs))
    stored, share = set(points.tolist()), rate * weights * signs
    attention, product, ones = np.empty_like(present), np.empty_like(present), np.ones(2 * longest)
    ones_of_rows = np.ones(len(signs))
    for step in range(steps + 1):
        np.exp(scores.T).take(lengths - 1, axis=0, out=attention)
        attention *= present
        attention /= (attention @ ones)[:, None]
        outputs = attention @ linear
        margins = signs * outputs
        if step in stored:
            losses.append(float(np.logaddexp(0, -margins) @ weights) * 2)
            norms.append(float(np.linalg.norm(linear)))
            history.append(scores.copy())
        if step in CHECKPOINTS:
            layers[step] = with_swapped_letters(scores, linear)
        pull = share / (1.0 + np.exp(margins))  # rate times minus the slope of the loss
        np.multiply(attention, pull[:, None], out=attention)
        np.subtract(linear, outputs[:, None], out=product)
        product *= attention
        turn = product.T @ last
        if step < fast_steps:
            turn *= factor
        rise = ones_of_rows @ attention
        linear = linear + rise + rise[swapped]
        scores += turn
    changes = [np.linalg.norm(scores - before) / np.linalg.norm(scores) for before in history]
    return Training(points, np.array(losses), np.array(norms), np.array(changes), layers)


def slope_and_fit(x: Array, y: Array) -> tuple[float, float]:
    """Return the slope of a least-squares line and its R^2."""
    return float(np.polyfit(x, y, 1)[0]), float(np.corrcoef(x, y)[0, 1] ** 2)


def _named(quantity: str, setting: tuple[int, float]) -> str:
    """The name of a quantity; that of the pilot's setting has no condition."""
    return f"{quantity}, pilot" if setting == PILOT else quantity


def _item(setting: tuple[int, float]) -> str:
    return f"L {setting[0]}, lambda {setting[1]:g}"


def _courses() -> Iterator[tuple[tuple[int, float], str, Training]]:
    """All settings, with the item of their rows and the course of training; then the pilot's with a summed loss."""
    for setting in SETTINGS:
        yield setting, _item(setting), train(*setting)
    for rate in (RATE, 10 * RATE):
        item = f"{_item(PILOT)}, loss summed over lengths, rate {rate:g}"
        yield PILOT, item, train(*PILOT, summed=True, rate=rate)


def phase_rows() -> list[Row]:
    """Return the growth of both layers and the fall of the loss over the last decade, for all settings."""
    rows = []
    for setting, item, course in _courses():
        slope, _ = slope_and_fit(np.log(course.steps), np.log(course.losses))
        _, fit = slope_and_fit(np.log(course.steps), course.norms)
        rows.append(Row(_named("slope of log loss on log t", setting), item, slope))
        rows.append(Row(_named("R^2 of the norm on log t", setting), item, fit))
        rows.append(Row(_named("relative change of attention", setting), item, float(course.changes[0])))
    return rows


def largest_margin(points: Array, start: Array) -> tuple[Array, float]:
    """Return the direction ``[code]`` of the hard-margin separator without intercept, and its margin.

    Args:
        points: ``[point, code]`` each times its label, so that the separator has positive products with all.
        start: ``[code]`` any separator, from which the quadratic programme starts.
    """
    solution = minimize(
        lambda normal: 0.5 * normal @ normal,
        start / (points @ start).min(),
        jac=lambda normal: normal,
        constraints=[{"type": "ineq", "fun": lambda normal: points @ normal - 1.0, "jac": lambda _: points}],
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-14},
    ).x
    direction = solution / np.linalg.norm(solution)
    return direction, float((points @ direction).min())


def separation(layer: Layer, longest: int) -> tuple[float, float]:
    """Return the cosine of a linear layer with the separator of the outputs of attention, and its share of the largest
    margin. Both are NaN if the layer does not separate them.
    """
    points = []
    for length in range(1, longest + 1):
        letters = sequences(length)
        signs = np.where(letters[:, 0] == letters[:, -1], 1.0, -1.0)
        points.append(signs[:, None] * layer.attention_output(letters))
    labelled = np.unique(np.concatenate(points), axis=0)
    own = layer.linear / np.linalg.norm(layer.linear)
    own_margin = float((labelled @ own).min())
    if own_margin <= 0:
        return float("nan"), float("nan")
    direction, margin = largest_margin(labelled, own)
    return float(own @ direction), own_margin / margin


def margin_rows() -> list[Row]:
    """Return cosine and margin at the end of training, and their least rise over the last decade, for all settings."""
    rows = []
    for setting, item, course in _courses():
        values = np.array([separation(course.layers[step], setting[0]) for step in CHECKPOINTS])
        rises = np.diff(values, axis=0).min(0)
        for name, value in (
            ("cosine", values[-1, 0]),
            ("margin over the largest margin", values[-1, 1]),
            ("least rise of the cosine", rises[0]),
            ("least rise of the margin", rises[1]),
        ):
            rows.append(Row(_named(name, setting), item, float(value)))
    return rows


def parity_by_steps(layer: Layer, letters: Array) -> Array:
    """Return the parity that truncated chain of thought gives to each sequence of one length.

    Each step appends the answer (1 if the first and the last letter differ) and drops the first letter.
    """
    current = letters
    for _ in range(letters.shape[1] - 1):
        answer = ~layer.answers(current)
        current = np.column_stack([current[:, 1:], answer])
    parity: Array = current[:, -1]
    return parity


def parity_rows() -> list[Row]:
    """Return the accuracy of parity by chain of thought and read directly, at each length and for all settings."""
    rows = []
    for setting in SETTINGS:
        layer = train(*setting).layers[STEPS]
        for length in range(2, setting[0] + 1):
            letters = sequences(length)
            right = letters.sum(1) % 2
            item, count = f"{_item(setting)}, length {length}", len(letters)
            by_steps = float((parity_by_steps(layer, letters) == right).mean())
            rows.append(Row("parity by chain of thought", item, by_steps, n=count))
            if length > 2:
                direct = float((~layer.answers(letters) == right).mean())
                rows.append(Row("parity read directly", item, direct, expected=0.5, n=count))
    return rows
