"""The vectorised evaluator against plain Python, a per-position interpreter, and the counts that are known."""

from __future__ import annotations

import pytest

from tests.support.theory.evaluator import accepted, agree_with_the_oracle, letters, many_strings, to_length
from workbench.theory.crasp.evaluator import every_string
from workbench.theory.crasp.zoo import ZOO, Case


@pytest.mark.parametrize("case", list(filter(many_strings, ZOO.values())), ids=to_length)
def test_as_many_strings_are_accepted_as_are_known_to_be(case: Case):
    assert accepted(case) == case.accepted


@pytest.mark.parametrize("case", ZOO.values(), ids=to_length)
def test_programs_agree_with_plain_python_on_every_string(case: Case):
    for length in range(1, case.length + 1):
        agree_with_the_oracle(case, every_string(letters(case), length))
