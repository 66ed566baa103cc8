"""Compiled programs compared with the C-RASP programs themselves: prefixes, ties and position vectors."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.theory.compiler.pipeline import Compiled, compile
from workbench.theory.crasp.evaluator import evaluate
from workbench.theory.crasp.zoo import Case


def wrong_on_ties(compiled: Compiled, length: int) -> bool:
    """Return whether a majority model errs on some string of this length with near-equal counts, with either last
    symbol.
    """
    first, second = (length + 1) // 2, length // 2
    counts = {(first, second), (second, first), (max(first - 1, 0), length - max(first - 1, 0))}
    strings = [
        part
        for a, b in sorted(counts)
        for part in ([1] * a + [2] * b, [2] * b + [1] * a, ([1, 2] * min(a, b) + [1] * (a - b) + [2] * (b - a)))
    ]
    ids = np.array(strings)
    right = evaluate(compiled.program, ids)["accept"][:, -1]
    return bool((compiled.evaluate(ids)["accept"][:, -1] != right).any())


def differing_prefixes(case: Case, strings: NDArray[np.int64]) -> tuple[float, None, None, None, int]:
    """Count the prefixes that a program answers differently, and all prefixes, and return both as a row's last
    fields.
    """
    compiled = compile(case.program, strings.shape[1])
    answers, right = compiled.evaluate(strings), evaluate(case.program, strings)
    wrong = sum(int((answers[name] != right[name]).sum()) for name in right)
    return float(wrong), None, None, None, strings.size


def period_of_vectors(vectors: NDArray[np.float32]) -> int:
    """Return the smallest distance after which vectors repeat."""
    return next(p for p in range(1, len(vectors)) if np.array_equal(vectors[p:], vectors[:-p]))
