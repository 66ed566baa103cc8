"""Strings of a stratum, drawn on purpose: counted here by hand, and compared with the law given the stratum."""

from __future__ import annotations

from collections import Counter

import pytest
import torch

from tests.support.tasks.hard_strings import BOTH
from workbench.tasks import Task, make_task


# ---- laws with few strings -----------------------------------------------------------------------
def counted(task: Task, length: int, law: str, seeded, window: int, number: int = 40_000) -> Counter:
    batch = task.sample(number, length, seeded(3), law, window)
    return Counter(tuple(row) for row in batch.tokens.tolist())


@pytest.mark.parametrize("law", BOTH)
@pytest.mark.parametrize("ask", ["member", "next"])
@pytest.mark.parametrize(("letters", "length"), [(2, 8), (2, 24), (3, 21), (4, 16)])
def test_listed_laws_are_those_that_are_drawn(letters, length, ask, law, seeded, assert_law):
    task = make_task("a_n_b_n", letters=letters, ask=ask)
    support = task.support(law, length, window=4)
    strings = [tuple(row) for row in support.batch.tokens.tolist()]
    assert len(set(strings)) == len(strings)
    assert support.probabilities.sum().item() == pytest.approx(1, abs=1e-12)
    seen = counted(task, length, law, seeded, 4)
    assert set(seen) <= set(strings)
    codes = torch.tensor([strings.index(s) for s, count in seen.items() for _ in range(count)])
    assert_law(codes, support.probabilities.tolist())
    for row, target in zip(strings, support.batch.targets.tolist(), strict=True):
        assert task.reference(row[1:])[-1] == target[-1]
