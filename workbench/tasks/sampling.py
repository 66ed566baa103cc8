"""Draws that several tasks share. Each is vectorised and takes all its randomness from ``generator``."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from workbench.tasks.base import TaskError


def coins(shape: tuple[int, ...], probability: float | Tensor, generator: torch.Generator) -> Tensor:
    """Independent bits that are True with the given probability, or the one that each has."""
    return torch.rand(shape, generator=generator, device=generator.device) < probability


def integers(high: int, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Independent integers, uniform on ``0..high-1``."""
    return torch.randint(high, shape, generator=generator, device=generator.device)


def uniforms(shape: tuple[int, ...], generator: torch.Generator) -> Float[Tensor, "..."]:
    """Independent numbers, uniform on [0, 1), in double precision."""
    return torch.rand(shape, generator=generator, device=generator.device, dtype=torch.float64)


def distinct(high: int, batch: int, count: int, generator: torch.Generator) -> Int[Tensor, "batch count"]:
    """``count`` different integers from ``0..high-1`` per row, every ordered choice equally likely."""
    return torch.rand((batch, high), generator=generator, device=generator.device).topk(count, dim=1).indices


def flat_shares(shape: tuple[int, ...], generator: torch.Generator) -> Float[Tensor, "*batch share"]:
    """Shares that add up to 1 along the last axis, all equally likely: the Dirichlet law with parameters 1."""
    weights = -(1 - uniforms(shape, generator)).log()
    return weights / weights.sum(-1, keepdim=True)


def biases(shape: tuple[int, ...], prior: float, generator: torch.Generator) -> Float[Tensor, "..."]:
    """Shares of one of two symbols: the Dirichlet law of two shares with both parameters ``prior``; 1 is uniform."""
    if prior == 1:
        return torch.rand(shape, generator=generator, device=generator.device)
    parameters = torch.full((2, *shape), prior, dtype=torch.float64, device=generator.device)
    one, other = torch._standard_gamma(parameters, generator=generator)
    share: Tensor = one / (one + other)
    return share


def urn_counts(length: int, prior: float) -> Float[Tensor, " count"]:
    """Probability of 0, 1, .., ``length`` ones among coins that share a bias of that prior: Polya's urn.

    The beta-binomial law C(L, j) B(j + a, L - j + a) / B(a, a), with a = ``prior``; 1 / (L + 1) each for a = 1.
    """
    ones = torch.arange(length + 1, dtype=torch.float64)

    def log_beta(x: Tensor, y: Tensor) -> Tensor:
        return x.lgamma() + y.lgamma() - (x + y).lgamma()

    a, rest = torch.tensor(prior, dtype=torch.float64), length - ones
    orders = math.lgamma(length + 1) - (ones + 1).lgamma() - (rest + 1).lgamma()
    return (orders + log_beta(ones + a, rest + a) - log_beta(a, a)).exp()


def urn_bits(batch: int, length: int, generator: torch.Generator, prior: float = 1.0) -> Bool[Tensor, "batch length"]:
    """Bits whose number of ones is uniform on ``0..length``, in an order that is uniform given it.

    Drawn as coins that share a bias which is itself uniform on [0, 1]: the same law as Polya's urn
    started with one ball of each colour (de Finetti). So the law is prefix-closed exactly. With another
    ``prior`` the bias has that of :func:`biases`, and the urn starts with so many balls of each colour.
    """
    return coins((batch, length), biases((batch, 1), prior, generator), generator)


def sorted_bits(
    batch: int, length: int, generator: torch.Generator, prior: float = 1.0
) -> Bool[Tensor, "batch length"]:
    """Bits whose number of ones has the law of :func:`urn_bits`, sorted; a fair coin says which come first."""
    first = coins((batch, 1), 0.5, generator)
    number_of_first = urn_numbers((batch, 1), length, prior, generator)
    position = torch.arange(length, device=generator.device)
    return (position < number_of_first) == first


def urn_numbers(shape: tuple[int, ...], length: int, prior: float, generator: torch.Generator) -> Int[Tensor, "..."]:
    """How many of ``length`` coins that share a bias are ones; uniform on ``0..length`` for the prior 1."""
    if prior == 1:
        return integers(length + 1, shape, generator)
    bias = biases((*shape, 1), prior, generator)
    return coins((*shape, length), bias, generator).sum(-1)


