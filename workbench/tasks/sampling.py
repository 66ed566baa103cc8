"""Vectorised random draws that several tasks share. All randomness comes from ``generator``."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from workbench.tasks.base import TaskError


def coins(shape: tuple[int, ...], probability: float | Tensor, generator: torch.Generator) -> Tensor:
    """Return independent bits that are 1 with the given probability, which may be a tensor."""
    return torch.rand(shape, generator=generator, device=generator.device) < probability


def integers(high: int, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Return independent integers, uniform on ``0..high-1``."""
    return torch.randint(high, shape, generator=generator, device=generator.device)


def uniforms(shape: tuple[int, ...], generator: torch.Generator) -> Float[Tensor, "..."]:
    """Return independent numbers, uniform on [0, 1), in double precision."""
    return torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float64)


def distinct(high: int, batch: int, count: int, generator: torch.Generator) -> Int[Tensor, "batch count"]:
    """Return ``count`` different integers from ``0..high-1`` per row; every ordered choice is equally likely."""
    return torch.rand((batch, high), generator=generator, device=generator.device).topk(count, dim=1).indices


def flat_shares(shape: tuple[int, ...], generator: torch.Generator) -> Float[Tensor, "*batch share"]:
    """Return shares that add up to 1 along the last axis, uniform on the simplex (Dirichlet with all parameters 1)."""
    weights = -(1 - uniforms(shape, generator)).log()
    return weights / weights.sum(-1, keepdim=True)


def biases(shape: tuple[int, ...], prior: float, generator: torch.Generator) -> Float[Tensor, "..."]:
    """Return probabilities of one of two symbols, drawn from a Beta distribution with both parameters ``prior``; with 1
    they are uniform.
    """
    if prior == 1:
        return torch.rand(shape, generator=generator, device=generator.device)
    parameters = torch.full((2, *shape), prior, dtype=torch.float64, device=generator.device)
    first, second = torch._standard_gamma(parameters, generator=generator)
    share: Tensor = first / (first + second)
    return share


def urn_counts(length: int, prior: float) -> Float[Tensor, " count"]:
    """Return the probabilities of 0, 1, .., ``length`` ones among coins that share a random bias (Polya's urn).

    The number of ones has the beta-binomial distribution C(L, j) B(j + a, L - j + a) / B(a, a), with a = ``prior``. For
    a = 1 each number has probability 1 / (L + 1).
    """
    ones = torch.arange(length + 1, dtype=torch.float64)

    def log_beta(x: Tensor, y: Tensor) -> Tensor:
        return x.lgamma() + y.lgamma() - (x + y).lgamma()

    a, rest = torch.tensor(prior, dtype=torch.float64), length - ones
    orders = math.lgamma(length + 1) - (ones + 1).lgamma() - (rest + 1).lgamma()
    return (orders + log_beta(ones + a, rest + a) - log_beta(a, a)).exp()


def urn_bits(batch: int, length: int, generator: torch.Generator, prior: float = 1.0) -> Bool[Tensor, "batch length"]:
    """Return bits whose number of ones is uniform on ``0..length``; given that number, all orders are equally likely.

    The bits are coins that share a bias, which is itself uniform on [0, 1]. That is Polya's urn started with one ball
    of each colour (de Finetti), so the distribution is exactly prefix-closed. With another ``prior`` the bias is that
    of :func:`biases`, and the urn starts with ``prior`` balls of each colour.
    """
    return coins((batch, length), biases((batch, 1), prior, generator), generator)


def sorted_bits(
    batch: int, length: int, generator: torch.Generator, prior: float = 1.0
) -> Bool[Tensor, "batch length"]:
    """Return sorted bits whose number of ones is distributed as in :func:`urn_bits`; a fair coin picks the order."""
    first = coins((batch, 1), 0.5, generator)
    number_of_first = urn_numbers((batch, 1), length, prior, generator)
    position = torch.arange(length, device=generator.device)
    return (position < number_of_first) == first


def urn_numbers(shape: tuple[int, ...], length: int, prior: float, generator: torch.Generator) -> Int[Tensor, "..."]:
    """Return the number of ones among ``length`` coins that share a random bias; it is uniform on ``0..length`` for
    ``prior`` 1.
    """
    if prior == 1:
        return integers(length + 1, shape, generator)
    bias = biases((*shape, 1), prior, generator)
    return coins((*shape, length), bias, generator).sum(-1)


