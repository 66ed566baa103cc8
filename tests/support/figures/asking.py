"""What functions of rows are asked: the usual place, and one after the other every other place and option they know."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

from tests.support.figures.gallery_rows import RUNS, mixed, rows_of, trained_of, worn
from workbench.figures.look import Look
from workbench.figures.panels.many_seeds import SHOWN
from workbench.figures.rows.frame import Frame

ALONE = (
    *RUNS,
    *(f"worn {run}" for run in ("flip_flop_rotary_s0", "small_model", "pretrained/smollm2_pairs")),
    *(f"mixed {run}" for run in ("majority_learned", "parity_nope", "pretrained/smollm2_pairs")),
)
"""Whose rows are looked at."""
PAIRS = (
    "flip_flop_rotary_s0 and parity_nope",
    "majority_learned and flip_flop_rotary_s0",
    "small_model and compiled/majority_first_32",
    "pretrained/smollm2_pairs and pretrained/smollm2_copy",
)
"""Whose rows are compared."""
HARDMAX = ("critical_length", "tie_margin", "hardmax_verdict", "argmax_mass")
CHOICES: Mapping[str, tuple[Any, ...]] = {
    "quantity": HARDMAX,
    "law": ("challenge", "other"),
    "axis": ("times",),
    "pairing": ("share",),
    "shown": tuple(SHOWN),
    "colour": ("a",),
    "floor": (0.25,),
    "checkpoints": ((0, 7, 400, 2000),),
    "checkpoints_b": ((0, 9, 3000),),
    "look": (Look("dark", 14),),
    "connection": ("L0.0 -> L1.1", "embedding -> L0.0", "L9.0 -> L9.1"),
    "columns": (1, 2),
}
"""What an option may be besides its default."""
KNOWN: Mapping[str, tuple[Any, ...]] = {
    "concept": ("summary", "position"),
    "row": ("behaviour", "representation", "mechanism"),
    "quantity": ("hardmax_distance", *HARDMAX),
}
"""What is given to functions that have no default for it."""
AT = ("step", "length", "layer", "head", "which")


def places(frames: list[Frame], trained: int) -> dict[str, tuple[Any, ...]]:
    """Where one may be asked to look: the usual place first."""
    frame, other = frames[0], frames[-1]
    steps = [int(one) for one in frame.distinct("step")]
    lengths = [int(one) for one in frame.distinct("length")]
    layers = sorted({int(one) for one in frame.distinct("layer")} - {-1})
    past = next((n for n in lengths if n > trained), lengths[-1])
    near = min(lengths, key=lambda n: abs(n - trained))
    return {
        "step": (steps[-1], *steps[:-1], steps[-1] + 1),
        "step_b": (int(other.distinct("step")[-1]), None, 0),
        "length": (past, *sorted({lengths[0], near, lengths[-1], past + 1} - {past})),
        "length_b": (None, lengths[-1]),
        "layer": (layers[-1], 0, -1, 99),
        "head": (1, 0, 99),
        "which": (1, 0, 99),
        "trained": (trained, trained // 2, 4 * trained),
        "trained_b": (32, None, 2 * trained),
        "longest_trained": (trained, trained // 2, 4 * trained),
        "longest": (lengths[-1], lengths[0]),
        "cursor": (None, {"step": steps[-1], "length": past}, {"step": steps[0]}),
    }


def asked(function: Any, frames: list[Frame], trained: int, every: bool = True) -> Iterator[tuple[str, dict[str, Any]]]:
    """What a function of rows is asked.

    Args:
        function: its first parameters are frames.
        frames: what they are given.
        trained: N of the first.
        every: every place and option; else two other places of each kind.
    """
    parameters = list(inspect.signature(function).parameters.values())[len(frames) :]
    known = places(frames, trained) | KNOWN
    taken = [one.name for one in parameters]
    where = {name: choices for name, choices in known.items() if name in taken}
    usual = {name: choices[0] for name, choices in where.items()}
    yield "usual", usual
    others = {name: choices[1:] for name, choices in where.items()}
    others |= {name: choices for name, choices in CHOICES.items() if name in taken and name not in where}
    for one in parameters:
        if one.default is None and one.name in ("layer", "head", "length", "trained", "quantity"):
            others[one.name] = (*others[one.name], None)
    if not every:
        others = {name: choices[:2] for name, choices in others.items() if name in (*AT, *KNOWN)}
    for name, choices in others.items():
        for choice in choices:
            yield f"{name} {choice}", usual | {name: choice}


def answers_all(function: Any) -> bool:
    """Whether everything that a function needs besides rows is known here."""
    rest = list(inspect.signature(function).parameters.values())[1:]
    known = {*places([rows_of(RUNS[0])], 1), *KNOWN}
    return all(one.name in known or one.default is not one.empty for one in rest if one.kind is not one.VAR_KEYWORD)


def frames_of(runs: str) -> list[Frame]:
    """Of each side of ``run, run and run`` the rows of its runs."""
    return [Frame.concat([_frame(run) for run in side.split(", ")]) for side in runs.split(" and ")]


def first_trained(runs: str) -> int:
    """N of the first of them."""
    return trained_of(runs.split(" and ")[0].split(", ")[0].rpartition(" ")[2])


def _frame(run: str) -> Frame:
    how, _, name = run.rpartition(" ")
    return {"": rows_of, "worn": worn, "mixed": mixed}[how](name)
