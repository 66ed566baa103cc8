"""What tests of several tiers share. The vectorised evaluator against plain Python, a per-position interpreter, and the counts that are known."""

from __future__ import annotations

import numpy as np

from workbench.claims.exact.language_oracles import ORACLES
from workbench.theory.crasp.evaluator import evaluate, every_string
from workbench.theory.crasp.program import Program
from workbench.theory.crasp.zoo import Case


def true_outputs(made: Program, strings: np.ndarray) -> list[set[str]]:
    """Per string the outputs that are true at its end."""
    values = evaluate(made, strings)
    return [{name for name in made.outputs if values[name][row, -1]} for row in range(len(strings))]


def letters(case: Case) -> int:
    return len(case.program.alphabet)


def to_length(case: Case) -> str:
    """A case as the name of a test."""
    return f"{case.name}-to-{case.length}"


def agree_with_the_oracle(case: Case, strings: np.ndarray) -> None:
    for row, found in zip(strings.tolist(), true_outputs(case.program, strings), strict=True):
        symbols = tuple(case.program.alphabet[token - 1] for token in row)
        assert ORACLES[case.name](symbols) == found, symbols


def many_strings(case: Case) -> bool:
    """Whether the strings of a case's longest length take long."""
    return letters(case) ** case.length > 10_000


def accepted(case: Case) -> int:
    """How many strings the program accepts, up to the case's length."""
    lengths = range(1, case.length + 1)
    return sum(len(names) for n in lengths for names in true_outputs(case.program, every_string(letters(case), n)))
