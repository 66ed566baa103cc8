"""State-space models by construction and by exhaustion: what gates can and cannot track."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from workbench.claims.claim import Row
from workbench.claims.exact.published_labels import last_occurrences
from workbench.models.handmade.state_space import flip_flop, parity
from workbench.tasks.registry import make_task

LONG = 10_000
STRINGS = 8
BITS = (4, 6)
MOST_STEPS_OVER = 4
"""Orbits are followed for so many times the number of values there are."""


def exact_flip_flop() -> list[Row]:
    """Prefixes that the hand-made model of flip_flop answers wrongly, both laws."""
    return [_wrong("flip_flop", flip_flop(), law) for law in ("matched", "challenge")]


def exact_parity() -> list[Row]:
    """Prefixes that the hand-made model of parity with signed gates answers wrongly, both laws."""
    return [_wrong("parity", parity(), law) for law in ("matched", "challenge")]


def where_machines_differ() -> list[Row]:
    """Flip-flop: no C-RASP program, and a state-space model without an error."""
    outside = [row for row in last_occurrences() if row.item.startswith("flip_flop")]
    return [*outside, *exact_flip_flop()]


def nonnegative_orbits() -> list[Row]:
    """On 1^n a state h <- a h + b with a >= 0 at p bits: how often its sign changes at most, over all a, b, h.

    To tell odd from even it would have to change at every step.
    """
    rows = []
    for bits in BITS:
        gates = np.arange(0, 2**bits + 1) / 2**bits
        changes, moving = _orbits(gates, bits)
        rows.append(Row("most changes of sign", f"p {bits}", float(changes), n=_cases(gates, bits)))
        rows.append(Row("orbits that never settle", f"p {bits}", float(moving), n=_cases(gates, bits)))
        rows.append(Row("orbits that never settle, signed gates", f"p {bits}", float(_orbits(-gates[1:], bits)[1])))
    return rows


def real_gates_mod_three() -> list[Row]:
    """Periods of such orbits with a in [-1, 1]: is one a multiple of 3?"""
    rows = []
    for bits in BITS:
        gates = np.arange(-(2**bits), 2**bits + 1) / 2**bits
        periods = _periods(gates, bits)
        rows.append(Row("largest period", f"p {bits}", float(max(periods)), n=_cases(gates, bits)))
        rows.append(Row("periods that 3 divides", f"p {bits}", float(sum(period % 3 == 0 for period in periods))))
    turn = np.exp(2j * np.pi / 3)
    rows.append(
        Row(
            "period of a complex gate",
            "a third of a turn",
            float(next(k for k in range(1, 9) if abs(turn**k - 1) < 1e-9)),
        )
    )
    return rows


def _wrong(name: str, model: object, law: str) -> Row:
    task = make_task(name)
    length = task.next_length(LONG)
    batch = task.sample(STRINGS, length, torch.Generator().manual_seed(0), law, window=32)
    with torch.no_grad():
        right = task.correct(model(batch.tokens), batch)  # type: ignore[operator]
    asked = batch.mask
    return Row("prefixes wrong", f"{law} law, length {length:,}", float((~right & asked).sum()), n=int(asked.sum()))


def _values(bits: int) -> NDArray[np.int64]:
    """States and inputs: all multiples of 2^-p in [-1, 1], as whole numbers."""
    return np.arange(-(2**bits), 2**bits + 1)


def _cases(gates: Sequence[float] | NDArray[np.float64], bits: int) -> int:
    return len(gates) * len(_values(bits)) ** 2


def _step(gate: float, inputs: NDArray[np.int64], state: NDArray[np.int64], bits: int) -> NDArray[np.int64]:
    """One step ``[input, state]``, rounded down to p bits and kept within [-1, 1]."""
    # gate is a multiple of 2^-p and states are whole numbers, so the product in units of 2^-2p is exact.
    scaled = np.floor_divide(round(gate * 2**bits) * state, 2**bits) + inputs[:, None]
    return np.asarray(np.clip(scaled, -(2**bits), 2**bits))


def _orbits(gates: NDArray[np.float64], bits: int) -> tuple[int, int]:
    """How often any state changes its sign at most, of orbits that settle; and how many never do."""
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


def _periods(gates: NDArray[np.float64], bits: int) -> list[int]:
    """The period that each orbit ends in, every one that occurs."""
    inputs, start = _values(bits), _values(bits)
    found: set[int] = set()
    for gate in gates.tolist():
        state: NDArray[np.int64] = np.broadcast_to(start, (len(inputs), len(start)))
        for _ in range(MOST_STEPS_OVER * len(start)):
            state = _step(gate, inputs, state, bits)
        period = np.zeros(state.shape, dtype=np.int64)
        after = state
        for step in range(1, 13):
            after = _step(gate, inputs, after, bits)
            period[(after == state) & (period == 0)] = step
        found |= set(period.ravel().tolist())
    assert 0 not in found, "an orbit of a period beyond 12"
    return sorted(found)
