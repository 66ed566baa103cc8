"""Settings of wrong types and out of all bounds: each is taken, or refused with a sentence."""

from __future__ import annotations

import time
from collections import Counter

import pytest

from tests.support.hostile import settings
from tests.support.hostile.effort import SHARE, AddTally, effort
from tests.support.hostile.judged_settings import (
    SEED,
    judged,
    settings_folder,  # noqa: F401 - fixtures
)


def test_all_hostile_settings_are_met_with_sentences(tally: AddTally, capsys: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    ones = settings.chosen(SEED, SHARE)
    wrong = judged(ones)
    counts = ", ".join(f"{kind} {count:,}" for kind, count in Counter(one.kind for one in ones).items())
    with capsys.disabled():
        print(f"\n{len(ones):,} hostile settings ({counts}) in {time.monotonic() - begun:,.0f} s: {len(wrong)} wrong")
    tally("settings", len(ones), wrong)
    assert len(ones) >= effort(5000)
    assert wrong == []
