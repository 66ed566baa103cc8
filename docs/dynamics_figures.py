"""The two figures of docs/dynamics.md, from formulas and from the table of claims: ``python docs/dynamics_figures.py``.

Lines are the formulas of workbench/theory/training_dynamics. Dots are what training gave, from the rows of the claims
DX01 to DX08 in docs/claims/claims.parquet.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import pairwise

from verdict_figures import BLUE, GREY, INK, LIGHT, ORANGE, PICTURES, RED, ROOT, line, picture, text

from workbench.claims.claim import Row
from workbench.claims.claims_table import read_evidence
from workbench.claims.exact.shared_gain_training import falling_shares
from workbench.theory.training_dynamics import (
    coupling_of_shared_gain,
    decayed_gate_gap,
    horizon_of_gap,
    horizon_of_gated_counter,
)

KAPPA = 4.0
DECAY = 0.1
LENGTHS = (1, 2, 4, 8, 16, 32)
N = 16
GATE_DECAY = 1e-3
GREEN, VIOLET = "#1d7a4f", "#6b3fa0"
WIDTH, HEIGHT, LEFT, TOP, ACROSS, DOWN = 760, 400, 62.0, 56.0, 420.0, 280.0
Point = tuple[float, float]


def frame(title: str, below: str, left: str) -> list[str]:
    """The title of a figure and of its two axes."""
    middle = LEFT + ACROSS / 2
    upright = f' transform="rotate(-90 16 {TOP + DOWN / 2:.1f})"'
    return [
        text(LEFT - 46, 24, title, INK, "start", ' font-size="15" font-weight="600"'),
        text(middle, TOP + DOWN + 44, below, GREY),
        text(16, TOP + DOWN / 2, left, GREY, "middle", upright),
    ]


def curve(points: Sequence[Point], colour: str, dash: str = "") -> list[str]:
    """A broken line through points in pixels."""
    more = ' stroke-width="2"' + (f' stroke-dasharray="{dash}"' if dash else "")
    return [line(*start, *end, colour, more) for start, end in pairwise(points)]


def dots(points: Sequence[Point], colour: str) -> list[str]:
    """Round marks at points in pixels."""
    return [
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="#ffffff" stroke="{colour}" stroke-width="2"/>'
        for x, y in points
    ]


def names_of_lines(names: Sequence[tuple[str, float, str]]) -> list[str]:
    """The name of each line at its right end, in pixels moved apart where they would overlap."""
    parts, lowest = [], -math.inf
    for name, y, colour in sorted(names, key=lambda each: each[1]):
        lowest = max(y, lowest + 17)
        parts.append(text(LEFT + ACROSS + 10, lowest + 4, name, colour, "start"))
    return parts


def measured(claim: str, quantity: str) -> dict[str, Row]:
    """The rows of a claim by their item."""
    rows = read_evidence(ROOT / "docs" / "claims")[claim].rows
    return {row.item: row for row in rows if row.quantity == quantity}


def coupling_figure() -> str:
    """Coupling over the number of trained lengths, for five kinds of training."""

    def across(lengths: float) -> float:
        return LEFT + 14 + (ACROSS - 28) * math.log2(lengths) / 5

    def down(coupling: float) -> float:
        return TOP + DOWN * (1.02 - coupling) / 1.04

    drawn = "coupling, trained on draws"
    by_decay = measured("DX02", drawn)
    kinds: list[tuple[str, str, str, Callable[[int], float], dict[int, float]]] = [
        (
            "sign descent, Adam on mixed batches", RED, "",
            lambda k: coupling_of_shared_gain(KAPPA, k, "sign_descent"),
            of_lengths(measured("DX03", "coupling, Adam on mixed batches"), "kappa 4, {}"),
        ),
        (
            "Adam, one length a batch", ORANGE, "", lambda k: coupling_of_shared_gain(KAPPA, k, "adam_one_length"),
            of_lengths(measured("DX04", drawn), "kappa 4, {}"),
        ),
        (
            "SGD with weight decay 0.1", VIOLET, "6,4",
            lambda k: coupling_of_shared_gain(KAPPA, k, decay=DECAY, shares=falling_shares(k)),
            of_lengths(by_decay, "kappa 4, {}, unequal shares, decay 0.1"),
        ),
        (
            "SGD", BLUE, "", lambda k: coupling_of_shared_gain(KAPPA, k),
            of_lengths(measured("DX01", drawn), "kappa 4, {}"),
        ),
        (
            "SGD, depth 2, start 0.01", GREEN, "", lambda k: coupling_of_shared_gain(KAPPA, k, initial_scale=0.01),
            of_lengths(measured("DX05", drawn), "kappa 4, {}, start 0.01"),
        ),
    ]  # fmt: skip
    parts = frame(
        f"How much a trained reader depends on the length (kappa = {KAPPA:g})",
        "number K of trained lengths",
        "coupling (relative error)",
    )
    for tick in (0.0, 0.5, 1.0):
        parts.append(line(LEFT, down(tick), LEFT + ACROSS, down(tick), LIGHT))
        parts.append(text(LEFT - 8, down(tick) + 4, f"{tick:g}", GREY, "end"))
    for lengths in LENGTHS:
        parts.append(line(across(lengths), TOP + DOWN, across(lengths), TOP + DOWN + 5, GREY))
        parts.append(text(across(lengths), TOP + DOWN + 20, str(lengths), GREY))
    names = []
    for name, colour, dash, formula, values in kinds:
        parts += curve([(across(k), down(formula(k))) for k in range(1, 33)], colour, dash)
        parts += dots([(across(k), down(value)) for k, value in values.items()], colour)
        names.append((name, down(formula(32)), colour))
    parts += names_of_lines(names)
    parts.append(text(LEFT + ACROSS + 10, TOP + DOWN + 44, "lines: formulas; dots: trained", GREY, "start"))
    return picture(WIDTH, HEIGHT, "Coupling over the number of trained lengths for five kinds of training", parts)


def of_lengths(rows: dict[str, Row], item: str) -> dict[int, float]:
    """Values by the number of lengths, of the rows whose item has this form."""
    names = {k: item.format(f"{k} length{'s' if k > 1 else ''}") for k in range(1, 33)}
    return {k: rows[name].value for k, name in names.items() if name in rows}


def horizon_figure() -> str:
    """Horizon over training time for three gates of a counter."""
    first, last, lowest, highest = -0.2, 6.0, -1.0, 3.0

    def across(time: float) -> float:
        return LEFT + 14 + (ACROSS - 28) * (math.log10(time) - first) / (last - first)

    def down(multiple: float) -> float:
        return TOP + DOWN * (highest - math.log10(multiple)) / (highest - lowest)

    times = [10 ** (i / 200) for i in range(-40, 1201)]
    kinds: list[tuple[str, str, Callable[[float], float]]] = [
        ("free gate", GREEN, lambda time: horizon_of_gated_counter(N, time, gate="free") / N),
        ("sigmoid gate", BLUE, lambda time: horizon_of_gated_counter(N, time) / N),
        ("sigmoid gate, decay 0.001", RED, lambda time: horizon_of_gated_counter(N, time, decay=GATE_DECAY) / N),
    ]
    parts = frame(
        f"Up to which length a counter trained to N = {N} counts right", "training time: learning rate times steps",
        "horizon, in multiples of N",
    )  # fmt: skip
    for tick in (0.1, 1, 10, 100, 1000):
        parts.append(line(LEFT, down(tick), LEFT + ACROSS, down(tick), LIGHT))
        parts.append(text(LEFT - 8, down(tick) + 4, f"{tick:g}", GREY, "end"))
    for power in (0, 2, 4, 6):
        parts.append(line(across(10**power), TOP + DOWN, across(10**power), TOP + DOWN + 5, GREY))
        parts.append(text(across(10**power), TOP + DOWN + 20, f"{10**power:,}", GREY))
    names = []
    for name, colour, formula in kinds:
        inside = [(time, formula(time)) for time in times]
        inside = [(time, value) for time, value in inside if 10**lowest <= value <= 10**highest]
        parts += curve([(across(time), down(value)) for time, value in inside], colour)
        end_time, end = inside[-1]
        if end_time < times[-1]:
            parts.append(text(across(end_time) + 10, down(end) + 12, name, colour, "start"))
        else:
            names.append((name, down(end), colour))
    rows = measured("DX07", "horizon over its formula, on draws")
    trained = {
        time: rows[f"N {N}, t {time:,}"].value * horizon_of_gated_counter(N, time) / N for time in (1000, 10_000)
    }
    parts += dots([(across(time), down(value)) for time, value in trained.items()], BLUE)
    stopped = measured("DX08", "gap over its formula, on draws")[f"N {N}, decay {GATE_DECAY:g}"]
    gap = stopped.value * decayed_gate_gap(N, GATE_DECAY)
    parts += dots([(across(2 * 5500), down(horizon_of_gap(gap) / N))], RED)
    parts += names_of_lines(names)
    parts.append(text(LEFT + ACROSS + 10, TOP + DOWN + 44, "lines: formulas; dots: trained", GREY, "start"))
    return picture(WIDTH, HEIGHT, "Horizon of a gated counter over training time for three gates", parts)


FIGURES: dict[str, Callable[[], str]] = {
    "dynamics-coupling.svg": coupling_figure,
    "dynamics-horizon.svg": horizon_figure,
}
"""Name of the file in docs/pictures -> the function that draws it."""


def main() -> None:
    """Write both figures."""
    for name, draw in FIGURES.items():
        (PICTURES / name).write_text(draw(), encoding="utf-8")
        print(PICTURES / name)


if __name__ == "__main__":
    main()
