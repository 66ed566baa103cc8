"""Which head stands at the cursor until another is chosen: the one whose ablation costs most accuracy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pandas as pd

from workbench.figures.claims import count, estimate, missing, plain
from workbench.figures.labels import Piece, head_name
from workbench.figures.rows import nearest, pick, valued

ABLATION = "circuits.ablation"
FEWEST = 6
"""Sequences that must change one way, none the other, before an exact sign test at 5 % tells a difference."""

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Leading:
    """The head that stands at the cursor until another is chosen.

    Attributes:
        layer, head: which.
        row: what ablating it costs, where that is shown to cost something; None = simply the first head.
        looked: whether ablations were measured there.
    """

    layer: int
    head: int
    row: Row | None
    looked: bool

    @property
    def name(self) -> str:
        """``L0 H3``."""
        return head_name(self.layer, self.head)


def leading_head(frame: pd.DataFrame, *, step: int, length: int) -> Leading:
    """The head whose ablation costs most accuracy, of those of which a cost is shown; else the first.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        length: ablations at the longest length up to this one count, or else at the shortest there is.
    """
    rows = valued(
        pick(
            frame, measurement=ABLATION, quantity="accuracy_drop", target="head", mode="mean", law="matched", step=step
        )
    ).to_dict("records")
    lengths = sorted({int(row["length"]) for row in rows})
    here = [row for row in rows if int(row["length"]) == nearest(lengths, length)] if lengths else []
    shown = [row for row in here if has_effect(row)]
    if not shown:
        return Leading(0, 0, None, bool(here))
    most = max(shown, key=lambda row: (float(row["value"]), -int(row["layer"]), -int(row["head"])))
    return Leading(int(most["layer"]), int(most["head"]), most, True)


def has_effect(row: Row) -> bool:
    """Whether an ablation is shown to cost accuracy: its interval excludes 0, and enough sequences changed."""
    changed = float("inf") if missing(row["n"]) else float(row["value"]) * float(row["n"])
    return not missing(row["low"]) and float(row["low"]) > 0 and round(changed) >= FEWEST


def leading_clause(leading: Leading) -> list[Piece]:
    """Why this head is the one spoken of, in words that go before its name."""
    if leading.row is None:
        why = "no ablation is shown to cost accuracy" if leading.looked else "ablation is not measured"
        return [plain(f"first head ({why}), ")]
    cost: list[Piece] = [*estimate(leading.row), count(leading.row, "length", " at length ")]
    return [plain("the head with the largest effect (without it accuracy drops by "), *cost, plain("), ")]
