"""Training that changes on the way, ended at an operation on a file or at any time, and given again: same bits."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest

from tests.support.hostile.kills import (
    CHANGING,
    SEED,
    warm_up,  # noqa: F401 - fixtures
    wrong_after,
)


def test_curricula_go_on_after_kills(capsys: pytest.CaptureFixture[str]) -> None:
    dice, begun, all_kinds, found = random.Random(SEED), time.monotonic(), Counter[str](), []
    for name, more in CHANGING:
        kinds, wrong = wrong_after(more, dice, 25)
        all_kinds += kinds
        found += [f"{name}: {line}" for line in wrong]
    with capsys.disabled():
        counts = ", ".join(f"{kind} {count}" for kind, count in all_kinds.items())
        print(
            f"\n{all_kinds.total()} kills of changing trainings ({counts}) in {time.monotonic() - begun:,.0f} s: {len(found)} wrong"
        )
    assert found == []
