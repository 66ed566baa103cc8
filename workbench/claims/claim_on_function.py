"""State an exact claim by a decorator of the function that computes it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from workbench.claims.claim import Claim, Condition, Kind, Row, as_tuple
from workbench.claims.papers import Source

Computation = Callable[[], list[Row]]
ATTRIBUTE = "claim"
"""The attribute of a function that holds its claim."""


def claim(
    number: str,
    *,
    source: Source | tuple[Source, ...],
    prediction: str,
    statistic: str,
    conditions: Condition | Sequence[Condition],
    scale: str,
    minutes: float,
    kind: Kind = "E",
    version: int = 1,
    seeds: int = 0,
    note: str = "",
    settled: str = "",
    outside: str = "",
    former: str = "",
) -> Callable[[Computation], Computation]:
    """State the claim that a function computes, which takes nothing and returns the rows of the claim.

    The function is returned unchanged. It has its imports inside its body, so that a list of claims loads neither torch
    nor scipy.

    Args:
        number: the id of the claim, e.g. ``QB01``.
        source: the paper with the section or figure, or several.
        conditions: when the claim holds: one condition, or several that must all hold.
        prediction, statistic, scale, minutes, kind, version, seeds, note, settled, outside, former: see
            :class:`workbench.claims.claim.Claim`.
    """

    def state(function: Computation) -> Computation:
        stated = Claim(
            id=number,
            kind=kind,
            sources=as_tuple(source),
            prediction=prediction,
            statistic=statistic,
            conditions=as_tuple(conditions),
            scale=scale,
            rows=f"{function.__module__}:{function.__name__}",
            minutes=minutes,
            version=version,
            seeds=seeds,
            note=note,
            settled=settled,
            outside=outside,
            former=former,
        )
        setattr(function, ATTRIBUTE, stated)
        return function

    return state


def claim_of(function: Computation) -> Claim:
    """The claim that a function states."""
    stated: Claim = getattr(function, ATTRIBUTE)
    return stated


def claims_of(module: str) -> tuple[Claim, ...]:
    """The claims that the functions of an imported module state, in the order of the file.

    Args:
        module: its name, ``__name__`` inside the module itself.
    """
    values = vars(sys.modules[module]).values()
    return tuple(claim_of(value) for value in values if hasattr(value, ATTRIBUTE) and value.__module__ == module)
