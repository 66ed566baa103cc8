"""A layer of attention that names the letters that are absent from a sequence of different letters.

The last position attends to all positions. Its state is its letter's code plus what it attends to, and the logits of
all letters are a linear function of it. The target is the uniform distribution on the absent letters. Runs are trained
side by side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from workbench.claims.claim import Row
from workbench.claims.exact.side_by_side import adam, lower_end_of_mean, one_thread, round_to_digits

LETTERS, WIDTH = 16, 32
BATCH, STEPS, RATE, SEEDS = 64, 2_000, 1e-2, 6
SHORT, USUAL = (1, 2), (1, 2, 3, 4)
"""Trained lengths of both claims."""
TESTED_LENGTHS, TESTED = (1, 2, 4, 8, 12), 256
LONG, MANY = 12, 1_024
AVERAGING = 0.99
"""Share of the former average that a step keeps."""
SHAPES = (
    ("letters", (LETTERS, WIDTH)),
    ("query", (WIDTH, WIDTH)),
    ("key", (WIDTH, WIDTH)),
    ("value", (WIDTH, WIDTH)),
    ("readout", (WIDTH, LETTERS)),
)


@dataclass
class Trained:
    """Weights ``[run, weight]`` after training, and their average over steps.

    Attributes:
        last: after the last step.
        averaged: with exponentially falling shares.
    """

    last: torch.Tensor
    averaged: torch.Tensor


def sequences(count: int, length: int, rng: np.random.Generator) -> np.ndarray:
    """Return sequences ``[sequence, position]`` of different letters."""
    order: np.ndarray = rng.random((count, LETTERS)).argsort(1)
    return order[:, :length]


def targets(letters: np.ndarray) -> np.ndarray:
    """Return the uniform distributions ``[sequence, letter]`` on the absent letters."""
    absent = np.ones((len(letters), LETTERS))
    np.put_along_axis(absent, letters, 0.0, 1)
    shares: np.ndarray = absent / absent.sum(1, keepdims=True)
    return shares


def logits(weights: torch.Tensor, letters: np.ndarray, normed: torch.Tensor) -> torch.Tensor:
    """Return the logits ``[run, sequence, letter]`` at the last position.

    Args:
        weights: ``[run, weight]``.
        letters: ``[sequence, position]``.
        normed: ``[run]`` whether the state of a run is standardized after attention.
    """
    sizes = [a * b for _, (a, b) in SHAPES]
    parts = {
        name: flat.view(-1, *shape) for (name, shape), flat in zip(SHAPES, weights.split(sizes, dim=1), strict=True)
    }
    codes = parts["letters"][:, torch.from_numpy(letters)]  # [run, sequence, position, width]
    query = codes[:, :, -1] @ parts["query"] @ parts["key"].transpose(1, 2)
    shares = ((codes @ query[..., None])[..., 0] / WIDTH**0.5).softmax(-1)
    state = codes[:, :, -1] + (shares[..., None, :] @ codes)[..., 0, :] @ parts["value"]
    centred = state - state.mean(-1, keepdim=True)
    standardized = centred / (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt()
    last: torch.Tensor = torch.where(normed[:, None, None], standardized, state) @ parts["readout"]
    return last


@one_thread
def train(
    seeds: Sequence[int], normed: Sequence[bool], lengths: Sequence[int], steps: int = STEPS, drawn: bool = False
) -> Trained:
    """Return the trained weights of each run.

    Args:
        seeds: of the starts; all runs see the same sequences.
        normed: which runs have a norm after attention.
        lengths: of the sequences, drawn with equal shares.
        steps: of Adam.
        drawn: whether a letter is drawn from the target, in place of the target itself.
    """
    starts = []
    for seed in seeds:
        rng = np.random.default_rng([11, seed])
        starts.append(np.concatenate([rng.standard_normal(a * b) / a**0.5 for _, (a, b) in SHAPES]))
    weights, flags = torch.from_numpy(np.stack(starts)), torch.tensor(normed)
    averaged = weights.clone()
    moments = (torch.zeros_like(weights), torch.zeros_like(weights))
    rng = np.random.default_rng(110)
    for step in range(1, steps + 1):
        letters = sequences(BATCH, int(rng.choice(lengths)), rng)
        goal = targets(letters)
        if drawn:
            chosen = (rng.random((BATCH, 1)) > goal.cumsum(1)).sum(1).clip(max=LETTERS - 1)
            goal = np.eye(LETTERS)[chosen]
        weights.requires_grad_()
        answers = logits(weights, letters, flags).log_softmax(-1)
        loss = -(torch.from_numpy(goal) * answers).sum() / BATCH
        (slope,) = torch.autograd.grad(loss, [weights])
        weights, moments = adam(weights.detach(), slope, moments, step, RATE)
        averaged = AVERAGING * averaged + (1 - AVERAGING) * weights
    return Trained(weights, averaged)


def separation_rows(weights: torch.Tensor | None = None, lengths: Sequence[int] = TESTED_LENGTHS) -> list[Row]:
    """Return how runs that were trained at lengths 1 and 2 separate absent from present letters, by length.

    Args:
        weights: ``[run, weight]``; None = train six runs.
        lengths: tested ones.
    """
    if weights is None:
        weights = train(range(SEEDS), [False] * SEEDS, SHORT).last
    plain = torch.zeros(len(weights), dtype=torch.bool)
    rows, differences = [], []
    for length in lengths:
        letters = sequences(TESTED, length, np.random.default_rng([111, length]))
        present = torch.from_numpy(targets(letters) == 0)
        scores = logits(weights, letters, plain)
        lowest = scores.masked_fill(present, torch.inf).amin(-1)
        right = lowest > scores.masked_fill(~present, -torch.inf).amax(-1)
        means = (scores * ~present).sum(-1) / (~present).sum(-1) - (scores * present).sum(-1) / present.sum(-1)
        differences.append(means.mean(1).numpy())
        for run, (share, gap) in enumerate(zip(right.double().mean(1), differences[-1], strict=True)):
            item = f"length {length}, seed {run}"
            rows.append(
                Row("share of sequences with all letters right", item, round_to_digits(share), n=TESTED, seed=run)
            )
            rows.append(Row("mean difference of logits", item, round_to_digits(gap), n=TESTED, seed=run))
    late = [at for at, length in enumerate(lengths) if length >= SHORT[-1]]
    for run in range(len(weights)):
        gaps = [float(differences[at][run]) for at in late]
        slope = np.polyfit(np.log([lengths[at] for at in late]), np.log(np.maximum(gaps, 1e-9)), 1)[0]
        rows.append(Row("slope of log difference on log length", f"seed {run}", round_to_digits(slope), seed=run))
    return rows


def divergences(weights: torch.Tensor, normed: Sequence[bool], length: int, count: int = MANY) -> np.ndarray:
    """Return the mean KL divergence ``[run]`` of the answers from the target at one length."""
    letters = sequences(count, length, np.random.default_rng([112, length]))
    goal = torch.from_numpy(targets(letters))
    answers = logits(weights, letters, torch.tensor(normed)).log_softmax(-1)
    cross_entropies = np.asarray(-(goal * answers).sum(-1).mean(1).numpy(), dtype=float)
    result: np.ndarray = cross_entropies - math.log(LETTERS - length)
    return result


def gain_rows(steps: int = STEPS, seeds: int = SEEDS) -> list[Row]:
    """Return the fall of the divergence at a long length by a norm after attention, and by averaged weights.

    Args:
        steps: of training.
        seeds: runs without a norm, and as many with one.
    """
    normed = [False] * seeds + [True] * seeds
    trained = train([*range(seeds), *range(seeds)], normed, USUAL, steps, drawn=True)
    rows = []
    for length in (USUAL[-1], LONG):
        last, averaged = divergences(trained.last, normed, length), divergences(trained.averaged, normed, length)
        gains = {"norm after attention": last[:seeds] - last[seeds:], "averaged weights": (last - averaged)[:seeds]}
        for run, (norm, value, mean) in enumerate(zip(normed, last, averaged, strict=True)):
            item = f"length {length}, {'with' if norm else 'without'} a norm, seed {run % seeds}"
            rows.append(Row("divergence", item, round_to_digits(value), n=MANY, seed=run % seeds))
            rows.append(Row("divergence, averaged weights", item, round_to_digits(mean), n=MANY, seed=run % seeds))
        if length == LONG:
            for name, values in gains.items():
                rows.append(Row("mean gain", name, round_to_digits(float(values.mean())), n=seeds))
                rows.append(
                    Row("lower end of the mean gain", name, round_to_digits(lower_end_of_mean(values)), n=seeds)
                )
    return rows
