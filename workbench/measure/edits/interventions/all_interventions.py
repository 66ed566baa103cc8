"""All interventions, those of a diagnosis in the order of its tests, and functions that find one by its stored name."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from workbench.measure.edits.interventions.content import CONTENT
from workbench.measure.edits.interventions.intervention import Intervention
from workbench.measure.edits.interventions.one_key import ONE_KEY
from workbench.measure.edits.interventions.position import POSITION
from workbench.measure.edits.interventions.recurrence import RECURRENCE
from workbench.measure.edits.interventions.sharpening import SHARPENING

if TYPE_CHECKING:
    from workbench.models.base.architecture import Architecture

INTERVENTIONS: tuple[Intervention, ...] = (*POSITION, *SHARPENING, *ONE_KEY, *RECURRENCE, *CONTENT)
"""Every entry; ``C.pool`` is replaced by one intervention per block."""
DIAGNOSED: tuple[Intervention, ...] = tuple(entry for entry in INTERVENTIONS if entry.diagnosed)
"""The entries that a diagnosis tests."""


def interventions_on(cfg: Architecture) -> list[Intervention]:
    """Return the interventions that a diagnosis tests on a model, including those that the model does not support."""
    return [intervention for entry in DIAGNOSED for intervention in entry.expand(cfg)]


def find_intervention(name: str) -> Intervention | None:
    """Return the intervention with a stored name (column ``target``), e.g. ``C.pool0``; None for an unknown name.

    >>> find_intervention("P.int").words, find_intervention("C.pool2").words, find_intervention("P.new")
    ('ids interpolated', 'rows moved, block 2', None)
    """
    return next((match for entry in INTERVENTIONS if (match := entry.match(name))), None)


def by_name(name: str) -> Intervention:
    """Return the intervention with a stored name.

    Raises:
        KeyError: for an unknown name.
    """
    intervention = find_intervention(name)
    if intervention is None:
        raise KeyError(f"{name!r} names no intervention")
    return intervention


def members(interventions: Iterable[Intervention], family: str) -> list[Intervention]:
    """Return the interventions of one family."""
    return [intervention for intervention in interventions if intervention.family == family]
