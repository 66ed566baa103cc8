"""Which head stands at the cursor until another is chosen: the one whose ablation costs most accuracy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.thresholds import CLAIM
from workbench.figures.labels import Piece, head_name
from workbench.figures.rows.claims import count, estimate, plain
from workbench.figures.rows.frame import Frame, missing
from workbench.figures.rows.picking import nearest, valued

ABLATION = "circuits.ablation"
DROP, DROP_P = "accuracy_drop", "accuracy_drop_p"
FEWEST = 6
"""Where no p was measured: sequences that must change one way, none the other, before a sign test tells anything."""

IN_PLACE = {
    "zero": " with zeros in its place",
    "mean": " with its mean output in its place",
    "resample": " with another string's output in its place",
}
"""Mode of an ablation -> what stands in the place of the head's output."""

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


def leading_head(frame: Frame, *, step: int, length: int) -> Leading:
    """The head whose ablation costs most accuracy, of those of which a cost is shown; else the first.

    Args:
        frame: rows of one run.
        step: the checkpoint.
        length: ablations at the longest length up to this one count, or else at the shortest there is.
    """
    where = {"measurement": ABLATION, "quantity": [DROP, DROP_P], "target": "head", "law": "matched", "step": step}
    rows = valued(frame.where(**where)).rows()
    lengths = sorted({int(row["length"]) for row in rows})
    here = [row for row in rows if int(row["length"]) == nearest(lengths, length)] if lengths else []
    most = largest_effect(here)
    if most is None:
        return Leading(0, 0, None, bool(here))
    return Leading(int(most["layer"]), int(most["head"]), most, True)


def largest_effect(rows: Sequence[Row]) -> Row | None:
    """The ablation that costs most, in whatever mode, of those of which a cost is shown.

    Args:
        rows: of one step and length: what ablations cost, and the p that goes with each.
    """
    chances = {_ablation(row): float(row["value"]) for row in rows if row["quantity"] == DROP_P}
    shown = [row for row in rows if row["quantity"] == DROP and has_effect(row, chances.get(_ablation(row)))]
    return max(shown, key=lambda row: (float(row["value"]), -int(row["layer"]), -int(row["head"])), default=None)


def _ablation(row: Row) -> tuple[Any, ...]:
    """Which ablation a row is about."""
    return row["layer"], row["head"], row["mode"], row["length"]


def has_effect(row: Row, p: float | None = None) -> bool:
    """Whether an ablation is shown to cost accuracy: by the exact sign test on the sequences that differ.

    Args:
        row: what it costs.
        p: of that test; None = not measured: then the interval must exclude 0, and enough sequences have changed.
    """
    if p is not None:
        return float(row["value"]) > 0 and p <= CLAIM
    enough = missing(row["n"]) or round(float(row["value"]) * float(row["n"])) >= FEWEST
    return enough and not missing(row["low"]) and float(row["low"]) > 0


def cost_clause(row: Row, shown: bool) -> list[Piece]:
    """What an ablation costs, ``accuracy drops by 0.42 [0.27, 0.55] with its mean output in its place``."""
    how = plain(IN_PLACE.get(str(row["mode"]), ""))
    if shown:
        return [plain("accuracy drops by "), *estimate(row), how]
    return [plain("accuracy is not shown to drop ("), *estimate(row), plain(")"), how]


def leading_clause(leading: Leading) -> list[Piece]:
    """Why this head is the one spoken of, in words that go before its name."""
    if leading.row is None:
        why = "no ablation is shown to cost accuracy" if leading.looked else "ablation is not measured"
        return [plain(f"first head ({why}), ")]
    cost: list[Piece] = [*cost_clause(leading.row, shown=True), count(leading.row, "length", " at length ")]
    return [plain("the head with the largest effect ("), *cost, plain("), ")]
