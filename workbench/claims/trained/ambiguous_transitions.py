"""Where copying with repeats errs: at transitions that are ambiguous given the last symbols written, or at others?

A transition is ambiguous for m if the last m symbols written occur more than once in the input. What followed them then
does not determine what comes next. Which m a model can use is not known; m = 2 was fixed beforehand, and 1 and 3 are
reported with it.
"""

from __future__ import annotations

import numpy as np
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from workbench.claims.trained.bin_accuracy import STRINGS, bins_of, lengths_in
from workbench.claims.trained.run_rows import StatisticRows
from workbench.claims.trained.run_statistics import statistic
from workbench.claims.trained.trained_run import TrainedRun
from workbench.core.seeds import seed_of
from workbench.measure.behaviour.observed import right_queries

RESAMPLES = 1000


def ambiguous(written: Int[Tensor, "batch symbol"], m: int) -> Bool[Tensor, "batch place"]:
    """Return whether the last ``m`` symbols at positions m - 1, m, .., n - 1 of an input occur in it more than once."""
    last = written.unfold(1, m, 1)  # batch, place, m
    alike = (last[:, :, None] == last[:, None]).all(-1)
    found: Bool[Tensor, "batch place"] = alike.sum(-1) > 1
    return found


@statistic("transitions", version=1)
def transition_rows(run: TrainedRun, most: int = 3) -> StatisticRows:
    """Return the error at ambiguous transitions divided by the error at other transitions, given the correct earlier
    answers, for strings with lengths in (N, 2N].

    The end of the answer does not count as a transition. Half an error and one transition are added to either side, so
    that a ratio exists.

    Args:
        run: a run of copying with repeats, forwards.
        most: the largest m.
    """
    low, high = bins_of(run.longest)["b1"]
    lengths = lengths_in(run, low, high)
    counts = [_counts(run, n, -(-STRINGS // len(lengths)), most) for n in lengths]
    together = np.concatenate(counts, 1)  # m, string, (errors, transitions) of either kind
    rng = np.random.default_rng(seed_of("claims", "transitions"))
    samples = rng.integers(0, together.shape[1], (RESAMPLES, together.shape[1]))
    for m, of_strings in enumerate(together, start=1):
        errors = of_strings.sum(0)
        shared = {"setting": f"m {m}", "length": high, "n": len(of_strings)}
        for kind, (wrong, n) in zip(("ambiguous", "other"), errors, strict=True):
            yield {"quantity": f"error at {kind} transitions", "value": float(wrong / max(n, 1)), **shared, "n": int(n)}
        ratios = _ratio(of_strings[samples].sum(1))
        ends = {"low": float(np.percentile(ratios, 2.5)), "high": float(np.percentile(ratios, 97.5))}
        yield {"quantity": "ratio of errors", "value": float(_ratio(errors)), **shared}
        yield {"quantity": "ratio of errors with its interval", "value": float(_ratio(errors)), **ends, **shared}


def _counts(run: TrainedRun, length: int, strings: int, most: int) -> np.ndarray:
    """``[m, string, kind, 2]`` errors and transitions, ambiguous ones first."""
    batch = run.strings(strings, length, "matched", "transitions")
    assert batch.prompt is not None
    with torch.no_grad():
        right = right_queries(run, batch, run.answers(batch))[0]
    inputs = batch.prompt - 2
    x = batch.tokens[:, 1 : 1 + inputs]
    wrong = ~right[:, batch.prompt - 1 : batch.prompt - 1 + inputs]  # of each symbol of the copy
    kinds = []
    for m in range(1, most + 1):
        # Symbol j of the copy comes after j written ones: the m before it end at place j - 1.
        unclear = ambiguous(x, m)[:, :-1] if inputs > m else torch.zeros(len(x), 0, dtype=torch.bool)
        missed = wrong[:, m:]
        kinds.append(torch.stack([_pair(missed, unclear), _pair(missed, ~unclear)], 1))
    found: np.ndarray = torch.stack(kinds).numpy().astype(float)
    return found


def _pair(missed: Tensor, kind: Tensor) -> Tensor:
    """``[string, 2]`` errors of a kind, and how many there are of it."""
    return torch.stack([(missed & kind).sum(1), kind.sum(1)], -1)


def _ratio(counts: np.ndarray) -> np.ndarray:
    """Of ``[.., kind, 2]``: the error of the first kind over that of the second."""
    rate = (counts[..., 0] + 0.5) / (counts[..., 1] + 1)
    found: np.ndarray = rate[..., 0] / rate[..., 1]
    return found
