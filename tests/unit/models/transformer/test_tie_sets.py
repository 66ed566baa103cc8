"""Attention made hard: the nearest hardmax of a row of scores, and each row's weight spread evenly over its tie set."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from tests.support.held import Held, digest
from workbench.models.transformer.tie_sets import (
    in_tie_set,
    nearest_hardmax,
    sort_rows,
    tie_set_pattern,
    tie_set_scores,
)

ROWS = np.log([[8, 1, 1, 1, 1.0], [3, 3, 3, 1, 1.0], [1, 1, 1, 1, 1.0], [5, 4, 0.1, 0.1, 0.1], [1, 2, 4, 8, 16.0]])


def test_nearest_hardmaxes_held(held: Held) -> None:
    for keys in (None, np.array([5, 4, 3, 2, 1])):
        rows = sort_rows(ROWS, keys)
        found = nearest_hardmax(rows)
        for row, size, distance in zip(range(5), found.size, found.distance, strict=True):
            count = 5 if keys is None else int(keys[row])
            weights = np.sort(np.exp(ROWS[row, :count]) / np.exp(ROWS[row, :count]).sum())[::-1]
            every = [
                np.abs(weights - np.r_[np.full(k, 1 / k), np.zeros(count - k)]).sum() / 2 for k in range(1, count + 1)
            ]
            assert distance == pytest.approx(min(every))
            assert every[size - 1] == pytest.approx(min(every))
            assert found.distance_to_all[row] == pytest.approx(every[-1])
    rows, found = sort_rows(ROWS), nearest_hardmax(sort_rows(ROWS))
    parts = [rows.weight, rows.inside, rows.outside, rows.cost, rows.total, rows.keys]
    held([*(digest(part) for part in parts), found.size, digest(found.distance), digest(found.distance_to_all)])


def test_tie_sets_of_scores_with_hidden_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    from workbench.models.transformer import tie_sets

    scores = torch.tensor(
        [[1.0, 9.0, 9.0, 1.0], [-math.inf, 5.0, 0.0, 0.0], [0.0, 0.0, -math.inf, -math.inf], [2.0, 2.0, 2.0, 2.0]]
    )[None, None]
    wanted = [[0, 1, 1, 0], [0, 1, 0, 0], [1, 1, 0, 0], [1, 1, 1, 1]]
    for size in (1, 4, 8, 12, 1 << 18):
        monkeypatch.setattr(tie_sets, "SCORES_AT_ONCE", size)
        assert in_tie_set(scores)[0, 0].int().tolist() == wanted
    assert tie_set_pattern(scores)[0, 0].tolist() == [[x / sum(row) for x in row] for row in wanted]
    assert (tie_set_scores(scores)[0, 0] == 0).int().tolist() == wanted
    assert bool((tie_set_scores(scores)[0, 0] == -math.inf).eq(torch.tensor(wanted) == 0).all())


@pytest.mark.parametrize(("scores", "keys", "refused"), [
    ([[1.0, 2.0]], [1], ""), ([[1.0, 2.0]], [2], ""), ([[1.0, 2.0]], [0], "between 1 and 2"), ([[1.0, 2.0]], [3], "got 3 to 3"), ([[1.0, math.nan]], [2], "NaN"),
    ([[1.0, math.nan]], [1], ""), ([[math.inf, 1.0]], [2], "NaN"), ([[-math.inf, -math.inf]], [2], "NaN"), ([[-math.inf, 0.0]], [2], ""), ([[-math.inf, 0.0]], [1], "NaN"),
])  # fmt: skip
def test_rows_that_can_be_sorted(scores: list[list[float]], keys: list[int], refused: str) -> None:
    if refused:
        with pytest.raises(ValueError, match=refused):
            sort_rows(np.array(scores), np.array(keys))
    else:
        assert sort_rows(np.array(scores), np.array(keys)).keys.tolist() == keys