def near_leads(
    span: tuple[int, int], length: int, shape: tuple[int, ...], generator: torch.Generator
) -> Int[Tensor, "..."] | None:
    """Leads of one symbol over the other in strings of ``length`` bits: a size uniform over ``span``, a fair sign.

    Sizes that such strings cannot have (more than the length, or of the other parity) are left out; None where
    that leaves none.
    """
    sizes = [d for d in range(span[0], span[1] + 1) if d <= length and (length - d) % 2 == 0]
    if not sizes:
        return None
    size = torch.tensor(sizes, device=generator.device)[integers(len(sizes), shape, generator)]
    return size * (1 - 2 * integers(2, shape, generator))


def bits_with(
    lead: Int[Tensor, "*batch 1"], length: int, law: str, generator: torch.Generator
) -> Bool[Tensor, "*batch length"]:
    """Bits in which ones lead by exactly so much: shuffled, or under *challenge* sorted (a fair coin says how)."""
    ones = (length + lead) // 2
    position = torch.arange(length, device=generator.device).expand(*lead.shape[:-1], length)
    if law == "challenge":
        zeros_first = coins(tuple(lead.shape), 0.5, generator)
        return torch.where(zeros_first, position >= length - ones, position < ones)
    return uniforms(tuple(position.shape), generator).argsort(-1) < ones


def accepted(
    batch: int, draw: Callable[[int], Tensor], keep: Callable[[Tensor], Bool[Tensor, " row"]]
) -> Shaped[Tensor, "batch ..."]:
    """Rows drawn again until ``batch`` of them are kept: the law of ``draw`` given that ``keep`` holds.

    Args:
        batch: number of rows.
        draw: draws so many independent rows.
        keep: which of some rows are kept; must hold with positive probability.
    """
    found: list[Tensor] = []
    missing, drawn, size = batch, 0, 2 * batch  # one draw of more rows is cheaper than a second one
    while missing:
        rows = draw(size)
        found.append(rows[keep(rows)][:missing])
        missing, drawn = missing - len(found[-1]), drawn + size
        size = min(16 * batch, 2 * missing * drawn // max(batch - missing, 1) + 1)
    return torch.cat(found)


def outer_margin(length: int, window: int | None) -> int:
    """How many tokens at either end the deciding event of a challenge string must stay clear of.

    The longest training length N (``window``; ``length // 8`` where it is not given), so that neither
    the first N nor the last N tokens show the event; at most 3/8 of the string, so that a quarter of
    it is left to put the event in. 0 up to length 2N, where no place lies outside both windows: there
    the event may be anywhere, and each window shows it in its share of the strings.
    """
    if window is not None and window < 1:
        raise TaskError(f"window is the longest training length and must be at least 1, not {window}")
    margin = length // 8 if window is None else window
    return 0 if length <= 2 * margin else min(margin, 3 * length // 8)


def outer_places(low: int, high: int, length: int, window: int | None, span: tuple[int, int]) -> tuple[int, int]:
    """The places (from 0) in ``low..high`` at which a challenge string may have its deciding event.

    The event at place p takes up the places ``p + span[0] .. p + span[1]``, and all of them lie outside
    the first and the last tokens that :func:`outer_margin` names. Where there is no such place, every
    one of ``low..high`` counts. Returns the first and the last place, both included.
    """
    margin = outer_margin(length, window)
    first, last = max(low, margin - span[0]), min(high, length - 1 - margin - span[1])
    return (first, last) if first <= last else (low, high)


def last_alone(asked: Bool[Tensor, "batch length"]) -> Bool[Tensor, "batch length"]:
    """Of what is asked, that at the last position alone."""
    last = torch.zeros_like(asked)
    last[:, -1] = asked[:, -1]
    return last


def positions(strings: Shaped[Tensor, "batch length"]) -> Int[Tensor, " length"]:
    """1-based position of each token: the prefix length that ends there."""
    return torch.arange(1, strings.shape[1] + 1, device=strings.device)
