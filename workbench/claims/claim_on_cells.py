"""State a trained claim: its statement, its cells, and how their rows are reduced."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.claims.claim import Claim, Condition, Kind, as_tuple
from workbench.claims.papers import Source
from workbench.claims.trained_cells import TrainedCell

REDUCTIONS = "workbench.claims.trained.reductions"
RELATIONS = "workbench.claims.trained.relations"


def claim_on(
    number: str,
    source: Source | tuple[Source, ...],
    prediction: str,
    statistic: str,
    conditions: Condition | Sequence[Condition],
    *cells: TrainedCell,
    reduce: str = "values",
    kind: Kind = "T",
    shared: bool = False,
    seeds: int | None = None,
    exempt: bool = False,
    settings_tried: int = 1,
    note: str = "",
    settled: str = "",
    scale: str = "",
    **arguments: Any,
) -> Claim:
    """Return a claim about trained models.

    Args:
        number: its id.
        source: the paper with the section or figure, or several.
        prediction, statistic, conditions, kind, exempt, settings_tried, note, settled: as of every claim.
        cells: the runs that it rests on.
        reduce: the function of ``trained.reductions`` that makes its rows, or the address ``package.module:function``
            of one that lies elsewhere.
        shared: whether other claims train all of its runs, so that it costs nothing.
        seeds: planned; None = those of the cell with the fewest.
        scale: settings in words; "" = those of the cells.
        arguments: for the function.
    """
    scales = dict.fromkeys(cell.scale for cell in cells)
    return Claim(
        id=number,
        kind=kind,
        sources=as_tuple(source),
        prediction=prediction,
        statistic=statistic,
        conditions=as_tuple(conditions),
        scale=scale or "; ".join(scales),
        rows=reduce if ":" in reduce else f"{REDUCTIONS}:{reduce}",
        minutes=0.0 if shared else round(sum(cell.seconds * len(cell.seeds) for cell in cells) / 60, 1),
        seeds=min(len(cell.seeds) for cell in cells) if seeds is None else seeds,
        settings_tried=settings_tried,
        exempt=exempt,
        note=note,
        settled=settled,
        cells=cells,
        arguments=arguments,
    )


def above(quantity: str, least: float, fails_below: float | None = None) -> Condition:
    """Return the condition that a quantity is at least ``least``."""
    return Condition(quantity, at_least=least, fails_below=fails_below)


def below(quantity: str, most: float, fails_above: float | None = None) -> Condition:
    """Return the condition that a quantity is at most ``most``."""
    return Condition(quantity, at_most=most, fails_above=fails_above)
