"""The average tasks by models made by hand: how wrong they are to 10,000 tokens, and how their norms grow.

Models and answers are in float64, the answers counted here once more.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from workbench.claims.claim import Row
from workbench.models.handmade.averages import class_average, kgram_average, sine_of_average
from workbench.models.transformer.model import HookedTransformer
from workbench.tasks.registry import make_task
from workbench.theory.limit_transformers.checkpoint_bounds import composite, log10_complexity, norms
from workbench.theory.limit_transformers.precision import position_margin

OMEGAS = (1.0, 2.0, 4.0, 8.0)
PERIODS = (2, 3, 5, 8)
LENGTHS = (10, 100, 1_000, 10_000)
STRINGS = 2
EPSILONS = (0.2, 0.1, 0.05, 0.025)
SYMBOLS, LONGEST, CHAINS = 3, 4_096, 4
NEARBY = 1_000
"""Tokens of the strings between whose averages slopes are taken."""
SCORES = ("second layer's scores", "first layer's scores")
"""What stands in the exponent of C(f): the paper has the first layer's weights there, among them what it writes for
the second to match; :func:`checkpoint_bounds.log10_complexity` has its scores."""

Answers = Callable[[Tensor], Tensor]
"""Right answers ``[batch, pos]`` to tokens ``[batch, pos]`` without BOS; NaN where nothing is asked."""


def sine_errors() -> list[Row]:
    """Errors of the hand-made sines at every prefix to 10,000, and the slope of their composite norm in omega."""
    rows, found = [], []
    for omega in OMEGAS:
        model = sine_of_average(omega)
        rows.append(Row("error", f"omega {omega:g}", _largest_error(model, "simple", _sines(omega), omega=omega)))
        found.append(composite(norms(model)))
        rows.append(Row("composite norm", f"omega {omega:g}", found[-1]))
    return [*rows, Row("slope of log norm on log omega", "", _slope(np.log(OMEGAS), np.log(found)))]


def sine_slopes() -> list[Row]:
    """The steepest place of each hand-made sine between strings of 1,000 tokens that differ in one; its slope in
    omega."""
    ones = torch.arange(NEARBY + 1)
    strings = 1 + (torch.arange(1, NEARBY + 1) <= ones[:, None]).long()
    rows, found = [], []
    for omega in OMEGAS:
        model = sine_of_average(omega)
        said = torch.cat([_said(model, part)[:, -1, 0] for part in strings.split(100)])
        found.append(float(said.diff().abs().max()) / (2 / NEARBY))
        rows.append(Row("Lipschitz constant", f"omega {omega:g}", found[-1]))
    return [*rows, Row("slope of log constant on log omega", "", _slope(np.log(OMEGAS), np.log(found)))]


def class_errors() -> list[Row]:
    """Errors of the hand-made class averages at every prefix to 10,000, and how much their composite norm varies."""
    rows, found = [], []
    for p in PERIODS:
        model = class_average(p, 1)
        rows.append(Row("error", f"p {p}", _largest_error(model, "mod_p_mean", _class_means(p), p=p, k=1)))
        found.append(composite(norms(model)))
        rows.append(Row("composite norm", f"p {p}", found[-1]))
    return [*rows, Row("spread of the norm", "", max(found) / min(found) - 1)]


def kgrams_of_frequent_keys() -> list[Row]:
    """Error over epsilon at every prefix whose last k tokens make up at least epsilon^k of what came before them."""
    return _kgrams(lambda k, epsilon: (k + 1) * math.log(1 / epsilon), on_average=False)


def kgrams_on_average() -> list[Row]:
    """Mean error over epsilon by bands of lengths, all keys that have occurred, for a score that suffices for that."""
    return _kgrams(lambda k, epsilon: math.log(2 * SYMBOLS**k / epsilon), on_average=True)


def _kgrams(score: Callable[[int, float], float], on_average: bool) -> list[Row]:
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
            wrong = (_said(model, strings) - right).abs().amax(2)
            asked = share > 0 if on_average else share >= epsilon**k
            worst = max(_band_means(wrong, asked)) if on_average else float((wrong * asked).max())
            rows.append(Row("error over epsilon", f"k {k}, epsilon {epsilon:g}", worst / epsilon))
            parts = norms(model)
            # r^2 of a second-layer input: the token itself and the k that the first layer copies.
            logs[SCORES[0]].append(2 * parts["scores_2"] * (1 + k))
            logs[SCORES[1]].append(log10_complexity(parts) * math.log(10))
        phi = model.blocks[0].attn.phi.detach().double().numpy()  # type: ignore[union-attr,operator]
        rows.append(Row("position margin", f"k {k}", position_margin(phi)))
        for name in SCORES:
            exponents[name].append(_slope(np.log(1 / np.array(EPSILONS)), logs[name]))
            rows.append(Row(f"exponent, {name}", f"k {k}", exponents[name][-1]))
    one, two = exponents[SCORES[0]]
    return [*rows, Row("ratio of exponents", "", two / one)]


def _band_means(wrong: Tensor, asked: Tensor) -> list[float]:
    """Mean error over strings and prefixes of lengths 8 to 16, 16 to 32 and so on."""
    bands = [slice(8 * 2**i, 16 * 2**i) for i in range(int(math.log2(LONGEST // 8)))]
    return [float((wrong * asked)[:, band].sum() / asked[:, band].sum()) for band in bands]


def _followers(strings: Tensor, k: int) -> Tensor:
    """How often each symbol followed the last k tokens of each prefix ``[batch, pos, symbol]``, in float64."""
    counts = np.zeros((*strings.shape, SYMBOLS))
    for row, tokens in enumerate(strings.tolist()):
        seen: dict[tuple[int, ...], NDArray[np.float64]] = {}
        for at in range(k - 1, len(tokens)):
            if at >= k:
                seen.setdefault(tuple(tokens[at - k : at]), np.zeros(SYMBOLS))[tokens[at] - 1] += 1
            counts[row, at] = seen.get(tuple(tokens[at - k + 1 : at + 1]), 0.0)
    return torch.as_tensor(counts)


def _sines(omega: float) -> Answers:
    return lambda x: (omega * (3 - 2 * x).double().cumsum(1) / torch.arange(1, x.shape[1] + 1)).sin()


def _class_means(p: int) -> Answers:
    """Class 1 of p."""

    def answers(x: Tensor) -> Tensor:
        counted = torch.arange(1, x.shape[1] + 1) % p == 1
        return ((x == 2) & counted).double().cumsum(1) / counted.cumsum(0)

    return answers


def _largest_error(model: HookedTransformer, name: str, answers: Answers, **parameters: float) -> float:
    """Of every prefix of strings of both laws."""
    task = make_task(name, **parameters)
    worst = 0.0
    for law in ("matched", "challenge"):
        for length in LENGTHS:
            strings = task.sample(STRINGS, length, torch.Generator().manual_seed(length), law).tokens[:, 1:]
            wrong = (_said(model, strings)[..., 0] - answers(strings)).abs()
            worst = max(worst, float(wrong.nan_to_num(0.0).max()))
    return worst


def _said(model: HookedTransformer, strings: Tensor) -> Tensor:
    """Outputs in float64 at every token of strings without BOS."""
    with torch.no_grad():
        found: Tensor = model.double()(torch.cat([torch.zeros_like(strings[:, :1]), strings], 1))[:, 1:]
    return found


def _slope(x: ArrayLike, y: ArrayLike) -> float:
    return float(np.polyfit(np.asarray(x), np.asarray(y), 1)[0])
