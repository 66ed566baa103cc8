"""Errors of single steps in answers of several tokens that a model generates itself.

A step is one token of the answer, with the id of the next one if the model predicts ids. The token that ends the answer
is not a step.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool
from torch import Tensor

from workbench.claims.errors import ClaimError
from workbench.claims.trained.bin_accuracy import STRINGS, share
from workbench.claims.trained.run_rows import StatisticRows
from workbench.claims.trained.run_statistics import statistic
from workbench.claims.trained.trained_run import TrainedRun
from workbench.core.seeds import seed_of
from workbench.measure.behaviour.free_running import FreeRun, free_run
from workbench.measure.behaviour.observed import right_queries, share_right
from workbench.measure.intervals import mean_ends
from workbench.models.transformer.predicted_ids import NEXT_IDS
from workbench.tasks.base import Batch
from workbench.tasks.sequences.sequence_task import SequenceTask

RESAMPLES = 1000
MOST_READ = 1024
"""Tokens of an input that is looked for, at most."""


@statistic("steps", version=1)
def step_rows(run: TrainedRun, factors: Sequence[float]) -> StatisticRows:
    """Return the error of each step in answers that the model generates itself, given that all earlier steps are
    correct.

    There are three kinds of rows, each at several lengths. ``answer token`` is the share of sequences whose last token
    is right, whatever was written before. ``step error`` is the share of wrong steps among those after only right
    steps. ``slope of step error`` is the least-squares slope of these errors on the number of the step (1, 2, ..), per
    step, over all sequences. Its interval is from resampling sequences.

    Args:
        run: a run of a task whose answer is part of the sequence.
        factors: lengths, in multiples of N.
    """
    for factor in factors:
        n = run.task.next_length(factor * run.longest)
        batch = run.strings(STRINGS, n, "matched", "steps")
        answer = _written(run, batch)
        shared = {"length": n, "n": len(batch)}
        last = answer_token(batch, answer)
        yield {"quantity": f"answer token at {factor:g} N", **share(int(last.sum()), len(last)), **shared}
        assert batch.prompt is not None
        steps = answer.right[:, batch.prompt - 1 : -1].cpu().numpy()
        taken, wrong = at_risk(steps)
        errors = {"value": float((wrong & taken).sum() / taken.sum())}
        yield {"quantity": f"step error at {factor:g} N", **errors, **shared}
        yield {"quantity": f"slope of step error at {factor:g} N", **slope_of_error(steps), **shared}


def _written(run: TrainedRun, batch: Batch) -> FreeRun:
    """What the model writes after the prompts of a batch."""
    if batch.prompt is None:
        raise ClaimError(
            f"the answers of {run.task.name} are not part of the sequence, so the model cannot write them step by "
            "step; choose a task with answers in the sequence, such as copy"
        )
    seen = run.answers(batch)
    return free_run(run.model, run.task, batch, seen["logits"], seen.get(NEXT_IDS))


def answer_token(batch: Batch, written: FreeRun) -> Bool[Tensor, " string"]:
    """Return whether the last token of the answer is right and the answer has not ended before it."""
    assert batch.prompt is not None
    end = batch.targets[:, -1:]  # the class that ends an answer, asked for last
    before = written.answers[:, batch.prompt - 1 : -2]
    right: Bool[Tensor, " string"] = (written.answers[:, -2] == batch.targets[:, -2]) & (before != end).all(1)
    return right


def at_risk(right: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return two masks ``[string, step]``: whether all earlier steps are correct, and whether the step is wrong.

    Args:
        right: ``[string, step]`` whether it is right.
    """
    taken = np.concatenate([np.ones_like(right[:, :1]), np.cumprod(right, 1)[:, :-1]], 1).astype(bool)
    return taken, ~right.astype(bool)


def slope_of_error(right: np.ndarray) -> dict[str, float]:
    """Return the slope of a step's error on its number, given that all earlier steps are correct: value, low and high,
    per step.

    0 of answers of one step.

    Args:
        right: ``[string, step]`` whether it is right.
    """
    taken, wrong = at_risk(right)
    x = np.arange(1.0, right.shape[1] + 1)
    error = wrong & taken
    # What a least-squares line through all steps taken needs of each string: n, sum x, sum xx, sum y, sum xy.
    parts = np.stack([taken.sum(1), taken @ x, taken @ x**2, error.sum(1), error @ x], 1)
    rng = np.random.default_rng(seed_of("claims", "slope of step error"))
    drawn = rng.integers(0, len(parts), (RESAMPLES, len(parts)))
    low, high = np.percentile(_slope(parts[drawn].sum(1)), (2.5, 97.5))
    return {"value": float(_slope(parts.sum(0))), "low": float(low), "high": float(high)}


def _slope(sums: np.ndarray) -> np.ndarray:
    """Of ``[.., part]``; 0 where x does not vary."""
    n, x, xx, y, xy = np.moveaxis(sums, -1, 0)
    spread = n * xx - x**2
    found: np.ndarray = np.where(spread > 0, (n * xy - x * y) / np.where(spread > 0, spread, 1.0), 0.0)
    return found


@statistic("tokens", version=1)
def token_rows(run: TrainedRun, read: Sequence[int] = (), written: Sequence[int] = ()) -> StatisticRows:
    """Return the share of correct tokens of an answer, with its end and given the correct earlier tokens, by numbers of
    tokens.

    Args:
        run: a run of a task whose answer is part of the sequence.
        read: numbers of tokens of the input.
        written: numbers of tokens of the answer; the shortest input with such an answer is evaluated.
    """
    task = run.task
    if not isinstance(task, SequenceTask):
        raise ClaimError(
            f"the answers of {task.name} are not part of the sequence, so they have no tokens to count; choose a task "
            "with answers in the sequence, such as copy"
        )
    inputs = {f"{n} read": n for n in read} | {f"{m} written": _input_of(task, m) for m in written}
    for label, n in inputs.items():
        batch = run.strings(STRINGS, n + 1 + task.answer_length(n), "matched", "tokens")
        with torch.no_grad():
            right = right_queries(run, batch, run.answers(batch))[0]
        shares = share_right(right, batch)
        ends = mean_ends(shares, np.random.default_rng(seed_of("claims", "tokens", label)), RESAMPLES, (0.0, 1.0))
        number = {"value": float(shares.mean()), "low": ends.low, "high": ends.high}
        yield {"quantity": f"tokens right, {label}", "length": batch.length, "n": len(batch), **number}


def _input_of(task: SequenceTask, written: int) -> int:
    """Tokens of the shortest input that is answered with so many."""
    for n in range(1, MOST_READ):
        if task.answer_length(n) == written and task.drawable(n):
            return n
    raise ClaimError(f"no input of fewer than {MOST_READ:,} tokens has an answer of {written} tokens in {task.name}")
