"""Do the intervals of decodability hold what they are about as often as they say?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from probes.fitting.metrics import Resamples, balanced_accuracy, r2
from probes.summary import Summary
from workbench.tasks.base import Batch

TRIALS, SEQUENCES, D = 100, 400, 8


def draw(kind: str, count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Labels, and activations that tell them in noise."""
    generator = torch.Generator().manual_seed(seed)
    bit = kind == "class"
    s = torch.randint(2, (count,), generator=generator) if bit else torch.rand(count, generator=generator).double()
    x = torch.randn(count, D, generator=generator)
    x[:, 0] += (2.0 * s - 1).float() if bit else 6 * (s.float() - 0.5)
    return s, x


def batch_of(s: Tensor) -> Batch:
    mask = torch.ones(len(s), 1, dtype=torch.bool)
    return Batch(
        tokens=torch.zeros(len(s), 1, dtype=torch.long),
        targets=s[:, None],
        mask=mask,
        output_summary=s[:, None],
        update_summary=None,
        length=1,
        bos=False,
        law="matched",
    )


@pytest.mark.parametrize("kind", ["class", "number"])
def test_scores_of_a_frozen_probe(kind: str, generators: Callable[[int], Callable[..., np.random.Generator]]) -> None:
    """The truth of each trial is what its probe scores on 40,000 rows that it never saw."""
    hits = 0
    for seed in range(TRIALS):
        s, x = draw(kind, SEQUENCES, seed)
        measurement: Any = Summary(resamples=200)
        measurement.observe("matched", 1, batch_of(s), {"blocks.0.hook_resid_pre": x[:, None]})
        rows = measurement.decode((1,), generators(seed), lambda: None)
        (found,) = [r for r in rows if (r["mode"], r["quantity"]) == ("transfer", "summary_decodability")]
        s, x = draw(kind, 40_000, 10_000 + seed)
        answers, whole = (
            measurement.frozen_probes["output_summary"](x[None]),
            Resamples(torch.ones(1, 40_000).double(), torch.arange(40_000)),
        )
        scored = balanced_accuracy(answers, s, 2, whole) if kind == "class" else r2(answers, s, whole)
        hits += found["low"] <= float(scored) <= found["high"]
    assert 0.87 <= hits / TRIALS <= 0.99  # three standard errors of 100 trials around .94
