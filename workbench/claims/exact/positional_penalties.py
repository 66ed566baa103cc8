"""The norm regularizer on products whose value is known, and on programs beside twins that fail."""

from __future__ import annotations

import torch

from workbench.claims.claim import Row
from workbench.theory.compiler.pipeline import Compiled, compile
from workbench.theory.crasp.evaluator import evaluate, every_string
from workbench.theory.crasp.zoo import ZOO, Case
from workbench.theory.limit_transformers.norm_regularizer import norm_regularizer, positional_penalty

LENGTHS = (50, 100, 200, 400)
CONTEXTS = (16, 32, 64)
PROGRAMS = ("majority", "dyck_1", "anbncn")
EXHAUSTED = 8
"""Length to which all strings are gone through; beyond it near misses."""


def known_products() -> list[Row]:
    """The penalty of p_i^T M p_j for M the previous place, every third place, and a constant, at N position vectors."""
    rows = []
    for n in LENGTHS:
        query, key = torch.meshgrid(torch.arange(n), torch.arange(n), indexing="ij")
        third = sum((i // 3 + 1) for i in range(n))  # keys j <= i of i's residue
        for name, product, wanted in (
            ("previous place", query - key == 1, (n - 1) / n),
            ("every third place", (query - key) % 3 == 0, third / n),
            ("constant", torch.ones(n, n) == 1, (n + 1) / 2),
        ):
            eye = torch.eye(n, dtype=torch.float64)
            value = positional_penalty(eye, product.double()[None], eye[None])
            rows.append(Row("penalty", f"{name}, N {n}", float(value), expected=wanted))
    return rows


def program_and_blind_twin() -> list[Row]:
    """R of each program and of the twin that reads the first n/2 keys, hidden units read as steps."""
    return _twins("first keys", steps=True)


def program_and_blunt_twin() -> list[Row]:
    """The same with the gains of ReLUs counted, and a twin whose gain is just large enough to length n/2."""
    return _twins("small gain", steps=False)


def _twins(kind: str, steps: bool) -> list[Row]:
    rows = []
    for name in PROGRAMS:
        case, first = ZOO[name], 0.0
        for n in CONTEXTS:
            compiled = compile(case.program, n)
            twin = compile(case.program, n, first_keys=n // 2) if kind == "first keys" else _bluntest(case, n)
            of_program, of_twin = (
                norm_regularizer(one.model, min(n, one.model.cfg.n_ctx), steps=steps).total for one in (compiled, twin)
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


def _bluntest(case: Case, n: int) -> Compiled:
    """The program with the smallest gain that makes no error to n/2."""
    # A comparison of difference 0 errs from (n + 1) / (n_max + 1) >= 4 on, so that less would not do.
    twins = (compile(case.program, sharp) for sharp in range(n // 8, n))
    return next(twin for twin in twins if not _errors(case, twin, n)[0])


def _errors(case: Case, twin: Compiled, n: int) -> tuple[int, int]:
    """Prefixes of up to n/2 symbols, and longer ones, that a twin answers otherwise than its program."""
    inside = outside = 0
    letters = len(case.program.alphabet)
    for strings in (every_string(letters, min(EXHAUSTED, n // 2)), case.near_misses(n // 12 * 12)):
        wanted, found = evaluate(case.program, strings), twin.evaluate(strings)
        for name in wanted:
            wrong = found[name] != wanted[name]
            inside += int(wrong[:, : n // 2].sum())
            outside += int(wrong[:, n // 2 :].sum())
    return inside, outside
