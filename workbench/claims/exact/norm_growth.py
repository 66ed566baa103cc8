"""Norms of small transformers in training, and how near they are to their saturated networks.

All runs of a call are trained side by side: each tensor has the run as its first dimension. The network of the scaled
weights ``c theta`` approaches the saturated network of ``theta`` as c grows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch
from scipy.stats import spearmanr

from workbench.claims.claim import Row
from workbench.claims.exact.side_by_side import one_thread, round_to_digits

LETTERS, POSITIONS, WIDTH, HEADS, LAYERS = 8, 16, 16, 2, 2
BATCH, STEPS, SEEDS, CHECKPOINTS = 8, 1_000, 6, 20
SATURATION = 1_000.0
"""The factor of all weights with which a network stands for its saturated network."""
SHAPES = (
    ("letters", (LETTERS, WIDTH)),
    ("positions", (POSITIONS, WIDTH)),
    *(
        (f"{name} {layer}", shape)
        for layer in range(LAYERS)
        for name, shape in (
            ("query", (WIDTH, WIDTH)),
            ("key", (WIDTH, WIDTH)),
            ("value", (WIDTH, WIDTH)),
            ("output", (WIDTH, WIDTH)),
            ("inner", (WIDTH, 4 * WIDTH)),
            ("outer", (4 * WIDTH, WIDTH)),
        )
    ),
    ("readout", (WIDTH, LETTERS)),
)
SIZE = sum(rows * columns for _, (rows, columns) in SHAPES)


@dataclass(frozen=True)
class Schedule:
    """The rate of training.

    Attributes:
        name: in words.
        rate: at the first step.
        power: of the step by which the rate is divided.
        decay: of weights, times the rate, at each step.
    """

    name: str
    rate: float
    power: float = 0.0
    decay: float = 0.0


CONSTANT = Schedule("constant rate", 3e-3)
FALLING = Schedule("falling rate", 3e-2, power=0.5)
DECAYED = Schedule("constant rate, decay 1", 3e-3, decay=1.0)
SCHEDULES = (CONSTANT, FALLING, DECAYED)


@dataclass
class Course:
    """What was measured in training, for each run.

    Attributes:
        norms: ``[step, run]`` norm of all weights, before each step and at the end.
        squares: ``[step, run]`` sum of the squared norms of the steps so far.
        cosines: ``[checkpoint, run]`` mean cosine of the last states with those of the saturated network.
        checkpoints: the steps of the cosines.
        losses: ``[run]`` mean over the last 100 steps.
    """

    norms: np.ndarray
    squares: np.ndarray
    cosines: np.ndarray
    checkpoints: np.ndarray
    losses: np.ndarray


def _standardized(hidden: torch.Tensor) -> torch.Tensor:
    centred = hidden - hidden.mean(-1, keepdim=True)
    return centred / (centred.square().mean(-1, keepdim=True) + 1e-6).sqrt()


def states(weights: torch.Tensor, letters: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the last states ``[run, sequence, position, width]``, and the logits of the next letter.

    Args:
        weights: ``[run, weight]``.
        letters: ``[run, sequence, position]``.
    """
    parts, at = {}, 0
    for name, shape in SHAPES:
        size = shape[0] * shape[1]
        parts[name] = weights[:, at : at + size].view(-1, 1, *shape)
        at += size
    runs, sequences, length = letters.shape
    codes = torch.nn.functional.one_hot(letters, LETTERS).to(weights.dtype)
    hidden = codes @ parts["letters"] + parts["positions"][:, :, :length]
    hides = torch.full((length, length), -torch.inf, dtype=weights.dtype).triu(1)
    for layer in range(LAYERS):
        normal = _standardized(hidden)
        query, key, value = (
            (normal @ parts[f"{name} {layer}"]).view(runs, sequences, length, HEADS, -1).transpose(2, 3)
            for name in ("query", "key", "value")
        )
        scores = query @ key.transpose(-1, -2) / (WIDTH / HEADS) ** 0.5 + hides
        mixed = (scores.softmax(-1) @ value).transpose(2, 3).reshape(runs, sequences, length, WIDTH)
        hidden = hidden + mixed @ parts[f"output {layer}"]
        hidden = hidden + (_standardized(hidden) @ parts[f"inner {layer}"]).relu() @ parts[f"outer {layer}"]
    last = _standardized(hidden)
    return last, last @ parts["readout"]


def sequences_of_source(count: int, length: int, rng: np.random.Generator) -> np.ndarray:
    """Return sequences ``[sequence, position]`` of a fixed random source in which two letters decide about the next."""
    table = np.random.default_rng(0).dirichlet(np.full(LETTERS, 0.3), (LETTERS, LETTERS)).cumsum(-1)
    letters = rng.integers(0, LETTERS, (count, length))
    for place in range(2, length):
        limits = table[letters[:, place - 2], letters[:, place - 1]]
        letters[:, place] = np.minimum((rng.random((count, 1)) > limits).sum(1), LETTERS - 1)
    return letters


def start(seeds: int) -> np.ndarray:
    """Return the initial weights ``[seed, weight]``, normal with a variance of 1 over the number of inputs."""
    rows = []
    for seed in range(seeds):
        rng = np.random.default_rng([18, seed])
        rows.append(np.concatenate([rng.standard_normal(a * b) / a**0.5 for _, (a, b) in SHAPES]))
    return np.stack(rows)


