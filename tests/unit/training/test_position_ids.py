"""Which ids training sees is recorded for every id sampler, and laws that do not fit a run are refused when it is made."""

from __future__ import annotations

import random
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.support.training.position_ids import Pairs, config
from workbench.models.positions import PositionError
from workbench.tasks.counting.majority import Majority
from workbench.training.resume import State, intervals


class Below(Pairs):
    """The same, counted from -1."""

    def coupled_ids(self, strings: Tensor, meta: dict[str, Tensor]) -> Tensor:
        return super().coupled_ids(strings, meta) - 1


def test_seen_ids_are_those_of_a_plain_set() -> None:
    rng, state, plain = random.Random(0), State(), set()
    for _ in range(60):
        batch = [sorted(rng.sample(range(80), 5)) for _ in range(2)]
        state.see(torch.tensor(batch))
        plain |= {i for row in batch for i in row}
        assert {i for first, last in state.seen for i in range(first, last + 1)} == plain
        assert all(a[1] + 1 < b[0] for a, b in zip(state.seen, state.seen[1:], strict=False)), "neighbours are joined"
    assert state.seen == [[0, 79]]


def test_intervals_of_one_id_and_of_gaps() -> None:
    assert intervals(torch.tensor([[7]])) == [[7, 7]]
    assert intervals(torch.tensor([[9, 2, 3], [3, 5, 4]])) == [[2, 5], [9, 9]]


@pytest.mark.parametrize(("fields", "sentence"), [
    ({"task": Majority(), "ids": "coupled"}, "majority"),
    ({"task": Pairs(), "ids": "coupled", "high": 31}, "n_ctx"),
    ({"task": Below(), "ids": "coupled"}, "ids"),
    ({"task": Majority(), "ids": "pose", "high": 15}, "n_ctx"),
    ({"task": Majority(), "ids": "random_subset", "high": 17}, "random_subset"),
    ({"task": Majority(), "positions": "learned", "high": 17}, "learned"),
])  # fmt: skip
def test_ids_that_do_not_fit_are_refused_when_the_run_is_made(fields: dict[str, Any], sentence: str) -> None:
    with pytest.raises(PositionError, match=sentence):
        config(**fields)


def test_what_just_fits_is_taken() -> None:
    config(Pairs(), ids="coupled", positions="learned", high=29)
    config(Majority(), ids="pose", positions="learned", high=13)
    config(Majority(), ids="arange", positions="sinusoidal", high=99)
