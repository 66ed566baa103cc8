"""Counts of the words of each length between two states of an automaton, and uniform draws of such words.

Counts are exact integers for words of any length. Only the share of each symbol among the remaining words is rounded,
once, to a double. So a draw is uniform to within rounding at every length.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from workbench.tasks.automata.dfa import Bools, Ints

Floats = NDArray[np.float64]


class Words:
    """Words of exact length from any state of a table to any of some goals.

    Args:
        table: ``[state, symbol]`` following state.
        goals: ``[state, goal]`` whether a word that ends in the state reaches the goal; by default each state is a goal
            of its own.

    Example: of the 8 words of length 3 over two symbols, 4 have an even number of the second.

        >>> words = Words(np.array([[0, 1], [1, 0]]))
        >>> np.exp(words.log_counts(3)).round(6).tolist()
        [[4.0, 4.0], [4.0, 4.0]]
    """

    def __init__(self, table: Ints, goals: Bools | None = None) -> None:
        reached = np.eye(len(table), dtype=bool) if goals is None else goals
        self._table = table
        self._counts = reached.astype(object) * 1
        self._logs: list[Floats] = [_log(self._counts)]
        self._shares: list[Floats] = [np.empty(0)]
        # A row is an index into a flat table [goal, state, symbol] with symbol 0: goal and state in one number.
        blocks = np.arange(reached.shape[1])[:, None, None] * table.size
        self._following = (blocks + table * table.shape[1]).ravel()

    def log_counts(self, length: int) -> Floats:
        """``[state, goal]`` natural logarithm of the number of words of this length; -inf if there is none."""
        self._grow(length)
        return self._logs[length]

    def draw(self, start: Ints, goal: Ints, uniforms: Floats) -> tuple[Ints, Ints]:
        """Draw words of given lengths, each uniformly among the words that lead from its start state to its goal state.

        Args:
            start: ``[batch]`` states.
            goal: ``[batch]`` goals; each must be within reach.
            uniforms: ``[length, batch]`` independent and uniform on [0, 1).

        Returns:
            symbol numbers, and the state before each symbol; both ``[batch, length]``.
        """
        length, width = len(uniforms), self._table.shape[1]
        self._grow(length)
        symbols = np.empty(uniforms.shape, dtype=np.int64)
        rows = np.empty((length + 1, uniforms.shape[1]), dtype=np.int64)
        rows[0] = goal * self._table.size + start * width
        for position, (uniform, symbol, row) in enumerate(zip(uniforms, symbols, rows[:-1], strict=True)):
            shares = self._shares[length - position]
            symbol[:] = uniform >= shares.take(row) if width > 1 else 0
            for earlier in range(1, width - 1):
                symbol += uniform >= shares.take(row + earlier)
            self._following.take(row + symbol, out=rows[position + 1], mode="clip")
        return symbols.T, rows[:-1].T % self._table.size // width

    def _grow(self, length: int) -> None:
        """Extend the tables to words of this length.

        ``_shares[n]`` is, flattened, ``[goal, state, symbol]``: the share of words of length n that start with the
        symbol or an earlier one. Only the last counts are stored, because they have as many digits as words are long.
        """
        while len(self._logs) <= length:
            following = self._counts[self._table]  # [state, symbol, goal]
            self._counts = following.sum(1)
            shares = following.cumsum(1) / np.where(self._counts == 0, 1, self._counts)[:, None]
            self._logs.append(_log(self._counts))
            self._shares.append(shares.transpose(2, 0, 1).astype(np.float64).ravel())


def state_shares(table: Ints, start: int, symbol_shares: Floats) -> Floats:
    """``[state]`` probability of each state after independent symbols.

    Args:
        table: ``[state, symbol]`` following state.
        start: the state before the first symbol.
        symbol_shares: ``[length, symbol]`` probability of each symbol at each position.
    """
    shares: Floats = np.eye(len(table))[start]
    for probabilities in symbol_shares:
        shares = np.bincount(table.ravel(), np.outer(shares, probabilities).ravel(), len(table)).astype(np.float64)
    return shares


def pick(log_weights: Floats, uniforms: Floats) -> Ints:
    """Pick one column for each row, with probability proportional to exp(log weight) (the Gumbel trick).

    Args:
        log_weights: ``[batch, options]``; -inf is picked only if all weights are -inf.
        uniforms: as many independent uniform numbers on [0, 1).
    """
    with np.errstate(divide="ignore"):
        noise = -np.log(-np.log(uniforms))
    picked: Ints = (log_weights + noise).argmax(1)
    return picked


def _log(counts: NDArray[np.object_]) -> Floats:
    """Return natural logarithms of integers that may be too large for a double."""
    flat = [math.log(count) if count else -math.inf for count in counts.ravel()]
    return np.array(flat).reshape(counts.shape)
