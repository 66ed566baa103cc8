"""Programs for ``compile``, languages for ``predict`` and options for ``prompts`` as nobody should give them."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path

import pytest

from tests.support.hostile.command_cases import CommandCase, tried
from tests.support.hostile.compiled_programs import compiled_cases
from tests.support.hostile.effort import AddTally, sample
from tests.support.hostile.opened_outcomes import peak_of_commands, summary, warm_for_opening
from tests.support.hostile.predicted_languages import predicted_cases
from tests.support.hostile.prompt_options import prompted_cases

SEED = 20261126
MEMORY_GIB = 2.5
"""What a command may have at its peak; torch takes 0.3 of it."""
IMPORTED = (
    "workbench.cli.compiled_run",
    "workbench.theory.prediction.predict",
    "workbench.theory.regular.monoid",
    "automata.fa.nfa",
)
SURFACES: dict[str, tuple[Callable[[int], list[CommandCase]], int]] = {
    "compile": (compiled_cases, 1500), "predict": (predicted_cases, 1500), "prompts": (prompted_cases, 300),
}  # fmt: skip
"""What makes the inputs of a command, and how many there are at least."""


@pytest.mark.parametrize("surface", SURFACES)
def test_hostile_input_gets_an_answer_or_a_sentence(
    surface: str, tmp_path: Path, tally: AddTally, capsys: pytest.CaptureFixture[str]
) -> None:
    make_cases, least = SURFACES[surface]
    every = make_cases(SEED)
    assert len(every) >= least
    assert len({case.label for case in every}) == len(every)
    every = list(sample(every, SEED))
    warm_for_opening()
    for name in IMPORTED:
        import_module(name)
    seconds, wrong = list[float](), list[str]()
    for number, case in enumerate(every):
        ended, problems = tried(tmp_path / "tried", case)
        seconds.append(ended.seconds)
        wrong += problems
        if problems or number % 100 == 0:
            with capsys.disabled():
                print("\n".join([f"{surface}: {number} of {len(every)}, {len(wrong)} wrong", *problems]), flush=True)
    with capsys.disabled():
        print(f"\n{summary(f'inputs of {surface}', seconds, wrong)}")
    tally(surface, len(every), wrong)
    assert wrong == []
    assert peak_of_commands() < MEMORY_GIB
