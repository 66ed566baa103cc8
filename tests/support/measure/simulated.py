"""Checkpoints with a stated accuracy at every length, judged by the project's own rules on binomial draws."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from workbench.measure.behaviour.accuracy_cells import Cell, Key, Rules
from workbench.measure.behaviour.interim_tests import LookBoard, Looks, Tally, look
from workbench.measure.behaviour.verdict import Verdict, decide
from workbench.measure.measurement import Grid

GRID = Grid(32, (4, 8, 16, 32, 48, 64, 96, 128, 192, 256), (8, 16, 32), (48, 64, 96, 128, 192, 256))
"""The default grid of a run trained up to N = 32."""
RULES = Rules()
CHALLENGE_FLOORS = {4: 0.5, 8: 0.5, 16: 0.5, 32: 0.5, 48: 0.75, 64: 0.75, 96: 0.7, 128: 0.63, 192: 0.58, 256: 0.58}
"""Floors of majority's challenge law over the default grid."""

Truth = Callable[[str, int], float]


def flat(inside: float, beyond: float) -> Truth:
    """The same accuracy at all trained lengths, and the same at all others."""
    return lambda law, n: inside if n <= GRID.trained else beyond


def floors(challenge: float | None = None, matched: float = 0.5) -> dict[Key, float]:
    """Floors of both laws; the challenge law's are majority's where none is given."""
    found = {("matched", n): matched for n in GRID.lengths}
    return found | {("challenge", n): CHALLENGE_FLOORS[n] if challenge is None else challenge for n in GRID.lengths}


@dataclass
class Simulated:
    """One checkpoint: its verdict, and the strings and tokens that it took."""

    verdict: Verdict
    board: LookBoard
    strings: int
    tokens: int


def simulate(truth: Truth, floor: Mapping[Key, float], seed: int, deep: bool = True, rules: Rules = RULES) -> Simulated:
    """Draw a checkpoint's answers and judge them."""
    rng = np.random.default_rng(seed)
    counted = Counter[int]()

    def answers(law: str, n: int, strings: int) -> int:
        counted[n] += strings
        return int(rng.binomial(strings, truth(law, n)))

    first = rules.looks[0]
    cells = {key: Cell(*key, right=answers(*key, first), n=first, floor=floor[key]) for key in floor}
    board = LookBoard(GRID, rules, cells)
    looks = Looks.of(rules, first, deep)
    made = look(
        board,
        looks,
        lambda cell, start, stop: Tally(answers(*cell.key, stop - start), stop - start),
        lambda cell, strings: Tally(answers(*cell.key, strings), strings),
    )
    tokens = sum(n * strings for n, strings in counted.items())
    return Simulated(decide(board, looks, made), board, counted.total(), tokens)


def many(truth: Truth, floor: Mapping[Key, float], draws: int, deep: bool = True) -> Iterator[Simulated]:
    """So many checkpoints of one truth, with fixed seeds."""
    for seed in range(draws):
        yield simulate(truth, floor, seed, deep)


def rates(truth: Truth, floor: Mapping[Key, float], draws: int, deep: bool = True) -> dict[str, float]:
    """Share of every outcome: the label, or ``fit open`` or the reason where undecided; and the cost.

    ``strings`` and ``tokens`` are multiples of what 512 strings of every judged cell take.
    """
    outcomes, strings, tokens = Counter[str](), 0, 0
    for one in many(truth, floor, draws, deep):
        undecided = one.verdict.label == "undecided"
        open_fit = undecided and one.board.fit == "open"
        outcomes["fit open" if open_fit else one.verdict.reason if undecided else one.verdict.label] += 1
        strings, tokens = strings + one.strings, tokens + one.tokens
    first = RULES.looks[0] * draws
    found = {name: count / draws for name, count in outcomes.items()}
    whole = first * len(floor), first * sum(n for _, n in floor)
    return found | {"cost in strings": strings / whole[0], "cost in tokens": tokens / whole[1]}
