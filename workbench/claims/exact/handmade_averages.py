"""Handmade models of the average tasks: their errors up to 10,000 tokens, and the growth of their norms.

Models and answers are in float64. The answers are counted here, independently of the tasks.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from workbench.claims.claim import Row
from workbench.models.handmade.averages import kgram_average
from workbench.models.transformer.model import HookedTransformer
from workbench.tasks.registry import make_task
from workbench.theory.limit_transformers.checkpoint_bounds import log10_complexity, norms
from workbench.theory.limit_transformers.precision import position_margin

LENGTHS = (10, 100, 1_000, 10_000)
STRINGS = 2
EPSILONS = (0.2, 0.1, 0.05, 0.025)
SYMBOLS, LONGEST, CHAINS = 3, 4_096, 4
SCORES = ("second layer's scores", "first layer's scores")
"""What stands in the exponent of C(f): the paper has the first layer's weights there, among them what it writes for
the second to match; :func:`checkpoint_bounds.log10_complexity` has its scores."""

Answers = Callable[[Tensor], Tensor]
"""Right answers ``[batch, pos]`` to tokens ``[batch, pos]`` without BOS; NaN at positions without an answer."""


def kgram_rows(score: Callable[[int, float], float], on_average: bool) -> list[Row]:
    """Return errors of the handmade k-gram models divided by epsilon, their position margins, and the exponents of
    C(f).

    Args:
        score: from k and epsilon, the score by which the second layer matches keys.
        on_average: if true, errors are means by bands of lengths over all keys that occurred before. If false, they are
            the largest error at keys that make up at least epsilon^k of the prefix.
    """
    rows: list[Row] = []
    exponents: dict[str, list[float]] = {name: [] for name in SCORES}
    for k in (1, 2):
        task = make_task("in_context_kgram", k=k, symbols=SYMBOLS)
        strings = task.sample(CHAINS, LONGEST, torch.Generator().manual_seed(k), "matched").tokens[:, 1:]
        followers = _followers(strings, k)
        times = followers.sum(2)
        right = followers / times.clamp(min=1)[..., None]
        share = times / (torch.arange(1, LONGEST + 1) - k).clamp(min=1)
        logs: dict[str, list[float]] = {name: [] for name in SCORES}
        for epsilon in EPSILONS:
            model = kgram_average(SYMBOLS, k, score(k, epsilon))
            wrong = (outputs_at(model, strings) - right).abs().amax(2)
            counted = share > 0 if on_average else share >= epsilon**k
            worst = max(_band_means(wrong, counted)) if on_average else float((wrong * counted).max())
            rows.append(Row("error over epsilon", f"k {k}, epsilon {epsilon:g}", worst / epsilon))
            parts = norms(model)
            # r^2 of a second-layer input: the token itself and the k that the first layer copies.
            logs[SCORES[0]].append(2 * parts["scores_2"] * (1 + k))
            logs[SCORES[1]].append(log10_complexity(parts) * math.log(10))
        phi = model.blocks[0].attn.phi.detach().double().numpy()  # type: ignore[union-attr,operator]
        rows.append(Row("position margin", f"k {k}", position_margin(phi)))
        for name in SCORES:
            exponents[name].append(float(np.polyfit(np.log(1 / np.array(EPSILONS)), logs[name], 1)[0]))
            rows.append(Row(f"exponent, {name}", f"k {k}", exponents[name][-1]))
    of_unigrams, of_bigrams = exponents[SCORES[0]]
    return [*rows, Row("ratio of exponents", "", of_bigrams / of_unigrams)]


def _band_means(wrong: Tensor, counted: Tensor) -> list[float]:
    """Mean error over strings and prefixes of lengths 8 to 16, 16 to 32 and so on."""
    bands = [slice(8 * 2**i, 16 * 2**i) for i in range(int(math.log2(LONGEST // 8)))]
    return [float((wrong * counted)[:, band].sum() / counted[:, band].sum()) for band in bands]


def _followers(strings: Tensor, k: int) -> Tensor:
    """How often each symbol followed the last k tokens of each prefix ``[batch, pos, symbol]``, in float64."""
    counts = np.zeros((*strings.shape, SYMBOLS))
    for row, tokens in enumerate(strings.tolist()):
        by_context: dict[tuple[int, ...], NDArray[np.float64]] = {}
        for at in range(k - 1, len(tokens)):
            if at >= k:
                by_context.setdefault(tuple(tokens[at - k : at]), np.zeros(SYMBOLS))[tokens[at] - 1] += 1
            counts[row, at] = by_context.get(tuple(tokens[at - k + 1 : at + 1]), 0.0)
    return torch.as_tensor(counts)


def sine_answers(omega: float) -> Answers:
    """Return the sine of omega times the running average."""
    return lambda x: (omega * (3 - 2 * x).double().cumsum(1) / torch.arange(1, x.shape[1] + 1)).sin()


def class_mean_answers(p: int) -> Answers:
    """Return the running average over positions of class 1 modulo p."""

    def answers(x: Tensor) -> Tensor:
        counted = torch.arange(1, x.shape[1] + 1) % p == 1
        return ((x == 2) & counted).double().cumsum(1) / counted.cumsum(0)

    return answers


def largest_error(model: HookedTransformer, name: str, answers: Answers, **parameters: float) -> float:
    """Return the largest error over every prefix of sequences of both test sets."""
    task = make_task(name, **parameters)
    worst = 0.0
    for law in ("matched", "challenge"):
        for length in LENGTHS:
            strings = task.sample(STRINGS, length, torch.Generator().manual_seed(length), law).tokens[:, 1:]
            wrong = (outputs_at(model, strings)[..., 0] - answers(strings)).abs()
            worst = max(worst, float(wrong.nan_to_num(0.0).max()))
    return worst


def outputs_at(model: HookedTransformer, strings: Tensor) -> Tensor:
    """Return outputs in float64 at every token of strings without BOS."""
    with torch.no_grad():
        outputs: Tensor = model.double()(torch.cat([torch.zeros_like(strings[:, :1]), strings], 1))[:, 1:]
    return outputs


def log_slope(x: ArrayLike, y: ArrayLike) -> float:
    """Return the least-squares slope of log y on log x."""
    return float(np.polyfit(np.log(x), np.log(y), 1)[0])
