"""Training that changes on the way, ended at an operation on a file or at any time, and given again: same bits."""

from __future__ import annotations

import random

from tests.support.hostile.kills import (
    CHANGING,
    SEED,
    warm_up,  # noqa: F401 - fixtures
    wrong_after,
)


def test_a_growing_curriculum_goes_on_after_kills() -> None:
    _, found = wrong_after(CHANGING[0][1], random.Random(SEED), 3)
    assert found == []
