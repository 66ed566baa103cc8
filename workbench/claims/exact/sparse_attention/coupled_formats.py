"""The position ids of the three coupled formats, as printed, beside those that the tasks give."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from workbench.claims.claim import Row
from workbench.tasks.base import Task
from workbench.tasks.registry import make_task

LONGEST = 12
ASSIGNMENTS = "v0 <start> v3 <- v4 v0 <- v1 v1 <- v2 v4 <- v5 <sep> v0 <- v1 v1 <- v2"
"""Two chains of depth 2, interleaved 2, 1, 1, 2."""
ASSIGNMENT_IDS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 0, 6, 7, 8, 9, 10, 11)


def worked_ids() -> list[Row]:
    """Ids that differ from those of the paper, BOS left out where it prints none, per format."""
    rows = []
    for length in range(1, LONGEST + 1):
        task, names = make_task("reverse"), ["a"] * length
        printed = [*range(1, length + 1), 0, *range(length, 0, -1)]
        rows.append(_row(f"reversal, L {length}", _ids(task, [*names, "<sep>", *names])[1:], printed))
    for jump in (1, 2, 3, 4):
        bits = LONGEST  # which every jump divides
        task, names = make_task("parity_scratchpad", jump=jump), ["0"] * bits
        printed = [0, *(-(-i // jump) for i in range(1, bits + 1)), 0, *range(1, bits // jump + 1)]
        rows.append(_row(f"jump {jump}", _ids(task, [*names, "<sep>", *names[: bits // jump]]), printed))
    task = make_task("variable_assignment", depth=2, variables=6)
    rows.append(_row("variable assignment, d 2, w 2", _ids(task, ASSIGNMENTS.split()), ASSIGNMENT_IDS))
    return rows


def _ids(task: Task, names: Sequence[str]) -> list[int]:
    """Coupled ids of one sequence, BOS included."""
    ids = task.label(torch.tensor([[task.tokens_names.index(name) for name in names]])).position_ids
    assert ids is not None
    found: list[int] = ids[0].tolist()
    return found


def _row(item: str, found: Sequence[int], printed: Sequence[int]) -> Row:
    wrong = sum(a != b for a, b in zip(found, printed, strict=True))
    return Row("ids that differ", item, float(wrong), n=len(printed))
