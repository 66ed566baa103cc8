"""Every worked example in a docstring runs and gives what it says."""

from __future__ import annotations

import doctest
from importlib import import_module

import pytest

from tests.support.places import ROOT


def with_examples() -> list[str]:
    files = (file for room in ("workbench", "probes", "circuits") for file in sorted((ROOT / room).rglob("*.py")))
    held = [file.relative_to(ROOT).with_suffix("").parts for file in files if ">>> " in file.read_text()]
    return [".".join(parts).removesuffix(".__init__") for parts in held]


@pytest.mark.parametrize("module", with_examples())
def test_worked_examples(module):
    result = doctest.testmod(import_module(module))
    assert result.attempted > 0
    assert result.failed == 0


def test_families_of_tasks_show_how_they_work():
    """What a task asks is easiest seen: nearly every file of tasks has an example."""
    tasks = [name for name in with_examples() if name.startswith("workbench.tasks.")]
    assert len(tasks) >= 25
