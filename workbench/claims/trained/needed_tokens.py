"""Comparison of the tokens on which a run depends with those that its task needs.

A task needs a token where its answer is another once the token is deleted. Of sparse parity these are a small number
*and* its bit, and only where the bit is 1: a bit of 0 adds nothing, and neither of the two is missed. Leaving out one
token at a time misses what stands twice: a head that means over two planted numbers gives of 3 and 3 what it gives of
one 3. There all tokens of one kind are left out together.
"""

from __future__ import annotations

import numpy as np

from circuits.sparsity.influence import Groups, influential_tokens, recall
from workbench.claims.trained.run_rows import StatisticRows
from workbench.claims.trained.run_statistics import statistic
from workbench.claims.trained.trained_run import TrainedRun
from workbench.core.seeds import seed_of
from workbench.measure.intervals import mean_ends
from workbench.tasks.base import Batch, Task

STRINGS = 64
RESAMPLES = 1000


@statistic("needed tokens", version=1)
def needed_rows(run: TrainedRun, groups: Groups) -> StatisticRows:
    """Return the share of the tokens that the task needs that are among the same number of tokens on which the loss
    depends most, at N.

    A second row is the share for as many random tokens. Sequences for which the task needs only the last token, which
    is never left out, do not enter.

    Args:
        run: a run of a task whose answer is at the end.
        groups: ``token`` leaves out one at a time, ``type`` all with the same token.
    """
    batch = run.strings(STRINGS, run.task.next_length(run.longest), "matched", "needed tokens")
    required = needed_places(run.task, batch)
    chosen = influential_tokens(run.model, run.task, batch, k=max(1, *map(len, required)), groups=groups).chosen
    shares = np.concatenate(
        [recall(row[None, : len(places)], [places]) for row, places in zip(chosen, required, strict=True) if places]
    )
    ends = mean_ends(shares, np.random.default_rng(seed_of("claims", "needed tokens")), RESAMPLES, (0.0, 1.0))
    shared = {"length": batch.length, "n": len(shares)}
    value = {"value": float(shares.mean()), "low": ends.low, "high": ends.high}
    yield {"quantity": "needed tokens found", **value, **shared}
    by_chance = np.mean([len(places) / (batch.length - 1) for places in required if places])
    yield {"quantity": "needed tokens found by chance", "value": float(by_chance), **shared}


def needed_places(task: Task, batch: Batch) -> list[set[int]]:
    """Return, for each sequence, the positions of tokens without which the task's last answer would change."""
    return [
        {int(batch.bos) + i for i in range(len(tokens) - 1) if _last(task, tokens[:i] + tokens[i + 1 :]) != answer}
        for tokens in batch.tokens[:, int(batch.bos) :].tolist()
        for answer in [_last(task, tokens)]
    ]


def _last(task: Task, tokens: list[int]) -> object:
    return task.reference(tokens)[-1]
