"""The norm regularizer of compiled programs, and of broken variants that fail on longer strings."""

from __future__ import annotations

from workbench.claims.claim import Row
from workbench.theory.compiler.pipeline import Compiled, compile
from workbench.theory.crasp.evaluator import evaluate, every_string
from workbench.theory.crasp.zoo import ZOO, Case
from workbench.theory.limit_transformers.norm_regularizer import norm_regularizer

CONTEXTS = (16, 32, 64)
PROGRAMS = ("majority", "dyck_1", "anbncn")
EXHAUSTED = 8
"""Length to which all strings are gone through; beyond it near misses."""


def twin_rows(kind: str, steps: bool) -> list[Row]:
    """Return the regularizer R of each program and of a broken variant that is right up to n/2, and the variant's wrong
    prefixes.

    Args:
        kind: of variant: ``first keys`` attends only to the first n/2 keys; ``small gain`` has the smallest gain that
            makes no error up to n/2.
        steps: whether R reads hidden units as steps; else their gains count.
    """
    rows = []
    for name in PROGRAMS:
        case, first = ZOO[name], 0.0
        for n in CONTEXTS:
            compiled = compile(case.program, n)
            twin = compile(case.program, n, first_keys=n // 2) if kind == "first keys" else _smallest_gain(case, n)
            of_program, of_twin = (
                norm_regularizer(each.model, min(n, each.model.cfg.n_ctx), steps=steps).total
                for each in (compiled, twin)
            )
            first = first or of_program
            inside, outside = _errors(case, twin, n)
            item = f"{name}, n {n}"
            rows += [
                Row("R of the program", item, of_program),
                Row("R of the program over that at n 16", item, of_program / first),
                Row("R of the twin over R of the program", item, of_twin / of_program),
                Row("prefixes to n/2 that the twin gets wrong", item, float(inside)),
                Row("prefixes beyond that the twin gets wrong", item, float(outside)),
            ]
    return rows


def _smallest_gain(case: Case, n: int) -> Compiled:
    """The program with the smallest gain that makes no error to n/2."""
    # A comparison of difference 0 errs from (n + 1) / (n_max + 1) >= 4 on, so that less would not do.
    twins = (compile(case.program, sharp) for sharp in range(n // 8, n))
    return next(twin for twin in twins if not _errors(case, twin, n)[0])


def _errors(case: Case, twin: Compiled, n: int) -> tuple[int, int]:
    """Prefixes of up to n/2 symbols, and longer ones, that a broken variant answers otherwise than its program."""
    inside = outside = 0
    letters = len(case.program.alphabet)
    for strings in (every_string(letters, min(EXHAUSTED, n // 2)), case.near_misses(n // 12 * 12)):
        right, answers = evaluate(case.program, strings), twin.evaluate(strings)
        for name in right:
            wrong = answers[name] != right[name]
            inside += int(wrong[:, : n // 2].sum())
            outside += int(wrong[:, n // 2 :].sum())
    return inside, outside
