"""Evaluating C-RASP programs: vectorised against a per-position interpreter in plain Python.

    python -m benchmarks.crasp

The interpreter runs on fewer strings of the same length, and its time is scaled up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from benchmarks.peers.crasp_interpreter import interpret
from benchmarks.tools.table import Line, interleaved
from workbench.theory.crasp.evaluator import evaluate
from workbench.theory.crasp.zoo import ZOO, Case

STRINGS, LENGTH = 10_000, 1_000
PEER_STRINGS = 20


def median_case() -> Case:
    """The zoo's program with the median number of distinct expressions."""
    cases = sorted(ZOO.values(), key=lambda case: len(case.program.subterms()))
    return cases[len(cases) // 2]


def contestants(case: Case) -> dict[str, Callable[[], object]]:
    """Evaluator and interpreter on the same random strings; the second takes the first few only."""
    program = case.program
    strings = np.random.default_rng(0).integers(1, len(program.alphabet) + 1, (STRINGS, LENGTH))
    few = strings[:PEER_STRINGS].tolist()
    return {
        "evaluator": lambda: evaluate(program, strings),
        "interpreter": lambda: [deque(interpret(program, string), maxlen=0) for string in few],
    }


def measure(rounds: int = 5) -> list[Line]:
    """Seconds and ratio for the smallest, the median and the largest program of the zoo."""
    by_size = sorted(ZOO.values(), key=lambda case: len(case.program.subterms()))
    found: list[Line] = []
    for case in (by_size[0], median_case(), by_size[-1]):
        times = interleaved(contestants(case), rounds, warm=1)
        bounded = case is median_case()
        seconds = times.median("evaluator") / 1e3
        scale = STRINGS / PEER_STRINGS
        size = f"{len(case.program.subterms())} expressions"
        found += [
            Line(f"evaluating {case.name}", "s for 10,000 x 1,000", seconds, 1.0 if bounded else None, size, True),
            Line(
                f"evaluating {case.name}", "interpreter / evaluator", scale * times.ratio("interpreter", "evaluator"),
                100.0 if bounded else None, f"{scale * times.median('interpreter') / 1e3:.0f} s in plain Python",
            ),
        ]  # fmt: skip
    return found


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure())
