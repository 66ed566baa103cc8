"""Models, weights and answers of others as nobody should hand them over: one sentence each, and nothing is harmed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.hostile.adopted_files import adopted_cases, make_sound_checkpoints
from tests.support.hostile.answered_files import answered_cases, make_sound_answers
from tests.support.hostile.effort import AddTally, sample
from tests.support.hostile.opened_folders import make_templates, opened_cases
from tests.support.hostile.opened_outcomes import (
    peak_of_commands,
    summary,
    tried_adopting,
    tried_answers,
    tried_opening,
    warm_for_opening,
)

MEMORY_GIB = 2.5
"""What a command may have at its peak; torch and transformers take 1 of it."""


def test_hostile_folders_of_models_get_a_sentence(
    tmp_path: Path, tally: AddTally, capsys: pytest.CaptureFixture[str]
) -> None:
    every, wrong, seconds = opened_cases(), list[str](), list[float]()
    assert len(every) >= 275
    every = sample(every, seed=1)
    warm_for_opening()
    templates = make_templates(tmp_path / "templates")
    for number, case in enumerate(every):
        ended, problems = tried_opening(tmp_path / "tried", templates, case)
        wrong += problems
        seconds.append(ended.seconds)
        if problems or number % 50 == 0:
            with capsys.disabled():
                print("\n".join([f"{number} of {len(every)}, {len(wrong)} wrong", *problems]), flush=True)
    with capsys.disabled():
        print(f"\n{summary('folders of models', seconds, wrong)}")
    tally("open", len(every), wrong)
    assert wrong == []
    assert peak_of_commands() < MEMORY_GIB


def test_hostile_prompts_and_answers_get_a_sentence(
    tmp_path: Path, tally: AddTally, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "sound").mkdir()
    make_sound_answers(tmp_path / "sound")
    cases = list(answered_cases())
    tally("answers", *tried_all("pairs of prompts and answers", cases, tried_answers, tmp_path, 300, capsys))


def test_hostile_checkpoints_get_a_sentence_when_they_are_adopted(
    tmp_path: Path, tally: AddTally, capsys: pytest.CaptureFixture[str]
) -> None:
    make_sound_checkpoints(tmp_path / "sound")
    cases = list(adopted_cases())
    tally("adopt", *tried_all("folders of checkpoints", cases, tried_adopting, tmp_path, 350, capsys))


def tried_all(
    name: str, cases: list[Any], attempt: Any, place: Path, least: int, capsys: pytest.CaptureFixture[str]
) -> tuple[int, list[str]]:
    """Try all cases on the files in ``sound``, or a share of them: how many, and nothing may be wrong with any."""
    assert len(cases) >= least
    assert len({label for label, _, _ in cases}) == len(cases)
    warm_for_opening()
    seconds, wrong = list[float](), list[str]()
    for label, apply, taken in sample(cases, seed=1):
        ended, problems = attempt(place / "tried", place / "sound", label, apply, taken)
        seconds.append(ended.seconds)
        wrong += problems
    with capsys.disabled():
        print(f"\n{summary(name, seconds, wrong)}")
    assert wrong == []
    assert peak_of_commands() < MEMORY_GIB
    return len(seconds), wrong
