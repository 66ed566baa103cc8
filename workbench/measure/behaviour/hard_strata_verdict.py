"""Hard strata: a qualifier of the verdict, from strings of a hard kind, drawn on purpose.

The verdict is about the accuracy of a whole test set, in which a hard kind may have a small share; so what is lost on
it alone never shows there. It is said next to the verdict, and is no part of it. Which kinds there are, and what they
are called together (the small margins of a majority, the components of a mixture), the task says.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from workbench.core.thresholds import ERROR, ROBUST
from workbench.core.verdicts import StratumLabel
from workbench.measure.behaviour.accuracy_cells import Cell
from workbench.measure.behaviour.followed_shortcuts import Agreement, followed_said
from workbench.measure.intervals import clopper_pearson

STRINGS = 128
"""Strings drawn of each stratum, law and length."""


@dataclass(frozen=True)
class Stratum:
    """Answers to strings of one hard kind, under one law at one length; the floor is chance within the kind.

    Attributes:
        name: of the kind.
        cell: what was answered.
        agreements: on how many of them the model is right exactly where a shortcut is.
    """

    name: str
    cell: Cell
    agreements: tuple[Agreement, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Qualifier:
    """Whether skill on hard strata is kept beyond training: ``hold``, ``fail`` or ``open``, and what shows it."""

    label: StratumLabel
    note: str


@dataclass(frozen=True)
class StratumVerdict:
    """Whether skill on one stratum is kept beyond training, and the cell that shows it: the one that drops most.

    Attributes:
        label: ``hold``, ``fail`` or ``open``.
        shown: that cell, of those that decide the label.
        reference: the trained cell of the same stratum and law, with which it is compared.
        cells: how many cells beyond training were compared.
    """

    label: StratumLabel
    shown: Stratum
    reference: Stratum
    cells: int

    @property
    def drop(self) -> tuple[float, int]:
        """By how much skill drops, as what is smallest first; of equal drops that at the shorter length."""
        return self.shown.cell.skill - self.reference.cell.skill, self.shown.cell.length

    @property
    def note(self) -> str:
        """The trained cell, which shortcut is followed, and of how many cells this one is the worst.

        ``1.00 [0.97, 1.00] at 31; worst of 10 cells``.
        """
        there = self.reference.cell
        many = f"worst of {self.cells} cells" if self.cells > 1 else "one cell"
        followed = followed_said(list(self.shown.agreements))
        return "; ".join(filter(None, (f"{estimate(there)} at {there.length}", followed, many)))


def estimate(cell: Cell) -> str:
    """``0.42 [0.34, 0.51]``; counts have no interval."""
    if cell.counted:
        return f"{cell.accuracy:.2f}"
    low, high = clopper_pearson(int(cell.right), cell.n)
    return f"{cell.accuracy:.2f} [{low:.2f}, {high:.2f}]"


def stratum_verdicts(strata: Sequence[Stratum], trained: int) -> list[StratumVerdict]:
    """For each stratum whether its skill stays at 0.9 of what it is inside training; those that can be compared.

    *Fail* is a claim that some cell is lost, so its level is divided by the number of cells of all strata; *hold*
    claims all of them.

    Args:
        strata: cells up to N, of which the longest of their kind and law is what others are compared with, and cells
            at longer lengths.
        trained: N.
    """
    inside = sorted((s for s in strata if s.cell.length <= trained and s.cell.defined), key=lambda s: s.cell.length)
    references = {(s.name, s.cell.law): s for s in inside}
    beyond = [s for s in strata if s.cell.length > trained and s.cell.defined and (s.name, s.cell.law) in references]
    names = dict.fromkeys(s.name for s in beyond)
    return [_verdict([s for s in beyond if s.name == name], references, len(beyond)) for name in names]


def _verdict(beyond: Sequence[Stratum], references: dict[tuple[str, str], Stratum], compared: int) -> StratumVerdict:
    """The verdict on one stratum; ``compared``: the number of cells of all strata."""

    def reference(one: Stratum) -> Stratum:
        return references[one.name, one.cell.law]

    def bar(one: Stratum) -> float:
        return ROBUST * reference(one).cell.skill

    lost = [s for s in beyond if s.cell.upper(ERROR / compared) < bar(s)]
    doubtful = [s for s in beyond if s.cell.lower(ERROR) < bar(s)]
    label: StratumLabel = "fail" if lost else "open" if doubtful else "hold"
    sign = 1 if lost or doubtful else -1  # that it holds is told of the longest length
    worst = min(
        lost or doubtful or beyond, key=lambda s: (s.cell.skill - reference(s).cell.skill, sign * s.cell.length)
    )
    return StratumVerdict(label, worst, reference(worst), len(beyond))


def near_ties(strata: Sequence[Stratum], trained: int) -> Qualifier | None:
    """What all strata together say: that some fails, that some is open, or that all hold; None without any to compare.

    Args:
        strata, trained: as for :func:`stratum_verdicts`.
    """
    verdicts = stratum_verdicts(strata, trained)
    if not verdicts:
        return None
    label: StratumLabel = next(label for label in ("fail", "open", "hold") if any(v.label == label for v in verdicts))
    worst = min((v for v in verdicts if v.label == label), key=lambda v: v.drop)
    cell = worst.shown.cell
    cells = sum(v.cells for v in verdicts)
    note = StratumVerdict(label, worst.shown, worst.reference, cells).note
    return Qualifier(label, f"{worst.shown.name}: {estimate(cell)} at {cell.length} ({cell.law} law), {note}")
