"""Compiled programs at every prefix of every string to the table's length, and of long near misses.

The same at length 9,996: ``python -m benchmarks.compiled``.
"""

from __future__ import annotations

import numpy as np
import pytest

from workbench.theory.compiler.pipeline import compile
from workbench.theory.crasp.evaluator import evaluate, every_string
from workbench.theory.crasp.zoo import ZOO, Case

LONG = 996
EVERY_OPTION = [("float32", True), ("float64", False), ("float64", True)]
VERIFIED = ["majority", "dyck_1", "even_as", "contains_ab", "tomita_4", "bounded_dyck_2", "anbncn", "unique_right_2"]


def mismatches(case: Case, strings: np.ndarray, dtype: str = "float32", log_scaled: bool = False) -> int:
    compiled = compile(case.program, strings.shape[1], dtype=dtype, log_scaled=log_scaled)  # type: ignore[arg-type]
    found, wanted = compiled.evaluate(strings), evaluate(case.program, strings)
    return sum(int((found[name] != wanted[name]).sum()) for name in wanted)


@pytest.mark.parametrize("case", ZOO.values(), ids=lambda case: f"{case.name}-to-{case.length}")
def test_every_prefix_of_every_string(case: Case):
    """The strings of the greatest length: the shorter ones are their prefixes."""
    assert mismatches(case, every_string(len(case.program.alphabet), case.length)) == 0


@pytest.mark.parametrize(("dtype", "log_scaled"), EVERY_OPTION)
@pytest.mark.parametrize("name", VERIFIED)
def test_every_prefix_of_every_string_under_every_option(name, dtype, log_scaled):
    case = ZOO[name]
    assert mismatches(case, every_string(len(case.program.alphabet), min(case.length, 10)), dtype, log_scaled) == 0


@pytest.mark.parametrize("case", ZOO.values(), ids=lambda case: case.name)
def test_every_prefix_of_long_near_misses(case: Case):
    assert mismatches(case, case.near_misses(LONG)[:12]) == 0


@pytest.mark.parametrize(("dtype", "log_scaled"), EVERY_OPTION)
@pytest.mark.parametrize("name", ["dyck_1", "contains_ab"])
def test_every_prefix_of_long_near_misses_under_every_option(name, dtype, log_scaled):
    assert mismatches(ZOO[name], ZOO[name].near_misses(LONG), dtype, log_scaled) == 0


def test_a_constant_answer_would_not_pass():
    """What the long strings are for: at their ends every acceptor says yes to some and no to others."""
    for case in ZOO.values():
        for values in evaluate(case.program, case.near_misses(LONG)).values():
            assert values[:, 40:].any() or case.name == "interleaved_majority"
            assert not values[:, 40:].all()
