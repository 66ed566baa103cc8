"""Hard strata: a qualifier of the verdict, from sequences of hard kinds that are drawn on purpose.

The verdict tests the accuracy of a whole test set. A hard kind may be a small share of it, so that a failure on this
kind only would not show. The qualifier is reported next to the verdict and does not change it. The task defines its
hard kinds and their common name, e.g. small margins of a majority, or components of a mixture.
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
"""Number of sequences drawn per stratum, test set and length."""


@dataclass(frozen=True)
class Stratum:
    """Answers to sequences of one hard kind, on one test set at one length. The baseline is chance within the kind.

    Attributes:
        name: name of the kind.
        cell: counts of right answers.
        agreements: agreement of the model with shortcuts on these sequences.
    """

    name: str
    cell: Cell
    agreements: tuple[Agreement, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Qualifier:
    """Whether skill on hard strata holds beyond training: ``hold``, ``fail`` or ``open``, and the evidence."""

    label: StratumLabel
    note: str


@dataclass(frozen=True)
class StratumVerdict:
    """Whether skill on one kind of hard inputs (*stratum*) holds beyond training, with the length of the largest drop.

    Attributes:
        label: ``hold``, ``fail`` or ``open``.
        shown: the cell with the largest drop, among those that decide the label.
        reference: the trained cell of the same stratum and test set, with which it is compared.
        cells: number of compared cells beyond training.
    """

    label: StratumLabel
    shown: Stratum
    reference: Stratum
    cells: int

    @property
    def drop(self) -> tuple[float, int]:
        """The change of skill (negative = drop) and the length. Sorting puts the largest drop first, then the shortest
        length.
        """
        return self.shown.cell.skill - self.reference.cell.skill, self.shown.cell.length

    @property
    def note(self) -> str:
        """Return the trained length that was compared, the followed shortcut, and the number of compared lengths.

        Example: ``1.00 [0.97, 1.00] at 31; worst of 10 cells``.
        """
        there = self.reference.cell
        many = f"worst of {self.cells} cells" if self.cells > 1 else "one cell"
        followed = followed_said(list(self.shown.agreements))
        return "; ".join(filter(None, (f"{estimate(there)} at {there.length}", followed, many)))


def estimate(cell: Cell) -> str:
    """Return ``0.42 [0.34, 0.51]``; complete counts have no interval."""
    if cell.counted:
        return f"{cell.accuracy:.2f}"
    low, high = clopper_pearson(int(cell.right), cell.n)
    return f"{cell.accuracy:.2f} [{low:.2f}, {high:.2f}]"


def stratum_verdicts(strata: Sequence[Stratum], trained: int) -> list[StratumVerdict]:
    """Return, for each kind of hard inputs (*stratum*) that can be compared, whether its skill stays at 0.9 of its
    skill inside training.

    *Fail* claims that some cell drops, so its level is divided by the number of cells of all strata. *Hold* claims that
    no cell drops.

    Args:
        strata: cells up to N, and cells at longer lengths. The reference is the longest cell up to N of the same kind
            and test set.
        trained: N.
    """
    inside = sorted((s for s in strata if s.cell.length <= trained and s.cell.defined), key=lambda s: s.cell.length)
    references = {(s.name, s.cell.law): s for s in inside}
    beyond = [s for s in strata if s.cell.length > trained and s.cell.defined and (s.name, s.cell.law) in references]
    names = dict.fromkeys(s.name for s in beyond)
    return [_verdict([s for s in beyond if s.name == name], references, len(beyond)) for name in names]


def _verdict(beyond: Sequence[Stratum], references: dict[tuple[str, str], Stratum], compared: int) -> StratumVerdict:
    """Return the verdict on one stratum; ``compared`` is the number of cells of all strata."""

    def reference(one: Stratum) -> Stratum:
        return references[one.name, one.cell.law]

    def bar(one: Stratum) -> float:
        return ROBUST * reference(one).cell.skill

    lost = [s for s in beyond if s.cell.upper(ERROR / compared) < bar(s)]
    doubtful = [s for s in beyond if s.cell.lower(ERROR) < bar(s)]
    label: StratumLabel = "fail" if lost else "open" if doubtful else "hold"
    sign = 1 if lost or doubtful else -1  # for *hold*, the longest length is reported
    worst = min(
        lost or doubtful or beyond, key=lambda s: (s.cell.skill - reference(s).cell.skill, sign * s.cell.length)
    )
    return StratumVerdict(label, worst, reference(worst), len(beyond))


def near_ties(strata: Sequence[Stratum], trained: int) -> Qualifier | None:
    """Return the qualifier of all strata together: *fail* if one fails, else *open* if one is open, else *hold*.

    None is returned if no stratum can be compared.

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
