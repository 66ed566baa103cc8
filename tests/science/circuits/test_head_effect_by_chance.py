"""How often a head is named where none matters: at most five times in a hundred."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from circuits.interventions.head_effect import NAMED, head_effect_statistics
from tests.support.circuits.two_headed import two_headed
from workbench.tasks import make_task

TASK = make_task("majority")


class OtherTask(type(TASK)):  # type: ignore[misc]
    """Majority that is asked for the parity of every second bit, with which majority agrees in half of the sequences."""

    def correct(self, outputs: torch.Tensor, batch: Any) -> torch.Tensor:
        ones = (batch.tokens == 2)[:, 1::2].sum(1, keepdim=True)
        return outputs.argmax(-1) == ones % 2


def test_where_no_head_matters_one_is_named_in_at_most_five_of_a_hundred_draws() -> None:
    task, models = OtherTask(), [two_headed(1), two_headed(2)]
    labels, without = [], []
    for seed in range(200):
        settings: dict[str, Any] = {"trained": 31, "lengths": [31], "factors": [1], "replicates": 2, "resamples": 100}
        found = head_effect_statistics(models[seed % 2], task, seed=seed, **settings)
        labels += [row["label"] for row in found.rows if row["quantity"] == "necessary_head"]
        without += [row["value"] for row in found.rows if row["quantity"] == "selection_drop"]
    assert labels.count(NAMED) <= 0.05 * len(labels)
    assert abs(np.mean(without)) < 0.002, "the truth is that no head matters"
    assert np.max(without) > 0.05, "but heads do change answers"
