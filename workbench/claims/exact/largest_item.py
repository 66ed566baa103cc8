"""Models with one head that find the largest item of a set: dispersion, adaptive temperature, norm after attention.

An item has a value from 0 to 1 and a class. The answer is the class of the item with the largest value. Runs are
trained side by side.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import numpy as np
import torch

from workbench.claims.claim import Row
from workbench.claims.exact.side_by_side import adam, lower_end_of_mean, one_thread, round_to_digits
from workbench.measure.edits.interventions.sharpening import adaptive_factor

CLASSES, WIDTH = 10, 32
SMALLEST, LARGEST = 5, 16
"""Sizes of the trained sets; the largest is N."""
BATCH, STEPS, RATE, SEEDS = 64, 1_500, 3e-3, 6
SIZES = (16, 64, 256, 1_024, 4_096)
SETS, TESTED = 64, 2_048
"""Sets on which weights and on which accuracy are measured."""
SHAPES = (
    ("features", (CLASSES + 1, WIDTH)),
    ("features bias", (1, WIDTH)),
    ("items", (WIDTH, WIDTH)),
    ("items bias", (1, WIDTH)),
    ("query", (WIDTH, 1)),
    ("value", (WIDTH, WIDTH)),
    ("inner", (WIDTH, WIDTH)),
    ("inner bias", (1, WIDTH)),
    ("outer", (WIDTH, CLASSES)),
    ("outer bias", (1, CLASSES)),
)
LETTERS, HEAD_WIDTH, SEQUENCES = 32, 16, 2_048
LENGTHS = (16, 32, 64, 128, 256, 512, 1_024)


def sets(count: int, size: int, rng: np.random.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the features ``[set, item, feature]`` of random sets, and their answers."""
    values = rng.random((count, size))
    classes = rng.integers(0, CLASSES, (count, size))
    features = np.concatenate([values[..., None], np.eye(CLASSES)[classes]], 2)
    return torch.from_numpy(features), torch.from_numpy(classes[np.arange(count), values.argmax(1)])


def start(seeds: Sequence[int]) -> torch.Tensor:
    """Return the initial weights ``[run, weight]``: normal with a variance of 2 over the inputs, and biases of 0."""
    rows = []
    for seed in seeds:
        rng = np.random.default_rng([9, seed])
        rows.append(
            np.concatenate(
                [
                    np.zeros(a * b) if "bias" in name else (2 / a) ** 0.5 * rng.standard_normal(a * b)
                    for name, (a, b) in SHAPES
                ]
            )
        )
    return torch.from_numpy(np.stack(rows))


def _parts(weights: torch.Tensor) -> dict[str, torch.Tensor]:
    sizes = [a * b for _, (a, b) in SHAPES]
    return {
        name: flat.view(-1, 1, *shape) for (name, shape), flat in zip(SHAPES, weights.split(sizes, dim=1), strict=True)
    }


