"""What tests of several tiers share. Settings of wrong types and out of all bounds: each is taken, or refused with a sentence."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.hostile import settings

SEED = 20261122


@pytest.fixture(autouse=True)
def settings_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings name folders such as ``../..``: they are read here, so that no test depends on what lies above."""
    here = tmp_path / "a" / "b"
    here.mkdir(parents=True)
    monkeypatch.setattr(settings, "FOLDER", tmp_path, raising=False)
    monkeypatch.chdir(here)


def judged(ones: list[settings.Setting]) -> list[str]:
    """What is wrong with the settings, a line each."""
    found = [(one, settings.judge(one)) for one in ones]
    return [f"{one.kind}: {one.what[:200]}: {wrong}" for one, wrong in found if wrong]