@one_thread
def train(schedules: Sequence[Schedule], seeds: int, steps: int, measure: bool = True) -> Course:
    """Return the course of training for each schedule and seed, seeds running fastest.

    Args:
        schedules: of the rate.
        seeds: number of seeds of each.
        steps: of training.
        measure: whether cosines are measured.
    """
    weights = torch.from_numpy(np.tile(start(seeds), (len(schedules), 1)))
    draws = np.stack(
        [sequences_of_source(steps * BATCH, POSITIONS + 1, np.random.default_rng([seed])) for seed in range(seeds)]
    )
    data = torch.from_numpy(np.tile(draws.reshape(seeds, steps, BATCH, -1), (len(schedules), 1, 1, 1)))
    fixed = torch.from_numpy(sequences_of_source(16, POSITIONS, np.random.default_rng(99)))
    fixed = fixed.expand(len(weights), -1, -1)
    column = {
        name: torch.tensor([getattr(each, name) for each in schedules]).repeat_interleave(seeds)[:, None].double()
        for name in ("rate", "power", "decay")
    }
    checkpoints = np.unique(np.geomspace(min(20, steps), steps, CHECKPOINTS).round().astype(int))
    first, second = torch.zeros_like(weights), torch.zeros_like(weights)
    norms, squares, cosines, losses = [weights.norm(dim=1)], [torch.zeros(len(weights)).double()], [], []
    for step in range(1, steps + 1):
        batch = data[:, step - 1]
        weights.requires_grad_()
        _, logits = states(weights, batch[..., :-1])
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 2), batch[..., 1:].flatten(), reduction="none").view(
            len(weights), -1
        )
        (slope,) = torch.autograd.grad(loss.mean(1).sum(), [weights])
        weights = weights.detach()
        losses.append(loss.detach().mean(1))
        first, second = 0.9 * first + 0.1 * slope, 0.999 * second + 0.001 * slope.square()
        rate = column["rate"] / step ** column["power"]
        move = first / (1 - 0.9**step) / ((second / (1 - 0.999**step)).sqrt() + 1e-8) + column["decay"] * weights
        weights = weights - rate * move
        norms.append(weights.norm(dim=1))
        squares.append(squares[-1] + (rate * move).square().sum(1))
        if measure and step in checkpoints:
            with torch.no_grad():
                near, far = states(weights, fixed)[0], states(SATURATION * weights, fixed)[0]
            cosines.append(torch.cosine_similarity(near, far, dim=-1).mean((1, 2)))
    return Course(
        torch.stack(norms).numpy(),
        torch.stack(squares).numpy(),
        torch.stack(cosines).numpy() if cosines else np.empty((0, len(weights))),
        checkpoints,
        torch.stack(losses[-100:]).mean(0).numpy(),
    )


@cache
def _course() -> Course:
    return train(SCHEDULES, SEEDS, STEPS)


def share_explained(values: np.ndarray, by: np.ndarray) -> float:
    """Return R^2 of a linear regression."""
    return float(np.corrcoef(values, by)[0, 1] ** 2)


def norm_rows(course: Course | None = None, seeds: int = SEEDS) -> list[Row]:
    """Return, for each run, R^2 of the squared norm on the sum of squared steps, and how far the norm grew.

    Args:
        course: of training with :data:`SCHEDULES`; None = train.
        seeds: of each schedule.
    """
    course = course or _course()
    rows = []
    for run in range(course.norms.shape[1]):
        schedule, seed = SCHEDULES[run // seeds], run % seeds
        of = "" if schedule is CONSTANT else f", {schedule.name}"
        norms = course.norms[:, run]
        values = {
            "R^2 of the squared norm on the sum of squared steps": share_explained(norms**2, course.squares[:, run]),
            "norm at the end over that at the start": norms[-1] / norms[0],
            "loss at the end": course.losses[run],
        }
        rows += [Row(name + of, f"seed {seed}", round_to_digits(value), seed=seed) for name, value in values.items()]
    return rows


def saturation_rows(course: Course | None = None, seeds: int = SEEDS) -> list[Row]:
    """Return, for each run, the rank correlation of its norm with its nearness to the saturated network.

    Args:
        course: of training with :data:`SCHEDULES`; None = train.
        seeds: of each schedule.
    """
    course = course or _course()
    rows = []
    for run in range(course.norms.shape[1]):
        schedule, seed = SCHEDULES[run // seeds], run % seeds
        of = "" if schedule is CONSTANT else f", {schedule.name}"
        cosines = course.cosines[:, run]
        values = {
            "rank correlation of norm and cosine": spearmanr(course.norms[course.checkpoints, run], cosines).statistic,
            "cosine at the first checkpoint": cosines[0],
            "cosine at the end": cosines[-1],
        }
        rows += [Row(name + of, f"seed {seed}", round_to_digits(value), seed=seed) for name, value in values.items()]
    return rows


def slope_rows(course: Course | None = None, seeds: int = SEEDS) -> list[Row]:
    """Return, for each run, the slope of the log of the norm on the log of the step over the last decade.

    Args:
        course: of training with :data:`SCHEDULES`; None = train.
        seeds: of each schedule.
    """
    course = course or _course()
    steps = np.arange(len(course.norms))
    late = steps >= steps[-1] / 10
    rows = []
    for run in range(course.norms.shape[1]):
        schedule, seed = SCHEDULES[run // seeds], run % seeds
        slope = float(np.polyfit(np.log(steps[late]), np.log(course.norms[late, run]), 1)[0])
        rows.append(
            Row(f"slope of log norm on log t, {schedule.name}", f"seed {seed}", round_to_digits(slope), seed=seed)
        )
        if schedule is CONSTANT:
            distance = abs(slope - 0.5)
            rows.append(
                Row(
                    "distance from 0.5 of the slope, constant rate",
                    f"seed {seed}",
                    round_to_digits(distance),
                    seed=seed,
                )
            )
    return rows