def logits_of(weights: torch.Tensor, features: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the attention logits ``[run, set, item]``, and the items ``[run, set, item, width]``.

    Args:
        weights: ``[run, weight]``.
        features: ``[set, item, feature]``.
    """
    parts = _parts(weights)
    hidden = (features @ parts["features"] + parts["features bias"]).relu()
    items = (hidden @ parts["items"] + parts["items bias"]).relu()
    return (items @ parts["query"])[..., 0] / WIDTH**0.5, items


def answers(
    weights: torch.Tensor, features: torch.Tensor, normed: torch.Tensor, adaptive: bool = False
) -> torch.Tensor:
    """Return the scores of the classes ``[run, set, class]``.

    Args:
        weights: ``[run, weight]``.
        features: ``[set, item, feature]``.
        normed: ``[run]`` whether the run has a norm after attention.
        adaptive: whether the temperature is adaptive.
    """
    parts = _parts(weights)
    logits, items = logits_of(weights, features)
    shares = (logits * adaptive_factor(logits)[..., None] if adaptive else logits).softmax(-1)
    mixed = (shares[..., None, :] @ items)[..., 0, :] @ parts["value"][:, 0]
    centred = mixed - mixed.mean(-1, keepdim=True)
    standardized = centred / (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    mixed = torch.where(normed[:, None, None], standardized, mixed)
    inner = (mixed @ parts["inner"][:, 0] + parts["inner bias"][:, 0]).relu()
    return inner @ parts["outer"][:, 0] + parts["outer bias"][:, 0]


@one_thread
@torch.enable_grad()
def train(seeds: Sequence[int], normed: Sequence[bool], steps: int = STEPS) -> torch.Tensor:
    """Return the trained weights ``[run, weight]``.

    Args:
        seeds: of the starts; all runs see the same sets.
        normed: which runs have a norm after attention.
        steps: of Adam.
    """
    weights, flags = start(seeds), torch.tensor(normed)
    moments = (torch.zeros_like(weights), torch.zeros_like(weights))
    rng = np.random.default_rng(90)
    for step in range(1, steps + 1):
        features, target = sets(BATCH, int(rng.integers(SMALLEST, LARGEST + 1)), rng)
        weights.requires_grad_()
        scores = answers(weights, features, flags)
        loss = torch.nn.functional.cross_entropy(scores.flatten(0, 1), target.repeat(len(weights)), reduction="sum")
        (slope,) = torch.autograd.grad(loss / BATCH, [weights])
        weights, moments = adam(weights.detach(), slope, moments, step, RATE)
    return weights


@one_thread
@torch.no_grad()
def accuracies(weights: torch.Tensor, normed: Sequence[bool], size: int, adaptive: bool = False) -> np.ndarray:
    """Return the accuracy ``[run]`` on sets of one size, the same for every run."""
    rng = np.random.default_rng([91, size])
    right = torch.zeros(len(weights))
    for _ in range(TESTED // SETS):
        features, target = sets(SETS, size, rng)
        right += (answers(weights, features, torch.tensor(normed), adaptive).argmax(2) == target).double().sum(1)
    return (right / (TESTED // SETS * SETS)).numpy()


@cache
def _trained() -> torch.Tensor:
    """Six runs without a norm after attention, and six with one."""
    return train([*range(SEEDS), *range(SEEDS)], [False] * SEEDS + [True] * SEEDS)


@one_thread
@torch.no_grad()
def dispersion_rows(weights: torch.Tensor | None = None, sizes: tuple[int, ...] = SIZES) -> list[Row]:
    """Return, for each run, the largest excess of a weight over its bounds, and how spread and largest weight grow.

    Args:
        weights: ``[run, weight]``; None = train six runs.
        sizes: of the sets, N first.
    """
    weights = _trained()[:SEEDS] if weights is None else weights
    rows, spreads, largest = [], [], []
    excess = torch.zeros(len(weights)).double()
    for size in sizes:
        logits, _ = logits_of(weights, sets(SETS, size, np.random.default_rng([92, size]))[0])
        shares, spread = logits.softmax(-1), logits.amax(-1) - logits.amin(-1)
        over = torch.maximum(shares.amax(-1) - spread.exp() / size, (-spread).exp() / size - shares.amin(-1))
        excess = torch.maximum(excess, over.amax(1))
        spreads.append(spread.mean(1).numpy())
        largest.append(shares.amax(-1).mean(1).numpy())
    late = slice(1, None)
    for run in range(len(weights)):
        slope = np.polyfit(np.log(sizes[late]), [each[run] for each in spreads[late]], 1)[0]
        values = {
            "largest excess over the bounds": float(excess[run]),
            "slope of the spread on log n": round_to_digits(slope),
            "largest weight at 256N over that at N": round_to_digits(largest[-1][run] / largest[0][run]),
        }
        rows += [Row(name, f"seed {run}", value, seed=run) for name, value in values.items()]
        for size, mean, top in zip(sizes, spreads, largest, strict=True):
            rows.append(Row("spread", f"seed {run}, n {size}", round_to_digits(mean[run]), n=SETS, seed=run))
            rows.append(Row("largest weight", f"seed {run}, n {size}", round_to_digits(top[run]), n=SETS, seed=run))
    return rows


def _gains(name: str, size: int, before: np.ndarray, after: np.ndarray) -> list[Row]:
    """Return rows of two accuracies for each seed, of their difference, and of the lower end of its mean."""
    rows = []
    for run, (old, new) in enumerate(zip(before, after, strict=True)):
        item = f"n {size}, seed {run}"
        rows.append(Row("accuracy", item, round_to_digits(old), n=TESTED, seed=run))
        rows.append(Row(f"accuracy, {name}", item, round_to_digits(new), n=TESTED, seed=run))
    gains = after - before
    rows.append(Row("mean gain", f"n {size}", round_to_digits(float(gains.mean())), n=len(gains)))
    rows.append(Row("lower end of the mean gain", f"n {size}", round_to_digits(lower_end_of_mean(gains)), n=len(gains)))
    return rows


def temperature_rows(weights: torch.Tensor | None = None, times: tuple[int, ...] = (1, 4, 16)) -> list[Row]:
    """Return accuracies without and with adaptive temperature, at multiples of N.

    Args:
        weights: ``[run, weight]``; None = train six runs.
        times: the multiples; the first has no condition.
    """
    weights = _trained()[:SEEDS] if weights is None else weights
    plain = [False] * len(weights)
    rows = []
    for multiple in times:
        size = multiple * LARGEST
        both = [accuracies(weights, plain, size, adaptive) for adaptive in (False, True)]
        new = _gains("adaptive temperature", size, *both)
        rows += new if multiple > 1 else [row for row in new if row.quantity.startswith("accuracy")]
    return rows


def norm_rows(weights: torch.Tensor | None = None, times: tuple[int, ...] = (1, 8)) -> list[Row]:
    """Return accuracies without and with a norm after attention, at multiples of N.

    Args:
        weights: ``[run, weight]``, first the runs without a norm; None = train twelve runs.
        times: the multiples; the first has no condition.
    """
    weights = _trained() if weights is None else weights
    half = len(weights) // 2
    rows = []
    for multiple in times:
        size = multiple * LARGEST
        both = (
            accuracies(weights[:half], [False] * half, size),
            accuracies(weights[half:], [True] * half, size),
        )
        new = _gains("norm after attention", size, *both)
        rows += new if multiple > 1 else [row for row in new if row.quantity.startswith("accuracy")]
    return rows


def variance_rows(
    seeds: int = SEEDS, lengths: tuple[int, ...] = LENGTHS, sequences: int = SEQUENCES, independent: bool = True
) -> list[Row]:
    """Return how the variance of the output of random heads falls with the length of random sequences.

    Args:
        seeds: number of heads.
        lengths: of the sequences.
        sequences: of each length.
        independent: whether letters are drawn one by one; otherwise each sequence repeats a single letter.
    """
    rows = []
    for seed in range(seeds):
        rng = np.random.default_rng([16, seed])
        codes = rng.standard_normal((LETTERS, HEAD_WIDTH))
        logits = codes @ rng.standard_normal(HEAD_WIDTH)
        factors = np.exp((logits - logits.mean()) / logits.std())
        values = codes @ rng.standard_normal((HEAD_WIDTH, HEAD_WIDTH)) / HEAD_WIDTH**0.5
        values = values - factors @ values / factors.sum()
        variances = []
        for length in lengths:
            draws = length if independent else 1
            weights = rng.multinomial(draws, np.full(LETTERS, 1 / LETTERS), sequences) * factors
            outputs = weights @ values / weights.sum(1, keepdims=True)
            variances.append(float(outputs.var(0).mean()))
            rows.append(
                Row("variance", f"n {length}, seed {seed}", round_to_digits(variances[-1]), n=sequences, seed=seed)
            )
        slope = np.polyfit(np.log(lengths), np.log(variances), 1)[0]
        rows.append(Row("slope of log variance on log n", f"seed {seed}", round_to_digits(slope), seed=seed))
    return rows
