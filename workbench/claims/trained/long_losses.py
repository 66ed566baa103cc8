"""Losses far beyond the trained lengths, which show whether the loss levels off."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch

from workbench.claims.trained.run_rows import StatisticRows
from workbench.claims.trained.run_statistics import statistic
from workbench.claims.trained.trained_run import TrainedRun

STRINGS = 256
TOKENS = 1 << 16
"""Tokens of a length, at most; but 64 strings at least."""
FACTORS = (1, 2, 4, 8, 16, 32)


@statistic("losses", version=1)
def loss_rows(run: TrainedRun, factors: Sequence[int] = FACTORS, **task: float) -> StatisticRows:
    """Return the mean loss over the last eighth of the prefixes of long sequences, for several multiples of N.

    Args:
        run: it.
        factors: lengths, in multiples of N.
        task: parameters of the task that differ from the run's own.
    """
    variant = run.with_parameters(task)
    for factor in factors:
        n = variant.task.next_length(factor * run.longest)
        strings = max(64, min(STRINGS, TOKENS // n))
        batch = variant.strings(strings, n, "matched", "losses")
        with torch.no_grad():
            losses = variant.task.losses(variant.answers(batch)["logits"], batch)
        tail = batch.mask.clone()
        tail[:, : batch.index(n) + 1 - math.ceil(n / 8)] = False
        each = ((losses * tail).sum(1) / tail.sum(1).clamp(min=1))[tail.any(1)].double()
        spread, count = float(each.std()), len(each)
        half = 1.96 * spread / math.sqrt(count)
        mean = float(each.mean())
        yield {
            "quantity": f"loss at {factor} N",
            "setting": ", ".join(f"{key} {value}" for key, value in task.items()),
            "length": n,
            "value": mean,
            "low": mean - half,
            "high": mean + half,
            "n": count,
            "spread": spread,
        }
