"""What the dashboard's worker is asked in tests: answers, errors, deaths and delays without any model."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np


def attention(
    run_path: str, step: int, law: str, length: int, layer: int, head: int, seed: int, cells: int = 512
) -> dict[str, Any]:
    """Stands in for ``circuits.attention.attention_scores:attention_sample``: a made-up pattern, no model."""
    rng = np.random.default_rng(seed + 7 * head + layer)
    bits = rng.integers(0, 2, length)
    tokens = ["<bos>", *(str(b) for b in bits)]
    scores = np.concatenate([[0.0], 3.0 * bits]) + rng.normal(0, 0.2, (length + 1, length + 1))
    scores[np.triu_indices(length + 1, 1)] = -np.inf
    weights = np.exp(scores - scores.max(1, keepdims=True))
    pattern = weights / weights.sum(1, keepdims=True)
    return {"tokens": tokens, "pattern": pattern.astype(np.float32), "scores": scores.astype(np.float32)}


def slow_attention(progress: Callable[[int, int, str], None], **cursor: Any) -> dict[str, Any]:
    """The same, reporting for many seconds before it answers."""
    slow(progress)
    return attention(**cursor)


def echo(value: Any) -> Any:
    return value


def fail(message: str) -> None:
    raise ValueError(message)


def die() -> None:
    os._exit(7)


def slow(progress: Callable[[int, int, str], None], rounds: int = 400) -> int:
    for i in range(rounds):
        progress(i, rounds, "counting")
        time.sleep(0.05)
    return rounds


def stuck() -> None:
    time.sleep(60)


def variable(name: str) -> str | None:
    return os.environ.get(name)
