"""Whether a length reads ids that training never showed: intervals are compared, not written out."""

from __future__ import annotations

import numpy as np
import pytest

from workbench.measure.edits.edited_forward import largest_id
from workbench.measure.study import ids_in_intervals, within


@pytest.mark.parametrize(("intervals", "ids", "expected"), [
    ([[0, 9]], [0, 5, 9], True),
    ([[0, 9]], [0, 10], False),
    ([[3, 9]], [2], False),
    ([[0, 2], [5, 7]], [0, 2, 5, 7], True),
    ([[0, 2], [5, 7]], [3], False),
    ([[5, 7], [0, 2]], [1, 6], True),
    ([[0, 100], [2, 3]], [50], True),
    ([], [0], False),
    ([[0, 10**9]], [10**9], True),
    ([[7, 3]], [5], False),
])  # fmt: skip
def test_ids_lie_within_intervals(intervals, ids, expected: bool) -> None:
    assert within(np.array(ids, dtype=np.int64), intervals) is expected


def test_each_id_is_told() -> None:
    assert (
        ids_in_intervals(np.arange(9), [[0, 2], [5, 6]]).tolist() == [True] * 3 + [False] * 2 + [True] * 2 + [False] * 2
    )


def test_the_largest_id_is_that_of_whichever_interval_ends_last() -> None:
    assert largest_id([[0, 2], [9, 40], [5, 6]]) == 40
    assert [largest_id(none) for none in (None, [])] == [None, None], "not recorded, or before the first update"
