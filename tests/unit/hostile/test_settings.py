"""Settings of wrong types and out of all bounds: each is taken, or refused with a sentence."""

from __future__ import annotations

from tests.support.hostile import settings
from tests.support.hostile.judged_settings import (
    SEED,
    judged,
    settings_folder,  # noqa: F401 - fixtures
)


def test_some_hostile_settings_are_met_with_sentences() -> None:
    ones = settings.chosen(SEED, share=0.03)
    assert len({one.kind for one in ones}) == 7
    assert len(ones) > 500
    assert judged(ones) == []
