"""Compiled programs: the sizes that are known, every prefix of every short string, every dimension's value."""

from __future__ import annotations

import pytest

from tests.support.theory.pipeline import QUICK, solves_its_task
from workbench.theory.crasp.zoo import ZOO


@pytest.mark.parametrize("name", [name for name, case in ZOO.items() if case.task and name not in QUICK])
def test_a_compiled_model_solves_the_task_of_its_case(name: str):
    solves_its_task(ZOO[name])
