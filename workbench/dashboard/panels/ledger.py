"""The ledger of evidence under a verdict, as plain rows: what the Run page and pages without a server both draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.thresholds import LEVEL_TEXT
from workbench.core.verdicts import WORDS
from workbench.dashboard.panels.run_panels import EVIDENCE
from workbench.dashboard.state.cursor import Cursor
from workbench.dashboard.state.run_view import RunView
from workbench.figures.errors import NotMeasured
from workbench.figures.labels import Piece
from workbench.figures.text.evidence import evidence, tally

HEADS = ("Evidence", "Value", LEVEL_TEXT, "n", "Control", "Where", "For the verdict")
"""Columns of the ledger."""
NUMBERS = HEADS[1:5]
"""Those that hold numbers."""
STANDINGS = {"supports": "supports", "contradicts": "contradicts", "neutral": "inconclusive"}
"""Standing of a clause -> its words on the page."""


@dataclass(frozen=True)
class LedgerRow:
    """A clause of the evidence.

    Attributes:
        short: in a few words.
        clause: in words.
        panel: that shows it.
        cells: value, interval, n, control and location.
        standing: whether it supports the verdict, contradicts it, or is neutral.
    """

    short: Sequence[Piece]
    clause: Sequence[Piece]
    panel: str
    cells: tuple[str, str, str, str, str]
    standing: str


@dataclass(frozen=True)
class Ledger:
    """All evidence for or against a verdict.

    Attributes:
        said: how many clauses support the verdict, contradict it, or are inconclusive; "" without a verdict.
        rows: one per clause.
    """

    said: str
    rows: tuple[LedgerRow, ...]

    @property
    def neutral(self) -> tuple[LedgerRow, ...]:
        """Return the clauses that speak neither for nor against the verdict."""
        return tuple(row for row in self.rows if row.standing == "neutral")


NO_LEDGER = Ledger("", ())
"""Of a checkpoint without a verdict."""


def ledger(run: RunView, at: Cursor) -> Ledger:
    """The evidence at a selection; empty without a verdict."""
    where: dict[str, Any] = {"step": at.step, "length": at.length, "layer": at.layer, "head": at.head}

    def make() -> Ledger:
        try:
            clauses = evidence(run.frame, trained=run.trained, **where)
        except NotMeasured:
            return NO_LEDGER
        word = WORDS[run.brief.verdicts[at.step]]
        counts = tally(clauses)
        said = [_counted(counts["supports"], "supports", "support"), _counted(counts["contradicts"], "contradicts")]
        neutral = f", {_counted(counts['neutral'], 'is inconclusive', 'are inconclusive')}" if counts["neutral"] else ""
        told = f"{said[0]} \u201c{word}\u201d, {said[1]} it{neutral}"
        rows = (LedgerRow(one.short, one.clause, EVIDENCE[one.topic], one.cells, one.standing) for one in clauses)
        return Ledger(told, tuple(rows))

    return run.memo(("ledger", *where.values()), make)


def _counted(count: int, one: str, many: str = "") -> str:
    if count == 1:
        return f"1 clause {one}"
    return f"{count or 'no'} clauses {many or one.removesuffix('s')}"
