"""Settings of wrong types and out of all bounds: each is taken, or refused with a sentence."""

from __future__ import annotations

import functools
import time
from collections import Counter
from pathlib import Path

import pytest
from hostile import settings

from workbench.core import registry

SEED = 20261122


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settings, "FOLDER", tmp_path, raising=False)
    # Which packages are installed does not change meanwhile, and is looked up for every task.
    monkeypatch.setattr(registry, "entry_points", functools.cache(registry.entry_points))


def judged(ones: list[settings.Setting]) -> list[str]:
    """What is wrong with the settings, a line each."""
    found = [(one, settings.judge(one)) for one in ones]
    return [f"{one.kind}: {one.what[:200]}: {wrong}" for one, wrong in found if wrong]


def test_some_hostile_settings_are_met_with_sentences() -> None:
    ones = settings.chosen(SEED, share=0.03)
    assert len({one.kind for one in ones}) == 7
    assert len(ones) > 500
    assert judged(ones) == []


@pytest.mark.hostile
def test_all_hostile_settings_are_met_with_sentences(capsys: pytest.CaptureFixture[str]) -> None:
    begun = time.monotonic()
    ones = settings.chosen(SEED)
    wrong = judged(ones)
    counts = ", ".join(f"{kind} {count:,}" for kind, count in Counter(one.kind for one in ones).items())
    with capsys.disabled():
        print(f"\n{len(ones):,} hostile settings ({counts}) in {time.monotonic() - begun:,.0f} s: {len(wrong)} wrong")
    assert len(ones) >= 5000
    assert wrong == []
