"""Answers of handmade state-space models, and exhaustive orbits of a state with gates of p bits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.claims.claim import Row
from workbench.tasks.registry import make_task

LONG = 10_000
STRINGS = 8
MOST_STEPS_OVER = 4
"""Orbits are followed for so many times the number of values there are."""


def wrong_prefixes(name: str, model: object, law: str) -> Row:
    """Return the number of prefixes of long sequences of a task that a model answers incorrectly, as a row."""
    task = make_task(name)
    length = task.next_length(LONG)
    batch = task.sample(STRINGS, length, torch.Generator().manual_seed(0), law, window=32)
    with torch.no_grad():
        right = task.correct(model(batch.tokens), batch)  # type: ignore[operator]
    return Row(
        "prefixes wrong", f"{law} law, length {length:,}", float((~right & batch.mask).sum()), n=int(batch.mask.sum())
    )


def _values(bits: int) -> NDArray[np.int64]:
    """States and inputs: all multiples of 2^-p in [-1, 1], as whole numbers."""
    return np.arange(-(2**bits), 2**bits + 1)


def number_of_cases(gates: Sequence[float] | NDArray[np.float64], bits: int) -> int:
    """Return the number of combinations of gate, input and start."""
    return len(gates) * len(_values(bits)) ** 2


def _step(gate: float, inputs: NDArray[np.int64], state: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """One step ``[input, state]``, rounded down to p bits and kept within [-1, 1]."""
    # gate is a multiple of 2^-p and states are whole numbers, so the product in units of 2^-2p is exact.
    scaled = np.floor_divide(round(gate * 2**bits) * state, 2**bits) + inputs[:, None]
    return np.asarray(np.clip(scaled, -(2**bits), 2**bits))


def orbits(gates: NDArray[np.float64], bits: int) -> tuple[int, int]:
    """Return the largest number of sign changes of an orbit that settles, and how many orbits never settle."""
    inputs, start = _values(bits), _values(bits)
    most = moving = 0
    steps = MOST_STEPS_OVER * len(start)
    for gate in gates.tolist():
        state = np.broadcast_to(start, (len(inputs), len(start)))
        changed = np.zeros(state.shape, dtype=np.int64)
        for _ in range(steps):
            after = _step(gate, inputs, state, bits)
            changed += (after >= 0) != (state >= 0)
            if np.array_equal(after, state):
                break
            state = after
        still = _step(gate, inputs, state, bits) != state
        moving += int(still.sum())
        most = max(most, int(changed[~still].max(initial=0)))
    return most, moving


def periods_of_orbits(gates: NDArray[np.float64], bits: int) -> list[int]:
    """Return every period in which an orbit ends."""
    inputs, start = _values(bits), _values(bits)
    periods: set[int] = set()
    for gate in gates.tolist():
        state: NDArray[np.int64] = np.broadcast_to(start, (len(inputs), len(start)))
        for _ in range(MOST_STEPS_OVER * len(start)):
            state = _step(gate, inputs, state, bits)
        period = np.zeros(state.shape, dtype=np.int64)
        after = state
        for step in range(1, 13):
            after = _step(gate, inputs, after, bits)
            period[(after == state) & (period == 0)] = step
        periods |= set(period.ravel().tolist())
    assert 0 not in periods, "an orbit of a period beyond 12"
    return sorted(periods)