def near_leads(
    span: tuple[int, int], length: int, shape: tuple[int, ...], generator: torch.Generator
) -> Int[Tensor, "..."] | None:
    """Draw leads of one symbol over the other in ``length`` bits: a size uniform over ``span``, with a fair sign.

    Impossible sizes are left out: those larger than the length or of the other parity. The result is None if no size is
    possible.
    """
    sizes = [d for d in range(span[0], span[1] + 1) if d <= length and (length - d) % 2 == 0]
    if not sizes:
        return None
    size = torch.tensor(sizes, device=generator.device)[integers(len(sizes), shape, generator)]
    return size * (1 - 2 * integers(2, shape, generator))


def bits_with(
    lead: Int[Tensor, "*batch 1"], length: int, law: str, generator: torch.Generator
) -> Bool[Tensor, "*batch length"]:
    """Return bits in which ones exceed zeros by ``lead``: shuffled, or under ``challenge`` sorted in a random
    direction.
    """
    ones = (length + lead) // 2
    position = torch.arange(length, device=generator.device).expand(*lead.shape[:-1], length)
    if law == "challenge":
        zeros_first = coins(tuple(lead.shape), 0.5, generator)
        return torch.where(zeros_first, position >= length - ones, position < ones)
    return uniforms(tuple(position.shape), generator).argsort(-1) < ones


def sample_by_rejection(
    batch: int, draw: Callable[[int], Tensor], keep: Callable[[Tensor], Bool[Tensor, " row"]]
) -> Shaped[Tensor, "batch ..."]:
    """Return ``batch`` rows drawn from the distribution of ``draw`` given that ``keep`` holds, by rejection.

    Args:
        batch: number of rows.
        draw: draws this many independent rows.
        keep: returns which rows to keep; it must hold with positive probability.
    """
    batches: list[Tensor] = []
    missing, total, size = batch, 0, 2 * batch  # one draw of more rows is cheaper than a second one
    while missing:
        rows = draw(size)
        batches.append(rows[keep(rows)][:missing])
        missing, total = missing - len(batches[-1]), total + size
        size = min(16 * batch, 2 * missing * total // max(batch - missing, 1) + 1)
    return torch.cat(batches)


def outer_margin(length: int, window: int | None) -> int:
    """Return how many tokens at either end the deciding event of a challenge sequence must avoid.

    The margin is the longest training length N (``window``; None = ``length // 8``), so that neither the first N nor
    the last N tokens contain the event. It is at most 3/8 of the length, which leaves a quarter of the sequence for the
    event. Up to length 2N the margin is 0, because no position is outside both windows. The event may then be anywhere,
    and each window contains it in a share of the sequences.
    """
    if window is not None and window < 1:
        raise TaskError(f"window is the longest training length and must be at least 1, not {window}")
    margin = length // 8 if window is None else window
    return 0 if length <= 2 * margin else min(margin, 3 * length // 8)


def outer_places(low: int, high: int, length: int, window: int | None, span: tuple[int, int]) -> tuple[int, int]:
    """Return the first and the last position in ``low..high`` at which a challenge sequence may have its event.

    Positions count from 0, and both ends are included. The event at position p covers the positions ``p + span[0] .. p
    + span[1]``. All of them are outside the first and last tokens that :func:`outer_margin` excludes. If no such
    position exists, the whole range ``low..high`` is returned.
    """
    margin = outer_margin(length, window)
    first, last = max(low, margin - span[0]), min(high, length - 1 - margin - span[1])
    return (first, last) if first <= last else (low, high)


def last_alone(asked: Bool[Tensor, "batch length"], count: int = 1) -> Bool[Tensor, "batch length"]:
    """Return the mask ``[batch, length]`` of supervised positions with only the last ``count`` positions left."""
    last = torch.zeros_like(asked)
    last[:, -count:] = asked[:, -count:]
    return last


def positions(strings: Shaped[Tensor, "batch length"]) -> Int[Tensor, " length"]:
    """Return the 1-based position of each token, which is the length of the prefix that ends there."""
    return torch.arange(1, strings.shape[1] + 1, device=strings.device)
