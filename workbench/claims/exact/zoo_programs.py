"""The programs of the zoo against plain Python, and their transformers against the programs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.claims.claim import Row
from workbench.claims.exact.language_oracles import ORACLES
from workbench.theory.compiler.pipeline import compile
from workbench.theory.crasp.evaluator import evaluate, every_string
from workbench.theory.crasp.programs import majority
from workbench.theory.crasp.zoo import ZOO, Case

LONG = 996
"""Length of the near misses."""
MOST_SYMBOLS = 2_000_000
"""Symbols that a compiled model reads of one program at most: of all strings, the longest that are few enough."""
POSITIONS_READ = 32
BLUNT = (10, 20, 50)
"""Lengths that the twins are right up to."""


def oracle_mismatches() -> list[Row]:
    """Strings on which a program and plain Python differ, per program: all strings to the zoo's length."""
    rows = []
    for case in ZOO.values():
        letters = len(case.program.alphabet)
        wrong = strings = accepted = 0
        for length in range(1, case.length + 1):
            every = every_string(letters, length)
            values = evaluate(case.program, every)
            for at, tokens in enumerate(every.tolist()):
                said = {name for name in case.program.outputs if values[name][at, -1]}
                wrong += said != ORACLES[case.name](tuple(case.program.alphabet[t - 1] for t in tokens))
                accepted += len(said)
            strings += len(every)
        rows.append(Row("mismatches", case.name, float(wrong), n=strings))
        rows.append(Row("true answers", case.name, float(accepted), expected=float(case.accepted), n=strings))
    return rows


def compiled_mismatches() -> list[Row]:
    """Prefixes that a compiled transformer answers otherwise than its program, per program and kind of string."""
    rows = []
    for case in ZOO.values():
        letters, length = len(case.program.alphabet), case.length
        while length * letters**length > MOST_SYMBOLS:
            length -= 1
        every = every_string(letters, length)
        rows.append(Row("mismatches", f"{case.name}, every string to {length}", *_differing(case, every)))
        near = case.near_misses(LONG)
        rows.append(Row("mismatches", f"{case.name}, near misses of {LONG}", *_differing(case, near)))
    return rows


def positions_of_compiled() -> list[Row]:
    """Period and locality as read from the weights of each compiled transformer, beside those of its program."""
    from circuits.positional.positional import weight_tables
    from circuits.positional.translation_fit import gauge, locality

    rows = []
    for case in ZOO.values():
        model = compile(case.program, 2 * POSITIONS_READ).model
        read_period, read_locality = 1, 0
        if model.cfg.positions.added:
            vectors = np.concatenate([model.pos_embed.W_pos.detach().numpy()] * POSITIONS_READ)[:POSITIONS_READ]
            read_period = _period(vectors)
        for layer in range(model.cfg.n_layers):
            tables = weight_tables(model, layer, POSITIONS_READ)
            for table in tables if tables is not None else ():
                if np.ptp(table[np.tril_indices(POSITIONS_READ)]) > 0:
                    read_locality = max(read_locality, locality(gauge(table).local_bias, 1e-9) or 0)
        program = case.program
        rows.append(Row("period", case.name, float(read_period), expected=float(program.modulus)))
        rows.append(Row("locality", case.name, float(read_locality), expected=float(program.locality or 0)))
    return rows


def first_failures() -> list[Row]:
    """The shortest string of majority on which each length-coupled twin is wrong, beside its formula.

    Compiled for n_max, a comparison of difference d = 0 errs from 2 (n_max + 1) / (n + 1) <= 1/2 on, which odd n can
    have; a twin that reads the first N keys alone errs on some string of N + 1.
    """
    rows = []
    for sharp in BLUNT:
        blunt = compile(majority(), sharp)
        found = next(n for n in range(1, 8 * sharp, 2) if _wrong_on_ties(blunt, n))
        rows.append(Row("first failing length", f"gain for {sharp}", float(found), expected=float(4 * (sharp + 1) - 1)))
        hidden = compile(majority(), 4 * sharp, first_keys=sharp)
        short = next(n for n in range(1, 4 * sharp) if _wrong_on_ties(hidden, n))
        rows.append(Row("first failing length", f"first {sharp} keys", float(short), expected=float(sharp + 1)))
    return rows


def _wrong_on_ties(compiled: object, length: int) -> bool:
    """Whether a majority model errs on some string of this length with near-equal counts, either symbol last."""
    from workbench.theory.compiler.pipeline import Compiled

    assert isinstance(compiled, Compiled)
    first, second = (length + 1) // 2, length // 2
    counts = {(first, second), (second, first), (max(first - 1, 0), length - max(first - 1, 0))}
    strings = [
        part
        for a, b in sorted(counts)
        for part in ([1] * a + [2] * b, [2] * b + [1] * a, ([1, 2] * min(a, b) + [1] * (a - b) + [2] * (b - a)))
    ]
    ids = np.array(strings)
    wanted = evaluate(compiled.program, ids)["accept"][:, -1]
    return bool((compiled.evaluate(ids)["accept"][:, -1] != wanted).any())


def _differing(case: Case, strings: NDArray[np.int64]) -> tuple[float, None, None, None, int]:
    """Prefixes answered otherwise, and how many prefixes there are, as a row's last fields."""
    compiled = compile(case.program, strings.shape[1])
    found, wanted = compiled.evaluate(strings), evaluate(case.program, strings)
    wrong = sum(int((found[name] != wanted[name]).sum()) for name in wanted)
    return float(wrong), None, None, None, strings.size


def _period(vectors: NDArray[np.float32]) -> int:
    """The smallest distance after which vectors repeat."""
    return next(p for p in range(1, len(vectors)) if np.array_equal(vectors[p:], vectors[:-p]))
