"""Markov chains with random transitions, and counts of transitions in a sequence."""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from workbench.tasks.automata.word_counts import Floats
from workbench.tasks.sampling import uniforms

__all__ = [
    "codes_of",
    "draw_chain",
    "follower_counts",
    "followers_of",
    "stationary",
    "transition_counts",
]


MOST_COUNTS = 32
"""Largest number of transition counts that ``update_summary`` contains."""


# ---- drawing -------------------------------------------------------------------------------------
def stationary(transitions: Float[Tensor, "*batch state next"]) -> Float[Tensor, "*batch state"]:
    """Return the stationary distribution of chains all of whose transitions have positive probability.

    Solves pi (P - 1) = 0. One of these equations is redundant, and sum(pi) = 1 replaces it.

    Example:

        >>> stationary(torch.tensor([[0.9, 0.1], [0.5, 0.5]], dtype=torch.float64)).mul(6).round(decimals=6).tolist()
        [5.0, 1.0]
    """
    states = transitions.shape[-1]
    equations = transitions.mT - torch.eye(states, dtype=transitions.dtype, device=transitions.device)
    equations = torch.cat([equations[..., :-1, :], torch.ones_like(equations[..., :1, :])], -2)
    right = torch.zeros_like(equations[..., 0])
    right[..., -1] = 1.0
    distribution: Tensor = torch.linalg.solve(equations, right)
    return distribution


def draw_chain(
    shares: Float[Tensor, "batch context symbol"],
    start: Int[Tensor, "batch k"],
    length: int,
    generator: torch.Generator,
    avoid: Int[Tensor, " batch"] | None = None,
    ends: int = 0,
) -> Int[Tensor, "batch length"]:
    """Draw sequences of a chain in which the last k symbols determine the probabilities of the next symbol.

    Args:
        shares: probabilities; a context is its k symbols as digits of a number, the latest last.
        start: the first symbols.
        length: number of symbols, those of the start included.
        generator: the source of randomness.
        avoid: a symbol that, after the start, does not occur among the first and the last ``ends`` symbols. There the
            chain has no transitions to it.
        ends: see ``avoid``.
    """
    batch, contexts, symbols = shares.shape
    free = restricted = _bounds(shares)
    if avoid is not None:
        without = shares.scatter(2, avoid[:, None, None].expand(-1, contexts, 1), 0.0)
        restricted = _bounds(without / without.sum(2, keepdim=True))
    uniform = uniforms((length, batch, 1), generator).cpu().numpy()
    rows = np.arange(batch) * contexts
    sequences = np.empty((length, batch), dtype=np.int64)
    order = min(start.shape[1], length)
    sequences[:order] = start.T[:order].cpu().numpy()
    context = codes_of(start, start.shape[1], symbols)[:, 0].cpu().numpy()
    for position in range(order, length):
        bounds = restricted if position < ends or position >= length - ends else free
        sequences[position] = (uniform[position] >= bounds.take(rows + context, axis=0)).sum(1)
        context = (context * symbols + sequences[position]) % contexts
    return torch.from_numpy(sequences.T).to(shares.device)


def _bounds(shares: Float[Tensor, "batch context symbol"]) -> Floats:
    """Return the ``[batch * context, symbol - 1]`` bounds between the symbols' intervals on [0, 1)."""
    bounds: Floats = shares.cumsum(2)[..., :-1].flatten(0, 1).contiguous().cpu().numpy()
    return bounds


# ---- counting ------------------------------------------------------------------------------------
def codes_of(strings: Int[Tensor, "batch length"], k: int, symbols: int) -> Int[Tensor, "batch windows"]:
    """Return one number for each k symbols in a row, by the index of the first."""
    windows = max(strings.shape[1] - k + 1, 0)
    codes = strings[:, :windows]
    for offset in range(1, k):
        codes = codes * symbols + strings[:, offset : offset + windows]
    return codes


def follower_counts(strings: Int[Tensor, "batch length"], k: int, symbols: int) -> Int[Tensor, "batch length symbol"]:
    """Return how often each symbol followed an earlier occurrence of the last k symbols, after every symbol.

    A stable sort makes equal contexts adjacent in their old order, so that a running count suffices.
    """
    batch, length = strings.shape
    codes = codes_of(strings, k, symbols)
    windows = codes.shape[1]
    counts = strings.new_zeros(batch, length, symbols)
    if not windows:
        return counts
    ordered, order = codes.sort(dim=1, stable=True)
    follower = strings.gather(1, (order + k).clamp(max=length - 1))
    hit = follower[..., None] == torch.arange(symbols, device=strings.device)
    before = hit.cumsum(1) - hit.long()
    position = torch.arange(windows, device=strings.device).expand(batch, windows)
    fresh = torch.ones_like(ordered, dtype=torch.bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = torch.where(fresh, position, 0).cummax(1).values[..., None].expand_as(before)
    within = before - before.gather(1, first)
    counts[:, k - 1 :].scatter_(1, order[..., None].expand_as(within), within)
    return counts


def followers_of(
    strings: Int[Tensor, "batch length"], key: Int[Tensor, "batch 1"], k: int, symbols: int
) -> Float[Tensor, "batch symbol"]:
    """Return how often each symbol followed, in these sequences, the k symbols whose code is ``key``."""
    counts = torch.zeros(len(strings), symbols, dtype=torch.float64, device=strings.device)
    if strings.shape[1] > k:
        same = (codes_of(strings, k, symbols)[:, :-1] == key).double()
        counts.scatter_add_(1, strings[:, k:], same)
    return counts


def transition_counts(
    strings: Int[Tensor, "batch length"], k: int, symbols: int
) -> Int[Tensor, "batch length number"] | None:
    """Return how often each k + 1 symbols in a row, by their code, have occurred after every symbol; and the last k.

    The last k symbols, counted from 1, are the digits of one number; a digit is 0 before the start. The result is None
    if there are more than :data:`MOST_COUNTS` counts.
    """
    batch, length = strings.shape
    number = symbols ** (k + 1)
    if number > MOST_COUNTS:
        return None
    table = strings.new_zeros(batch, number + 1, length)
    codes = codes_of(strings, k + 1, symbols)
    table[:, :-1, k:] = (codes[:, None] == torch.arange(number, device=strings.device)[:, None]).cumsum(2)
    padded = torch.cat([strings.new_zeros(batch, k - 1), strings + 1], 1)
    table[:, -1] = codes_of(padded, k, symbols + 1)
    return table.transpose(1, 2)
