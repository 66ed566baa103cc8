"""Near ties: a qualifier of the verdict, from strings on which only a blurred threshold errs, drawn on purpose.

The verdict is about the accuracy of a law, in which ties have a share that falls with length; so what is lost on them
alone never shows there. It is said beside the verdict, and is no part of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from workbench.core.thresholds import ERROR, ROBUST
from workbench.measure.behaviour.cells import Cell

STRINGS = 128
"""Strings drawn of each stratum, law and length."""


@dataclass(frozen=True)
class Stratum:
    """Answers to strings of one hard kind, under one law at one length; the floor is chance within the kind."""

    name: str
    cell: Cell


@dataclass(frozen=True)
class Qualifier:
    """Whether skill on near ties is kept beyond training: ``hold``, ``fail`` or ``open``, and what shows it."""

    label: Literal["hold", "fail", "open"]
    note: str


def near_ties(strata: Sequence[Stratum], trained: int) -> Qualifier | None:
    """Whether skill within every stratum stays at 0.9 of what it is at N or more; None where nothing can be compared.

    *Fail* is a claim that some of them is lost, so its level is divided by their number; *hold* claims all of them.

    Args:
        strata: those at N, with which the others of their kind and law are compared, and those at longer lengths.
        trained: N.
    """
    at_n = {(s.name, s.cell.law): s for s in strata if s.cell.length == trained and s.cell.defined}
    beyond = [s for s in strata if s.cell.length > trained and s.cell.defined and (s.name, s.cell.law) in at_n]
    if not beyond:
        return None

    def reference(one: Stratum) -> Stratum:
        return at_n[one.name, one.cell.law]

    def bar(one: Stratum) -> float:
        return ROBUST * reference(one).cell.skill

    lost = [s for s in beyond if s.cell.upper(ERROR / len(beyond)) < bar(s)]
    if lost:
        worst = min(lost, key=lambda s: (s.cell.skill - reference(s).cell.skill, s.cell.length))
        return Qualifier("fail", _told(worst, reference(worst)))
    doubtful = [s for s in beyond if s.cell.lower(ERROR) < bar(s)]
    if doubtful:
        worst = min(doubtful, key=lambda s: s.cell.lower(ERROR) - bar(s))
        return Qualifier("open", _told(worst, reference(worst)))
    weakest = min(beyond, key=lambda s: (s.cell.skill - reference(s).cell.skill, -s.cell.length))
    return Qualifier("hold", _told(weakest, reference(weakest)))


def _told(one: Stratum, reference: Stratum) -> str:
    """``lead 1: 0.50 at 249, 1.00 at 33 (matched law)``."""
    here, there = one.cell, reference.cell
    values = f"{here.accuracy:.2f} at {here.length}, {there.accuracy:.2f} at {there.length}"
    return f"{one.name}: {values} ({here.law} law)"
