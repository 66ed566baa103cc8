"""What tests of several tiers share. Rows of a circuit whose connections are known: a wire, a helper, and noise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.table.schema import Row, row

MEASUREMENT = "circuits.connections"
N = 32
DROPS: dict[str, tuple[float, float, float]] = {
    "embedding -> L0.0": (0.5, 0.3, 0.0),
    "L0.0 -> MLP 0": (0.2, 0.3, 0.4),
    "MLP 0 -> unembedding": (0.0, -0.2, -0.2),
    "embedding -> MLP 0": (0.0, 0.0, 0.0),
    "embedding -> unembedding": (0.0, 0.0, 0.0),
    "L0.0 -> unembedding": (0.3, 0.3, 0.3),
    "embedding": (0.5, 0.3, 0.0),
    "L0.0": (0.3, 0.3, 0.4),
    "MLP 0": (0.0, -0.2, -0.2),
}
"""Accuracy lost without each connection, and each component, at N, 2 N and 4 N."""
UPSET = "L0.0 -> unembedding"
"""What a change in random directions upsets as much."""


def connection_rows(run: str, step: int, lengths: Sequence[int] = (N, 2 * N, 4 * N)) -> list[Row]:
    """The rows that the measurement would make of it: 256 strings, intervals of .05 about the values."""
    made: list[Row] = []
    for i, length in enumerate(lengths):
        place: dict[str, Any] = {"run": run, "step": step, "measurement": MEASUREMENT, "law": "matched"}
        place |= {"length": length, "n": 256}
        made.append(row(quantity="connected_accuracy", value=(1.0, 0.8, 0.6)[i], low=0.5, high=1.0, **place))
        for name, drops in DROPS.items():
            value, control = drops[i], drops[i] if name == UPSET else 0.02
            ends = {"low": value - 0.05, "high": value + 0.05}
            made.append(row(quantity="connection_drop", target=name, value=value, **ends, **place))
            made.append(
                row(
                    quantity="connection_drop", target=name, control="random_direction", value=control,
                    low=control - 0.05, high=control + 0.05, **place,
                )
            )  # fmt: skip
            made.append(row(quantity="connection_drop_p", target=name, value=1e-4 if value else 1.0, **place))
    return made
