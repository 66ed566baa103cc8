"""Compiled programs on strings of length 9,996 at the edge of their languages: every prefix against the evaluator.

    python -m benchmarks.compiled [LENGTH]

Not a race but the long half of a proof: the tests do the same at length 996. Minutes in one thread, because
attention at every prefix is quadratic.
"""

from __future__ import annotations

import sys
from time import process_time

import torch

from benchmarks.tools.table import Line
from workbench.theory.compiler.pipeline import compile
from workbench.theory.crasp.evaluator import evaluate
from workbench.theory.crasp.near_misses import far_parts
from workbench.theory.crasp.programs import unique_right
from workbench.theory.crasp.zoo import ZOO, Case

LENGTH = 9_996
UR_4 = Case(
    "unique_right_4", "UR over a, b, c, d", unique_right("abcd"), "C-RASP[local]", 1, 0,
    far_parts(("ab", "cd", "a"), ("ab", "dc", "b")),
)  # fmt: skip


def mismatches(case: Case, length: int, log_scaled: bool, dtype: str) -> Line:
    """How many prefixes of how many strings the compiled program and the evaluator differ on."""
    strings = case.near_misses(length)
    start = process_time()
    compiled = compile(case.program, length, log_scaled=log_scaled, dtype=dtype)  # type: ignore[arg-type]
    found, wanted = compiled.evaluate(strings), evaluate(case.program, strings)
    wrong = sum(int((found[name] != wanted[name]).sum()) for name in wanted)
    option = f"{dtype}, log-scaled" if log_scaled else dtype
    note = f"{len(strings)} strings, {process_time() - start:.0f} s"
    return Line(f"{case.name} ({option})", "mismatches", wrong, 0.0, note, at_most=True)


def measure(length: int = LENGTH) -> list[Line]:
    torch.set_num_threads(1)
    plain = [(case, False, "float32") for case in (*ZOO.values(), UR_4)]
    options = [(False, "float64"), (True, "float32")]
    further = [(case, *option) for case in (ZOO["dyck_1"], ZOO["contains_ab"], UR_4) for option in options]
    found = []
    for case, log_scaled, dtype in plain + further:
        line = mismatches(case, length, log_scaled, dtype)
        print(f"{line.what}: {line.value:.0f} mismatches, {line.note}", file=sys.stderr)
        found.append(line)
    return found


if __name__ == "__main__":
    from benchmarks.tools.table import show

    show(measure(int(sys.argv[1]) if len(sys.argv) > 1 else LENGTH))
