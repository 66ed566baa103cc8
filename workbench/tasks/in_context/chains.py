"""Markov chains of random transitions, and how often what followed what in a string."""

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
"""Counts up to which their table is given as update summary."""


# ---- drawing -------------------------------------------------------------------------------------
def stationary(transitions: Float[Tensor, "*batch state next"]) -> Float[Tensor, "*batch state"]:
    """The stationary distribution of chains all of whose transitions have positive probability.

    Solves pi (P - 1) = 0, one of whose equations is redundant and makes room for sum(pi) = 1.

    Example:

        >>> stationary(torch.tensor([[0.9, 0.1], [0.5, 0.5]], dtype=torch.float64)).mul(6).round(decimals=6).tolist()
        [5.0, 1.0]
    """
    states = transitions.shape[-1]
    equations = transitions.mT - torch.eye(states, dtype=transitions.dtype, device=transitions.device)
    equations = torch.cat([equations[..., :-1, :], torch.ones_like(equations[..., :1, :])], -2)
    right = torch.zeros_like(equations[..., 0])
    right[..., -1] = 1.0
    found: Tensor = torch.linalg.solve(equations, right)
    return found


def draw_chain(
    shares: Float[Tensor, "batch context symbol"],
    start: Int[Tensor, "batch k"],
    length: int,
    generator: torch.Generator,
    avoid: Int[Tensor, " batch"] | None = None,
    ends: int = 0,
) -> Int[Tensor, "batch length"]:
    """Strings of a chain in which the last k symbols decide what follows.

    Args:
        shares: probabilities; a context is its k symbols as digits of a number, the latest last.
        start: the first symbols.
        length: number of symbols, those of the start included.
        generator: the source of randomness.
        avoid: a symbol that, after the start, does not occur among the first and the last ``ends``
            symbols: there the chain goes on as if it had no transitions to it.
        ends: see ``avoid``.
    """
    batch, contexts, symbols = shares.shape
    free = kept = _bounds(shares)
    if avoid is not None:
        without = shares.scatter(2, avoid[:, None, None].expand(-1, contexts, 1), 0.0)
        kept = _bounds(without / without.sum(2, keepdim=True))
    drawn = uniforms((length, batch, 1), generator).cpu().numpy()
    rows = np.arange(batch) * contexts
    found = np.empty((length, batch), dtype=np.int64)
    order = min(start.shape[1], length)
    found[:order] = start.T[:order].cpu().numpy()
    context = codes_of(start, start.shape[1], symbols)[:, 0].cpu().numpy()
    for position in range(order, length):
        bounds = kept if position < ends or position >= length - ends else free
        found[position] = (drawn[position] >= bounds.take(rows + context, axis=0)).sum(1)
        context = (context * symbols + found[position]) % contexts
    return torch.from_numpy(found.T).to(shares.device)


def _bounds(shares: Float[Tensor, "batch context symbol"]) -> Floats:
    """``[batch * context, symbol - 1]`` where, on [0, 1), one symbol ends and the next begins."""
    found: Floats = shares.cumsum(2)[..., :-1].flatten(0, 1).contiguous().cpu().numpy()
    return found


# ---- counting ------------------------------------------------------------------------------------
def codes_of(strings: Int[Tensor, "batch length"], k: int, symbols: int) -> Int[Tensor, "batch windows"]:
    """One number for each k symbols in a row, by the place of the first."""
    windows = max(strings.shape[1] - k + 1, 0)
    codes = strings[:, :windows]
    for offset in range(1, k):
        codes = codes * symbols + strings[:, offset : offset + windows]
    return codes


def follower_counts(strings: Int[Tensor, "batch length"], k: int, symbols: int) -> Int[Tensor, "batch length symbol"]:
    """How often each symbol followed an earlier occurrence of the last k symbols, after every symbol.

    A stable sort puts equal contexts side by side in their old order, where a running count suffices.
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
    own = before - before.gather(1, first)
    counts[:, k - 1 :].scatter_(1, order[..., None].expand_as(own), own)
    return counts


def followers_of(
    strings: Int[Tensor, "batch length"], key: Int[Tensor, "batch 1"], k: int, symbols: int
) -> Float[Tensor, "batch symbol"]:
    """How often each symbol followed the k symbols whose code is ``key`` in these strings."""
    counts = torch.zeros(len(strings), symbols, dtype=torch.float64, device=strings.device)
    if strings.shape[1] > k:
        same = (codes_of(strings, k, symbols)[:, :-1] == key).double()
        counts.scatter_add_(1, strings[:, k:], same)
    return counts


def transition_counts(
    strings: Int[Tensor, "batch length"], k: int, symbols: int
) -> Int[Tensor, "batch length number"] | None:
    """How often each k + 1 symbols in a row, by their code, have occurred after every symbol; and the last k.

    The last k symbols, counted from 1, are the digits of one number; 0 where there is none yet. None where
    there are more than :data:`MOST_COUNTS` counts.
    """
    batch, length = strings.shape
    number = symbols ** (k + 1)
    if number > MOST_COUNTS:
        return None
    found = strings.new_zeros(batch, number + 1, length)
    codes = codes_of(strings, k + 1, symbols)
    found[:, :-1, k:] = (codes[:, None] == torch.arange(number, device=strings.device)[:, None]).cumsum(2)
    padded = torch.cat([strings.new_zeros(batch, k - 1), strings + 1], 1)
    found[:, -1] = codes_of(padded, k, symbols + 1)
    return found.transpose(1, 2)
